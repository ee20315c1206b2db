// Elements as files have them: little-endian bytes, row-major.
//
// A file is not trusted: its elements are counted before memory is asked for, and values that a dtype cannot hold are
// refused.

import { sizeOf } from '../axes.js';
import { shown } from '../check.js';
import { dtypeNumber, type DType, type Elements } from '../dtype.js';
import { ARRAYS, DTYPES } from '../dtypes.gen.js';
import { DTypeError, OutOfMemoryError, SinterError, UnsupportedError, damagedError } from '../errors.js';
import { runtime } from '../runtime/runtime.js';
import { makeMeta, wrap, type Tensor } from '../tensor.js';
import { allocate, checkShape, readMemory } from '../upload.js';

/** Integer dtypes that files have and tensors do not: their typed arrays. */
const WIDE = { int16: Int16Array, uint16: Uint16Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array };

/** A dtype of a file. */
export type StoredDType = DType | keyof typeof WIDE;

export interface DecodeOptions {
  /**
   * Converts int16, uint16, uint32, int64 and uint64 to int32; otherwise they are refused. A number that int32 does not
   * hold is always an error. Default false.
   */
  convert?: boolean;
}

export const DECODE = { convert: 'boolean' } as const;

const arrayOf = (dtype: StoredDType) => (dtype in WIDE ? WIDE[dtype as keyof typeof WIDE] : ARRAYS[dtypeNumber(dtype as DType)]!);

/** Bytes of an element. */
export const itemBytes = (dtype: StoredDType): number => arrayOf(dtype).BYTES_PER_ELEMENT;

/** The bytes of an argument, as a view of its memory. */
export function asBytes(op: string, given: unknown): Uint8Array {
  if (ArrayBuffer.isView(given)) return readMemory(op, given, () => new Uint8Array(given.buffer, given.byteOffset, given.byteLength));
  if (given instanceof ArrayBuffer) return readMemory(op, given, () => new Uint8Array(given));
  throw new SinterError('argument', op, `expected bytes, not ${shown(given)}`, {
    hint: 'a Uint8Array or an ArrayBuffer; await sn.io.read(file) gives one of a file, a Blob or a Response',
  });
}

/** A new array of so many bytes. */
export function makeBytes(op: string, size: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(size);
  } catch (cause) {
    throw new OutOfMemoryError(op, `no memory for a file of ${size} bytes`, { cause });
  }
}

/** The bytes of a tensor, computed if need be: a view of the core's memory, stale as soon as that grows. */
export function bytesOf(t: Tensor, op: string): Uint8Array {
  const rt = runtime();
  const at = rt.check(rt.exports.sinter_data(t.read(op))) >>> 0;
  return new Uint8Array(rt.memory.buffer, at, t.size * itemBytes(t.dtype));
}

/** The number of elements of a shape, or null if it is too large to be counted. */
export function countElements(shape: readonly number[]): number | null {
  let count = 1;
  for (const size of shape) {
    count *= size;
    if (!Number.isSafeInteger(count)) return null;
  }
  return count;
}

/** Refuses dtypes and shapes that fromBytes would refuse, without looking at the elements. */
export function checkStored(op: string, what: string, dtype: StoredDType, shape: readonly number[], convert: boolean): void {
  checkShape(op, shape);
  if (convert || (DTYPES as readonly string[]).includes(dtype)) return;
  throw new UnsupportedError(op, `${what} is ${dtype}, which tensors do not have`, {
    hint: '{ convert: true } makes int32 of integers that fit in it',
  });
}

/** Makes a tensor from the bytes of its elements, as many as the shape says. what: its name in errors. */
export function fromBytes(op: string, what: string, dtype: StoredDType, shape: readonly number[], bytes: Uint8Array): Tensor {
  if (dtype in WIDE) return narrowed(op, what, dtype as keyof typeof WIDE, shape, bytes);
  if (dtype === 'bool') checkBools(op, what, bytes);
  return filled(dtype as DType, shape, ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength).set(bytes));
}

/** Makes a tensor whose elements write puts into the core's memory. */
export function filled(dtype: DType, shape: readonly number[], write: (elements: Elements) => void): Tensor {
  const meta = makeMeta(dtype, shape);
  return wrap(allocate(runtime(), meta, write), meta);
}

function checkBools(op: string, what: string, bytes: Uint8Array): void {
  const wrong = bytes.findIndex((byte) => byte > 1);
  if (wrong >= 0) throw damagedError(op, `${what}: element ${wrong} is ${bytes[wrong]}, a bool is 0 or 1`);
}

function narrowed(op: string, what: string, dtype: keyof typeof WIDE, shape: readonly number[], bytes: Uint8Array): Tensor {
  // A copy, since a typed array has to begin at a multiple of its element size.
  const values = new WIDE[dtype](bytes.slice().buffer);
  const out = new Int32Array(sizeOf(shape));
  for (let i = 0; i < out.length; i++) {
    const value = Number(values[i]);
    if (value !== (value | 0)) {
      throw new DTypeError(op, `${what}: element ${i} is ${values[i]}, more than int32 holds`);
    }
    out[i] = value;
  }
  return fromBytes(op, what, 'int32', shape, new Uint8Array(out.buffer));
}
