// The format npy (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): a magic word, a version, a
// header that is a dict of Python in text, and the elements of one array.

import { shown } from '../check.js';
import { SinterError, UnsupportedError, damagedError } from '../errors.js';
import { tidy } from '../scope.js';
import { Tensor } from '../tensor.js';
import { bytesOf, checkStored, countElements, fromBytes, itemBytes, makeBytes, type StoredDType } from './elements.js';

/** numpy's names of dtypes, without the byte order. */
const DTYPES: Readonly<Record<string, StoredDType>> = {
  f4: 'float32',
  f8: 'float64',
  f2: 'float16',
  i1: 'int8',
  i2: 'int16',
  i4: 'int32',
  i8: 'int64',
  u1: 'uint8',
  u2: 'uint16',
  u4: 'uint32',
  u8: 'uint64',
  b1: 'bool',
};

const MAGIC = '\x93NUMPY';
/** Longest header that numpy reads from a file that it does not trust. */
const MOST_HEADER_BYTES = 10_000;

/** A tensor as a file, version 1.0. Computes what is lazy. */
export function encodeArray(op: string, tensor: Tensor): Uint8Array<ArrayBuffer> {
  if (!(tensor instanceof Tensor)) throw new SinterError('argument', op, `expected a tensor, not ${shown(tensor)}`);
  const name = Object.keys(DTYPES).find((each) => DTYPES[each] === tensor.dtype);
  if (name === undefined) throw new UnsupportedError(op, `${tensor.dtype} is not in npy`, { hint: "astype('float32') has all its values" });
  const data = bytesOf(tensor, op);
  const order = itemBytes(tensor.dtype) > 1 ? '<' : '|';
  const shape = tensor.shape.map((size) => `${size},`).join(' ');
  const text = `{'descr': '${order}${name}', 'fortran_order': False, 'shape': (${tensor.ndim > 1 ? shape.slice(0, -1) : shape}), }`;
  const length = Math.ceil((10 + text.length + 1) / 64) * 64;
  const bytes = makeBytes(op, length + data.length);
  bytes.set(Array.from(`${MAGIC}\x01\x00`, (character) => character.charCodeAt(0)));
  new DataView(bytes.buffer).setUint16(8, length - 10, true);
  bytes.set(new TextEncoder().encode(`${text.padEnd(length - 11)}\n`), 10);
  bytes.set(data, length);
  return bytes;
}

interface Header {
  descr: string;
  isFortran: boolean;
  shape: number[];
}

/** Parses the dict of a header: three keys in any order, each once. */
function parseHeader(op: string, text: string): Header {
  const entry = /\s*'(descr|fortran_order|shape)'\s*:\s*('[^']*'|True|False|\(\s*(?:\d{1,15}L?\s*(?:,\s*|(?=\))))*\))\s*(,|(?=\}))/y;
  const found = new Map<string, string>();
  const begin = text.indexOf('{') + 1;
  entry.lastIndex = begin;
  let end = begin;
  for (let match; (match = entry.exec(text)); end = entry.lastIndex) {
    if (found.has(match[1]!)) throw damagedError(op, `${match[1]} is given twice`);
    found.set(match[1]!, match[2]!);
  }
  if (/^\s*'descr'\s*:\s*[[(]/.test(text.slice(end)))
    throw new UnsupportedError(op, 'records of several fields are not read');
  const [descr, fortran, shape] = ['descr', 'fortran_order', 'shape'].map((key) => found.get(key));
  if (text.slice(0, begin).trim() !== '{' || text.slice(end).trim() !== '}' || !descr?.startsWith("'") || !shape?.startsWith('(') || /^\(\s*\w+\s*\)$/.test(shape) || (fortran !== 'True' && fortran !== 'False'))
    throw damagedError(op, `the header is ${shown(text.trim())}`);
  return { descr: descr.slice(1, -1), isFortran: fortran === 'True', shape: (shape.match(/\d+/g) ?? []).map(Number) };
}

/** The dtype of numpy's name, and whether it is big-endian. */
function readDescr(op: string, descr: string): { dtype: StoredDType; isSwapped: boolean } {
  const [, order, name = ''] = /^([<>|=])(\w+)$/.exec(descr) ?? [];
  if (name.startsWith('O')) throw new UnsupportedError(op, 'pickled objects are never read', { hint: 'they can run any code' });
  if (order === undefined || !Object.hasOwn(DTYPES, name)) throw new UnsupportedError(op, `${shown(descr)} is no dtype of tensors`);
  return { dtype: DTYPES[name]!, isSwapped: order === '>' };
}

/** A copy of elements with their bytes in the opposite order. */
function swapped(bytes: Uint8Array, item: number): Uint8Array {
  const out = bytes.slice();
  for (let at = 0; at < out.length; at += item) for (let i = 0; i < item; i++) out[at + i] = bytes[at + item - 1 - i]!;
  return out;
}

/** Where the header begins and ends. */
function findHeader(op: string, bytes: Uint8Array): [begin: number, end: number] {
  const isLong = bytes[6] === 2 || bytes[6] === 3;
  const begin = isLong ? 12 : 10;
  const magic = String.fromCharCode(...bytes.subarray(0, 6));
  if (bytes.length < begin || magic !== MAGIC) throw damagedError(op, 'no npy begins so');
  if (!(bytes[6] === 1 || isLong) || bytes[7] !== 0) throw new UnsupportedError(op, `version ${bytes[6]}.${bytes[7]} of npy`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, begin);
  const length = isLong ? view.getUint32(8, true) : view.getUint16(8, true);
  if (length > MOST_HEADER_BYTES) throw damagedError(op, `a header of ${length} bytes, at most ${MOST_HEADER_BYTES}`);
  if (begin + length > bytes.length) throw damagedError(op, `a header of ${length} bytes in a file of ${bytes.length}`);
  return [begin, begin + length];
}

/** The tensor of a file; what: its name in errors of op. */
export function decodeArray(op: string, what: string, bytes: Uint8Array, convert: boolean): Tensor {
  const [begin, end] = findHeader(op, bytes);
  const text = Array.from(bytes.subarray(begin, end), (byte) => String.fromCharCode(byte)).join('');
  const { descr, isFortran, shape } = parseHeader(op, text);
  const { dtype, isSwapped } = readDescr(op, descr);
  const [count, item] = [countElements(shape), itemBytes(dtype)];
  const data = bytes.subarray(end);
  if (count === null || count * item !== data.length)
    throw damagedError(op, `${what} has ${data.length} bytes of elements, (${shape.join(', ')}) of ${dtype} has ${count === null ? 'more than any file' : count * item}`);
  checkStored(op, what, dtype, shape, convert);
  const ordered = isSwapped ? swapped(data, item) : data;
  if (!isFortran) return fromBytes(op, what, dtype, shape, ordered);
  return tidy(() => fromBytes(op, what, dtype, [...shape].reverse(), ordered).transpose());
}
