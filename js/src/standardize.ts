// Norms over any axes, as compositions: each slice of x with mean 0 and variance 1, then scaled and shifted.

import { asTensor, type TensorLike } from './apply.js';
import { resolveAxis } from './axes.js';
import { checkInteger } from './check.js';
import { accumulatorOf, isHalf } from './dtype.js';
import { ShapeError, shapeText } from './errors.js';
import { add, mul, rsqrt, square, sub } from './ops.gen.js';
import { mean, reshape } from './functions.gen.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';

/** (x - mean) / sqrt(variance + eps) over axes: the mean is taken out before anything is squared, so large values with
 *  a small spread lose nothing. */
function standardize(x: Tensor, axis: readonly number[], eps: number): Tensor {
  const centred = sub(x, mean(x, { axis, keepdims: true }));
  return mul(centred, rsqrt(add(mean(square(centred), { axis, keepdims: true }), eps)));
}

/** weight or bias, of the sizes of x along axes, in the rank of x. */
function alongAxes(op: string, name: string, x: Tensor, axes: readonly number[], given: TensorLike): Tensor {
  const t = asTensor(given, op);
  const want = axes.map((axis) => x.shape[axis]!);
  if (t.ndim !== want.length || !want.every((n, i) => n === t.shape[i])) {
    throw new ShapeError(op, `${name} is not ${shapeText(want)}: a ${shapeText(x.shape)}, ${name} ${shapeText(t.shape)}`, { shapes: [want, x.shape, t.shape] });
  }
  return reshape(t, x.shape.map((n, i) => (axes.includes(i) ? n : 1)));
}

export interface ScaleAndShift {
  weight?: TensorLike | undefined;
  bias?: TensorLike | undefined;
}

/** x, seen in the shape `as`, standardized over axes of that; times weight, plus bias, which lie along `scaled`. Halves
 *  are computed as float32. */
export function normalizeOver(
  op: string,
  x: Tensor,
  how: { as?: readonly number[]; axes: readonly number[]; scaled: readonly number[]; eps: number },
  { weight, bias }: ScaleAndShift,
): Tensor {
  const wide = x.astype(accumulatorOf(x.dtype));
  let y = standardize(how.as ? reshape(wide, how.as) : wide, how.axes, how.eps);
  if (how.as) y = reshape(y, x.shape);
  if (weight !== undefined) y = mul(y, alongAxes(op, 'weight', x, how.scaled, weight));
  if (bias !== undefined) y = add(y, alongAxes(op, 'bias', x, how.scaled, bias));
  return isHalf(x.dtype) ? y.astype(x.dtype) : y;
}

interface ChannelNorm extends ScaleAndShift {
  axis: number;
  eps: number;
}

/** x (n, ...) and the axis of its channels, which is not the first. */
function channelsOf(op: string, x: TensorLike, axis: number): { t: Tensor; at: number } {
  const t = asTensor(x, op);
  const at = resolveAxis(op, axis, t.shape);
  if (at === 0) throw new ShapeError(op, `channels cannot be the first axis, that of the batch: a ${shapeText(t.shape)}`, { shapes: [t.shape] });
  return { t, at };
}

/** (x - mean) / sqrt(var + eps) of x (n, ...), of each of n over all of a group of channels, which lie side by side;
 *  times weight, plus bias, which have an element per channel. */
export function groupNorm(x: TensorLike, groups: number, { axis, eps, ...scale }: ChannelNorm): Tensor {
  checkInteger('groupNorm', 'groups', groups, 1);
  return tidy(() => {
    const { t, at } = channelsOf('groupNorm', x, axis);
    if (t.shape[at]! % groups) {
      throw new ShapeError('groupNorm', `${groups} groups do not divide the channels: a ${shapeText(t.shape)}`, { shapes: [t.shape] });
    }
    const as = [...t.shape.slice(0, at), groups, t.shape[at]! / groups, ...t.shape.slice(at + 1)];
    const axes = as.map((_, i) => i).filter((i) => i !== 0 && i !== at);
    return normalizeOver('groupNorm', t, { as, axes, scaled: [at], eps }, scale);
  });
}

/** (x - mean) / sqrt(var + eps) of x (n, ...), of each of n and each channel over all other axes; times weight, plus
 *  bias, which have an element per channel. */
export function instanceNorm(x: TensorLike, { axis, eps, ...scale }: ChannelNorm): Tensor {
  return tidy(() => {
    const { t, at } = channelsOf('instanceNorm', x, axis);
    const axes = t.shape.map((_, i) => i).filter((i) => i !== 0 && i !== at);
    return normalizeOver('instanceNorm', t, { axes, scaled: [at], eps }, scale);
  });
}
