// Damaged ONNX files: bytes of valid ones changed, and what may come of it. Whatever is thrown is a typed error, and no memory
// stays behind.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as sn from '../../js/dist/index.js';
import * as onnx from '../../js/dist/onnx.js';
import { xorshift } from '../../js/test/random.mjs';

const INTERESTING = [0, 1, 2, 7, 8, 10, 127, 128, 255];

/** The bytes with a change or up to four: bits, bytes, pieces taken out, put in twice or exchanged, an end cut off. */
function mutated(bytes, next) {
  let out = Uint8Array.from(bytes);
  for (let changes = next(3) ? 1 : 2 + next(3); changes > 0; changes--) {
    const at = next(out.length);
    const size = 1 + next(16);
    switch (next(6)) {
      case 0:
        out[at] ^= 1 << next(8);
        break;
      case 1:
        out[at] = INTERESTING[next(INTERESTING.length)];
        break;
      case 2:
        out = Uint8Array.of(...out.subarray(0, at), ...out.subarray(at + size));
        break;
      case 3:
        out = Uint8Array.of(...out.subarray(0, at + size), ...out.subarray(at));
        break;
      case 4:
        out.copyWithin(at, next(out.length), next(out.length));
        break;
      default:
        if (next(8) === 0) out = out.slice(0, at);
        else out[at] = next(256);
    }
    if (out.length === 0) return out;
  }
  return out;
}

/** Numbers for an input, of the sizes that the file has, or small ones. */
function inputFor(port) {
  if (port.dtype === 'sequence') return [[1, 2]];
  if (port.dtype === 'optional') return null;
  const shape = (port.shape ?? [2]).map((size) => (typeof size === 'number' ? Math.min(size, 40) : 2));
  if (port.dtype === 'string') return shape.reduceRight((level, size) => Array.from({ length: size }, () => level), 'a');
  const dtype = { float: 'float32', double: 'float64', float16: 'float16', bfloat16: 'bfloat16', int8: 'int8', uint8: 'uint8', bool: 'bool', int4: 'int8', int2: 'int8', uint4: 'uint8', uint2: 'uint8' };
  return sn.ones(shape, { dtype: dtype[port.dtype] ?? (port.dtype.startsWith('float') ? 'float32' : 'int32') });
}

/** Loads and runs a file; 'refused' or 'ran'. Anything else than a typed error goes through. */
function tryFile(bytes) {
  let model;
  try {
    return sn.tidy(() => {
      model = onnx.load(bytes);
      const inputs = Object.fromEntries(model.inputs.map((port) => [port.name, inputFor(port)]));
      sn.eval(...Object.values(model.run(inputs)).flat(9).filter((each) => each instanceof sn.Tensor));
      return 'ran';
    });
  } catch (error) {
    if (error instanceof sn.SinterError && error.code !== 'internal') return 'refused';
    throw error;
  } finally {
    model?.dispose();
  }
}

/** Small models of ONNX's own cases: every nth, so that ops of all kinds are among them. */
export function seeds(folder, names, every) {
  return names.filter((_, i) => i % every === 0).map((name) => join(folder, name, 'model.onnx')).filter(existsSync).map((path) => ({ path, bytes: readFileSync(path) })).filter(({ bytes }) => bytes.length < 4096);
}

/** Damages files; resolves to how many ran and were refused. first: the number of the first program. */
export function fuzz(files, count, first = 1) {
  const seen = { ran: 0, refused: 0 };
  for (let i = first; i < first + count; i++) {
    const next = xorshift(i * 2654435761);
    const { path, bytes } = files[next(files.length)];
    const damaged = mutated(bytes, next);
    const begin = performance.now();
    try {
      seen[tryFile(damaged)]++;
    } catch (error) {
      throw new Error(`file ${i}, of ${path}: ${error.stack}`, { cause: error });
    }
    const took = performance.now() - begin;
    if (took > 20_000) throw new Error(`file ${i}, of ${path}: ${took} ms`);
  }
  return seen;
}
