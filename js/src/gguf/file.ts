// A GGUF file in memory: its header, and its tensors, whose data are views of the file.

import { SinterError, UnsupportedError, internals, type Tensor } from '../index.js';
import { DECODERS } from './dequantize.js';
import { readHeader, type GgufHeader, type GgufTensor } from './header.js';
import { DTYPES, kindOfName, type KindName } from './kinds.js';

const { asBytes, checkShape, damagedError, filled, fromBytes, shown } = internals;

export interface GgufFile extends GgufHeader {
  /**
   * The tensor of a name. Quantised kinds become float32, others the dtype of their kind; int16 and int64 become int32, if the
   * values fit. The caller owns it.
   */
  tensor(name: string): Tensor;
  /** The data of a tensor as in the file: a view, not a copy. */
  raw(name: string): Uint8Array;
}

/** The numbers of quantised data, which are whole blocks of the kind. */
export function dequantize(kind: KindName, bytes: Uint8Array | ArrayBuffer): Float32Array<ArrayBuffer> {
  const op = 'gguf.dequantize';
  const data = asBytes(op, bytes);
  const { block, bytes: size } = kindOf(op, kind);
  if (!DECODERS[kind]) throw unsupportedKind(op, kind, 'read');
  if (data.length % size !== 0) throw new SinterError('argument', op, `${data.length} bytes are no whole blocks of ${kind}, which have ${size}`);
  const out = new Float32Array((data.length / size) * block);
  decodeBlocks(kind, data, out);
  return out;
}

/** Decodes whole blocks of a kind that has a decoder. */
function decodeBlocks(kind: KindName, data: Uint8Array, out: Float32Array): void {
  const { block, bytes } = kindOfName.get(kind)!;
  const decode = DECODERS[kind]!;
  for (let i = 0; i * bytes < data.length; i++) decode(data, i * bytes, out, i * block);
}

export const unsupportedKind = (op: string, kind: string, what: 'read' | 'written'): UnsupportedError =>
  new UnsupportedError(op, `numbers of ${kind} cannot be ${what}`, { hint: `quantised kinds that can: ${Object.keys(DECODERS).join(', ')}` });

/** Looks up a kind by its name; throws if there is none. */
export function kindOf(op: string, name: unknown) {
  const kind = typeof name === 'string' ? kindOfName.get(name) : undefined;
  if (kind) return kind;
  throw new SinterError('argument', op, `no kind ${shown(name)}`, { hint: `there are ${[...kindOfName.keys()].join(', ')}` });
}

/** The tensor of data as they are in the file. */
export function tensorOf(op: string, { name, kind, shape }: GgufTensor, data: Uint8Array): Tensor {
  if (DECODERS[kind]) return filled('float32', checkShape(op, shape), (out) => decodeBlocks(kind, data, out as Float32Array));
  if (DTYPES.includes(kind) || kind === 'int16' || kind === 'int64') return fromBytes(op, shown(name), kind as 'int64', checkShape(op, shape), data);
  throw unsupportedKind(op, kind, 'read');
}

/** A function that finds tensors by name, or throws. */
function finder(op: string, tensors: readonly GgufTensor[]): (name: string) => GgufTensor {
  const byName = new Map(tensors.map((each) => [each.name, each]));
  return (name) => {
    const found = byName.get(name);
    if (found) return found;
    const some = tensors.slice(0, 3).map((each) => shown(each.name)).join(', ');
    throw new SinterError('argument', op, `no tensor ${shown(name)}`, { hint: `there are ${tensors.length}${some && `: ${some}${tensors.length > 3 ? ', ...' : ''}`}` });
  };
}

/**
 * Reads the header of a GGUF file, version 2 or 3. Data of tensors are neither copied nor looked at until they are asked for.
 * Throws a SinterError if the file breaks a rule of the format.
 */
export function read(bytes: Uint8Array | ArrayBuffer): GgufFile {
  const op = 'gguf.read';
  const whole = asBytes(op, bytes);
  const header = readHeader(op, whole);
  const last = header.tensors.at(-1);
  const end = last ? last.offset + last.bytes : 0;
  if (end > whole.length) throw damagedError(op, `the data of ${shown(last!.name)} end at ${end}, the file at ${whole.length}`);
  const find = finder('gguf.tensor', header.tensors);
  const raw = (name: string): Uint8Array => {
    const { offset, bytes: size } = find(name);
    return whole.subarray(offset, offset + size);
  };
  return { ...header, raw, tensor: (name) => tensorOf('gguf.tensor', find(name), raw(name)) };
}
