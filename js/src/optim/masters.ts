// Mixed precision of an optimizer: parameters of 16 bits, updated as float32 masters in the optimizer's state by gradients
// of a scaled loss (Micikevicius et al. 2018, Mixed Precision Training). An update whose gradient is not finite is skipped.

import { accumulatorOf } from '../dtype.js';
import { SinterError } from '../errors.js';
import { isfinite, maximum, minimum, tensor, where, zeros } from '../functions.gen.js';
import type { Precision } from '../precision.js';
import { flatten, map } from '../pytree.js';
import { Tensor } from '../tensor.js';
import type { Optimizer, OptimizerState } from './optimizer.js';

/** The first scale for float16, about as large as gradients of a mean loss mostly allow; bfloat16 has the range of float32. */
const FIRST_SCALE = 2 ** 15;
/** The largest scale: where gradients vanish, it would grow forever. */
const MOST_SCALE = 2 ** 24;
/** Steps in a row whose gradients were finite, after which the scale doubles. */
const GROWTH_STEPS = 2000;

/** The optimizer's state with what masters add to it. */
interface Masters extends OptimizerState {
  /** The parameters in float32. */
  readonly master: unknown;
  /** The factor of the loss, float32. */
  readonly scale: Tensor;
  /** Steps with finite gradients since the scale changed or a step was skipped, int32. */
  readonly good: Tensor;
  /** Steps that were skipped, int32. */
  readonly skipped: Tensor;
}

export interface PrecisionReport {
  /** The factor of the loss for its gradient. */
  scale: number;
  /** Steps that were skipped: they changed nothing but the scale, since a gradient was not finite. */
  skipped: number;
  /** All steps, skipped ones included. */
  steps: number;
}

const hasMasters = (memory: OptimizerState): memory is Masters => memory['master'] !== undefined;

/** The scale of the loss, if the state is one with masters. */
export const scaleOf = (memory: OptimizerState): Tensor | undefined => (hasMasters(memory) ? memory.scale : undefined);

/** Refuses a state of the other kind: with masters for float32, or without for 16 bits. */
export function checkMasters(memory: OptimizerState, precision: Precision): void {
  if (hasMasters(memory) === (precision !== 'float32')) return;
  const [is, isNot] = hasMasters(memory) ? ['has', 'has no'] : ['has no', 'has'];
  throw new SinterError('argument', 'trainStep', `this training state ${is} float32 masters, this step ${isNot} option precision`, {
    hint: 'the first state is step.init(params) of the same step',
  });
}

/** All steps so far, skipped ones included. */
export const stepsOf = (memory: OptimizerState): Tensor => (hasMasters(memory) ? memory.count.add(memory.skipped) : memory.count);

/** A parameter in the dtype in which a step with this precision stores it. */
export const stored = (p: Tensor, precision: Precision): Tensor => (p.dtype === 'float32' ? p.astype(precision) : p);

/** a where the flag is set, else b. */
const choose = <T>(flag: Tensor, a: T, b: T): T => map((x, y) => where(flag, x, y!), a, b) as T;

/** The modules' state after a step: the one that the step made, or if the update was skipped the one before. */
export function unlessSkipped<S>(before: OptimizerState, after: OptimizerState, made: S, kept: S): S {
  if (!hasMasters(before) || !hasMasters(after)) return made;
  return choose(before.skipped.equal(after.skipped), made, kept);
}

export function reportOf(memory: OptimizerState): PrecisionReport {
  if (!hasMasters(memory)) return { scale: 1, skipped: 0, steps: memory.count.item() as number };
  const [scale, skipped, done] = [memory.scale, memory.skipped, memory.count].map((t) => t.item() as number) as [number, number, number];
  return { scale, skipped, steps: done + skipped };
}

/** Whether all gradients are finite: then their sum is finite as well, unless they are too large to be of use. */
function allFinite(grads: unknown): Tensor {
  const sums = flatten(grads, 'trainStep').tensors.map((g) => g.astype(accumulatorOf(g.dtype)).sum());
  return isfinite(sums.reduce((total, x) => total.add(x), zeros([])));
}

/** Wraps an optimizer for parameters of this precision. */
export function withMasters(optimizer: Optimizer, precision: Precision): Optimizer {
  return {
    lr: optimizer.lr,
    init: (params) => {
      const master = map((p) => (p.dtype === precision ? p.astype('float32') : p), params);
      const own = optimizer.init(master);
      const count = (): Tensor => zeros([], { dtype: 'int32' });
      return { ...own, master, scale: tensor(precision === 'float16' ? FIRST_SCALE : 1), good: count(), skipped: count() };
    },
    update: (scaled, memory, params, lr) => {
      const { master, scale, good, skipped, ...own } = memory as Masters;
      const finite = allFinite(scaled);
      const unscale = where(finite, scale.reciprocal(), 0);
      // Everything below depends on the flag and so waits for it: gradients go through memory, where they have 16 bits.
      const grads = map((g) => where(finite, g.astype(accumulatorOf(g.dtype)), 0).mul(unscale), scaled);
      const next = optimizer.update(grads, own, master, lr);
      const kept = choose(finite, { master: next.params, own: next.state }, { master, own });
      const grows = precision === 'float16' ? good.add(1).greaterEqual(GROWTH_STEPS) : false;
      const raised = where(grows, minimum(scale.mul(2), MOST_SCALE), scale);
      const lowered = precision === 'float16' ? maximum(scale.div(2), 1) : scale;
      const state = {
        ...kept.own,
        master: kept.master,
        scale: where(finite, raised, lowered),
        good: where(finite, where(grows, 0, good.add(1)), 0),
        skipped: skipped.add(finite.logicalNot().astype('int32')),
      };
      const rounded = map((p, m) => m!.astype(p.dtype), params, kept.master);
      return { params: rounded, state };
    },
  };
}
