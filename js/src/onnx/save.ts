// Saves new weights over the old ones: the elements are written to their places in the file, and all other bytes stay.

import { internals, UnsupportedError, type Tensor } from '../index.js';
import type { TensorProto } from './model.js';
import { Reader } from './protobuf.js';
import { typeName } from './types.js';

const { bytesOf, makeBytes, shown } = internals;

/** A weight of the file, and its new elements. */
export interface Patch {
  proto: TensorProto;
  tensor: Tensor;
}

/** Where the elements of a numeric field lie, packed or single. Only floats and doubles have a fixed length, so only these
 *  work. */
function placesOf(bytes: Uint8Array, { range, type, name }: TensorProto): { at: number; count: number }[] {
  const [field, width] = type === 1 ? [4, 4] : type === 11 ? [10, 8] : [0, 0];
  if (width === 0) throw new UnsupportedError('onnx.save', `weight ${shown(name)} of ${typeName(type)} is not written as bytes`);
  const reader = new Reader(bytes, 'tensor', range);
  const places: { at: number; count: number }[] = [];
  while (reader.next()) {
    if (reader.field !== field) {
      reader.skip();
      continue;
    }
    const numbers: number[] = [];
    if (width === 4) reader.floats(numbers);
    else reader.doubles(numbers);
    places.push({ at: reader.valueAt, count: numbers.length * width });
  }
  return places;
}

/** A copy of the file with other elements. */
export function patched(bytes: Uint8Array, patches: readonly Patch[]): Uint8Array<ArrayBuffer> {
  const out = makeBytes('onnx.save', bytes.length);
  out.set(bytes);
  for (const { proto, tensor } of patches) {
    if (proto.external) {
      throw new UnsupportedError('onnx.save', `weight ${shown(proto.name)} is outside of the file`, { hint: 'save writes weights into the file that they are in' });
    }
    const elements = bytesOf(tensor, 'onnx.save');
    const places = proto.raw ? [{ at: proto.raw.begin, count: proto.raw.end - proto.raw.begin }] : placesOf(bytes, proto);
    let from = 0;
    for (const { at, count } of places) {
      out.set(elements.subarray(from, from + count), at);
      from += count;
    }
  }
  return out;
}
