// Reads bytes from where users have them: buffers, Blobs, Responses, and in Node files, which can be written as well.

import { shown } from '../check.js';
import { SinterError } from '../errors.js';
import { readOptions } from '../options.js';
import { nodeModule } from '../runtime/environment.js';
import type { Global } from '../runtime/loader.js';
import { asBytes, makeBytes } from './elements.js';

type Bytes = Uint8Array<ArrayBuffer>;

/** A source of bytes; a string or a URL is a file, in Node only. */
export type ByteSource = ArrayBuffer | ArrayBufferView | string | Global<'URL'> | Global<'Blob'> | Global<'Response'>;

export interface ReadOptions {
  /** Called while bytes arrive; total is null where it is not known. */
  onProgress?: (progress: { loaded: number; total: number | null }) => void;
}

/** The error for a failure of a file, a disk or a network. */
export const storageError = (op: string, cause: unknown): SinterError =>
  cause instanceof SinterError ? cause : new SinterError('storage', op, String(cause), { cause });

/** Node's functions on files; throws where there are no files. */
export function nodeFiles(op: string) {
  const files = nodeModule('node:fs/promises');
  if (files) return files;
  throw new SinterError('argument', op, 'there are no files here', { hint: 'read(await fetch(url)), or read(blob) of an input element' });
}

/** The bytes of a stream; total: how many there will be, or null. */
async function readStream(op: string, stream: ReadableStream<Uint8Array>, total: number | null, onProgress: ReadOptions['onProgress']): Promise<Bytes> {
  const parts: Uint8Array[] = [];
  let loaded = 0;
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    loaded += part.value.length;
    onProgress?.({ loaded, total });
  }
  const bytes = makeBytes(op, loaded);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

async function readResponse(op: string, response: Response, onProgress: ReadOptions['onProgress']): Promise<Bytes> {
  const { ok, status, url, headers, body } = response;
  if (!ok) throw new SinterError('storage', op, `the server answered ${status} for ${url || 'the request'}`);
  // The header gives the packed length of a compressed body.
  const length = headers.get('content-encoding') ? null : headers.get('content-length');
  return body ? readStream(op, body, length === null ? null : Number(length), onProgress) : makeBytes(op, 0);
}

/**
 * The bytes of a source: `sn.io.read(await fetch(url), { onProgress })`, `sn.io.read(file)` of an input element, in Node
 * `sn.io.read('model.safetensors')`. Bytes that are given as such are not copied.
 */
export async function read(source: ByteSource, options?: ReadOptions): Promise<Uint8Array> {
  const op = 'io.read';
  const { onProgress } = readOptions(op, options, { onProgress: 'function' });
  try {
    if (typeof source === 'string' || source instanceof URL) return await nodeFiles(op).readFile(source);
    if (typeof Response === 'function' && source instanceof Response) return await readResponse(op, source, onProgress);
    if (typeof Blob === 'function' && source instanceof Blob) return await readStream(op, source.stream(), source.size, onProgress);
  } catch (cause) {
    throw storageError(op, cause);
  }
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return asBytes(op, source);
  throw new SinterError('argument', op, `expected a Response, a Blob, bytes or a path, not ${shown(source)}`);
}

/** Writes a file, in Node only: whoever reads it meanwhile, or after a crash, finds either the old bytes or the new ones. */
export async function write(path: string | Global<'URL'>, bytes: Uint8Array | ArrayBuffer): Promise<void> {
  const op = 'io.write';
  const files = nodeFiles(op);
  const data = asBytes(op, bytes);
  const fresh = path instanceof URL ? new URL(`${path.href}.new`) : `${path}.new`;
  try {
    const there = await files.stat(path).catch(() => null);
    // No file may take the place of a pipe or of /dev/null.
    if (there && !there.isFile()) return await files.writeFile(path, data);
    await writeThrough(files, fresh, data);
    await files.rename(fresh, path);
  } catch (cause) {
    await files.rm(fresh, { force: true }).catch(() => {});
    throw storageError(op, cause);
  }
}

/** Writes a file, and waits until it is on the disk. */
export async function writeThrough({ open }: ReturnType<typeof nodeFiles>, path: string | URL, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w');
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}
