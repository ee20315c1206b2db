// sinter/export: a compiled function, or a training step, as a WebAssembly module of its own.
//
// No new code is generated. The module for one thread compiles the program once more, in an instance that is thrown away.
// The exported module is what that instance then has - the plan of each kernel, the code emitted for it, the functions of
// the core that a run can reach: the same functions on the same memory, and so the same bits.
//
//   bytes of f.save(...) or step.export(...)
//     -> instance.ts   compiled, ready to run
//     -> reach.ts      the objects that a run reaches
//     -> link.ts       functions, memory and table as one module; sinter/standalone loads it

import { SinterError, UnsupportedError, internals } from '../index.js';
import type { Global } from '../runtime/loader.js';
import { hasRelaxedSimd } from '../runtime/probe.js';
import type { Plain } from '../savedtree.js';
import type { Description, LoaderPlace } from './description.js';
import { Instance, type LoadedParts, type Place } from './instance.js';
import { link, type Piece } from './link.js';
import { readModule, type Module } from './module.js';
import { pieces, reached, type Block } from './reach.js';
import { loaderTree, plainList } from './trees.js';

const { ARRAYS, asBytes, DTYPES, moduleSource, nodeFiles, readOptions, STORED } = internals;

const OP = 'exportWasm';

export interface ExportOptions {
  /**
   * Where to put the values saved with the program - tensors that the function captured, the state of a step: 'beside' the
   * module (the default), in a file in the format safetensors, or 'inside' the module.
   */
  weights?: 'beside' | 'inside';
  /**
   * Uses fused multiply-adds where they are faster. The module then needs an engine with relaxed SIMD, as exporting it does,
   * and its bits depend on the machine. Default false: the bits of init({ deterministic: true }), on every engine.
   */
  relaxedSimd?: boolean;
  /** The package's file sinter.wasm, by its URL or its bytes, if it is not found by itself. */
  module?: string | Global<'URL'> | Uint8Array | ArrayBuffer;
}

export interface ExportedWasm {
  /** The module, to be loaded by `load` of sinter/standalone, or by hand. */
  wasm: Uint8Array<ArrayBuffer>;
  /** A file in the format safetensors that belongs to it; null if it needs none. */
  weights: Uint8Array<ArrayBuffer> | null;
}

/* ---- the package's module ---- */

let core: Promise<{ parsed: Module; compiled: WebAssembly.Module }> | null = null;

async function coreBytes(source: NonNullable<ExportOptions['module']>): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof source !== 'string' && !(source instanceof URL)) return asBytes(OP, source).slice();
  const url = new URL(source, globalThis.location?.href);
  if (url.protocol === 'file:') return nodeFiles(OP).readFile(url);
  const response = await fetch(url);
  if (!response.ok) throw new SinterError('load', OP, `the server answered ${response.status} for ${url.href}`);
  return new Uint8Array(await response.arrayBuffer());
}

async function openCore(source: NonNullable<ExportOptions['module']>): Promise<{ parsed: Module; compiled: WebAssembly.Module }> {
  try {
    const bytes = await coreBytes(source);
    const compiled = await WebAssembly.compile(bytes);
    if (!WebAssembly.Module.exports(compiled).some(({ name }) => name === 'sinter_standalone_create'))
      throw new SinterError('load', OP, 'this is not the module for one thread', { hint: 'pass the sinter.wasm of this version of the package' });
    return { parsed: readModule(bytes), compiled };
  } catch (cause) {
    if (cause instanceof SinterError) throw cause;
    throw new SinterError('load', OP, `sinter.wasm cannot be loaded: ${String(cause)}`, { hint: 'pass { module }, its URL or its bytes', cause });
  }
}

/* ---- what the loader is told ---- */

function readNote(text: string, { inputs, outputs }: LoadedParts): Record<string, Plain> {
  return text === '' ? { args: plainList(inputs), result: plainList(outputs) } : (JSON.parse(text) as Record<string, Plain>);
}

const counter = (from: number) => (): number => from++;

function describe(instance: Instance, parts: LoadedParts, places: { arguments: Place[]; outputs: Place[] }, named: readonly string[]): Description {
  const note = readNote(instance.note(), parts);
  const told = ({ address, dtype, shape }: Place): LoaderPlace => [address, DTYPES[dtype]!, shape];
  const shared = {
    inputs: places.arguments.map(told),
    outputs: places.outputs.map(told),
    weights: named.map((name, i): [string, number] => [name, weightInput(parts, i)]),
  };
  const { states } = parts;
  if (states === null)
    return { ...shared, args: loaderTree(note['args']!, counter(0)), result: loaderTree(note['result']!, counter(0)), state: [] };
  const others = parts.outputs - states - 1;
  return {
    ...shared,
    args: loaderTree(note['batch']!, counter(states + parts.rates)),
    result: { loss: others, aux: loaderTree(note['aux']!, counter(0)) },
    state: Array.from({ length: states }, (_, i) => [instance.path(i), i, others + 1 + i]),
  };
}

/* ---- weights ---- */

/** Saved values belong to the first inputs, state and rates, and to the captured tensors, which are after all inputs. */
const ownValues = ({ states, rates }: LoadedParts): number => (states === null ? 0 : states + rates);
const weightInput = (parts: LoadedParts, i: number): number => (i < ownValues(parts) ? i : parts.inputs + i - ownValues(parts));

const sizeOf = (shape: readonly number[]): number => shape.reduce((n, dim) => n * dim, 1);

interface Weight {
  name: string;
  place: Place;
  bytes: Uint8Array;
}

const itemBytes = (dtype: number): number => ARRAYS[dtype]!.BYTES_PER_ELEMENT;

function readWeights(instance: Instance, parts: LoadedParts, places: readonly Place[]): Weight[] {
  const count = ownValues(parts) + parts.arguments - parts.inputs;
  return Array.from({ length: count }, (_, i) => {
    const input = weightInput(parts, i);
    const place = places[input]!;
    const size = sizeOf(place.shape) * itemBytes(place.dtype);
    const bytes = new Uint8Array(instance.memory.buffer, instance.value(input) ?? 0, size).slice();
    return { name: input < parts.inputs ? instance.path(input) : `captured.${input - parts.inputs}`, place, bytes };
  });
}

/** A file in the format safetensors, with larger elements first, so that all are aligned. */
function safetensors(weights: readonly Weight[]): Uint8Array<ArrayBuffer> {
  const header: Record<string, unknown> = {};
  let end = 0;
  const ordered = [...weights].sort((a, b) => itemBytes(b.place.dtype) - itemBytes(a.place.dtype));
  for (const { name, place, bytes } of ordered) {
    const dtype = Object.keys(STORED).find((each) => STORED[each] === DTYPES[place.dtype]);
    header[name] = { dtype, shape: place.shape, data_offsets: [end, (end += bytes.length)] };
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const begin = 8 + Math.ceil(text.length / 8) * 8;
  const file = new Uint8Array(begin + end).fill(0x20, 0, begin);
  new DataView(file.buffer).setBigUint64(0, BigInt(begin - 8), true);
  file.set(text, 8);
  let at = begin;
  for (const { bytes } of ordered) {
    file.set(bytes, at);
    at += bytes.length;
  }
  return file;
}

/* ---- the export ---- */

const align = (address: number): number => Math.ceil(address / 64) * 64;

/** The pieces of memory that are not zero: the core's data and the objects of the program, unchanged. */
function memoryPieces(instance: Instance, core: Module, heap: number, objects: readonly Block[]): Piece[] {
  const begin = Math.min(...core.data.map(({ address }) => address));
  const all = [{ address: begin, size: heap - begin }, ...objects];
  return all.flatMap(({ address, size }) => pieces(new Uint8Array(instance.memory.buffer, address, size), address));
}

/**
 * Exports a compiled function or training step as a standalone WebAssembly module: its kernels, the plan of its memory and
 * the parts of the library that they call, without the compiler. `load` of sinter/standalone runs it, on one thread.
 *
 * `saved`: the bytes of f.save(...args) or step.export(state, ...batch). Results have the bits of a program of the package
 * that runs with init({ deterministic: true }). Rejects with a SinterError for bytes that are no saved program, for maps,
 * sets and numbers that are not finite among the arguments, and if sinter.wasm of the package cannot be loaded.
 */
export async function exportWasm(saved: Uint8Array | ArrayBuffer, options?: ExportOptions): Promise<ExportedWasm> {
  const { weights = 'beside', relaxedSimd = false, module } = readOptions<ExportOptions>(OP, options, { weights: 'string', relaxedSimd: 'boolean', module: 'any' });
  if (weights !== 'beside' && weights !== 'inside') throw new SinterError('argument', OP, `weights is ${String(weights)}, expected 'beside' or 'inside'`);
  if (relaxedSimd && !hasRelaxedSimd()) throw new UnsupportedError(OP, 'relaxed SIMD in this engine', { hint: 'one that has it is needed to make the module, too' });
  const program = asBytes(OP, saved);
  core ??= module === undefined ? openCore(moduleSource(false)) : null;
  const opened = module === undefined ? core! : openCore(module);
  opened.catch(() => (core = null)); // a failure is not kept: the next call loads it again
  const { parsed, compiled } = await opened;
  const instance = await Instance.open(parsed, compiled, relaxedSimd);

  const parts = instance.load(program);
  const objects = reached(instance.memory, instance.blocks, parts.root);
  const begin = align(Math.max(parts.heap, ...objects.map(({ address, size }) => address + size)));
  const places = instance.place(begin, parts);
  const values = readWeights(instance, parts, places.arguments);
  const isInside = weights === 'inside';
  const description = describe(instance, parts, places, isInside ? [] : values.map(({ name }) => name));
  // From begin on, where buffers will be, there is only what the compiler needed.
  instance.clear(begin);
  const called = instance.dryRun();
  const inside = isInside ? values.flatMap(({ place, bytes }) => pieces(bytes, place.address)) : [];
  const wasm = link({
    core: parsed,
    emitted: instance.emitted,
    run: parsed.exports.get('sinter_standalone_run')!,
    called,
    pieces: [...memoryPieces(instance, parsed, parts.heap, objects), ...inside],
    bytes: places.end,
    description: JSON.stringify(description),
  });
  return { wasm, weights: isInside || values.length === 0 ? null : safetensors(values) };
}
