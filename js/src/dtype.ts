// Element types: their names, their numbers in the interface to wasm, and their arrays.

import { DTypeError, UnsupportedError } from './errors.js';

export type DType = 'float32' | 'float64' | 'int32' | 'bool';

/** A dtype or one of its short names. */
export type DTypeName = DType | 'f32' | 'f64' | 'i32';

/** Elements as the read functions return them; bool as bytes 0 and 1. */
export type TensorData =
  Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

/** In the order of sn_dtype. */
const DTYPES: readonly DType[] = ['float32', 'float64', 'int32', 'bool'];

const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  bool: Uint8Array,
} as const;

const ALIASES: Readonly<Record<string, DType>> = {
  float32: 'float32',
  f32: 'float32',
  float64: 'float64',
  f64: 'float64',
  int32: 'int32',
  i32: 'int32',
  bool: 'bool',
};

const LATER = new Set(['float16', 'f16', 'bfloat16', 'bf16', 'int8', 'i8', 'uint8', 'u8', 'int64', 'i64']);

export function parseDType(name: DTypeName, op: string): DType {
  const dtype = Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined;
  if (dtype) return dtype;
  if (LATER.has(name)) {
    throw new UnsupportedError(`${op}: dtype ${name} is not available in this version`);
  }
  throw new DTypeError(`${op}: ${String(name)} is not a dtype`, { hint: `there are ${DTYPES.join(', ')}` });
}

export const dtypeNumber = (dtype: DType): number => DTYPES.indexOf(dtype);

export const dtypeFromNumber = (number: number): DType => DTYPES[number] ?? 'float32';

/** A view of elements in a buffer; stale as soon as the memory grows. */
export function viewOf(
  dtype: DType,
  buffer: ArrayBufferLike,
  address: number,
  size: number,
): Float32Array | Float64Array | Int32Array | Uint8Array {
  // The type says that shared buffers do not fit, the constructors take both.
  return new ARRAYS[dtype](buffer as ArrayBuffer, address, size);
}

/** A new array of elements outside the wasm memory. */
export function newArray(dtype: DType, size: number): TensorData {
  return new ARRAYS[dtype](size);
}
