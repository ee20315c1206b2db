// What an optimizer is: a pair of functions in graph ops, and a learning rate that may change.

import { shown } from '../check.js';
import { ShapeError, SinterError, shapeText } from '../errors.js';
import { flatten, type TreeShape } from '../pytree.js';
import { tensor, zeros } from '../functions.gen.js';
import { accumulatorOf } from '../dtype.js';
import type { Tensor } from '../tensor.js';
import { Tensor as TensorClass } from '../tensor.js';

/** What an optimizer remembers: lists of tensors in the order of the parameters, and a step count. */
export interface OptimizerState {
  /** Steps done, int32. */
  readonly count: Tensor;
  readonly [slot: string]: Tensor | readonly Tensor[];
}

/** A number or a rank-0 tensor, read at each step; or graph ops on the number of steps done. */
export type LearningRate = number | Tensor | ((count: Tensor) => Tensor);

export interface Optimizer {
  /** May be set between steps; nothing is compiled again unless a schedule is exchanged. */
  lr: LearningRate;
  /** State for a tree of parameters; for the tensors of it in an array, too. */
  init(params: unknown): OptimizerState;
  /** New parameters and state. lr: the rate of this step where the optimizer's own is not a schedule. */
  update<P>(
    grads: unknown,
    state: OptimizerState,
    params: P,
    lr?: Tensor,
  ): { params: P; state: OptimizerState };
}

/** Refuses what is no rate. */
export function checkRate(op: string, lr: unknown): void {
  if (lr instanceof TensorClass || typeof lr === 'function' || Number.isFinite(lr)) return;
  throw new SinterError('argument', op, `lr is ${shown(lr)}, expected a number, a tensor or a function of the step`, {
    hint: `write { lr: 0.01 }`,
  });
}

export function checkOptimizer(op: string, optimizer: unknown): void {
  const { init, update } = (optimizer ?? {}) as Partial<Optimizer>;
  if (typeof init === 'function' && typeof update === 'function') return;
  throw new SinterError('argument', op, `expected an optimizer, not ${shown(optimizer)}`, {
    hint: 'the second argument is e.g. sn.optim.adam({ lr: 1e-3 })',
  });
}

/**
 * The rate as an input of a compiled step: a value in memory, which unlike a lazy constant is no part of
 * the program's identity. A schedule is traced instead; there the input is not used.
 */
export function lrTensor(lr: LearningRate): { tensor: Tensor; isOwn: boolean } {
  if (lr instanceof TensorClass) return { tensor: lr, isOwn: false };
  checkRate('optim', lr);
  const value = typeof lr === 'function' ? 0 : lr;
  return { tensor: tensor(Float32Array.of(value), { shape: [] }), isOwn: true };
}

/** What an update works on, in the order of the parameters. */
export interface Update {
  params: Tensor[];
  shape: TreeShape;
  grads: Tensor[];
}

/** Reads the arguments of an update. slots: the lists of the state that have a tensor for each parameter. */
export function readUpdate(
  op: string,
  grads: unknown,
  state: OptimizerState,
  params: unknown,
  slots: readonly string[],
): Update {
  const { tensors, shape } = flatten(params, op);
  const given = flatten(grads, op).tensors;
  const wrong = given.findIndex((g, i) => String(g.shape) !== String(tensors[i]?.shape));
  if (given.length !== tensors.length || wrong >= 0) {
    const shapes = wrong < 0 ? [] : [given[wrong]!.shape];
    const found = wrong < 0 ? '' : `, gradient ${wrong} is ${shapeText(given[wrong]!.shape)}`;
    throw new ShapeError(op, `${given.length} gradients for ${tensors.length} parameters${found}`, {
      shapes,
      hint: 'gradients have the structure and the shapes of the parameters',
    });
  }
  const { count, ...lists } = (state ?? {}) as Partial<OptimizerState>;
  const isList = (list: unknown): boolean => Array.isArray(list) && list.length === tensors.length;
  if (!(count instanceof TensorClass) || !slots.every((name) => isList(lists[name]))) {
    throw new SinterError('argument', op, `that is no state for ${tensors.length} parameters`, {
      hint: 'the first state is optimizer.init(params)',
    });
  }
  return { params: tensors, shape, grads: given };
}

/** The start of a running mean of a parameter's gradients. */
export const running = ({ shape, dtype }: Tensor): Tensor => zeros(shape, { dtype: accumulatorOf(dtype) });

/** The rate for one update, inside the graph. */
export function rateOf(lr: LearningRate, given: Tensor | undefined, count: Tensor): Tensor | number {
  if (typeof lr === 'function') return lr(count);
  return given ?? lr;
}
