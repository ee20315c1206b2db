// Numbers of few bits with scales, and products of them, whose sums are exact in int32.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Node, Op } from '../plan.js';
import { countOf } from '../tensors.js';
import { dtypeOf, floatForm, INT32, INT8, isIntegerType, rangeOf, UINT8 } from '../types.js';
import { made, type Value } from '../value.js';
import { toSmallFloat } from './cast.js';
import { convolved, perChannel } from './convolution.js';
import { axisOf } from './shape.js';

/** A scale or zero point in a shape that broadcasts with x: one in all, one per index of an axis, or one per block along it. */
function spread(n: Node, t: Tensor, x: Value): Tensor {
  if (t.size === 1) return sn.reshape(t, []);
  const axis = axisOf(n.int('axis', 1), x.rank);
  if (t.ndim === 1 && x.rank !== 1) return sn.reshape(t, x.shape.map((_, i) => (i === axis ? -1 : 1)));
  const block = n.int('block_size') || x.shape[axis]! / t.shape[axis]!;
  if (block === 1 || t.ndim !== x.rank) return t;
  const whole = sn.repeat(t, Math.ceil(block), { axis });
  return sn.slice(whole, whole.shape.map(() => 0), x.shape);
}

/** Rounds numbers to whole ones, and clamps them to the range of a type. */
function saturated(t: Tensor, type: number): Tensor {
  const [least, most] = rangeOf(type);
  return sn.clip(sn.round(t), least, most);
}

/** x divided by its scale, as a type of few bits. */
function quantized(n: Node, x: Value, scale: Tensor, zero: Tensor | null, type: number): Value {
  const wide = x.t.dtype === 'float64' ? x.t : x.t.astype('float32');
  const ratio = sn.div(wide, spread(n, scale.astype(wide.dtype), x));
  if (!isIntegerType(type)) {
    return made(type, toSmallFloat(zero ? sn.add(ratio, spread(n, zero.astype('float32'), x)) : ratio, floatForm(type)!, n.flag('saturate', true)));
  }
  const whole = sn.round(ratio);
  return made(type, saturated(zero ? sn.add(whole, spread(n, zero.astype(wide.dtype), x)) : whole, type).astype(dtypeOf(type)));
}

const quantizeLinear: Op = {
  since: 10,
  run: (n, x, scale, zero) => quantized(n, x!, scale!.t, zero?.t ?? null, zero?.type ?? (n.int('output_dtype') || UINT8)),
};

const dequantizeLinear: Op = {
  since: 10,
  run: (n, x, scale, zero) => {
    const type = n.int('output_dtype') || scale!.type;
    const factor = spread(n, scale!.t.astype('float32'), x!);
    const numbers = isIntegerType(x!.type) ? x!.t.astype('int32') : x!.t.astype('float32');
    const apart = zero ? sn.sub(numbers, spread(n, zero.t.astype(numbers.dtype), x!)) : numbers;
    return made(type, sn.mul(apart.astype('float32'), factor));
  },
};

/** Scale and zero point follow from the minimum and maximum of x. */
const dynamicQuantizeLinear: Op = {
  since: 11,
  run: (_, x) => {
    const [least, most] = [sn.minimum(sn.min(x!.t), 0), sn.maximum(sn.max(x!.t), 0)];
    const range = sn.div(sn.sub(most, least), 255);
    const scale = sn.where(sn.equal(range, 0), 1, range);
    const zero = saturated(sn.neg(sn.div(least, scale)), UINT8);
    const y = saturated(sn.add(sn.round(sn.div(x!.t, scale)), zero), UINT8);
    return [made(UINT8, y.astype('uint8')), scale, made(UINT8, zero.astype('uint8'))];
  },
};

/** Whole numbers minus their zero point, in float32. A zero point known to be 0 adds no op, so packing reads the numbers in
 *  place. */
function whole(x: Value, zero: Value | undefined, shape: (zero: Tensor) => Tensor = (t) => t): Tensor {
  const t = x.t.astype('float32');
  if (!zero || (zero.host && zero.numbers.every((z) => z === 0))) return t;
  return sn.sub(t, shape(zero.t).astype('float32'));
}

/** An operand of a product, as numbers of 8 bits. */
interface Bytes {
  t: Tensor;
  /** The zero point; null: 0. */
  zero: Tensor | null;
}

/** A value per row of the left operand, in a shape that broadcasts with the product's rows. */
const byRows = (t: Tensor): Tensor => (t.ndim === 1 && t.size > 1 ? sn.reshape(t, [-1, 1]) : t);

/**
 * An operand as the type that machines multiply: uint8 on the left, int8 on the right. Numbers of the other signedness are
 * shifted by 128, together with their zero point. For weights this, and their sums, are computed once per program.
 */
function inBytes(x: Value, zero: Value | undefined, type: number): Bytes {
  const move = x.type === type ? 0 : type === UINT8 ? 128 : -128;
  const moved = (t: Tensor): Tensor => (move === 0 ? t : sn.add(t.astype('int32'), move));
  const isZero = zero ? zero.host && zero.numbers.every((z) => z + move === 0) : move === 0;
  const from = isZero ? null : zero ? moved(zero.t.astype('int32')) : sn.tensor(move, { dtype: 'int32' });
  return { t: moved(x.t).astype(dtypeOf(type)), zero: from };
}

/** A matrix product in which each number is taken minus its zero point: (a - p)(b - q) = ab - pb - q(a - p). */
function product(a: Value, aZero: Value | undefined, b: Value, bZero: Value | undefined): Tensor {
  const [left, right] = [inBytes(a, aZero, UINT8), inBytes(b, bZero, INT8)];
  const [x, y] = [left.t.astype('int32'), right.t.astype('int32')];
  const p = left.zero && b.rank > 1 ? byRows(left.zero) : left.zero;
  let sum = sn.matmul(x, y);
  if (p) sum = sn.sub(sum, sn.mul(sn.sum(y, { axis: Math.max(b.rank - 2, 0), keepdims: a.rank > 1 }), p));
  if (!right.zero) return sum;
  const rows = sn.sum(x, { axis: -1, keepdims: b.rank > 1 });
  return sn.sub(sum, sn.mul(p ? sn.sub(rows, sn.mul(p, a.shape[a.rank - 1]!)) : rows, right.zero));
}

/** The most products of 8-bit numbers that float32 sums exactly. */
const EXACT = Math.floor(2 ** 24 / 255 ** 2);

/** A convolution of whole numbers: in float32 where that is exact, otherwise in int32. */
function convolvedWhole(n: Node, x: Tensor, w: Tensor): Tensor {
  const dtype = countOf(w.shape.slice(1)) <= EXACT ? 'float32' : 'int32';
  return convolved(n, x.astype(dtype), w.astype(dtype)).astype('int32');
}

/** Scales sums of products to the result's scale and zero point. */
function requantized(sum: Tensor, factor: Tensor, zero: Value): Value {
  const y = sn.add(sn.round(sn.mul(sum.astype('float32'), factor)), zero.t.astype('float32'));
  return made(zero.type, saturated(y, zero.type).astype(dtypeOf(zero.type)));
}

/** A value per filter, in a shape that broadcasts with the filters. */
const byFilters = (t: Tensor, rank: number): Tensor => (t.size > 1 ? sn.reshape(t, [-1, ...new Array<number>(rank - 1).fill(1)]) : t);

const matMulInteger: Op = {
  since: 10,
  run: (_, a, b, aZero, bZero) => made(INT32, product(a!, aZero, b!, bZero)),
};

const convInteger: Op = {
  since: 10,
  run: (n, x, w, xZero, wZero) => made(INT32, convolvedWhole(n, whole(x!, xZero), whole(w!, wZero, (t) => byFilters(t, w!.rank)))),
};

const qLinearMatMul: Op = {
  since: 10,
  run: (_, a, aScale, aZero, b, bScale, bZero, yScale, yZero) => {
    const sum = product(a!, aZero, b!, bZero);
    const [left, right, end] = [byRows(aScale!.t), bScale!.t, yScale!.t].map((t) => t.astype('float32')) as [Tensor, Tensor, Tensor];
    return requantized(sum, sn.div(sn.mul(left, right), end), yZero!);
  },
};

const qLinearConv: Op = {
  since: 10,
  run: (n, x, xScale, xZero, w, wScale, wZero, yScale, yZero, bias) => {
    let sum = convolvedWhole(n, whole(x!, xZero), whole(w!, wZero, (t) => byFilters(t, w!.rank)));
    if (bias) sum = sn.add(sum, perChannel(bias.t, sum.ndim));
    const filterScale = wScale!.size > 1 ? perChannel(wScale!.t, sum.ndim) : wScale!.t;
    return requantized(sum, sn.div(sn.mul(xScale!.t, filterScale), yScale!.t), yZero!);
  },
};

export const QUANTIZE: Readonly<Record<string, Op>> = {
  QuantizeLinear: quantizeLinear,
  DequantizeLinear: dequantizeLinear,
  DynamicQuantizeLinear: dynamicQuantizeLinear,
  MatMulInteger: matMulInteger,
  ConvInteger: convInteger,
  QLinearMatMul: qLinearMatMul,
  QLinearConv: qLinearConv,
};
