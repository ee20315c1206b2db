// Writing GGUF.

import { SinterError, Tensor, internals, tidy, type TensorLike } from '../index.js';
import { kindOf, unsupportedKind } from './file.js';
import { toBrain, toHalf } from './half.js';
import { alignmentOf, bytesOfShape, padded } from './header.js';
import type { Kind, KindName } from './kinds.js';
import { writeMetadata, type GgufMetadata, type MetadataType } from './metadata.js';
import { ENCODERS } from './quantize.js';
import { Sink } from './sink.js';

const { asBytes, isPlainObject, makeBytes, readOptions, shown } = internals;

/** A tensor to be written: numbers, or data that are encoded already. */
export type GgufData =
  | Tensor
  | {
      /** Numbers that are converted to the kind. Default: the kind of the tensor's dtype. */
      tensor: TensorLike;
      kind?: KindName;
    }
  | {
      /** Data encoded as the kind, written unchanged. */
      raw: Uint8Array;
      kind: KindName;
      shape: readonly number[];
    };

export interface GgufWriteOptions {
  metadata?: GgufMetadata;
  /**
   * Types of metadata, by name. Default: string for texts, bool for booleans; for whole numbers uint32, or int32 below 0, or
   * uint64 and int64 where they need 64 bits; float32 for other numbers; int32[] or float32[] for arrays of numbers; the
   * element's type for typed arrays.
   */
  types?: Readonly<Record<string, MetadataType>>;
  /** By name, written in this order. Lazy tensors are computed. */
  tensors: Readonly<Record<string, GgufData>>;
}

const OPTIONS: internals.OptionSchema<GgufWriteOptions> = { metadata: 'object', types: 'object', tensors: 'object' };

/** The most bytes of a name: the reference implementation has 64, with a 0 at the end. */
const MOST_NAME_BYTES = 63;

/** A tensor that is ready to be written. */
interface Part {
  name: string;
  kind: Kind;
  shape: readonly number[];
  bytes: number;
  fill: (to: Uint8Array) => void;
}

/** Quantises numbers to the nearest that the kind can hold. Their count has to be a multiple of the kind's block. */
export function quantize(kind: KindName, values: ArrayLike<number>): Uint8Array<ArrayBuffer> {
  const op = 'gguf.quantize';
  const { block, bytes } = kindOf(op, kind);
  if (!internals.isNumericArray(values) && !Array.isArray(values)) throw new SinterError('argument', op, `expected numbers, not ${shown(values)}`);
  if (values.length % block !== 0) throw new SinterError('argument', op, `${values.length} numbers are no whole blocks of ${kind}, which have ${block}`);
  const out = makeBytes(op, (values.length / block) * bytes);
  encode(op, kind, Float32Array.from(values), out);
  return out;
}

function encode(op: string, kind: KindName, values: Float32Array, out: Uint8Array): void {
  const { block, bytes } = kindOf(op, kind);
  const wrong = values.findIndex((value) => !Number.isFinite(value));
  const write = ENCODERS[kind];
  if (!write) throw unsupportedKind(op, kind, 'written');
  if (wrong >= 0) throw new SinterError('argument', op, `number ${wrong} is ${values[wrong]}, which ${kind} does not have`);
  for (let i = 0; i * block < values.length; i++) {
    const isWritten = write(values, i * block, out, i * bytes);
    if (!isWritten) throw new SinterError('argument', op, `numbers ${i * block} to ${(i + 1) * block - 1} are too large for ${kind}, whose scales are float16`);
  }
}

/** Writes numbers as 16-bit floats; round: gives the bits of one. */
function halves(values: Float32Array, round: (value: number) => number, out: Uint8Array): void {
  for (let i = 0; i < values.length; i++) {
    const bits = round(values[i]!);
    out[2 * i] = bits & 255;
    out[2 * i + 1] = bits >> 8;
  }
}

function fillFrom(op: string, t: Tensor, kind: KindName): (to: Uint8Array) => void {
  if (t.dtype === kind) return (to) => to.set(internals.bytesOf(t, op));
  return (to) => {
    const values = Float32Array.from(t.dataSync());
    if (kind === 'float32') to.set(new Uint8Array(values.buffer));
    else if (kind === 'float16') halves(values, toHalf, to);
    else if (kind === 'bfloat16') halves(values, toBrain, to);
    else encode(op, kind, values, to);
  };
}

function partOf(op: string, name: string, given: GgufData): Part {
  const what = (why: string): SinterError => new SinterError('argument', op, `${shown(name)} ${why}`);
  if (new TextEncoder().encode(name).length > MOST_NAME_BYTES) throw what(`is a name of more than ${MOST_NAME_BYTES} bytes`);
  if (!(given instanceof Tensor) && !isPlainObject(given)) throw what(`is ${shown(given)}, expected a tensor, { tensor, kind } or { raw, kind, shape }`);
  if ('raw' in given) {
    const kind = kindOf(op, given.kind);
    const shape = internals.checkShape(op, given.shape);
    const data = asBytes(op, given.raw);
    const bytes = checkedBytes(op, name, kind, shape);
    if (data.length !== bytes) throw what(`has ${data.length} bytes, and its shape ${bytes}`);
    return { name, kind, shape, bytes, fill: (to) => to.set(data) };
  }
  const own = given instanceof Tensor ? given : given.tensor;
  const t = own instanceof Tensor ? own : internals.asTensor(own, op);
  const kind = kindOf(op, (given instanceof Tensor ? undefined : given.kind) ?? t.dtype);
  const isWritten = ['float32', 'float16', 'bfloat16', t.dtype].includes(kind.name) || kind.name in ENCODERS;
  if (!isWritten) throw unsupportedKind(op, kind.name, 'written');
  return { name, kind, shape: t.shape, bytes: checkedBytes(op, name, kind, t.shape), fill: fillFrom(op, t, kind.name) };
}

/** Size of a tensor in bytes. Refuses more than 4 dimensions, and rows that are not whole blocks. */
function checkedBytes(op: string, name: string, kind: Kind, shape: readonly number[]): number {
  if (shape.length > 4) throw new SinterError('argument', op, `${shown(name)} has ${shape.length} dimensions, at most 4`);
  const row = shape.at(-1) ?? 1;
  if (row % kind.block !== 0) throw new SinterError('argument', op, `${shown(name)} has rows of ${row}, and ${kind.name} has blocks of ${kind.block}`);
  return bytesOfShape(op, name, kind, shape);
}

/** A GGUF file of version 3, as bytes. */
export function write(given: GgufWriteOptions): Uint8Array<ArrayBuffer> {
  const op = 'gguf.write';
  const { metadata = {}, types = {}, tensors } = readOptions(op, given, OPTIONS);
  if (!tensors) throw new SinterError('argument', op, 'needs tensors', { hint: "gguf.write({ metadata: { 'general.architecture': 'llama' }, tensors: { w } })" });
  return tidy(() => written(op, metadata, types, Object.entries(tensors).map(([name, each]) => partOf(op, name, each))));
}

function written(op: string, metadata: GgufMetadata, types: NonNullable<GgufWriteOptions['types']>, parts: readonly Part[]): Uint8Array<ArrayBuffer> {
  const alignment = alignmentOf(op, metadata, types['general.alignment'] ?? 'uint32');
  const sink = new Sink();
  sink.uint32(0x46554747);
  sink.uint32(3);
  sink.uint64(BigInt(parts.length));
  sink.uint64(BigInt(Object.keys(metadata).length));
  writeMetadata(op, sink, metadata, types);
  let end = 0;
  const offsets = parts.map(({ name, kind, shape, bytes }) => {
    sink.text(name);
    sink.uint32(shape.length);
    for (const dimension of [...shape].reverse()) sink.uint64(BigInt(dimension));
    sink.uint32(kind.number);
    sink.uint64(BigInt(end));
    const offset = end;
    end = padded(end + bytes, alignment);
    return offset;
  });
  const begin = padded(sink.length, alignment);
  const file = makeBytes(op, begin + end);
  file.set(sink.bytes);
  parts.forEach(({ bytes, fill }, i) => fill(file.subarray(begin + offsets[i]!, begin + offsets[i]! + bytes)));
  return file;
}
