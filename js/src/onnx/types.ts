// The element types of ONNX, and the dtypes that hold them. A type without a dtype is held by a wider one: whole numbers of 16,
// 32 and 64 bits by int32 (values that do not fit are refused when they enter, never wrapped), those below 8 bits by int8 and
// uint8, floats below 16 bits by float32.

import { UnsupportedError, type DType } from '../index.js';

/** The format of a float: bits of exponent and mantissa, the bias, and the meaning of the highest codes. */
export interface FloatForm {
  exponent: number;
  mantissa: number;
  bias: number;
  /** ieee: infinities and NaNs; fn: the highest code is NaN; uz: -0 is NaN; none: all codes are numbers. */
  highest: 'ieee' | 'fn' | 'uz' | 'none';
}

export interface ElementType {
  name: string;
  dtype: DType | 'string';
  bits: number;
  /** Whether an integer type has a sign; undefined for other types. */
  signed?: boolean;
  float?: FloatForm;
}

const float = (name: string, dtype: DType, exponent: number, mantissa: number, bias: number, highest: FloatForm['highest']): ElementType => ({
  name,
  dtype,
  bits: highest === 'none' ? 4 : exponent + mantissa + 1,
  float: { exponent, mantissa, bias, highest },
});

const integer = (name: string, dtype: DType, bits: number): ElementType => ({ name, dtype, bits, signed: name[0] === 'i' });

export const FLOAT = 1;
export const UINT8 = 2;
export const INT8 = 3;
export const INT32 = 6;
export const INT64 = 7;
export const STRING = 8;
export const BOOL = 9;
export const DOUBLE = 11;
export const FLOAT8E8M0 = 24;

/** By the number of the type in TensorProto.DataType. */
const TYPES: Readonly<Record<number, ElementType>> = {
  1: float('float', 'float32', 8, 23, 127, 'ieee'),
  2: integer('uint8', 'uint8', 8),
  3: integer('int8', 'int8', 8),
  4: integer('uint16', 'int32', 16),
  5: integer('int16', 'int32', 16),
  6: integer('int32', 'int32', 32),
  7: integer('int64', 'int32', 64),
  8: { name: 'string', dtype: 'string', bits: 0 },
  9: { name: 'bool', dtype: 'bool', bits: 8 },
  10: float('float16', 'float16', 5, 10, 15, 'ieee'),
  11: float('double', 'float64', 11, 52, 1023, 'ieee'),
  12: integer('uint32', 'int32', 32),
  13: integer('uint64', 'int32', 64),
  16: float('bfloat16', 'bfloat16', 8, 7, 127, 'ieee'),
  17: float('float8e4m3fn', 'float32', 4, 3, 7, 'fn'),
  18: float('float8e4m3fnuz', 'float32', 4, 3, 8, 'uz'),
  19: float('float8e5m2', 'float32', 5, 2, 15, 'ieee'),
  20: float('float8e5m2fnuz', 'float32', 5, 2, 16, 'uz'),
  21: integer('uint4', 'uint8', 4),
  22: integer('int4', 'int8', 4),
  23: float('float4e2m1', 'float32', 2, 1, 1, 'none'),
  24: { name: 'float8e8m0', dtype: 'float32', bits: 8 },
  25: integer('uint2', 'uint8', 2),
  26: integer('int2', 'int8', 2),
};

export function elementType(op: string, what: string, type: number): ElementType {
  const found = TYPES[type];
  if (found) return found;
  throw new UnsupportedError(op, `${what} has elements of type ${type}${type === 14 || type === 15 ? ', complex' : ''}, which are not read`);
}

export const typeName = (type: number): string => TYPES[type]?.name ?? `type ${type}`;

/** The dtype whose tensors hold elements of a type. */
export function dtypeOf(type: number): DType {
  const { dtype, name } = elementType('onnx', 'a value', type);
  if (dtype === 'string') throw new UnsupportedError('onnx', `elements of type ${name} have no tensor`);
  return dtype;
}

export const bitsOf = (type: number): number => TYPES[type]?.bits ?? 0;

export const isFloatType = (type: number): boolean => TYPES[type]?.float !== undefined || type === FLOAT8E8M0;

/** Whether a type is one of whole numbers. */
export const isIntegerType = (type: number): boolean => TYPES[type]?.signed !== undefined;

/** The smallest and largest value of an integer type, as far as int32 holds them. */
export function rangeOf(type: number): [least: number, most: number] {
  const { bits, signed } = TYPES[type]!;
  if (bits >= 32) return [signed ? -0x80000000 : 0, 0x7fffffff];
  return signed ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
}

export const floatForm = (type: number): FloatForm | undefined => TYPES[type]?.float;

/** The largest finite number of a format. */
export function largestOf({ exponent, mantissa, bias, highest }: FloatForm): number {
  const top = 2 ** exponent - 1 - bias - Number(highest === 'ieee');
  return 2 ** top * (2 - 2 ** -mantissa - (highest === 'fn' ? 2 ** -mantissa : 0));
}

/** The number that a code of a format stands for. */
export function numberOfCode(code: number, form: FloatForm): number {
  const { exponent, mantissa, bias, highest } = form;
  const sign = (code >> (exponent + mantissa)) & 1 ? -1 : 1;
  const e = (code >> mantissa) & ((1 << exponent) - 1);
  const m = code & ((1 << mantissa) - 1);
  const isTop = e === (1 << exponent) - 1;
  if (highest === 'ieee' && isTop) return m === 0 ? sign * Infinity : NaN;
  if (highest === 'fn' && isTop && m === (1 << mantissa) - 1) return NaN;
  if (highest === 'uz' && code === 1 << (exponent + mantissa)) return NaN;
  return sign * (e === 0 ? m * 2 ** (1 - bias - mantissa) : (1 + m / 2 ** mantissa) * 2 ** (e - bias));
}
