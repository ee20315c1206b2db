// Division and power of integers, exactly. Of floats they are the op table's.

import { asTensor, type TensorLike } from './apply.js';
import { accumulatorOf } from './dtype.js';
import {
  bitwiseAnd,
  div,
  equal,
  floor,
  isfinite,
  less,
  logicalAnd,
  logicalOr,
  mod,
  mul,
  neg,
  notEqual,
  pow as powOfFloats,
  round,
  shiftRightLogical,
  sub,
  where,
} from './ops.gen.js';
import { tidy } from './scope.js';
import { Tensor } from './tensor.js';

const INTEGERS: readonly string[] = ['int32', 'int8', 'uint8', 'bool'];

/** Whether x is known to be integers; bare numbers take the dtype of what they meet. */
const isInteger = (x: TensorLike): boolean => x instanceof Tensor && INTEGERS.includes(x.dtype);

/** x // y of int32, where float64 quotients are exact enough: by -1 it wraps, by 0 it is 0, as in NumPy. */
function divideIntegers(x: Tensor, y: Tensor): Tensor {
  const none = equal(y, 0);
  const back = equal(y, -1);
  const quotient = floor(div(x.astype('float64'), where(logicalOr(none, back), 1, y).astype('float64')));
  return where(none, 0, where(back, neg(x), quotient.astype('int32')));
}

/** floor(x / y) without the rounding of x / y: the multiple of y that mod leaves, divided. */
function divideFloats(x: Tensor, y: Tensor): Tensor {
  const regular = logicalAnd(isfinite(y), notEqual(y, 0));
  return where(regular, round(div(sub(x, mod(x, y)), y)), floor(div(x, y)));
}

/**
 * The largest whole number not above x / y, so that x is floorDivide(x, y) y + mod(x, y), in the dtype of mod. Of
 * integers 0 for y = 0. Its derivative is taken to be 0.
 */
export function floorDivide(x: TensorLike, y: TensorLike): Tensor {
  return tidy(() => {
    const { dtype } = mod(x, y);
    const whole = INTEGERS.includes(dtype);
    const wide = whole ? 'int32' : accumulatorOf(dtype);
    const [a, b] = [x, y].map((operand) => asTensor(operand, 'floorDivide').astype(wide)) as [Tensor, Tensor];
    return (whole ? divideIntegers(a, b) : divideFloats(a, b)).astype(dtype);
  });
}

export { mod as remainder };

/** x^n for a whole n >= 0: squares, multiplied where n has a bit. */
function powerOfNumber(x: Tensor, n: number): Tensor {
  let [power, square]: [Tensor | null, Tensor] = [null, x];
  for (let left = n; left > 0; left = Math.floor(left / 2)) {
    if (left % 2) power = power ? mul(power, square) : square;
    if (left > 1) square = mul(square, square);
  }
  return power ?? x.mul(0).add(1);
}

/** x^y for int32: the 31 bits of y, one after the other; for y < 0 1 / x^-y, without its fraction. */
function powerOfTensor(x: Tensor, y: Tensor): Tensor {
  let [power, square]: [Tensor, Tensor] = [where(equal(bitwiseAnd(y, 1), 0), 1, x), x];
  for (let bit = 1; bit < 31; bit++) {
    square = mul(square, square);
    power = where(equal(bitwiseAnd(shiftRightLogical(y, bit), 1), 0), power, mul(power, square));
  }
  const isOdd = notEqual(bitwiseAnd(y, 1), 0);
  const inverse = where(equal(x, 1), x, where(equal(x, -1), where(isOdd, x, 1), 0));
  return where(less(y, 0), inverse, power);
}

/**
 * x^y. Integers to the power of integers give int32, modulo 2^32; a negative exponent tensor gives what is whole of
 * 1 / x^-y. A negative or fractional number as exponent makes float32 of integers, as all else is: C99's pow.
 */
export function pow(x: TensorLike, y: TensorLike): Tensor {
  if (!isInteger(x) && !isInteger(y)) return powOfFloats(x, y);
  const whole = (operand: TensorLike): boolean =>
    isInteger(operand) || (typeof operand === 'number' && Number.isInteger(operand) && Math.abs(operand) < 2 ** 31);
  if (!whole(x) || !whole(y) || (typeof y === 'number' && y < 0)) return powOfFloats(x, y);
  return tidy(() => {
    const base = typeof x === 'number' ? x : asTensor(x, 'pow').astype('int32');
    if (typeof y === 'number') return powerOfNumber(base as Tensor, y);
    const exponent = asTensor(y, 'pow').astype('int32');
    return powerOfTensor(typeof base === 'number' ? exponent.mul(0).add(base) : base, exponent);
  });
}
