// Element types: their names, their numbers in the interface to wasm, and their arrays.

import { shown } from './check.js';
import { ARRAYS, DTYPES, HALVES, SHORT } from './dtypes.gen.js';
import { DTypeError } from './errors.js';

/** The element types. Those of 16 and 8 bits are for storage: ops compute with them in float32 or int32, and round results. */
export type DType = (typeof DTYPES)[number];

/** A dtype, or its short name. */
export type DTypeName = DType | (typeof SHORT)[number];

/** Elements as the read functions return them: bool as bytes 0 and 1, float16 and bfloat16 as float32. */
export type TensorData = Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Int8Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>;

/** Views of elements in the core's memory; float16 and bfloat16 appear as their bits. */
export type Elements = Float32Array | Float64Array | Int32Array | Uint16Array | Int8Array | Uint8Array;

export function parseDType(name: DTypeName, op: string): DType {
  const dtype = DTYPES[DTYPES.indexOf(name as DType)] ?? DTYPES[SHORT.indexOf(name as (typeof SHORT)[number])];
  if (dtype) return dtype;
  throw new DTypeError(op, `${typeof name === 'string' ? name : shown(name)} is not a dtype`, { hint: `there are ${DTYPES.join(', ')}` });
}

export const dtypeNumber = (dtype: DType): number => DTYPES.indexOf(dtype);

export const dtypeFromNumber = (number: number): DType => DTYPES[number] ?? 'float32';

export const isFloat = (dtype: DType): boolean => dtype.includes('float');

/** Whether elements are floats of 16 bits, for which JavaScript has no array everywhere. */
export const isHalf = (dtype: DType): boolean => HALVES.includes(dtype);

/** The dtype for sums and running means of such elements: in 16 bits small terms would vanish, and large sums overflow. */
export const accumulatorOf = (dtype: DType): DType => (dtype === 'float64' ? dtype : 'float32');

/** A view of elements in a buffer; stale as soon as the wasm memory grows. */
export function viewOf(dtype: DType, buffer: ArrayBufferLike, address: number, size: number): Elements {
  // The type says that shared buffers do not fit, the constructors take both.
  return new ARRAYS[dtypeNumber(dtype)]!(buffer as ArrayBuffer, address, size);
}

/** A new array of elements outside the wasm memory. */
export function newArray(dtype: DType, size: number): TensorData {
  return new ARRAYS[dtypeNumber(dtype)]!(size) as TensorData;
}
