// Numbers in 8 or 4 bits with a scale for each block of them: |x - scale * value| <= scale / 2.

import { asTensor, type TensorLike } from './apply.js';
import { resolveAxis } from './axes.js';
import { isPlainObject } from './check.js';
import { accumulatorOf } from './dtype.js';
import { DTypeError, ShapeError, SinterError, shapeText } from './errors.js';
import { abs, bitwiseAnd, bitwiseOr, bitwiseXor, div, equal, mul, round, shiftLeft, shiftRightLogical, sub, where } from './ops.gen.js';
import { expandDims, max, reshape, slice, squeeze, stack } from './functions.gen.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';

export interface Quantized {
  /** int8 in the shape of x, or uint8 with half as many along the axis. */
  values: Tensor;
  /** One for each block: the shape of x with the number of blocks along the axis. */
  scales: Tensor;
}

interface Layout {
  axis: number;
  bits: number;
}

function checkBits(op: string, bits: number): void {
  if (bits !== 8 && bits !== 4) throw new SinterError('argument', op, `no ${bits} bits, expected 8 or 4`);
}

/** The axis as blocks of `size` elements: an axis more, behind it. */
function inBlocks(op: string, t: Tensor, axis: number, size: number): Tensor {
  const n = t.shape[axis]!;
  if (size < 1 || n % size) {
    throw new ShapeError(op, `blocks of ${size} do not divide axis ${axis}: a ${shapeText(t.shape)}`, { shapes: [t.shape] });
  }
  return reshape(t, [...t.shape.slice(0, axis), n / size, size, ...t.shape.slice(axis + 1)]);
}

/**
 * x as whole numbers from -127 to 127 (of 4 bits -7 to 7) times a scale for each block along an axis: the largest |x|
 * of the block divided by 127 (7). Rounded to the nearest, of two the even; a block of zeros has scale 0.
 */
export function quantize(x: TensorLike, { axis, blockSize, bits }: Layout & { blockSize: number | undefined }): Quantized {
  checkBits('quantize', bits);
  return tidy(() => {
    const given = asTensor(x, 'quantize');
    const at = resolveAxis('quantize', axis, given.shape);
    const t = given.astype(accumulatorOf(given.dtype));
    const blocks = inBlocks('quantize', t, at, blockSize ?? Math.max(1, t.shape[at]!));
    const scales = div(max(abs(blocks), { axis: at + 1, keepdims: true }), bits === 8 ? 127 : 7);
    const steps = div(blocks, where(equal(scales, 0), 1, scales));
    const values = reshape(round(steps), t.shape).astype('int8');
    return { values: bits === 8 ? values : packInt4(values, { axis: at }), scales: squeeze(scales, at + 1) };
  });
}

/** What quantize was given, up to rounding: values times the scale of their block, in the dtype of the scales. */
export function dequantize(quantized: Quantized, { axis, bits }: Layout): Tensor {
  if (!isPlainObject(quantized) || quantized.values === undefined || quantized.scales === undefined) {
    throw new SinterError('argument', 'dequantize', 'expected { values, scales }, which quantize returns');
  }
  const { values, scales } = quantized;
  checkBits('dequantize', bits);
  return tidy(() => {
    const [stored, s] = [asTensor(values, 'dequantize'), asTensor(scales, 'dequantize')];
    const at = resolveAxis('dequantize', axis, stored.shape);
    const v = bits === 8 ? stored : unpackInt4(stored, { axis: at });
    const count = s.shape[at]!;
    if (s.ndim !== v.ndim || v.shape.some((n, i) => (i === at ? n % count !== 0 && n !== 0 : n !== s.shape[i]))) {
      throw new ShapeError('dequantize', `not a scale for each block: values ${shapeText(v.shape)}, scales ${shapeText(s.shape)}`, { shapes: [v.shape, s.shape] });
    }
    const blocks = inBlocks('dequantize', v, at, v.shape[at]! / count || 1);
    return reshape(mul(blocks.astype(s.dtype), expandDims(s, at + 1)), v.shape);
  });
}

/** Integers from -8 to 7, two along an axis in each uint8: the first in the lower 4 bits. */
export function packInt4(x: TensorLike, { axis }: { axis: number }): Tensor {
  return tidy(() => {
    const t = asTensor(x, 'packInt4');
    if (!['int8', 'uint8', 'int32'].includes(t.dtype)) throw new DTypeError('packInt4', `needs integers, not ${t.dtype}`);
    const at = resolveAxis('packInt4', axis, t.shape);
    const pairs = bitwiseAnd(inBlocks('packInt4', t.astype('int32'), at, 2), 15);
    const half = (i: number): Tensor =>
      squeeze(slice(pairs, pairs.shape.map((_, d) => (d === at + 1 ? i : 0)), pairs.shape.map((n, d) => (d === at + 1 ? 1 : n))), at + 1);
    return bitwiseOr(half(0), shiftLeft(half(1), 4)).astype('uint8');
  });
}

/** What packInt4 was given, as int8: twice as many along the axis. */
export function unpackInt4(x: TensorLike, { axis }: { axis: number }): Tensor {
  return tidy(() => {
    const t = asTensor(x, 'unpackInt4');
    if (t.dtype !== 'uint8') throw new DTypeError('unpackInt4', `needs uint8, not ${t.dtype}`);
    const at = resolveAxis('unpackInt4', axis, t.shape);
    const wide = t.astype('int32');
    const pairs = stack([bitwiseAnd(wide, 15), shiftRightLogical(wide, 4)], { axis: at + 1 });
    const signed = sub(bitwiseXor(pairs, 8), 8);
    return reshape(signed, t.shape.map((n, i) => (i === at ? 2 * n : n))).astype('int8');
  });
}
