// npz, numpy's archives of arrays: a zip file of npy files.

import { shown } from '../check.js';
import { UnsupportedError } from '../errors.js';
import { readOptions } from '../options.js';
import { flatten } from '../pytree.js';
import { tidy } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { DECODE, asBytes, type DecodeOptions } from './elements.js';
import { decodeArray, encodeArray } from './numpyfile.js';
import { uniqueTensorPaths } from './paths.js';
import { readEntries, unpack, writeArchive } from './zip.js';

/**
 * The tensors of a tree as an archive in the format npz, not compressed, like numpy.savez. Their names are their paths in
 * the tree, joined by dots. Computes what is lazy.
 */
export function encode(tree: unknown): Uint8Array<ArrayBuffer> {
  const op = 'npz.encode';
  const { tensors, shape } = flatten(tree, op);
  const names = uniqueTensorPaths(op, shape);
  return writeArchive(op, tensors.map((t, i) => ({ name: `${names[i]}.npy`, bytes: encodeArray(op, t) })));
}

/**
 * The tensors of an archive in the format npz by their names; its files may be stored or deflated. It is async since the
 * engine's decompression is. Rejects with a SinterError for an archive that is damaged.
 */
export async function decode(bytes: Uint8Array | ArrayBuffer, options?: DecodeOptions): Promise<Record<string, Tensor>> {
  const op = 'npz.decode';
  const { convert = false } = readOptions(op, options, DECODE);
  const entries = readEntries(op, asBytes(op, bytes));
  const other = entries.find(({ name }) => !name.endsWith('.npy'));
  if (other) throw new UnsupportedError(op, `${shown(other.name)} is no npy file`);
  const files: { name: string; bytes: Uint8Array }[] = [];
  for (const entry of entries) files.push({ name: entry.name.slice(0, -4), bytes: await unpack(op, entry) });
  return tidy(() => Object.fromEntries(files.map((file) => [file.name, decodeArray(op, shown(file.name), file.bytes, convert)])));
}
