// npy, numpy's files of one array.

import { readOptions } from '../options.js';
import type { Tensor } from '../tensor.js';
import { DECODE, asBytes, type DecodeOptions } from './elements.js';
import { decodeArray, encodeArray } from './numpyfile.js';

/** A tensor as a file in the format npy, version 1.0. Computes what is lazy. */
export const encode = (tensor: Tensor): Uint8Array<ArrayBuffer> => encodeArray('npy.encode', tensor);

/** The tensor of a file in the format npy, of any version. Throws a SinterError for a file that is damaged or in another
 *  format. */
export function decode(bytes: Uint8Array | ArrayBuffer, options?: DecodeOptions): Tensor {
  const op = 'npy.decode';
  const { convert = false } = readOptions(op, options, DECODE);
  return decodeArray(op, 'the array', asBytes(op, bytes), convert);
}
