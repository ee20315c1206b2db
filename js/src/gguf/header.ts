// The header of a GGUF file: version, metadata, and name, shape, kind and offset of each tensor.
//
// It refuses what the reference implementation refuses: names given twice, more than 4 dimensions, rows that are not whole
// blocks, sizes that overflow, an alignment that is not a power of 2, and data that have gaps, overlap or go beyond the file.

import { UnsupportedError, internals } from '../index.js';
import { Cursor } from './cursor.js';
import { kindOfNumber, type Kind, type KindName } from './kinds.js';
import { readValue, type GgufMetadata, type MetadataType, type MetadataValue } from './metadata.js';

const { damagedError, shown } = internals;

/** A tensor in a file. */
export interface GgufTensor {
  readonly name: string;
  readonly kind: KindName;
  /** As in Sinter, rows first: the reverse of the order in the file. */
  readonly shape: readonly number[];
  /** Where its data begin, in bytes from the start of the file. */
  readonly offset: number;
  /** How many bytes its data have. */
  readonly bytes: number;
}

export interface GgufHeader {
  /** 2 or 3. The two versions have the same layout. */
  readonly version: number;
  readonly metadata: GgufMetadata;
  /** The type of each value of the metadata. */
  readonly types: Readonly<Record<string, MetadataType>>;
  /** In the order of their data in the file. */
  readonly tensors: readonly GgufTensor[];
}

const MAGIC = 0x46554747; // GGUF
const ALIGNMENT = 'general.alignment';
const DEFAULT_ALIGNMENT = 32;
const MOST_DIMENSIONS = 4;
/** The fewest bytes of a metadata entry: the length of its name, its type, one byte. */
const LEAST_VALUE = 13;
/** The fewest bytes of a tensor's entry: the length of its name, the count of dimensions, the kind, the offset. */
const LEAST_TENSOR = 24;

export const padded = (size: number, alignment: number): number => Math.ceil(size / alignment) * alignment;

/** The alignment given in the metadata, or the default. */
export function alignmentOf(op: string, metadata: GgufMetadata, type: MetadataType | undefined): number {
  const given = metadata[ALIGNMENT];
  if (given === undefined) return DEFAULT_ALIGNMENT;
  if (type === 'uint32' && typeof given === 'number' && given > 0 && Number.isInteger(Math.log2(given))) return given;
  throw damagedError(op, `${ALIGNMENT} is ${shown(given)}, expected a power of 2 as uint32`);
}

function readVersion(op: string, cursor: Cursor): number {
  if (cursor.uint32() !== MAGIC) throw damagedError(op, 'it does not begin with GGUF');
  const version = cursor.uint32();
  if (version === 2 || version === 3) return version;
  if (version === 1) throw new UnsupportedError(op, 'version 1 of GGUF, of 2023; there are 2 and 3');
  if (version !== 0 && (version & 0xffff) === 0) throw new UnsupportedError(op, 'a file with the highest byte first');
  throw damagedError(op, `version ${version} of GGUF, expected 2 or 3`);
}

function readMetadata(op: string, cursor: Cursor, count: number): Pick<GgufHeader, 'metadata' | 'types'> {
  const values = new Map<string, MetadataValue>();
  const types = new Map<string, MetadataType>();
  for (let i = 0; i < count; i++) {
    const name = cursor.text('a name of metadata', true);
    if (values.has(name)) throw damagedError(op, `metadata ${shown(name)} are given twice`);
    const [type, value] = readValue(op, cursor, name);
    values.set(name, value);
    types.set(name, type);
  }
  return { metadata: Object.fromEntries(values), types: Object.fromEntries(types) };
}

function readShape(op: string, cursor: Cursor, name: string): number[] {
  const rank = cursor.uint32();
  if (rank > MOST_DIMENSIONS) throw damagedError(op, `${shown(name)} has ${rank} dimensions, at most ${MOST_DIMENSIONS}`);
  return Array.from({ length: rank }, () => cursor.size(`a dimension of ${shown(name)}`)).reverse();
}

function readKind(op: string, cursor: Cursor, name: string): Kind {
  const number = cursor.uint32();
  const kind = kindOfNumber.get(number);
  if (kind) return kind;
  throw new UnsupportedError(op, `${shown(name)} is of kind ${number}, which is not known`);
}

/** The size of a tensor in bytes. Its rows have to be whole blocks. */
export function bytesOfShape(op: string, name: string, { name: kind, block, bytes }: Kind, shape: readonly number[]): number {
  const row = shape.at(-1) ?? 1;
  if (row % block !== 0) throw damagedError(op, `${shown(name)} has rows of ${row}, and ${kind} has blocks of ${block}`);
  let size = bytes / block;
  // No intermediate product may overflow, either. Dimensions of 0 count as 1 here, since they would hide an overflow.
  let product = 1;
  for (const dimension of shape) {
    size *= dimension;
    product *= Math.max(dimension, 1);
    if (!Number.isSafeInteger(product * bytes)) throw damagedError(op, `${shown(name)} has more elements than can be counted`);
  }
  return size;
}

/** Reads everything before the data, and checks every rule of the format except that the data lie within the file. */
export function readHeader(op: string, bytes: Uint8Array): GgufHeader {
  const cursor = new Cursor(op, bytes);
  const version = readVersion(op, cursor);
  const tensorCount = cursor.size('the number of tensors');
  const valueCount = cursor.size('the number of metadata');
  cursor.need(tensorCount * LEAST_TENSOR + valueCount * LEAST_VALUE);
  const { metadata, types } = readMetadata(op, cursor, valueCount);
  const alignment = alignmentOf(op, metadata, types[ALIGNMENT]);
  const entries = new Map<string, Omit<GgufTensor, 'name'>>();
  let end = 0;
  for (let i = 0; i < tensorCount; i++) {
    const name = cursor.text('the name of a tensor', true);
    if (entries.has(name)) throw damagedError(op, `${shown(name)} is given twice`);
    const shape = readShape(op, cursor, name);
    const kind = readKind(op, cursor, name);
    const size = bytesOfShape(op, name, kind, shape);
    const offset = cursor.size(`the offset of ${shown(name)}`);
    if (offset !== end) throw damagedError(op, `the data of ${shown(name)} begin at ${offset}, expected ${end}`);
    end = padded(offset + size, alignment);
    if (!Number.isSafeInteger(end)) throw damagedError(op, `the data of ${shown(name)} end beyond any file`);
    entries.set(name, { kind: kind.name, shape, offset, bytes: size });
  }
  const begin = padded(cursor.at, alignment);
  const tensors = Array.from(entries, ([name, entry]) => ({ name, ...entry, offset: begin + entry.offset }));
  return { version, metadata, types, tensors };
}
