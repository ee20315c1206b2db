// Reads the elements of a TensorProto, as numbers and texts or as a tensor. Their count is checked against the available bytes
// before memory is allocated. Elements outside the file come only from buffers that the caller named.

import { internals, DTypeError, SinterError, tensor, UnsupportedError, type Tensor } from '../index.js';
import type { TensorProto } from './model.js';
import { Reader } from './protobuf.js';
import { elementType, FLOAT8E8M0, numberOfCode, typeName, type ElementType } from './types.js';

const { damagedError, fromBytes, shown, shapeText } = internals;

/** Elements in JavaScript, row-major: numbers (bools as 0 and 1) or texts. */
export type Elements = ArrayLike<number> | readonly string[];

/** Buffers with elements outside the file, by the names that the file gives them. */
export type External = Readonly<Record<string, Uint8Array | ArrayBuffer>>;

/** Where elements are read from. */
export interface Source {
  bytes: Uint8Array;
  external: External;
}

const nameOf = (t: TensorProto): string => `tensor ${shown(t.name)}`;

export function countOf(shape: readonly number[]): number {
  let count = 1;
  for (const size of shape) count *= size;
  return count;
}

/** The number of elements by the shape. Throws if it is too large to count. */
function elementsOf(t: TensorProto): number {
  const count = t.dims.includes(0) ? 0 : countOf(t.dims);
  if (!Number.isSafeInteger(count)) throw damagedError('onnx', `${nameOf(t)} has the shape ${shapeText(t.dims)}, more elements than can be counted`);
  return count;
}

function wrongLength(t: TensorProto, found: number, what: string): SinterError {
  return damagedError('onnx', `${nameOf(t)} has ${found} ${what}, the shape ${shapeText(t.dims)} of ${typeName(t.type)} has ${elementsOf(t)} elements`);
}

/** A whole number, written as a text in the file. */
function numberOf(t: TensorProto, key: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw damagedError('onnx', `${nameOf(t)}: ${key} of its elements is ${shown(text)}`);
}

/** The bytes of elements outside the file. */
function externalBytes(t: TensorProto, external: External): Uint8Array {
  const { location = '', offset = '0', length } = Object.fromEntries(t.external!);
  const found = Object.hasOwn(external, location) ? external[location]! : null;
  if (!found) {
    throw new SinterError('argument', 'onnx', `the elements of ${nameOf(t)} are in ${shown(location)}, outside of the file`, {
      hint: `onnx.load(bytes, { external: { ${JSON.stringify(location.slice(0, 40))}: bytes } }) has them`,
    });
  }
  const all = internals.asBytes('onnx', found);
  const begin = numberOf(t, 'offset', offset);
  const size = length === undefined ? all.length - begin : numberOf(t, 'length', length);
  if (begin > all.length || size > all.length - begin) throw damagedError('onnx', `the elements of ${nameOf(t)} are not within ${shown(location)}`);
  return all.subarray(begin, begin + size);
}

/** The elements as bytes, or null if they are in typed fields. */
function bytesOf(t: TensorProto, { bytes, external }: Source): Uint8Array | null {
  const found = t.external ? externalBytes(t, external) : t.raw ? bytes.subarray(t.raw.begin, t.raw.end) : null;
  if (!found) return null;
  const { bits, dtype } = elementType('onnx', nameOf(t), t.type);
  if (dtype === 'string') throw damagedError('onnx', `${nameOf(t)} has texts as bytes`);
  if (found.length !== Math.ceil((elementsOf(t) * bits) / 8)) throw wrongLength(t, found.length, 'bytes');
  return found;
}

/** Unpacks codes of less than 8 bits, the lowest bits first. */
function unpacked(bytes: ArrayLike<number>, bits: number, count: number): number[] {
  const [each, mask] = [8 / bits, 2 ** bits - 1];
  return Array.from({ length: count }, (_, i) => (bytes[Math.floor(i / each)]! >> ((i % each) * bits)) & mask);
}

/** The number that a code of at most 16 bits stands for. */
function decoded(code: number, type: number, { bits, signed, float }: ElementType): number {
  if (float) return numberOfCode(code, float);
  if (type === FLOAT8E8M0) return code === 255 ? NaN : 2 ** (code - 127);
  return signed && code >= 2 ** (bits - 1) ? code - 2 ** bits : code;
}

/** The elements from little-endian bytes. */
function numbersOfBytes(bytes: Uint8Array, type: number, element: ElementType, count: number): ArrayLike<number> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const list = (get: (at: number) => number, size: number): Float64Array => Float64Array.from({ length: count }, (_, i) => get(i * size));
  const { bits, signed } = element;
  if (type === 1) return Float32Array.from({ length: count }, (_, i) => view.getFloat32(i * 4, true));
  if (type === 11) return list((at) => view.getFloat64(at, true), 8);
  if (bits === 64) return list((at) => (signed ? view.getInt32(at + 4, true) : view.getUint32(at + 4, true)) * 2 ** 32 + view.getUint32(at, true), 8);
  if (bits === 32) return list((at) => (signed ? view.getInt32(at, true) : view.getUint32(at, true)), 4);
  if (bits === 16) return list((at) => decoded(view.getUint16(at, true), type, element), 2);
  const codes: ArrayLike<number> = bits < 8 ? unpacked(bytes, bits, count) : bytes;
  return Float64Array.from(codes, (code) => decoded(code, type, element));
}

/** The elements from the message's typed fields. */
function numbersInFields(t: TensorProto, element: ElementType, bytes: Uint8Array): ArrayLike<number> {
  const reader = new Reader(bytes, nameOf(t), t.range);
  const found: number[] = [];
  while (reader.next()) {
    if (reader.field === 4) reader.floats(found);
    else if (reader.field === 5 || reader.field === 7 || reader.field === 11) reader.ints(found);
    else if (reader.field === 10) reader.doubles(found);
    else reader.skip();
  }
  const { bits, float, dtype } = element;
  if (t.type === 1 || t.type === 11 || bits >= 32) return found;
  if (bits < 8) return unpacked(found, bits, elementsOf(t)).map((code) => decoded(code, t.type, element));
  const hasCodes = float !== undefined || t.type === FLOAT8E8M0;
  return hasCodes ? found.map((code) => decoded(code & (2 ** bits - 1), t.type, element)) : dtype === 'bool' ? found.map((x) => Number(x !== 0)) : found;
}

function textsInFields(t: TensorProto, bytes: Uint8Array): string[] {
  const reader = new Reader(bytes, nameOf(t), t.range);
  const found: string[] = [];
  while (reader.next()) {
    if (reader.field === 6) found.push(reader.text());
    else reader.skip();
  }
  return found;
}

/** Reads the elements of a tensor of a file. */
export function readElements(t: TensorProto, source: Source): Elements {
  const element = elementType('onnx', nameOf(t), t.type);
  const count = elementsOf(t);
  const raw = bytesOf(t, source);
  if (raw) return numbersOfBytes(raw, t.type, element, count);
  const found = element.dtype === 'string' ? textsInFields(t, source.bytes) : numbersInFields(t, element, source.bytes);
  if (found.length !== count) throw wrongLength(t, found.length, 'elements');
  return found;
}

/** A tensor of elements, in the dtype that holds their type. Throws for whole numbers beyond int32. */
export function tensorOf(what: string, type: number, shape: readonly number[], elements: Elements): Tensor {
  const { dtype } = elementType('onnx', what, type);
  if (dtype === 'string') throw new UnsupportedError('onnx', `${what} has texts, which tensors do not have`);
  if (dtype !== 'int32') {
    const numbers = dtype === 'float64' ? Float64Array : dtype.includes('float') ? Float32Array : dtype === 'int8' ? Int8Array : Uint8Array;
    return tensor(numbers.from(elements as ArrayLike<number>), { dtype, shape: [...shape] });
  }
  const out = new Int32Array(elements.length);
  for (let i = 0; i < out.length; i++) {
    const value = elements[i] as number;
    if (value !== (value | 0)) throw new DTypeError('onnx', `${what}: element ${i} is ${value}, more than int32 holds`);
    out[i] = value;
  }
  return tensor(out, { dtype, shape: [...shape] });
}

/** Reads a tensor of a file as a tensor of Sinter; the caller owns it. */
export function readTensor(t: TensorProto, source: Source): Tensor {
  const { dtype, bits, float } = elementType('onnx', nameOf(t), t.type);
  const raw = dtype === 'string' ? null : bytesOf(t, source);
  const isSame = raw !== null && dtype !== 'string' && (t.type === 1 || t.type === 6 || t.type === 10 || t.type === 11 || t.type === 16 || (bits === 8 && !float && t.type !== FLOAT8E8M0));
  if (isSame) return fromBytes('onnx', nameOf(t), dtype, t.dims, raw);
  return tensorOf(nameOf(t), t.type, t.dims, readElements(t, source));
}
