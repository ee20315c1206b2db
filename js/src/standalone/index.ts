// sinter/standalone: runs a module that exportWasm of sinter/export made. It does not need the package: a page needs only
// this file, the module and its weights.

import type { Description, LoaderPlace, LoaderTree } from '../export/description.js';
import { toBrain, toHalf } from '../gguf/half.js';
import type { Global } from '../runtime/loader.js';

/** Arrays of elements as they are in memory: bool as bytes 0 and 1, float16 and bfloat16 as their bits. */
const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  bool: Uint8Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  int8: Int8Array,
  uint8: Uint8Array,
};

/** How numbers become elements of dtypes whose typed arrays do not convert them. */
const FROM_NUMBER: Readonly<Record<string, (value: number) => number>> = { bool: (value) => +(value != 0), float16: toHalf, bfloat16: toBrain };

export type Elements = InstanceType<(typeof ARRAYS)[keyof typeof ARRAYS]>;

/** A URL, bytes or a Response. */
export type Source = string | ArrayBuffer | ArrayBufferView | Global<'URL'> | Global<'Response'>;

export interface Standalone<A extends readonly unknown[] = unknown[], R = unknown> {
  /**
   * Arguments have the structure that the function was saved with; those of a training step are the batch. Each tensor is a
   * typed array with its elements, row-major, or an array of numbers, nested or not. For float16 and bfloat16 numbers are
   * rounded, but a Uint16Array is taken as bits. Results are typed arrays, copied, in the structure that the function
   * returns; those of float16 and bfloat16 are bits. A tensor without dimensions is a number. A training step returns {
   * loss, aux }.
   */
  (...args: A): R;
  /**
   * The state of a training step by the names of its tensors, copied. values: new values of those that are given; throws a
   * TypeError for a name that does not exist.
   */
  state(values?: Record<string, ArrayLike<number>>): Record<string, Elements>;
}

/** Of a file in the format safetensors: the part with a tensor's bytes, null where it lacks some of them. */
function tensorsOf(file: Uint8Array): (name: string) => Uint8Array | null {
  try {
    const begin = 8 + Number(new DataView(file.buffer, file.byteOffset, file.byteLength).getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(file.subarray(8, begin))) as Record<string, { data_offsets: [number, number] }>;
    return (name) => {
      const [from, end] = header[name]?.data_offsets ?? [0, Infinity];
      return begin + end <= file.length ? file.subarray(begin + from, begin + end) : null;
    };
  } catch (cause) {
    throw new TypeError('the weights are no file in the format safetensors', { cause });
  }
}

async function bytesOf(source: Source): Promise<BufferSource> {
  const given = typeof source === 'string' || source instanceof URL ? await fetch(source) : source;
  if (!(given instanceof Response)) return given as BufferSource;
  if (!given.ok) throw new Error(`${given.url}: ${given.status}`);
  return given.arrayBuffer();
}

/**
 * Loads an exported module, which then runs on the thread that calls it. weights: the file that was exported beside it.
 * Rejects with a TypeError for a module without a description, and for weights that are missing or do not fit the module.
 */
export async function load<A extends readonly unknown[] = unknown[], R = unknown>(wasm: Source, weights?: Source | null): Promise<Standalone<A, R>> {
  const module = await WebAssembly.compile(await bytesOf(wasm));
  const [section] = WebAssembly.Module.customSections(module, 'sinter');
  if (!section) throw new TypeError('this module is not one of sinter/export');
  const { inputs, outputs, args, result, ...told } = JSON.parse(new TextDecoder().decode(section)) as Description;
  const { exports } = await WebAssembly.instantiate(module);
  const { buffer } = exports['memory'] as WebAssembly.Memory;
  const view = ([address, dtype, shape]: LoaderPlace): Elements =>
    new ARRAYS[dtype as keyof typeof ARRAYS](buffer, address, shape.reduce((n, dim) => n * dim, 1));

  const write = (place: LoaderPlace, given: unknown, name: string): void => {
    const to = view(place);
    const from = (Array.isArray(given) ? given.flat(Infinity) : typeof given === 'object' ? given : [given]) as ArrayLike<number> | null;
    if (from?.length !== to.length || from[0] === undefined && to.length) throw new TypeError(`${name}: expected ${place[1]} of shape (${place[2].join()})`);
    const convert = from instanceof Uint16Array ? undefined : FROM_NUMBER[place[1]];
    to.set(convert ? Array.from(from, convert) : from);
  };
  const writeTree = (tree: LoaderTree, given: unknown, name: string): void => {
    if (typeof tree === 'number') write(inputs[tree]!, given, name);
    else if (typeof tree === 'object')
      for (const [key, inner] of Object.entries(tree)) writeTree(inner, (given as Record<string, unknown> | null)?.[key], `${name}.${key}`);
  };
  const readTree = (tree: LoaderTree): unknown => {
    if (typeof tree === 'number') return outputs[tree]![2].length ? view(outputs[tree]!).slice() : view(outputs[tree]!)[0];
    if (typeof tree === 'string') return tree ? JSON.parse(tree) : undefined;
    if (Array.isArray(tree)) return tree.map(readTree);
    return Object.fromEntries(Object.entries(tree).map(([key, inner]) => [key, readTree(inner)]));
  };

  if (told.weights.length) {
    if (!weights) throw new TypeError('this module has its weights beside it');
    const given = await bytesOf(weights);
    const file = ArrayBuffer.isView(given) ? new Uint8Array(given.buffer, given.byteOffset, given.byteLength) : new Uint8Array(given);
    const tensorOf = tensorsOf(file);
    for (const [name, input] of told.weights) {
      const to = view(inputs[input]!);
      const from = tensorOf(name);
      if (from?.length !== to.byteLength) throw new TypeError(`the weights have no ${name} as the module needs it`);
      new Uint8Array(buffer, to.byteOffset, to.byteLength).set(from);
    }
  }

  const run = exports['run'] as () => number;
  // State whose output is not where the next run reads it, so that it has to be copied there.
  const moved = told.state.filter(([, input, output]) => inputs[input]![0] !== outputs[output]![0]);
  const call = (...given: A): R => {
    writeTree(args, given, 'arguments');
    if (run()) throw new Error('the run failed');
    const made = readTree(result) as R;
    const next = moved.map(([, , output]) => view(outputs[output]!).slice());
    moved.forEach(([, input], i) => view(inputs[input]!).set(next[i]!));
    return made;
  };
  const state = (values: Record<string, ArrayLike<number>> = {}): Record<string, Elements> => {
    for (const [name, given] of Object.entries(values)) {
      const found = told.state.find(([each]) => each === name);
      if (!found) throw new TypeError(`the state has no ${name}; it has ${told.state.map(([each]) => each).join(', ')}`);
      write(inputs[found[1]]!, given, name);
    }
    return Object.fromEntries(told.state.map(([name, input]) => [name, view(inputs[input]!).slice()]));
  };
  return Object.assign(call, { state });
}
