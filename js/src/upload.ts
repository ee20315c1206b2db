// Moves numbers from JS into the core's memory: one allocation there, written in place.

import { sizeOf } from './axes.js';
import { fitsInt32, isNumericArray, shown } from './check.js';
import { DTypeError, ShapeError, SinterError, shapeText } from './errors.js';
import { dtypeNumber, isHalf, viewOf, type DType, type Elements } from './dtype.js';
import { noticePressure } from './pressure.js';
import { makeMeta, type Meta, type NestedArray } from './tensor.js';
import type { Runtime } from './runtime/runtime.js';

export type NumericArray =
  | Float32Array
  | Float64Array
  | Int32Array
  | Int16Array
  | Int8Array
  | Uint32Array
  | Uint16Array
  | Uint8Array
  | Uint8ClampedArray
  | (ArrayBufferView & ArrayLike<number>); // Float16Array, of which not every library knows

export const MAX_RANK = 8;

/** Checks a shape as users write it. */
export function checkShape(op: string, shape: readonly number[]): readonly number[] {
  if (!Array.isArray(shape))
    throw new ShapeError(op, `a shape is an array of sizes, not ${shown(shape)}`, { hint: 'write [2, 3]' });
  if (shape.length > MAX_RANK) throw new ShapeError(op, `rank ${shape.length}, at most ${MAX_RANK}`);
  for (const dim of shape as readonly unknown[]) {
    if (!(fitsInt32(dim) && dim >= 0)) {
      const sizes = Array.from(shape as readonly unknown[], (each) => (typeof each === 'number' ? each : shown(each)));
      throw new ShapeError(op, `${shown(dim)} is not a size: ${shapeText(sizes)}`);
    }
  }
  return shape;
}

/** Makes a tensor whose elements fill writes into the core's memory; returns its address. */
export function allocate(
  rt: Runtime,
  meta: Meta,
  fill: (elements: Elements) => void,
): number {
  rt.send(meta.shape);
  const address = rt.check(rt.exports.sinter_empty(dtypeNumber(meta.dtype), meta.shape.length));
  fill(viewOf(meta.dtype, rt.memory.buffer, rt.word(0) >>> 0, sizeOf(meta.shape)));
  noticePressure(rt, sizeOf(meta.shape));
  return address;
}

/** By name, since not every engine has the class. */
const isFloat16Array = (data: NumericArray): boolean =>
  Object.prototype.toString.call(data) === '[object Float16Array]';

function dtypeOfArray(op: string, data: NumericArray): DType {
  if (data instanceof Float32Array) return 'float32';
  if (data instanceof Float64Array) return 'float64';
  if (data instanceof Int8Array) return 'int8';
  if (data instanceof Uint8Array || data instanceof Uint8ClampedArray) return 'uint8';
  if (data instanceof Uint32Array) {
    throw new DTypeError(op, 'a Uint32Array needs a dtype', { hint: "dtype: 'int32' keeps its bits" });
  }
  if ('BYTES_PER_ELEMENT' in data && data.BYTES_PER_ELEMENT <= 4) return 'int32';
  throw new DTypeError(op, `${shown(data)} is not available as a dtype`);
}

/** The shape of nested arrays, read along their first elements. */
function nestedShape(op: string, nested: NestedArray): number[] {
  const shape: number[] = [];
  for (let level = nested; Array.isArray(level); level = (level as readonly NestedArray[])[0] ?? 0) {
    shape.push(level.length);
    if (shape.length > MAX_RANK) throw new ShapeError(op, `nested deeper than rank ${MAX_RANK}`);
    if (level.length === 0) break;
  }
  return shape;
}

/** Appends the numbers of nested arrays of the given shape; anything ragged is an error. */
function flattenNested(
  op: string,
  nested: NestedArray,
  shape: readonly number[],
  depth: number,
  out: number[],
): void {
  if (depth === shape.length) {
    if (typeof nested !== 'number' && typeof nested !== 'boolean') {
      const what = Array.isArray(nested) ? 'arrays of unequal depth' : shown(nested);
      throw new SinterError('argument', op, `expected numbers in nested arrays, found ${what}`);
    }
    out.push(Number(nested));
    return;
  }
  if (!Array.isArray(nested) || nested.length !== shape[depth]) {
    throw new ShapeError(op, `nested arrays of unequal lengths, expected ${shapeText(shape)}`, { shapes: [shape] });
  }
  for (const item of nested as readonly NestedArray[]) flattenNested(op, item, shape, depth + 1, out);
}

const areBooleans = (nested: NestedArray): boolean =>
  Array.isArray(nested) ? (nested as readonly NestedArray[]).every(areBooleans) : typeof nested === 'boolean';

/** The least and the largest integer that a dtype holds. */
const RANGES: Readonly<Partial<Record<DType, readonly [number, number]>>> = {
  int32: [-0x80000000, 0x7fffffff],
  int8: [-128, 127],
  uint8: [0, 255],
};

/** Refuses numbers beyond the range of an integer dtype; fractions of the others are cut off later. */
export function checkInRange(op: string, values: ArrayLike<number>, dtype: DType): void {
  const range = RANGES[dtype];
  if (!range) return;
  const [least, most] = range;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value > least - 1 && value < most + 1) continue;
    const which = values.length > 1 ? `element ${i} is ${value}` : String(value);
    throw new SinterError('argument', op, `${which}, and ${dtype} holds ${least} to ${most}`, {
      hint: 'astype of a float tensor saturates',
    });
  }
}

/** Whether every element of the array is in the dtype's range without a check; a Uint32Array given as int32 means its bits. */
const isSure = (data: NumericArray, dtype: DType): boolean =>
  dtype === 'int32'
    ? !(data instanceof Float32Array || data instanceof Float64Array || isFloat16Array(data))
    : dtype === 'uint8'
      ? data instanceof Uint8Array || data instanceof Uint8ClampedArray
      : dtype === 'int8' && data instanceof Int8Array;

/** Calls look, which reads an array's memory; refuses an array whose memory was transferred to another thread. */
export function readMemory<T>(op: string, array: unknown, look: () => T): T {
  try {
    return look();
  } catch {
    throw new SinterError('argument', op, `the memory of ${shown(array)} was transferred elsewhere`);
  }
}

interface Source {
  values: ArrayLike<number>;
  shape: readonly number[];
  dtype: DType;
}

/** The elements, shape and dtype of what users give as numbers. */
export function readElements(op: string, data: NestedArray | NumericArray, dtype?: DType): Source {
  if (isNumericArray(data)) {
    // An array without its memory looks empty.
    if (data.length === 0) readMemory(op, data, () => new Uint8Array(data.buffer as ArrayBuffer));
    if (data instanceof BigInt64Array || data instanceof BigUint64Array)
      throw new DTypeError(op, `${shown(data)} is not available as a dtype`);
    if (isFloat16Array(data)) {
      const bits = new Uint16Array(data.buffer, data.byteOffset, data.length);
      return { values: dtype && dtype !== 'float16' ? data : bits, shape: [data.length], dtype: dtype ?? 'float16' };
    }
    const own = dtype ?? dtypeOfArray(op, data);
    if (!isSure(data, own)) checkInRange(op, data, own);
    return { values: data, shape: [data.length], dtype: own };
  }
  const shape = nestedShape(op, data);
  const values: number[] = [];
  flattenNested(op, data, shape, 0, values);
  if (dtype) checkInRange(op, values, dtype);
  const isBool = values.length > 0 && areBooleans(data);
  return { values, shape, dtype: dtype ?? (isBool ? 'bool' : 'float32') };
}

/** Makes a tensor in the core from nested arrays or a typed array; returns its address. */
export function upload(
  rt: Runtime,
  op: string,
  data: NestedArray | NumericArray,
  options: { shape?: readonly number[]; dtype?: DType } = {},
): { address: number; meta: Meta } {
  const elements = readElements(op, data, options.dtype);
  const shape = options.shape !== undefined ? checkShape(op, options.shape) : elements.shape;
  if (sizeOf(shape) !== elements.values.length) {
    throw new ShapeError(op, `${elements.values.length} elements do not fill ${shapeText(shape)}`, { shapes: [shape] });
  }
  const meta = makeMeta(elements.dtype, shape);
  const rounded = isHalf(meta.dtype) && !(elements.values instanceof Uint16Array);
  const address = allocate(rt, rounded ? makeMeta('float32', shape) : meta, (out) => {
    if (meta.dtype === 'bool') for (let i = 0; i < out.length; i++) out[i] = Number(elements.values[i]) === 0 ? 0 : 1;
    else out.set(elements.values);
  });
  if (!rounded) return { address, meta };
  const cast = rt.exports.sinter_astype(address, dtypeNumber(meta.dtype));
  rt.exports.sinter_release(address);
  return { address: rt.check(cast), meta };
}
