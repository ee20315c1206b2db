// Attention: one call into the core, which writes the formula as graph; fusion makes one kernel of it. And rope, the
// positions that it is given.

import { asTensor, withTensors, type TensorLike } from './apply.js';
import { accumulatorOf, isHalf, type DType } from './dtype.js';
import { ShapeError, SinterError, shapeText } from './errors.js';
import { arange, expandDims, flip, iota, reshape, tensor, type RopeOptions } from './functions.gen.js';
import { add, cos, exp, lessEqual, logicalAnd, mul, sin, where } from './ops.gen.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';

/** The options of attention, past and scale maybe not given. */
interface How {
  causal: boolean;
  past: TensorLike | undefined;
  mask: TensorLike | undefined;
  scale: number | undefined;
}

/** The mask of what is seen with sources from before the first token, joined with a mask that is given. */
function causalMask(q: Tensor, k: Tensor, past: TensorLike, mask: TensorLike | undefined): Tensor {
  const shape = [q.shape.at(-2) ?? 0, k.shape.at(-2) ?? 0];
  const seen = lessEqual(iota(shape, 1), add(iota(shape, 0), past));
  if (mask === undefined) return seen;
  const given = asTensor(mask, 'attention');
  return given.dtype === 'bool' ? logicalAnd(seen, given) : where(seen, given, -Infinity);
}

/**
 * softmax(scale q kᵀ) v of q (batch, heads, tokens, size), k and v (batch, heads, sources, size), in blocks of
 * rows: no matrix of all scores lies in memory. k and v may have fewer heads, each shared by as many of q. There may be
 * more axes in front, or none.
 */
export const attention = (
  q: TensorLike,
  k: TensorLike,
  v: TensorLike,
  { causal, past = 0, mask, scale = NaN }: How,
): Tensor => {
  if (past !== 0 && !causal) {
    throw new SinterError('argument', 'attention', 'past counts for causal attention only', { hint: 'add causal: true' });
  }
  return tidy(() => {
    const [a, b] = [asTensor(q, 'attention'), asTensor(k, 'attention')];
    const all = past === 0 ? mask : causalMask(a, b, past, mask);
    return withTensors(
      'attention',
      [a, b, v],
      (core, [x, y, z, m]) => core.sinter_attention(x!, y!, z!, m!, Number(causal && past === 0), scale),
      [all],
    );
  });
};

/** Options with undefined for those that are not given. */
type Given<O> = { [K in keyof Required<O>]: O[K] | undefined };

/** Cosines and sines (..., tokens, size / 2): those given, or of each token's position times each pair's speed. */
function turns(tokens: number, size: number, dtype: DType, options: Given<RopeOptions>): [Tensor, Tensor] {
  const { base = 10_000, offset = 0, cos: givenCos, sin: givenSin } = options;
  if ((givenCos === undefined) !== (givenSin === undefined))
    throw new SinterError('argument', 'rope', 'cos and sin are needed together');
  if (givenCos !== undefined && givenSin !== undefined) {
    if (options.base !== undefined || options.offset !== undefined)
      throw new SinterError('argument', 'rope', 'base and offset do not count beside cos and sin');
    return [asTensor(givenCos, 'rope').astype(dtype), asTensor(givenSin, 'rope').astype(dtype)];
  }
  const count = (n: number): Tensor => arange(0, n, 1, { dtype });
  const speeds = exp(mul(count(size / 2), (-2 * Math.log(base)) / size));
  const angles = mul(reshape(add(count(tokens), offset), [tokens, 1]), speeds);
  return [cos(angles), sin(angles)];
}

/**
 * Rotary position embedding of x (..., tokens, size): elements i and i + size / 2 of a token, as a point of a plane,
 * are turned about the origin by the token's position times base ^ (-2 i / size). Floats keep their dtype.
 */
export const rope = (x: TensorLike, given: Given<RopeOptions>): Tensor => tidy(() => {
  const t = asTensor(x, 'rope');
  const [tokens = 0, size = 1] = t.shape.slice(-2);
  if (t.ndim < 2 || size % 2 !== 0)
    throw new ShapeError('rope', `needs (..., tokens, size) with an even size: a ${shapeText(t.shape)}`, { shapes: [t.shape] });
  const dtype = accumulatorOf(t.dtype);
  const pair = given.interleaved ? -1 : -2; // the axis of a point's two coordinates
  const coordinates = given.interleaved ? [size / 2, 2] : [2, size / 2];
  const [c, s] = turns(tokens, size, dtype, given).map((table) => expandDims(table, pair)) as [Tensor, Tensor];
  const sides = tensor([-1, 1], { shape: given.interleaved ? [2] : [2, 1], dtype });
  const points = reshape(t, [...t.shape.slice(0, -1), ...coordinates]);
  const turned = add(mul(points, c), mul(flip(points, pair), mul(s, sides)));
  return reshape(turned, t.shape).astype(isHalf(t.dtype) ? t.dtype : dtype);
});
