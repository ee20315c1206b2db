// An instance of the module for one thread that makes one program ready to run, and is then taken apart; the steps are in
// wasm/standalone/standalone.h. It is independent of the page's own instance.

import { OutOfMemoryError, SinterError } from '../index.js';
import type { Module } from './module.js';
import { Writer } from './bytes.js';

/** A module of emitted code, and the places of its functions in the table. */
export interface Emitted {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly first: number;
  readonly count: number;
}

interface StandaloneExports {
  _initialize?(): void;
  __indirect_function_table: WebAssembly.Table;
  sinter_error_info(): number;
  sinter_scratch(words: number): number;
  sinter_standalone_create(relaxedSimd: number): number;
  sinter_standalone_take(bytes: number): number;
  sinter_standalone_load(bytes: number, size: number): number;
  sinter_standalone_note(): number;
  sinter_standalone_path(argument: number): number;
  sinter_standalone_value(argument: number): number;
  sinter_standalone_place(address: number): number;
  sinter_standalone_dry_run(): number;
}

/** Pages of memory that the module needs at least. */
const INITIAL_PAGES = 256;
/** Most pages: memory grows to what the program takes. */
const MOST_PAGES = 65536;
const INSTALLED = 1;
/** Offset in bytes of the text in an sn_error. */
const MESSAGE = 4;
/** Words that describe a place: address, dtype, rank and SN_MAX_RANK dims. */
const PLACE_WORDS = 11;

/** The address and type of an argument or a result. */
export interface Place {
  address: number;
  dtype: number;
  shape: number[];
}

/** The parts of a loaded program, in numbers of tensors. */
export interface LoadedParts {
  arguments: number;
  inputs: number;
  /** How many inputs are state; null: it is no training step. */
  states: number | null;
  rates: number;
  outputs: number;
  /** The words from which pointers are followed to all that a run uses. */
  root: { address: number; words: number };
  /** The end of the core's data. */
  heap: number;
}

/**
 * Makes a module with a watcher for each place of the table: a function that notes that it was called, and calls the
 * original one. Imports: t.functions, the original table; t.seen, a memory with a byte per place.
 */
function watchers({ types, imported, functions, table }: Module): Uint8Array<ArrayBuffer> {
  const typeOf = (number: number): number => (number < imported.length ? imported[number]! : functions[number - imported.length]!.type);
  const places = [...table.entries()];
  const out = new Writer().raw([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
  out.section(1, (w) => {
    w.number(types.length);
    for (const { bytes } of types) w.raw(bytes);
  });
  out.section(2, (w) => w.number(2).text('t').text('functions').raw([1, 0x70, 0]).number(0).text('t').text('seen').raw([2, 0, 1]));
  out.section(3, (w) => {
    w.number(places.length);
    for (const [, number] of places) w.number(typeOf(number));
  });
  out.section(7, (w) => {
    w.number(places.length);
    places.forEach(([place], i) => w.text(String(place)).byte(0).number(i));
  });
  out.section(10, (w) => {
    w.number(places.length);
    for (const [place, number] of places)
      w.sized((body) => {
        const type = typeOf(number);
        body.number(0);
        body.byte(0x41).signed(place).raw([0x41, 1, 0x3a, 0, 0]); // seen[place] = 1
        for (let i = 0; i < types[type]!.parameters; i++) body.byte(0x20).number(i);
        body.byte(0x41).signed(place).byte(0x11).number(type).byte(0).byte(0x0b);
      });
  });
  return out.bytes();
}

export class Instance {
  readonly memory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: MOST_PAGES });
  /** Sizes of the heap's blocks by their addresses. */
  readonly blocks = new Map<number, number>();
  readonly emitted: Emitted[] = [];
  readonly #core: Module;
  #exports!: StandaloneExports;
  #first = 0;

  private constructor(core: Module) {
    this.#core = core;
  }

  static async open(core: Module, compiled: WebAssembly.Module, relaxedSimd: boolean): Promise<Instance> {
    const made = new Instance(core);
    const host: Record<string, (...args: number[]) => number> = {
      now: () => 0,
      code_first: () => made.#first,
      code_install: (address, size, first, count) => made.#install(address! >>> 0, size!, first!, count!),
    };
    for (const { module, name } of WebAssembly.Module.imports(compiled)) if (module === 'host') host[name] ??= () => 0;
    const instance = await WebAssembly.instantiate(compiled, { env: { memory: made.memory }, host });
    made.#exports = instance.exports as unknown as StandaloneExports;
    made.#exports._initialize?.();
    made.#first = made.#exports.__indirect_function_table.length;
    // Without a context there is no error text.
    if (made.#exports.sinter_standalone_create(Number(relaxedSimd))) throw new OutOfMemoryError('exportWasm', 'there is no memory for another instance');
    return made;
  }

  /** Installs code emitted for this program: synchronously, also on a page, where engines allow that for small modules. */
  #install(address: number, size: number, first: number, count: number): number {
    const bytes = new Uint8Array(this.memory.buffer, address, size).slice();
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory: this.memory } });
    const table = this.#exports.__indirect_function_table;
    if (table.length < first + count) table.grow(first + count - table.length);
    for (let i = 0; i < count; i++) table.set(first + i, exports[i] as () => void);
    this.emitted.push({ bytes, first, count });
    return INSTALLED;
  }

  #check(status: number): void {
    if (status === 0) return;
    const error = this.#exports.sinter_error_info();
    throw new SinterError('argument', 'exportWasm', this.text(error + MESSAGE) || 'there is no memory for the program');
  }

  text(address: number): string {
    if (address === 0) return '';
    const bytes = new Uint8Array(this.memory.buffer, address >>> 0);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  }

  words(address: number, count: number): Int32Array {
    return new Int32Array(this.memory.buffer, address >>> 0, count);
  }

  #scratch(count: number): Int32Array {
    return this.words(this.#exports.sinter_scratch(count), count);
  }

  load(program: Uint8Array): LoadedParts {
    const address = this.#exports.sinter_standalone_take(program.length) >>> 0;
    if (address === 0) throw new OutOfMemoryError('exportWasm', `no memory for a program of ${program.length} bytes`);
    new Uint8Array(this.memory.buffer).set(program, address);
    this.#check(this.#exports.sinter_standalone_load(address, program.length));
    const [all, inputs, states, rates, outputs, root, words, heap, events, count] = this.#scratch(10);
    const noted = this.words(events!, count! * 2);
    for (let i = 0; i < noted.length; i += 2) {
      if (noted[i + 1]) this.blocks.set(noted[i]! >>> 0, noted[i + 1]! >>> 0);
      else this.blocks.delete(noted[i]! >>> 0);
    }
    return {
      arguments: all!,
      inputs: inputs!,
      states: states! < 0 ? null : states!,
      rates: rates!,
      outputs: outputs!,
      root: { address: root! >>> 0, words: words! },
      heap: heap! >>> 0,
    };
  }

  /** The note that was saved with the program. */
  note(): string {
    return this.text(this.#exports.sinter_standalone_note());
  }

  /** The name of an argument of a training step. */
  path(argument: number): string {
    return this.text(this.#exports.sinter_standalone_path(argument));
  }

  /** The address of the value that an argument was saved with; null: it has none. */
  value(argument: number): number | null {
    return this.#exports.sinter_standalone_value(argument) >>> 0 || null;
  }

  /** Lays out all buffers of a run from an address on. Returns where they end, and the places of arguments and results. */
  place(address: number, parts: LoadedParts): { end: number; arguments: Place[]; outputs: Place[] } {
    this.#check(this.#exports.sinter_standalone_place(address));
    const count = parts.arguments + parts.outputs;
    const words = this.#scratch(1 + count * PLACE_WORDS);
    const places = Array.from({ length: count }, (_, i) => {
      const [at, dtype, rank, ...dims] = words.subarray(1 + i * PLACE_WORDS, 1 + (i + 1) * PLACE_WORDS);
      return { address: at! >>> 0, dtype: dtype!, shape: dims.slice(0, rank) };
    });
    return { end: words[0]! >>> 0, arguments: places.slice(0, parts.arguments), outputs: places.slice(parts.arguments) };
  }

  /** Sets memory from an address on to zero. */
  clear(address: number): void {
    new Uint8Array(this.memory.buffer).fill(0, address);
  }

  /** Runs all kernels once. Returns the places in the table of the core's functions that they call by a pointer. */
  dryRun(): Set<number> {
    const table = this.#exports.__indirect_function_table;
    const functions = new WebAssembly.Table({ element: 'anyfunc', initial: this.#first });
    for (let i = 0; i < this.#first; i++) functions.set(i, table.get(i) as (() => void) | null);
    const seen = new WebAssembly.Memory({ initial: 1 });
    const watching = new WebAssembly.Instance(new WebAssembly.Module(watchers(this.#core)), { t: { functions, seen } });
    for (const [name, watcher] of Object.entries(watching.exports)) table.set(Number(name), watcher as () => void);
    this.#check(this.#exports.sinter_standalone_dry_run());
    const called = new Uint8Array(seen.buffer);
    called[this.#scratch(1)[0]!] = 1;
    return new Set([...this.#core.table.keys()].filter((place) => called[place] === 1));
  }
}
