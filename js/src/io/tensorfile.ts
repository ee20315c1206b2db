// The format safetensors (https://huggingface.co/docs/safetensors): the length of the header in 8 bytes, the header in
// JSON, and the elements of all tensors without a gap.
//
// All that the reference implementation refuses is refused: a header that is longer than 100 MB or the file, text that is
// not UTF-8 or not JSON, a name given twice, elements that are out of order, overlap or do not cover the file, and shapes
// that do not fill their bytes.

import { isPlainObject, shown } from '../check.js';
import { evaluate } from '../core.js';
import { DTypeError, SinterError, damagedError } from '../errors.js';
import { runtime } from '../runtime/runtime.js';
import type { Tensor } from '../tensor.js';
import { atOnce, copied, type Copy } from './copying.js';
import { countElements, fromBytes, itemBytes, makeBytes, type StoredDType } from './elements.js';

/** Dtypes by their names in the format. */
export const STORED: Readonly<Record<string, StoredDType>> = {
  F32: 'float32',
  F64: 'float64',
  F16: 'float16',
  BF16: 'bfloat16',
  I8: 'int8',
  I16: 'int16',
  I32: 'int32',
  I64: 'int64',
  U8: 'uint8',
  U16: 'uint16',
  U32: 'uint32',
  U64: 'uint64',
  BOOL: 'bool',
};

const MOST_HEADER_BYTES = 100_000_000;
export const METADATA = '__metadata__';

export type Metadata = Record<string, string>;

/** A tensor in a file. */
export interface Stored {
  name: string;
  dtype: StoredDType;
  shape: readonly number[];
  /** Offsets in bytes of its elements in the data. */
  begin: number;
  end: number;
}

export interface Header {
  /** In the order of their offsets. */
  tensors: Stored[];
  metadata: Metadata;
  data: Uint8Array;
}

/* ---- writing ---- */

/** A file whose elements are still to be written: the bytes before them, and the place of each tensor's. */
export interface Layout {
  head: Uint8Array;
  tensors: Tensor[];
  /** The offset of each tensor in the file in bytes, and last the length of the file. */
  offsets: number[];
}

/** Lays out a file of tensors, those with larger elements first, so that all are aligned. */
export function layOut(names: readonly string[], tensors: readonly Tensor[], metadata: Metadata | undefined): Layout {
  const order = tensors
    .map((t, i) => ({ t, name: names[i]!, item: itemBytes(t.dtype) }))
    .sort((a, b) => b.item - a.item || (a.name < b.name ? -1 : 1));
  const ends = [0];
  const entries = order.map(({ t, name, item }, i): [string, unknown] => {
    const dtype = Object.keys(STORED).find((each) => STORED[each] === t.dtype);
    ends.push(ends[i]! + t.size * item);
    return [name, { dtype, shape: t.shape, data_offsets: [ends[i], ends[i + 1]] }];
  });
  if (metadata) entries.unshift([METADATA, metadata]);
  const json = `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join()}}`;
  const text = new TextEncoder().encode(json);
  const head = new Uint8Array(8 + Math.ceil(text.length / 8) * 8).fill(0x20);
  new DataView(head.buffer).setBigUint64(0, BigInt(head.length - 8), true);
  head.set(text, 8);
  return { head, tensors: order.map(({ t }) => t), offsets: ends.map((end) => head.length + end) };
}

/** How to copy the tensors, which are computed and at these addresses, into their file. */
export const copyOf = ({ head, offsets }: Layout, addresses: readonly number[]): Copy => ({
  head,
  size: offsets.at(-1)!,
  pieces: addresses.map((from, i) => ({ from, to: offsets[i]!, bytes: offsets[i + 1]! - offsets[i]! })),
});

/** The whole file; isState: with checksums. */
export function fill(op: string, layout: Layout, isState: boolean): Uint8Array<ArrayBuffer> {
  const rt = runtime();
  evaluate(layout.tensors);
  const copy = copyOf(layout, layout.tensors.map((t) => rt.check(rt.exports.sinter_data(t.read(op))) >>> 0));
  const bytes = makeBytes(op, copy.size);
  atOnce(copied(copy, rt.memory, bytes, isState));
  return bytes;
}

/* ---- reading ---- */

/** The index of the quote that ends the string which begins at a quote. */
function endOfString(text: string, at: number): number {
  let end = at + 1;
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end;
}

/** Refuses what JSON.parse accepts in a text: a key given twice, and a number that is not written as a size. */
function checkKeys(op: string, text: string): void {
  const open: Set<string>[] = [];
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (character === '{' || character === '[') open.push(new Set());
    else if (character === '}' || character === ']') open.pop();
    else if (/[-.]/.test(character) || (/e/i.test(character) && /\d/.test(text[at - 1]!)))
      throw damagedError(op, 'a number in the header is no size');
    else if (character === '"') {
      const end = endOfString(text, at);
      let next = end + 1;
      while (/\s/.test(text[next] ?? '')) next++;
      if (text[next] === ':') {
        const key = JSON.parse(text.slice(at, end + 1)) as string;
        const keys = open.at(-1)!;
        if (keys.has(key)) throw damagedError(op, `${shown(key)} is given twice`);
        keys.add(key);
      }
      at = end;
    }
  }
}

function parseHeader(op: string, bytes: Uint8Array): Record<string, unknown> {
  let header: unknown;
  let text: string;
  try {
    // A copy: texts cannot be read from shared memory.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.slice());
    header = JSON.parse(text);
  } catch (cause) {
    throw new SinterError('argument', op, 'damaged: the header is not JSON', { cause });
  }
  if (text[0] !== '{' || !isPlainObject(header)) throw damagedError(op, 'the header is no object');
  checkKeys(op, text);
  return header;
}

const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const areSizes = (list: unknown): list is number[] => Array.isArray(list) && list.every(isSize);

function readEntry(op: string, name: string, entry: unknown): Stored {
  const { dtype, shape, data_offsets: offsets } = (isPlainObject(entry) ? entry : {}) as Record<string, unknown>;
  if (typeof dtype !== 'string' || !areSizes(shape) || !areSizes(offsets) || offsets.length !== 2)
    throw damagedError(op, `${shown(name)} has no dtype, shape and data_offsets`);
  if (!Object.hasOwn(STORED, dtype)) throw new DTypeError(op, `${shown(name)} is ${shown(dtype)}, which tensors do not have`);
  const stored = { name, dtype: STORED[dtype]!, shape, begin: offsets[0]!, end: offsets[1]! };
  const count = countElements(shape);
  if (count === null || count * itemBytes(stored.dtype) !== stored.end - stored.begin)
    throw damagedError(op, `the shape of ${shown(name)} does not fill its ${stored.end - stored.begin} bytes`);
  return stored;
}

/** The offset at which the elements of a file begin, as its first bytes say. */
export const headBytesOf = (bytes: Uint8Array): number => 8 + Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true));

/** Reads all of a file except the elements, and checks every rule of the format. */
export function readHeader(op: string, bytes: Uint8Array): Header {
  if (bytes.length < 8) throw damagedError(op, `${bytes.length} bytes are no safetensors`);
  const length = headBytesOf(bytes) - 8;
  if (length > MOST_HEADER_BYTES) throw damagedError(op, `a header of ${length} bytes, at most ${MOST_HEADER_BYTES}`);
  if (length > bytes.length - 8) throw damagedError(op, `a header of ${length} bytes in a file of ${bytes.length}`);
  const { [METADATA]: metadata = {}, ...entries } = parseHeader(op, bytes.subarray(8, 8 + length));
  if (!isPlainObject(metadata) || !Object.values(metadata).every((text) => typeof text === 'string'))
    throw damagedError(op, `${METADATA} is no object of texts`);
  const tensors = Object.entries(entries)
    .map(([name, entry]) => readEntry(op, name, entry))
    .sort((a, b) => a.begin - b.begin || a.end - b.end);
  const data = bytes.subarray(8 + length);
  let end = 0;
  for (const { name, begin, end: next } of tensors) {
    if (begin !== end) throw damagedError(op, `the elements of ${shown(name)} begin at ${begin}, expected ${end}`);
    end = next;
  }
  if (end !== data.length) throw damagedError(op, `${data.length} bytes of elements, the header has ${end}`);
  return { tensors, metadata: metadata as Metadata, data };
}

/** Makes the tensor of an entry. */
export const readTensor = (op: string, data: Uint8Array, { name, dtype, shape, begin, end }: Stored): Tensor =>
  fromBytes(op, shown(name), dtype, shape, data.subarray(begin, end));
