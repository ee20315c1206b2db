// Reductions. The axis stands in the options object or, for short, in its place: sum(x, 0).

import { asTensor, type TensorLike } from './apply.js';
import { axisMask, axisOptions, resolveAxis, type Axes } from './axes.js';
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

type Along = (rt: Runtime, x: number, axis: number, keepdims: number) => number;

function reduce<O extends ReduceOptions>(
  op: string,
  x: TensorLike,
  options: O | Axes,
  call: (rt: Runtime, x: number, axes: number, keepdims: number, options: O) => number,
): Tensor {
  const given = axisOptions<O>(options) as O;
  const { axis, keepdims = false } = given;
  const rt = runtime();
  return tidy(() => {
    const t = asTensor(x, op);
    return wrap(call(rt, t.use(op), axisMask(op, t, axis), keepdims ? 1 : 0, given));
  });
}

/** By their numbers in the interface to wasm. */
const PLAIN = ['sum', 'prod', 'mean', 'max', 'min', 'any', 'all', 'logsumexp'];

const plain = (op: string, x: TensorLike, options: ReduceOptions | Axes): Tensor =>
  reduce(op, x, options, (rt, t, axes, keep) =>
    rt.exports.sinter_reduce(PLAIN.indexOf(op), t, axes, keep),
  );

/** Sum; of nothing 0. */
export const sum = (x: TensorLike, options: ReduceOptions | Axes = {}): Tensor =>
  plain('sum', x, options);

/** Product; of nothing 1. */
export const prod = (x: TensorLike, options: ReduceOptions | Axes = {}): Tensor =>
  plain('prod', x, options);

/** Mean; of integers float32. */
export const mean = (x: TensorLike, options: ReduceOptions | Axes = {}): Tensor =>
  plain('mean', x, options);

/** Largest element; NaN if there is one. */
export const max = (x: TensorLike, options: ReduceOptions | Axes = {}): Tensor =>
  plain('max', x, options);

/** Smallest element; NaN if there is one. */
export const min = (x: TensorLike, options: ReduceOptions | Axes = {}): Tensor =>
  plain('min', x, options);

/** Whether any element is not 0. */
export const any = (x: TensorLike, options: ReduceOptions | Axes = {}): Tensor =>
  plain('any', x, options);

/** Whether all elements are not 0. */
export const all = (x: TensorLike, options: ReduceOptions | Axes = {}): Tensor =>
  plain('all', x, options);

/** log(sum(exp(x))), stable for large x. */
export const logsumexp = (x: TensorLike, options: ReduceOptions | Axes = {}): Tensor =>
  plain('logsumexp', x, options);

export interface VarianceOptions extends ReduceOptions {
  /** The sum of squares is divided by the number of elements minus this. Default 0. */
  correction?: number;
}

const variance = (x: TensorLike, options: VarianceOptions | Axes = {}): Tensor =>
  reduce('var', x, options, (rt, t, axes, keep, { correction = 0 }) =>
    rt.exports.sinter_var(t, axes, keep, correction),
  );

/** Variance; exported as var. */
export { variance as var };

/** Square root of the variance; its derivative where that is 0 is taken to be 0. */
export const std = (x: TensorLike, options: VarianceOptions | Axes = {}): Tensor =>
  reduce('std', x, options, (rt, t, axes, keep, { correction = 0 }) =>
    rt.exports.sinter_std(t, axes, keep, correction),
  );

export interface NormOptions extends ReduceOptions {
  /** p of (sum |x|^p)^(1/p); Infinity and -Infinity: the largest, smallest |x|; 0: how many are not 0. Default 2. */
  ord?: number;
}

/** Vector norm over the given axes; its derivative at 0 is taken to be 0. */
export const norm = (x: TensorLike, options: NormOptions | Axes = {}): Tensor =>
  reduce('norm', x, options, (rt, t, axes, keep, { ord = 2 }) =>
    rt.exports.sinter_norm(t, axes, keep, ord),
  );

function arg(op: string, x: TensorLike, options: ArgOptions | number, call: Along): Tensor {
  const { axis = null, keepdims = false } = typeof options === 'number' ? { axis: options } : options;
  const rt = runtime();
  return tidy(() => {
    const t = asTensor(x, op);
    const along = axis === null ? t.reshape([-1]) : t;
    const index = wrap(
      call(rt, along.use(op), resolveAxis(op, axis ?? 0, along.shape), keepdims ? 1 : 0),
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
