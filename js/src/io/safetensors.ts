// safetensors, the format in which most models are published.

import { isPlainObject, shown } from '../check.js';
import { SinterError } from '../errors.js';
import { readOptions } from '../options.js';
import { flatten } from '../pytree.js';
import { tidy } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { DECODE, asBytes, checkStored, type DecodeOptions } from './elements.js';
import { uniqueTensorPaths } from './paths.js';
import { METADATA, fill, layOut, readHeader, readTensor, type Metadata } from './tensorfile.js';

export interface EncodeOptions {
  /** Texts to store along with the tensors. */
  metadata?: Metadata;
}

function checkMetadata(op: string, metadata: unknown): void {
  if (metadata === undefined || (isPlainObject(metadata) && Object.values(metadata).every((text) => typeof text === 'string'))) return;
  throw new SinterError('argument', op, `metadata is ${shown(metadata)}, expected an object of texts`);
}

/**
 * The tensors of a tree as a file in the format safetensors. Their names are their paths in the tree, joined by dots:
 * encode({ layers: [{ weight }] }) has 'layers.0.weight'. Computes what is lazy.
 */
export function encode(tree: unknown, options?: EncodeOptions): Uint8Array<ArrayBuffer> {
  const op = 'safetensors.encode';
  const { metadata } = readOptions(op, options, { metadata: 'any' });
  checkMetadata(op, metadata);
  const { tensors, shape } = flatten(tree, op);
  const names = uniqueTensorPaths(op, shape);
  if (names.includes(METADATA)) throw new SinterError('argument', op, `no tensor can be called ${METADATA}`);
  return fill(op, layOut(names, tensors, metadata), false);
}

/**
 * The tensors of a file in the format safetensors by their names, and the texts stored with them. Throws a SinterError for
 * a file that breaks a rule of the format.
 */
export function decode(
  bytes: Uint8Array | ArrayBuffer,
  options?: DecodeOptions,
): { tensors: Record<string, Tensor>; metadata: Metadata } {
  const op = 'safetensors.decode';
  const { convert = false } = readOptions(op, options, DECODE);
  const { tensors, metadata, data } = readHeader(op, asBytes(op, bytes));
  for (const { name, dtype, shape } of tensors) checkStored(op, shown(name), dtype, shape, convert);
  const made = tidy(() => Object.fromEntries(tensors.map((stored) => [stored.name, readTensor(op, data, stored)])));
  return { tensors: made, metadata };
}
