// A GGUF file that arrives piece by piece: its header, then the data of one tensor after the other. For a download, a Blob or a
// file, no more than the data of one tensor are in memory at a time.

import { SinterError, internals, type Tensor, type io } from '../index.js';
import { Truncated } from './cursor.js';
import { tensorOf } from './file.js';
import { readHeader, type GgufHeader, type GgufTensor } from './header.js';

const { asBytes, damagedError, nodeFiles, readOptions, shown, storageError } = internals;

/** The data of a tensor, valid until the next tensor is asked for. */
export interface ArrivedData {
  info: GgufTensor;
  bytes: Uint8Array;
  /** Makes a tensor of the data, as that of read; the caller owns it. */
  tensor(): Tensor;
}

export interface GgufStream extends GgufHeader {
  /** The data of all tensors, in the order of the file. Can be iterated once. */
  data(): AsyncGenerator<ArrivedData, void>;
  /** Closes the source. The end of data() does so, too. */
  close(): Promise<void>;
}

/** A source of bytes. */
interface Pieces {
  /** The total number of bytes, or null if unknown. */
  total: number | null;
  /** Returns the next piece, or null behind the last one. */
  next(): Promise<Uint8Array | null>;
  close(): Promise<void>;
}

/** Bytes that are read from a file at once. */
const PIECE = 1 << 20;
/** Bytes that are read before the first try to parse the header; each further try doubles them. */
const HEAD = 1 << 16;

/* ---- sources ---- */

function ofStream(stream: ReadableStream<Uint8Array>, total: number | null): Pieces {
  const reader = stream.getReader();
  return { total, next: async () => (await reader.read()).value ?? null, close: () => reader.cancel().catch(() => {}) };
}

async function ofFile(op: string, path: string | URL): Promise<Pieces> {
  const file = await nodeFiles(op).open(path, 'r');
  let at = 0;
  const { size } = await file.stat();
  const next = async (): Promise<Uint8Array | null> => {
    const { bytesRead, buffer } = await file.read(new Uint8Array(Math.min(PIECE, size - at)), 0, Math.min(PIECE, size - at), at);
    at += bytesRead;
    return bytesRead > 0 ? buffer.subarray(0, bytesRead) : null;
  };
  return { total: size, next, close: () => file.close() };
}

function ofBytes(bytes: Uint8Array): Pieces {
  let piece: Uint8Array | null = bytes;
  const next = async (): Promise<Uint8Array | null> => {
    const given = piece;
    piece = null;
    return given;
  };
  return { total: bytes.length, next, close: async () => {} };
}

async function piecesOf(op: string, source: unknown): Promise<Pieces> {
  if (typeof source === 'string' || source instanceof URL) return ofFile(op, source);
  if (typeof Response === 'function' && source instanceof Response) {
    const { ok, status, url, headers, body } = source;
    if (!ok || !body) throw new SinterError('storage', op, `the server answered ${status} for ${url || 'the request'}`);
    const length = headers.get('content-encoding') ? null : headers.get('content-length');
    return ofStream(body, length === null ? null : Number(length));
  }
  if (typeof Blob === 'function' && source instanceof Blob) return ofStream(source.stream(), source.size);
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return ofBytes(asBytes(op, source));
  throw new SinterError('argument', op, `expected a Response, a Blob, bytes or a path, not ${shown(source)}`);
}

/* ---- bytes in a row ---- */

/** Reads the bytes of a source forwards, as if its pieces were one array. */
class Arriving {
  /** Bytes that have arrived and are not taken yet. */
  #rest: Uint8Array = new Uint8Array(0);
  #loaded = 0;
  isEnded = false;

  constructor(
    readonly op: string,
    readonly pieces: Pieces,
    readonly onProgress: io.ReadOptions['onProgress'],
  ) {}

  async #next(): Promise<Uint8Array | null> {
    try {
      const piece = await this.pieces.next();
      if (!piece) this.isEnded = true;
      else this.onProgress?.({ loaded: (this.#loaded += piece.length), total: this.pieces.total });
      return piece;
    } catch (cause) {
      throw storageError(this.op, cause);
    }
  }

  /** Returns the next bytes: as many as asked for, or all that are left. Does not copy if they lie in one piece. */
  async take(count: number): Promise<Uint8Array> {
    if (this.#rest.length === 0 && count > 0) this.#rest = (await this.#next()) ?? this.#rest;
    if (count <= this.#rest.length) {
      const taken = this.#rest.subarray(0, count);
      this.#rest = this.#rest.subarray(count);
      return taken;
    }
    return this.#gather(count);
  }

  /** Joins several pieces. Its buffer grows only with what has arrived, since a file may lie about its size. */
  async #gather(count: number): Promise<Uint8Array> {
    let bytes = internals.makeBytes(this.op, Math.min(count, this.pieces.total ?? PIECE));
    let filled = 0;
    let piece: Uint8Array | null = this.#rest;
    this.#rest = new Uint8Array(0);
    for (; piece; piece = await this.#next()) {
      const part = piece.subarray(0, count - filled);
      if (filled + part.length > bytes.length) {
        const larger = internals.makeBytes(this.op, Math.min(count, 2 * (filled + part.length)));
        larger.set(bytes.subarray(0, filled));
        bytes = larger;
      }
      bytes.set(part, filled);
      filled += part.length;
      this.#rest = piece.subarray(part.length);
      if (filled === count) break;
    }
    return bytes.subarray(0, filled);
  }
}

/** Reads the header. read: all bytes read for that, which may include some of the data. */
async function headerOf(op: string, arriving: Arriving): Promise<{ header: GgufHeader; read: Uint8Array }> {
  let read: Uint8Array = new Uint8Array(0);
  for (let wanted = HEAD; ; wanted *= 2) {
    const more = await arriving.take(wanted - read.length);
    const bytes = new Uint8Array(read.length + more.length);
    bytes.set(read);
    bytes.set(more, read.length);
    read = bytes;
    try {
      return { header: readHeader(op, read), read };
    } catch (error) {
      if (!(error instanceof Truncated) || arriving.isEnded || more.length === 0) throw error;
    }
  }
}

/**
 * Opens a GGUF file while it arrives: a Response, a Blob, bytes, or a path in Node. The promise settles once the header is
 * read.
 */
export async function stream(source: io.ByteSource, options?: io.ReadOptions): Promise<GgufStream> {
  const op = 'gguf.stream';
  const { onProgress } = readOptions(op, options, { onProgress: 'function' });
  const pieces = await piecesOf(op, source).catch((cause: unknown) => {
    throw storageError(op, cause);
  });
  const arriving = new Arriving(op, pieces, onProgress);
  try {
    const { header, read } = await headerOf(op, arriving);
    return { ...header, data: () => dataOf(op, header, arriving, read), close: pieces.close };
  } catch (error) {
    await pieces.close();
    throw error;
  }
}

async function* dataOf(op: string, { tensors }: GgufHeader, arriving: Arriving, read: Uint8Array): AsyncGenerator<ArrivedData, void> {
  // The bytes read for the header may end with the first data.
  let [before, at] = [read, 0];
  const take = async (count: number): Promise<Uint8Array> => {
    const own = before.subarray(at, at + count);
    at += own.length;
    if (own.length === count) return own;
    before = new Uint8Array(0);
    const rest = await arriving.take(count - own.length);
    at += rest.length;
    if (own.length === 0) return rest;
    const joined = new Uint8Array(own.length + rest.length);
    joined.set(own);
    joined.set(rest, own.length);
    return joined;
  };
  try {
    for (const info of tensors) {
      await take(info.offset - at);
      const bytes = await take(info.bytes);
      if (bytes.length < info.bytes) throw damagedError(op, `the data of ${shown(info.name)} end at ${info.offset + info.bytes}, the file at ${at}`);
      yield { info, bytes, tensor: () => tensorOf(op, info, bytes) };
    }
  } finally {
    await arriving.pieces.close();
  }
}
