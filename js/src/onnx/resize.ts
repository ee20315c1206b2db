// Replaces weights of a file by weights of other shapes. The messages of these weights, and of values whose shapes change with
// them, are written anew; all others are copied unchanged.

import { internals, SinterError, Tensor } from '../index.js';
import { Message } from './encode.js';
import { readTensorProto, readValueInfo } from './model.js';
import { Reader } from './protobuf.js';
import { tensorMessage, valueMessage } from './scribe.js';

const { asBytes, bytesOf, readOptions, shown } = internals;

export interface ResizeOptions {
  /** The new weights, by their names in the file. */
  weights: Readonly<Record<string, Tensor>>;
  /** The new shapes of outputs and other values that the file describes, by name. */
  shapes?: Readonly<Record<string, readonly (number | string)[]>>;
}

/** Copies a message. For nested messages in the given fields, rewrite returns the replacement, or null to keep them. */
function rewritten(bytes: Uint8Array, reader: Reader, fields: readonly number[], rewrite: (field: number, inner: Reader) => Message | null): Message {
  const into = new Message();
  for (let begin = reader.at; reader.next(); begin = reader.at) {
    const { field } = reader;
    const made = fields.includes(field) ? rewrite(field, reader.message(`field ${field}`)) : reader.skip();
    if (made) into.message(field, made);
    else into.raw(bytes.subarray(begin, reader.at));
  }
  return into;
}

/** The file with weights of other shapes in place of its own, e.g. for a last layer of another size. */
export function resize(bytes: Uint8Array | ArrayBuffer, options: ResizeOptions): Uint8Array<ArrayBuffer> {
  const op = 'onnx.resize';
  const file = asBytes(op, bytes);
  const { weights = {}, shapes = {} } = readOptions<ResizeOptions>(op, options, { weights: 'object', shapes: 'object' });
  const left = new Set(Object.keys(weights));
  const graph = (reader: Reader): Message =>
    rewritten(file, reader, [5, 12, 13], (field, inner) => {
      if (field === 5) {
        const { name } = readTensorProto(inner);
        const t = Object.hasOwn(weights, name) ? weights[name] : null;
        left.delete(name);
        if (t === null) return null;
        if (!(t instanceof Tensor)) throw new SinterError('argument', op, `weight ${shown(name)} is ${shown(t)}, expected a tensor`);
        return tensorMessage(name, t.dtype, t.shape, bytesOf(t, op));
      }
      const { name, type } = readValueInfo(inner);
      return Object.hasOwn(shapes, name) ? valueMessage(name, type, shapes[name]!) : null;
    });
  const made = rewritten(file, new Reader(file, 'model'), [7], (_, inner) => graph(inner)).join(op);
  for (const name of left) throw new SinterError('argument', op, `there is no weight ${shown(name)}`);
  return made;
}
