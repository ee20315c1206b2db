// Optimizers made of others: groups, with one for each group of parameters; and ema, which also averages the parameters.

import { checkFunction, shown } from '../check.js';
import { accumulatorOf } from '../dtype.js';
import { SinterError } from '../errors.js';
import { zeros } from '../functions.gen.js';
import { readOptions } from '../options.js';
import { flatten, map, rebuild, tensorPaths } from '../pytree.js';
import type { Tensor } from '../tensor.js';
import { checkOptimizer, readUpdate, type LearningRate, type Optimizer, type OptimizerState, type PerOptimizer } from './optimizer.js';
import { checkShares, type Match } from './rule.js';

/** The parameters for which match holds, and their optimizer. */
export interface Group {
  /** (path, param) => boolean, with paths as '0.weight'. */
  match: Match;
  optimizer: Optimizer;
}

/** Tensors by their paths, so that those of a group keep their names in its optimizer. */
type Named = Record<string, Tensor>;

/** An optimizer made of parts, whose lr is that of the first part. */
const compose = (parts: readonly Optimizer[], own: Pick<Optimizer, 'init' | 'update'>): Optimizer => ({
  parts,
  ...own,
  get lr(): LearningRate {
    return parts[0]!.lr;
  },
  set lr(value) {
    parts[0]!.lr = value;
  },
});

const ratesOf = (lr: PerOptimizer<Tensor> | undefined): readonly (PerOptimizer<Tensor> | undefined)[] => (lr ?? []) as PerOptimizer<Tensor>[];

/** A field of an optimizer's state; throws if the state does not have it. */
function fieldOf(op: string, state: OptimizerState, name: string): unknown {
  const field: unknown = (state as OptimizerState | undefined | null)?.[name];
  if (typeof field === 'object' && field !== null) return field;
  throw new SinterError('argument', op, 'that is no state of this optimizer', { hint: 'the first one is optimizer.init(params)' });
}

/**
 * Updates each parameter by the optimizer of the first group that matches it: groups([{ match, optimizer }, ...]). Each
 * optimizer keeps a rate of its own; lr is that of the first. An optimizer's clipNorm counts the gradients of its group
 * alone.
 */
export function groups(list: readonly Group[]): Optimizer {
  const op = 'optim.groups';
  if (!Array.isArray(list) || list.length === 0)
    throw new SinterError('argument', op, `${shown(list)} is no list of groups`, { hint: 'write groups([{ match: (path) => true, optimizer }])' });
  for (const group of list as readonly unknown[]) {
    const { match, optimizer } = (group ?? {}) as Partial<Group>;
    checkFunction(op, match, 'match is (path, param) => boolean');
    checkOptimizer(op, optimizer);
  }
  /** The number of each parameter's group. */
  const places = (paths: readonly string[], tensors: readonly Tensor[]): number[] => {
    if (new Set(paths).size < paths.length)
      throw new SinterError('argument', op, 'two parameters have the same path', { hint: `keys with dots make them: ${paths.join(', ').slice(0, 100)}` });
    return tensors.map((t, i) => {
      const place = list.findIndex(({ match }) => match(paths[i]!, t));
      if (place < 0) throw new SinterError('argument', op, `no group matches ${paths[i]}`, { hint: 'end the list with { match: () => true, optimizer }' });
      return place;
    });
  };
  const named = (paths: readonly string[], tensors: readonly Tensor[], at: readonly number[], group: number): Named =>
    Object.fromEntries(paths.flatMap((path, i) => (at[i] === group ? [[path, tensors[i]!]] : [])));
  return compose(list.map(({ optimizer }) => optimizer), {
    init: (params) => {
      const { tensors, shape } = flatten(params, op);
      const paths = tensorPaths(shape);
      const at = places(paths, tensors);
      return {
        count: zeros([], { dtype: 'int32' }),
        groups: list.map(({ optimizer }, k) => optimizer.init(named(paths, tensors, at, k))),
      };
    },
    update(grads, state, params, lr) {
      const states = fieldOf(op, state, 'groups') as readonly OptimizerState[];
      const update = readUpdate(op, grads, state, params, []);
      const paths = tensorPaths(update.shape);
      const at = places(paths, update.params);
      const made = list.map(({ optimizer }, k) =>
        optimizer.update(named(paths, update.grads, at, k), states[k]!, named(paths, update.params, at, k), ratesOf(lr)[k]),
      );
      const next = paths.map((path, i) => made[at[i]!]!.params[path]!);
      return {
        params: rebuild(update.shape, next) as typeof params,
        state: { count: state.count.add(1), groups: made.map((each) => each.state) },
      };
    },
  });
}

export interface EmaOptions {
  /** The share of the average that a step keeps. Default 0.999. */
  decay?: number;
}

/**
 * An optimizer whose state also has a running average of the parameters, with which a model often does better than with the
 * last ones: state.optimizer.average of a training state, a tree like the parameters. It starts at the first parameters.
 */
export function ema(optimizer: Optimizer, options?: EmaOptions): Optimizer {
  checkOptimizer('optim.ema', optimizer);
  const { decay = 0.999 } = readOptions<EmaOptions>('optim.ema', options, { decay: 'number' });
  checkShares('optim.ema', { decay });
  return compose([optimizer], {
    init: (params) => {
      const inner = optimizer.init(params);
      return { count: inner.count, inner, average: map((p) => p.astype(accumulatorOf(p.dtype)), params) };
    },
    update(grads, state, params, lr) {
      const average = fieldOf('optim.ema', state, 'average');
      const next = optimizer.update(grads, fieldOf('optim.ema', state, 'inner') as OptimizerState, params, ratesOf(lr)[0]);
      const mixed = map((mean, p) => mean.mul(decay).add(p!.mul(1 - decay)), average, next.params);
      return { params: next.params, state: { count: next.state.count, inner: next.state, average: mixed } };
    },
  });
}
