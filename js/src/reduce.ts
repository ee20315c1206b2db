// Reductions. The axis stands in the options object or, for short, in its place: sum(x, 0).

import { asTensor, type TensorLike } from './apply.js';
import { axisMask, axisOptions, resolveAxis, type Axes } from './axes.js';
import { refuseExtra } from './check.js';
import type { OptionSchema } from './options.js';
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

const REDUCE: OptionSchema<ReduceOptions> = { axis: 'axes', keepdims: 'boolean' };

/** What is right where an axis and a flag were given one after the other. */
const HINT = 'write { axis: 0, keepdims: true }; several axes are an array';

type Along = (rt: Runtime, x: number, axis: number, keepdims: number) => number;

function reduce<O extends ReduceOptions>(
  op: string,
  x: TensorLike,
  options: O | Axes | undefined,
  extra: readonly unknown[],
  schema: OptionSchema<O>,
  call: (rt: Runtime, x: number, axes: number, keepdims: number, options: O) => number,
): Tensor {
  refuseExtra(op, extra, HINT);
  const given = axisOptions<O>(op, options, schema);
  const { axis, keepdims = false } = given;
  const rt = runtime();
  return tidy(() => {
    const t = asTensor(x, op);
    return wrap(call(rt, t.use(op), axisMask(op, t, axis), keepdims ? 1 : 0, given));
  });
}

/** By their numbers in the interface to wasm. */
const PLAIN = ['sum', 'prod', 'mean', 'max', 'min', 'any', 'all', 'logsumexp'];

const plain =
  (op: string) =>
  (x: TensorLike, options?: ReduceOptions | Axes, ...extra: []): Tensor =>
    reduce(op, x, options, extra, REDUCE, (rt, t, axes, keep) =>
      rt.exports.sinter_reduce(PLAIN.indexOf(op), t, axes, keep),
    );

/** Sum; of nothing 0. */
export const sum = plain('sum');

/** Product; of nothing 1. */
export const prod = plain('prod');

/** Mean; of integers float32. */
export const mean = plain('mean');

/** Largest element; NaN if there is one. */
export const max = plain('max');

/** Smallest element; NaN if there is one. */
export const min = plain('min');

/** Whether any element is not 0. */
export const any = plain('any');

/** Whether all elements are not 0. */
export const all = plain('all');

/** log(sum(exp(x))), stable for large x. */
export const logsumexp = plain('logsumexp');

export interface VarianceOptions extends ReduceOptions {
  /** The sum of squares is divided by the number of elements minus this. Default 0. */
  correction?: number;
}

const VARIANCE: OptionSchema<VarianceOptions> = { ...REDUCE, correction: 'number' };

const variance = (x: TensorLike, options?: VarianceOptions | Axes, ...extra: []): Tensor =>
  reduce('var', x, options, extra, VARIANCE, (rt, t, axes, keep, { correction = 0 }) =>
    rt.exports.sinter_var(t, axes, keep, correction),
  );

/** Variance; exported as var. */
export { variance as var };

/** Square root of the variance; its derivative where that is 0 is taken to be 0. */
export const std = (x: TensorLike, options?: VarianceOptions | Axes, ...extra: []): Tensor =>
  reduce('std', x, options, extra, VARIANCE, (rt, t, axes, keep, { correction = 0 }) =>
    rt.exports.sinter_std(t, axes, keep, correction),
  );

export interface NormOptions extends ReduceOptions {
  /** p of (sum |x|^p)^(1/p); Infinity and -Infinity: the largest, smallest |x|; 0: how many are not 0. Default 2. */
  ord?: number;
}

/** Vector norm over the given axes; its derivative at 0 is taken to be 0. */
export const norm = (x: TensorLike, options?: NormOptions | Axes, ...extra: []): Tensor =>
  reduce<NormOptions>('norm', x, options, extra, { ...REDUCE, ord: 'number' }, (rt, t, axes, keep, { ord = 2 }) =>
    rt.exports.sinter_norm(t, axes, keep, ord),
  );

function arg(
  op: string,
  x: TensorLike,
  options: ArgOptions | number | undefined,
  extra: readonly unknown[],
  call: Along,
): Tensor {
  refuseExtra(op, extra, HINT);
  const { axis = null, keepdims = false } = axisOptions<ArgOptions>(op, options, REDUCE);
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
export const argmax = (x: TensorLike, options?: ArgOptions | number, ...extra: []): Tensor =>
  arg('argmax', x, options, extra, (rt, ...args) => rt.exports.sinter_argmax(...args));

/** Index (int32) of the first smallest element; the first NaN wins. */
export const argmin = (x: TensorLike, options?: ArgOptions | number, ...extra: []): Tensor =>
  arg('argmin', x, options, extra, (rt, ...args) => rt.exports.sinter_argmin(...args));
