// zip archives as far as npz needs them: files that are stored or deflated, in one part, within 4 GiB. (APPNOTE.TXT,
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT)
//
// An archive is not trusted: its directory says where each file lies, and files that overlap, lie outside, or unpack to
// more bytes than they claim are refused. No memory is reserved for bytes that have not been unpacked yet.

import { shown } from '../check.js';
import { SinterError, UnsupportedError, damagedError } from '../errors.js';
import { makeBytes } from './elements.js';

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_BYTES = 22;
const MOST_COMMENT = 0xffff;
/** Most bytes that one byte of deflate unpacks to. */
const MOST_RATIO = 1032;

export interface Entry {
  name: string;
  isDeflated: boolean;
  crc: number;
  packed: Uint8Array;
  /** The number of unpacked bytes. */
  size: number;
}

const CRC = Uint32Array.from({ length: 256 }, (_, i) => {
  let c = i;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  return c;
});

function crc32(bytes: Uint8Array): number {
  let c = -1;
  for (let i = 0; i < bytes.length; i++) c = CRC[(c ^ bytes[i]!) & 255]! ^ (c >>> 8);
  return ~c >>> 0;
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView => new DataView(buffer, byteOffset, byteLength);

/** Finds the record that ends the directory: the last place whose comment reaches the end of the file. */
function findEnd(op: string, view: DataView): number {
  const last = view.byteLength - END_BYTES;
  for (let at = last; at >= Math.max(0, last - MOST_COMMENT); at--)
    if (view.getUint32(at, true) === END && view.getUint16(at + 20, true) === last - at) return at;
  throw damagedError(op, 'no zip archive');
}

/** The offset of a file's bytes, after a local header that must repeat its name. */
function findData(op: string, view: DataView, bytes: Uint8Array, at: number, name: Uint8Array, end: number): number {
  if (at + 30 > end || view.getUint32(at, true) !== LOCAL) throw damagedError(op, `there is no file at ${at}`);
  const own = bytes.subarray(at + 30, at + 30 + view.getUint16(at + 26, true));
  if (own.length !== name.length || own.some((byte, i) => byte !== name[i])) throw damagedError(op, 'a file has two names');
  return at + 30 + name.length + view.getUint16(at + 28, true);
}

/** The files of an archive. */
export function readEntries(op: string, bytes: Uint8Array): Entry[] {
  const view = viewOf(bytes);
  const end = findEnd(op, view);
  const count = view.getUint16(end + 10, true);
  const begin = view.getUint32(end + 16, true);
  if (view.getUint32(end + 4, true) !== 0) throw new UnsupportedError(op, 'an archive in parts');
  if (count === 0xffff || begin === 0xffffffff) throw new UnsupportedError(op, 'an archive beyond 4 GiB, or of more than 65,534 files');
  if (view.getUint16(end + 8, true) !== count || begin + view.getUint32(end + 12, true) !== end) throw damagedError(op, 'the directory is not where the archive says');
  const entries: (Entry & { begin: number; end: number })[] = [];
  const names = new Set<string>();
  let at = begin;
  for (let i = 0; i < count; i++) {
    if (at + 46 > end || view.getUint32(at, true) !== CENTRAL) throw damagedError(op, 'the directory has fewer files than it says');
    const [flags, method, nameBytes] = [8, 10, 28].map((offset) => view.getUint16(at + offset, true)) as [number, number, number];
    const [crc, packedSize, size, local] = [16, 20, 24, 42].map((offset) => view.getUint32(at + offset, true)) as [number, number, number, number];
    const next = at + 46 + nameBytes + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    if (next > end) throw damagedError(op, 'the directory goes beyond its end');
    const rawName = bytes.slice(at + 46, at + 46 + nameBytes);
    const name = new TextDecoder().decode(rawName);
    if (names.has(name)) throw damagedError(op, `${shown(name)} is given twice`);
    names.add(name);
    if (flags & 1 || (method !== 0 && method !== 8)) throw new UnsupportedError(op, `${shown(name)} is ${flags & 1 ? 'encrypted' : `packed by method ${method}`}`);
    const data = findData(op, view, bytes, local, rawName, begin);
    if (data + packedSize > begin || (method === 0 ? size !== packedSize : size > packedSize * MOST_RATIO))
      throw damagedError(op, `${shown(name)} has ${packedSize} bytes for ${size}`);
    entries.push({ name, isDeflated: method === 8, crc, packed: bytes.subarray(data, data + packedSize), size, begin: local, end: data + packedSize });
    at = next;
  }
  if (at !== end) throw damagedError(op, 'the directory has more files than it says');
  const ordered = [...entries].sort((a, b) => a.begin - b.begin);
  ordered.forEach(({ name, begin: first }, i) => {
    if (i > 0 && first < ordered[i - 1]!.end) throw damagedError(op, `${shown(name)} overlaps another file`);
  });
  return entries;
}

async function inflate(op: string, { name, packed, size }: Entry): Promise<Uint8Array> {
  if (typeof DecompressionStream !== 'function') {
    throw new UnsupportedError(op, 'this engine cannot unpack deflated files', { hint: 'numpy.savez stores them as they are' });
  }
  const chunks: Uint8Array[] = [];
  let at = 0;
  try {
    // A copy: shared memory cannot be streamed.
    const reader = new Blob([packed.slice()]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
    for (let part = await reader.read(); !part.done && at <= size; part = await reader.read()) {
      chunks.push(part.value);
      at += part.value.length;
    }
    if (at > size) void reader.cancel().catch(() => {});
  } catch (cause) {
    throw new SinterError('argument', op, `damaged: ${shown(name)} cannot be unpacked`, { cause });
  }
  if (at !== size) throw damagedError(op, `${shown(name)} has not the ${size} bytes it claims`);
  const whole = makeBytes(op, size);
  let to = 0;
  for (const chunk of chunks) {
    whole.set(chunk, to);
    to += chunk.length;
  }
  return whole;
}

/** The unpacked bytes of a file, checked by their checksum. */
export async function unpack(op: string, entry: Entry): Promise<Uint8Array> {
  const bytes = entry.isDeflated ? await inflate(op, entry) : entry.packed;
  if (crc32(bytes) !== entry.crc) throw damagedError(op, `the checksum of ${shown(entry.name)} is that of other bytes`);
  return bytes;
}

/** Writes the fields that a file has in both of its headers: versions, names in UTF-8, stored, made on 1980-01-01. */
function putFields(view: DataView, at: number, crc: number, size: number, nameBytes: number): void {
  [20, 0x800, 0, 0, 0x21].forEach((value, i) => view.setUint16(at + 2 * i, value, true));
  [crc, size, size].forEach((value, i) => view.setUint32(at + 10 + 4 * i, value, true));
  view.setUint16(at + 22, nameBytes, true);
}

/** Makes an archive of files that are stored, not compressed. */
export function writeArchive(op: string, files: readonly { name: string; bytes: Uint8Array }[]): Uint8Array<ArrayBuffer> {
  const named = files.map(({ name, bytes }) => ({ name: new TextEncoder().encode(name), bytes, crc: crc32(bytes) }));
  const begin = named.reduce((sum, { name, bytes }) => sum + 30 + name.length + bytes.length, 0);
  const end = named.reduce((sum, { name }) => sum + 46 + name.length, begin);
  if (end > 0xfffffffe || files.length > 0xfffe) throw new UnsupportedError(op, 'an archive beyond 4 GiB, or of more than 65,534 files');
  const out = makeBytes(op, end + END_BYTES);
  const view = viewOf(out);
  let at = 0;
  let entry = begin;
  for (const { name, bytes, crc } of named) {
    view.setUint32(at, LOCAL, true);
    putFields(view, at + 4, crc, bytes.length, name.length);
    out.set(name, at + 30);
    out.set(bytes, at + 30 + name.length);
    view.setUint32(entry, CENTRAL, true);
    view.setUint16(entry + 4, 20, true);
    putFields(view, entry + 6, crc, bytes.length, name.length);
    view.setUint32(entry + 42, at, true);
    out.set(name, entry + 46);
    at += 30 + name.length + bytes.length;
    entry += 46 + name.length;
  }
  view.setUint32(end, END, true);
  [files.length, files.length].forEach((value, i) => view.setUint16(end + 8 + 2 * i, value, true));
  view.setUint32(end + 12, end - begin, true);
  view.setUint32(end + 16, begin, true);
  return out;
}
