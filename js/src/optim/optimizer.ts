// What an optimizer is: a pair of functions made of graph ops, and a learning rate that may change.

import { shown } from '../check.js';
import { ShapeError, SinterError, shapeText } from '../errors.js';
import { flatten, type TreeShape } from '../pytree.js';
import { tensor } from '../functions.gen.js';
import type { Tensor } from '../tensor.js';
import { Tensor as TensorClass } from '../tensor.js';

/** What an optimizer remembers: a step count, and trees of tensors, most of them lists in the order of the parameters. */
export interface OptimizerState {
  /** Steps done, int32. */
  readonly count: Tensor;
  readonly [slot: string]: unknown;
}

/** A number or a rank-0 tensor, read at each step; or a schedule, which computes it by graph ops from the number of
 *  steps done. */
export type LearningRate = number | Tensor | ((count: Tensor) => Tensor);

/** A value for an optimizer, or a list with one for each of its parts. */
export type PerOptimizer<T> = T | readonly PerOptimizer<T>[];

/** Computes new parameters from gradients; the steps of trainStep call it within their program. */
export interface Optimizer {
  /** May be set between steps; nothing is compiled again unless a schedule is exchanged. */
  lr: LearningRate;
  /** The optimizers that it is made of, each with a rate of its own; lr is then that of the first. */
  readonly parts?: readonly Optimizer[];
  /** The first state for a tree of parameters, or for an array of its tensors. */
  init(params: unknown): OptimizerState;
  /** Returns new parameters and the next state. lr: the rate of this step, unless the optimizer's own is a schedule. */
  update<P>(
    grads: unknown,
    state: OptimizerState,
    params: P,
    lr?: PerOptimizer<Tensor>,
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

/** Calls f with an optimizer's rate, or with that of each of its parts. */
export const perOptimizer = <T>({ lr, parts }: Optimizer, f: (lr: LearningRate) => T): PerOptimizer<T> =>
  parts ? parts.map((part) => perOptimizer(part, f)) : f(lr);

/**
 * The rate as an input of a compiled step: a value in memory, which unlike a lazy constant is no part of the program's
 * identity. A schedule is traced instead; its input is not used. Tensors made here are added to own.
 */
export function lrTensor(lr: LearningRate, own: Tensor[]): Tensor {
  if (lr instanceof TensorClass) return lr;
  checkRate('optim', lr);
  const made = tensor(Float32Array.of(typeof lr === 'function' ? 0 : lr), { shape: [] });
  own.push(made);
  return made;
}

/** What an update works on; gradients are in the order of the parameters. */
export interface Update {
  params: Tensor[];
  shape: TreeShape;
  grads: Tensor[];
}

/** Reads and checks the arguments of an update. slots: the lists of the state that have a tensor for each parameter. */
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
  const { count, ...lists } = (state ?? {}) as Record<string, unknown>;
  const isList = (list: unknown): boolean =>
    Array.isArray(list) && list.length === tensors.length && list.every((slot) => slot instanceof TensorClass);
  if (!(count instanceof TensorClass) || !slots.every((name) => isList(lists[name]))) {
    throw new SinterError('argument', op, `that is no state for ${tensors.length} parameters`, {
      hint: 'the first state is optimizer.init(params)',
    });
  }
  for (const name of slots)
    (lists[name] as readonly Tensor[]).forEach((slot, i) => {
      const shapes = [slot.shape, tensors[i]!.shape];
      const [is, wanted] = shapes.map(shapeText);
      if (is === wanted) return;
      throw new ShapeError(op, `that is no state for these parameters: ${name}[${i}] is ${is}, its parameter ${wanted}`, {
        shapes,
        hint: 'the first state is optimizer.init(params)',
      });
    });
  return { params: tensors, shape, grads: given };
}

/** The rate of one update, within the graph. */
export function rateOf(op: string, lr: LearningRate, given: PerOptimizer<Tensor> | undefined, count: Tensor): Tensor | number {
  const rate = typeof lr === 'function' ? lr(count) : ((given as Tensor | undefined) ?? lr);
  if (rate instanceof TensorClass && rate.shape.length > 0)
    throw new ShapeError(op, `lr has shape ${shapeText(rate.shape)}, expected a number or a tensor of rank 0`, { shapes: [rate.shape] });
  return rate;
}
