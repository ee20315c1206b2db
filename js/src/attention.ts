// Attention: one call into the core, which writes the formula as graph; fusion makes one kernel of it. And rope, the
// positions that it is given.

import { asTensor, withAddresses, type TensorLike } from './apply.js';
import { arange, tensor } from './creation.js';
import { accumulatorOf, isHalf } from './dtype.js';
import { ShapeError, shapeText } from './errors.js';
import { readOptions } from './options.js';
import { add, cos, exp, mul, sin } from './ops.gen.js';
import { tidy } from './scope.js';
import { flip, reshape } from './shape.js';
import type { Tensor } from './tensor.js';

export interface AttentionOptions {
  /** Token i sees sources 0 .. i only. Whole blocks of later ones are not read, so a NaN there may not show. */
  causal?: boolean;
  /** Broadcasts to (batch, heads, tokens, sources): bools tell what is seen, numbers are added to the scores. */
  mask?: TensorLike;
  /** Default 1 / sqrt(size). */
  scale?: number;
}

export const ATTENTION = { causal: 'boolean', mask: 'tensor', scale: 'number' } as const;

/**
 * softmax(scale q kᵀ) v of q (batch, heads, tokens, size), k and v (batch, heads, sources, size), in blocks of
 * rows: no matrix of all scores lies in memory. k and v may have fewer heads, each shared by as many of q.
 */
export const attention = (
  q: TensorLike,
  k: TensorLike,
  v: TensorLike,
  options?: AttentionOptions,
): Tensor => {
  const { causal = false, mask, scale = NaN } = readOptions<AttentionOptions>('attention', options, ATTENTION);
  return withAddresses('attention', mask === undefined ? [q, k, v] : [q, k, v, mask], (rt, [a, b, c, m = 0]) =>
    rt.exports.sinter_attention(a!, b!, c!, m, Number(causal), scale),
  );
};

export interface RopeOptions {
  /** Pair i turns by base ^ (-2 i / size) from a token to the next. Default 10,000. */
  base?: number;
  /** The position of the first token. A tensor may change from call to call of a compiled function. */
  offset?: TensorLike;
}

/**
 * Rotary position embedding of x (..., tokens, size): elements i and i + size / 2 of a token, as a point of a plane,
 * are turned about the origin by the token's position times base ^ (-2 i / size). Floats keep their dtype.
 */
export const rope = (x: TensorLike, options?: RopeOptions): Tensor => tidy(() => {
  const { base = 10_000, offset = 0 } = readOptions<RopeOptions>('rope', options, { base: 'number', offset: 'tensor' });
  const t = asTensor(x, 'rope');
  const [tokens = 0, size = 1] = t.shape.slice(-2);
  if (t.ndim < 2 || size % 2 !== 0)
    throw new ShapeError(`rope: needs (..., tokens, size) with an even size: a ${shapeText(t.shape)}`);
  const dtype = accumulatorOf(t.dtype);
  const count = (n: number): Tensor => arange(0, n, 1, { dtype });
  const speeds = exp(mul(count(size / 2), (-2 * Math.log(base)) / size));
  const angles = mul(reshape(add(count(tokens), offset), [tokens, 1, 1]), speeds);
  const sides = tensor([-1, 1], { shape: [2, 1], dtype });
  const points = reshape(t, [...t.shape.slice(0, -1), 2, size / 2]);
  const turned = add(mul(points, cos(angles)), mul(flip(points, -2), mul(sin(angles), sides)));
  return reshape(turned, t.shape).astype(isHalf(t.dtype) ? t.dtype : dtype);
});
