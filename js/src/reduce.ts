// Reductions. The axis stands in the options object or, for short, in its place: sum(x, 0).

import { asTensor, type TensorLike } from './apply.js';
import { axisMask, resolveAxis, type Axes } from './axes.js';
import { runtime, type Runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { wrap, type Tensor } from './tensor.js';

export interface ReduceOptions {
  /** One axis or several, negative ones from the end; all by default. */
  axis?: Axes | null;
  /** Keeps reduced axes with size 1. */
  keepdims?: boolean;
}

export interface ArgOptions {
  /** Default: the index into the flattened tensor. */
  axis?: number | null;
  keepdims?: boolean;
}

type Reduce = (rt: Runtime, x: number, axes: number, keepdims: number) => number;

const optionsOf = <O extends object>(options: O | Axes): O | { axis: Axes } =>
  typeof options === 'number' || Array.isArray(options) ? { axis: options as Axes } : (options as O);

function reduce(op: string, x: TensorLike, options: ReduceOptions | Axes, call: Reduce): Tensor {
  const { axis, keepdims = false }: ReduceOptions = optionsOf(options);
  const rt = runtime();
  return tidy(() => {
    const t = asTensor(x, op);
    return wrap(call(rt, t.use(op), axisMask(op, t, axis), keepdims ? 1 : 0));
  });
}

/** Sum; of nothing 0. */
export const sum = (x: TensorLike, options: ReduceOptions | Axes = {}): Tensor =>
  reduce('sum', x, options, (rt, ...args) => rt.exports.sinter_sum(...args));

/** Mean; of integers float32. */
export const mean = (x: TensorLike, options: ReduceOptions | Axes = {}): Tensor =>
  reduce('mean', x, options, (rt, ...args) => rt.exports.sinter_mean(...args));

/** Largest element; NaN if there is one. */
export const max = (x: TensorLike, options: ReduceOptions | Axes = {}): Tensor =>
  reduce('max', x, options, (rt, ...args) => rt.exports.sinter_max(...args));

/** Smallest element; NaN if there is one. */
export const min = (x: TensorLike, options: ReduceOptions | Axes = {}): Tensor =>
  reduce('min', x, options, (rt, ...args) => rt.exports.sinter_min(...args));

function arg(op: string, x: TensorLike, options: ArgOptions | number, call: Reduce): Tensor {
  const { axis = null, keepdims = false } = typeof options === 'number' ? { axis: options } : options;
  const rt = runtime();
  return tidy(() => {
    const t = asTensor(x, op);
    const along = axis === null ? t.reshape([-1]) : t;
    const index = wrap(
      call(rt, along.use(op), resolveAxis(op, axis ?? 0, along.ndim, along.shape), keepdims ? 1 : 0),
    );
    return axis === null && keepdims ? index.reshape(t.shape.map(() => 1)) : index;
  });
}

/** Index (int32) of the first largest element; the first NaN wins. */
export const argmax = (x: TensorLike, options: ArgOptions | number = {}): Tensor =>
  arg('argmax', x, options, (rt, ...args) => rt.exports.sinter_argmax(...args));

/** Index (int32) of the first smallest element; the first NaN wins. */
export const argmin = (x: TensorLike, options: ArgOptions | number = {}): Tensor =>
  arg('argmin', x, options, (rt, ...args) => rt.exports.sinter_argmin(...args));
