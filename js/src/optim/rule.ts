// An optimizer as a rule: how one parameter's step follows from its gradient and what is remembered of it. Rates, weight
// decay, clipping and the checks of arguments are the same for all rules, and are here.

import { accumulatorOf } from '../dtype.js';
import { SinterError } from '../errors.js';
import { zeros } from '../functions.gen.js';
import { readOptions, type OptionSchema } from '../options.js';
import { flatten, rebuild, tensorPaths } from '../pytree.js';
import type { Tensor } from '../tensor.js';
import { clipByGlobalNorm } from './clip.js';
import { checkRate, rateOf, readUpdate, type LearningRate, type Optimizer, type OptimizerState } from './optimizer.js';

/** Chooses parameters by their paths, the keys that lead to them: '0.weight'. */
export type Match = (path: string, param: Tensor) => boolean;

/** Options of all optimizers. */
export interface UpdateOptions {
  /** Learning rate: a number, a rank-0 tensor, or a schedule. */
  lr?: LearningRate;
  /** How strongly parameters are pulled toward 0. Default 0. */
  weightDecay?: number;
  /** Which parameters decay: (path, param) => boolean, with paths as '0.weight'. Default: all. */
  mask?: Match;
  /** Largest common norm of the gradients; longer ones are scaled down. Default: no limit. */
  clipNorm?: number;
}

const UPDATE: OptionSchema<UpdateOptions> = { lr: 'any', weightDecay: 'number', mask: 'function', clipNorm: 'number' };

export interface Rule<S extends string> {
  /** What is remembered of each parameter: tensors of its shape, which start at 0. */
  slots: readonly S[];
  /** Weight decay is added to the step, instead of to the gradient. */
  isDecoupled?: boolean;
  /** Given the number of steps including this one, float32, returns (gradient, slots) => the step at a rate of 1, and
   *  the new slots. */
  formula(steps: Tensor): (g: Tensor, slots: Record<S, Tensor>) => { step: Tensor } & Record<S, Tensor>;
}

/** Reads the options of an optimizer: its own and those of all optimizers. */
export function readRule<O extends UpdateOptions>(op: string, given: O | undefined, own: OptionSchema<Omit<O, keyof UpdateOptions>>): O {
  return readOptions(op, given, { ...UPDATE, ...own } as OptionSchema<O>);
}

/** Refuses a share of a running mean outside of 0 <= share < 1: the mean would grow without end, or never move. */
export function checkShares(op: string, shares: Readonly<Record<string, number>>): void {
  for (const [name, share] of Object.entries(shares))
    if (!(share >= 0 && share < 1)) throw new SinterError('argument', op, `${name} is ${share}, expected 0 <= ${name} < 1`);
}

/** Makes the optimizer of a rule. */
export function optimizerOf<S extends string>(op: string, options: UpdateOptions, rule: Rule<S>): Optimizer {
  const { lr, weightDecay = 0, mask, clipNorm } = options as UpdateOptions & { lr: LearningRate };
  checkRate(op, lr);
  const { slots, isDecoupled = false } = rule;
  const start = ({ shape, dtype }: Tensor): Tensor => zeros(shape, { dtype: accumulatorOf(dtype) });
  return {
    lr,
    init: (params) => {
      const { tensors } = flatten(params, op);
      const lists = slots.map((name) => [name, tensors.map(start)] as const);
      return { count: zeros([], { dtype: 'int32' }), ...Object.fromEntries(lists) };
    },
    update(grads, state, params, given) {
      const update = readUpdate(op, grads, state, params, slots);
      const rate = rateOf(op, this.lr, given, state.count);
      const count = state.count.add(1);
      const formula = rule.formula(count.astype('float32'));
      const clipped = clipNorm === undefined ? update.grads : clipByGlobalNorm(update.grads, clipNorm);
      const paths = mask ? tensorPaths(update.shape) : [];
      const made = update.params.map((p, i) => {
        const isPulled = weightDecay !== 0 && (!mask || mask(paths[i]!, p));
        const pull = isPulled ? p.astype(accumulatorOf(p.dtype)).mul(weightDecay) : null;
        const g = clipped[i]!;
        const own = Object.fromEntries(slots.map((name) => [name, (state[name] as readonly Tensor[])[i]!]));
        const next = formula(pull && !isDecoupled ? g.add(pull) : g, own as Record<S, Tensor>);
        const step = pull && isDecoupled ? next.step.add(pull) : next.step;
        return { ...next, param: p.sub(step.mul(rate)).astype(p.dtype) };
      });
      const lists = slots.map((name) => [name, made.map((each) => each[name])] as const);
      const next: OptimizerState = { count, ...Object.fromEntries(lists) };
      return { params: rebuild(update.shape, made.map(({ param }) => param)) as typeof params, state: next };
    },
  };
}
