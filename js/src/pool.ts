// Pooling over the spatial axes of (n, spatial..., channels): a number from each window, made by the core, which
// checks how windows fit. Padding is smaller than the window, so that each has an element of x.

import { asTensor, type TensorLike } from './apply.js';
import { WINDOW, windowWords, type PerAxis, type WindowOptions, type WindowSpec } from './conv.js';
import { SinterError, shapeText } from './errors.js';
import { abs, equal, pow, sqrt, square, where } from './ops.gen.js';
import { readOptions, type OptionSchema } from './options.js';
import { runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { wrap, type Tensor } from './tensor.js';

export interface PoolOptions extends WindowOptions {
  window: PerAxis;
  /** The number of windows rounded up: the last one may leave x and its padding, unless it begins behind x and the
   *  padding in front. Default false. */
  ceil?: boolean;
}

export interface AvgPoolOptions extends PoolOptions {
  /** Whether the mean counts padding, as zeros; not what a window rounded up reaches beyond it. Default false. */
  countIncludePad?: boolean;
}

export interface LpPoolOptions extends PoolOptions {
  /** p of (sum |x|^p)^(1/p), above 0. Default 2. */
  norm?: number;
}

const POOL = { window: 'any', ...WINDOW, ceil: 'boolean' } as const;
const AVG_POOL = { ...POOL, countIncludePad: 'boolean' } as const;
const LP_POOL = { ...POOL, norm: 'number' } as const;

/** By their numbers in the interface to wasm. */
const [MAX, MEAN, SUM] = [0, 1, 2];

function pooled(op: string, kind: number, x: Tensor, axes: number, spec: WindowSpec): Tensor {
  const rt = runtime();
  rt.send(windowWords(op, `x ${shapeText(x.shape)}`, axes, spec));
  return wrap(rt.exports.sinter_pool_windows(kind, x.use(op), axes));
}

const pool =
  <O extends PoolOptions>(op: string, axes: number, kind: number, schema: OptionSchema<O>) =>
  (x: TensorLike, options: O): Tensor => {
    const spec = readOptions<O>(op, options, schema);
    return tidy(() => pooled(op, kind, asTensor(x, op), axes, spec));
  };

/** (sum |x|^p)^(1/p) of each window; its derivative where that is 0 is taken to be 0. */
const lpPool =
  (op: string, axes: number) =>
  (x: TensorLike, options: LpPoolOptions): Tensor => {
    const { norm = 2, ...spec } = readOptions<LpPoolOptions>(op, options, LP_POOL);
    if (!(norm > 0 && norm < Infinity)) throw new SinterError('argument', `${op}: no norm ${norm}, expected a number above 0`);
    return tidy(() => {
      const t = asTensor(x, op);
      const sums = pooled(op, SUM, norm === 2 ? square(t) : pow(abs(t), norm), axes, spec);
      const flat = equal(sums, 0);
      const safe = where(flat, 1, sums);
      return where(flat, 0, norm === 2 ? sqrt(safe) : pow(safe, 1 / norm));
    });
  };

/** The largest element of each window of (N, W, C). */
export const maxPool1d = pool<PoolOptions>('maxPool1d', 1, MAX, POOL);

/** The largest element of each window of (N, H, W, C). */
export const maxPool2d = pool<PoolOptions>('maxPool2d', 2, MAX, POOL);

/** The largest element of each window of (N, D, H, W, C). */
export const maxPool3d = pool<PoolOptions>('maxPool3d', 3, MAX, POOL);

/** The mean of each window of (N, W, C); padding does not count unless countIncludePad. */
export const avgPool1d = pool<AvgPoolOptions>('avgPool1d', 1, MEAN, AVG_POOL);

/** The mean of each window of (N, H, W, C); padding does not count unless countIncludePad. */
export const avgPool2d = pool<AvgPoolOptions>('avgPool2d', 2, MEAN, AVG_POOL);

/** The mean of each window of (N, D, H, W, C); padding does not count unless countIncludePad. */
export const avgPool3d = pool<AvgPoolOptions>('avgPool3d', 3, MEAN, AVG_POOL);

/** The norm (sum |x|^p)^(1/p) of each window of (N, W, C); its derivative at 0 is taken to be 0. */
export const lpPool1d = lpPool('lpPool1d', 1);

/** The norm (sum |x|^p)^(1/p) of each window of (N, H, W, C); its derivative at 0 is taken to be 0. */
export const lpPool2d = lpPool('lpPool2d', 2);
