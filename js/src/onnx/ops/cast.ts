// Conversions between types. Floats of less than 16 bits are held in float32, and are rounded here to the nearest value of
// their type, ties to even.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Node } from '../plan.js';
import { BOOL, dtypeOf, floatForm, FLOAT8E8M0, isFloatType, isIntegerType, largestOf, rangeOf, STRING, type FloatForm } from '../types.js';
import { known, made, type Value } from '../value.js';

/** Mantissa bits of float32. */
const MANTISSA = 23;

/** Rounds x to the nearest number of a form with fewer bits, as if its exponent had no upper limit. */
function roundedTo(x: Tensor, { mantissa, bias }: FloatForm): Tensor {
  const drop = MANTISSA - mantissa;
  const bits = sn.bitcast(x, 'int32');
  const odd = sn.bitwiseAnd(sn.bitwiseRightShift(bits, drop), 1);
  const normal = sn.bitcast(sn.bitwiseAnd(sn.add(sn.add(bits, odd), 2 ** (drop - 1) - 1), -(2 ** drop)), 'float32');
  const least = 2 ** (1 - bias);
  const tiny = sn.mul(sn.round(sn.div(x, least * 2 ** -mantissa)), least * 2 ** -mantissa);
  return sn.where(sn.less(sn.abs(x), least), tiny, normal);
}

/** Rounds x to a form of less than 16 bits. Beyond its range the result is its largest number (saturate), or what the form
 *  has instead. */
export function toSmallFloat(x: Tensor, form: FloatForm, saturate: boolean): Tensor {
  const wide = x.astype('float32');
  const most = largestOf(form);
  const near = roundedTo(wide, form);
  const beyond = saturate || form.highest === 'none' ? sn.mul(sn.sign(wide), most) : form.highest === 'ieee' ? sn.mul(sn.sign(wide), Infinity) : NaN;
  const fits = sn.lessEqual(sn.abs(near), most);
  return sn.where(sn.isnan(wide), form.highest === 'none' ? 0 : wide, sn.where(fits, near, beyond));
}

/** Rounds |x| to a power of 2. */
function toPowerOf2(x: Tensor, mode: string, saturate: boolean): Tensor {
  const wide = x.astype('float32');
  const bits = sn.bitcast(sn.abs(wide), 'int32');
  const added = mode === 'up' ? 2 ** MANTISSA - 1 : mode === 'nearest' ? 2 ** (MANTISSA - 1) : 0;
  const power = sn.bitcast(sn.bitwiseAnd(sn.add(bits, added), -(2 ** MANTISSA)), 'float32');
  const [least, most] = [2 ** -127, 2 ** 127];
  const within = sn.maximum(sn.where(sn.greater(power, most), saturate ? most : NaN, power), least);
  return sn.where(sn.isnan(wide), wide, within);
}

/** Converts texts to numbers, or values to texts. */
function convertTexts(x: Value, to: number): Value {
  if (to === STRING) {
    const spell = (value: number): string => (Number.isInteger(value) || !isFloatType(x.type) ? `${value}` : `${Number(value.toPrecision(9))}`);
    const elements = x.type === STRING ? x.texts : x.numbers.map((value) => (x.type === BOOL ? (value ? '1' : '0') : spell(value)));
    return known(STRING, x.shape, elements);
  }
  const numbers = x.texts.map((text) => (/^[+-]?inf/i.test(text) ? (text[0] === '-' ? -Infinity : Infinity) : Number(text)));
  return made(to, sn.tensor(isIntegerType(to) ? Int32Array.from(numbers) : Float64Array.from(numbers), { shape: [...x.shape] }).astype(dtypeOf(to)));
}

/** Wraps whole numbers to the lowest bits of a narrower type. */
function narrowed(t: Tensor, to: number): Tensor {
  const [least, most] = rangeOf(to);
  if (most >= 0x7fffffff) return t;
  const wide = t.astype('int32');
  return least === 0 ? sn.bitwiseAnd(wide, most) : sn.add(sn.bitwiseAnd(sn.sub(wide, least), most - least), least);
}

/** Converts a value to another type. */
export function convert(n: Node, x: Value, to: number): Value {
  if (to === x.type) return x;
  if (to === STRING || x.type === STRING) return convertTexts(x, to);
  const t = x.t;
  if (to === FLOAT8E8M0) return made(to, toPowerOf2(t, n.text('round_mode', 'up'), n.flag('saturate', true)));
  const form = floatForm(to);
  if (form && dtypeOf(to) === 'float32' && to !== 1) return made(to, toSmallFloat(t, form, n.flag('saturate', true)));
  if (isIntegerType(to)) {
    const whole = isIntegerType(x.type) || x.type === BOOL ? t : t.astype('int32');
    return made(to, narrowed(whole, to));
  }
  return made(to, to === BOOL ? sn.notEqual(t, 0) : t);
}
