// A compiled graph, and how it is called. Placeholders stand for the inputs while the function is traced.

import { sizeOf } from './axes.js';
import { passNumber } from './core.js';
import { dtypeNumber } from './dtype.js';
import { shown } from './check.js';
import { copyToDevice, checkNotLost, tracingFor, withAddressesOn, type DeviceName } from './device.js';
import { DisposedError, SinterError } from './errors.js';
import type { OptionSchema } from './options.js';
import type { Precision } from './precision.js';
import { noticePressure } from './pressure.js';
import type { Graph } from './source/graph.js';
import { runtime, runtimeOrNull, type Runtime } from './runtime/runtime.js';
import { SLICE_MS, nextTurn } from './runtime/turns.js';
import { Tensor, wrap, type Meta } from './tensor.js';
import { compiling } from './trace.js';

/** A tensor without a value, in the place of an argument of a program that is being traced. */
export function placeholder({ dtype, shape, key }: Meta): Tensor {
  const rt = runtime();
  rt.send(shape);
  const address = rt.exports.sinter_placeholder(dtypeNumber(dtype), shape.length);
  return compiling(() => wrap(address, { dtype, shape, key }));
}

/** A copy of a tensor, in memory of its own, on a device. */
export const copyOf = (t: Tensor, device: DeviceName): Tensor => wrap(copyToDevice(t.use('copy'), device), t.meta);

/** How one program is compiled, where it differs from setPass and init. */
export interface CompileOptions {
  /** Switches passes on or off by name: see passes(). */
  passes?: Readonly<Record<string, boolean>>;
  /** false: one kernel per op. */
  fusion?: boolean;
  /** false: no code is emitted for it; an interpreter computes equal results. */
  jit?: boolean;
  /**
   * true: convolutions of 3 x 3 and the gradients of their inputs take fewer multiplications where that pays, by Winograd's
   * F(2 x 2, 3 x 3): up to twice as fast. The error of an element is then bounded by the largest terms around it, not by
   * those of its own sum, and an infinity makes NaN also of results one place beyond those that it reaches. Default false.
   */
  winograd?: boolean;
  /**
   * Most bytes that its intermediate results may take. Results that are cheap to compute for the memory they take are
   * computed again where they are used, by the same kernels and so with the same bits. If the program cannot keep within
   * the budget, an error says how far it came down. inspect() shows what is computed again, and at what price.
   */
  memoryBudget?: number;
  /**
   * 'float16' or 'bfloat16': products and convolutions of float32 round what they read and return to it. Sums, softmax and
   * losses stay in float32, and derivatives are rounded where values are. So values kept in between take half the memory.
   * What a product's kernel computes on its result is rounded once, at the end, unless init was given deterministic: true.
   * Default 'float32'.
   */
  precision?: Precision;
  /**
   * Where it runs: 'cpu' (default), or 'webgpu' if init was given that device. Results stay there; arguments that lie
   * elsewhere are copied there for the call. 'auto': on the CPU until both sides were timed, then on the faster one.
   * Reading of values waits while they are timed, so results are to be read by await t.data(). Without a device it is the
   * CPU.
   */
  device?: DeviceName | 'auto';
  /**
   * true: the first calls, some hundreds, take turns with different forms of the program - other tiles, blocks, numbers of
   * lanes, more or less fusion - and the fastest form is kept. Every form gives the same bits. See tune and tuned. Default
   * false.
   */
  tune?: boolean;
}

export const COMPILE: OptionSchema<CompileOptions> = {
  passes: 'object',
  fusion: 'boolean',
  winograd: 'boolean',
  jit: 'boolean',
  memoryBudget: 'bytes',
  precision: 'any',
  device: 'any',
  tune: 'boolean',
};

export interface ProgramOptions extends CompileOptions {
  /** For each input, whether the program may take its memory for results. */
  donate: readonly boolean[];
  /** Whether the compiler records what it does, for inspection(). */
  record?: boolean;
  /** Whether 16-bit values within a product's kernel may be more precise. Default: if precision is not 'float32'. */
  excess?: boolean;
}

/** The compile switches of the core: masks of the passes to turn off and on. */
function switches({ passes: wanted = {}, fusion, jit, winograd }: CompileOptions): { off: number; on: number } {
  const named: Record<string, boolean | undefined> = { ...wanted, fuse: fusion ?? wanted['fuse'], jit, winograd };
  let [off, on] = [0, 0];
  for (const [name, value] of Object.entries(named)) {
    if (value === undefined) continue;
    if (typeof value !== 'boolean')
      throw new SinterError('argument', 'jit', `pass ${name} is ${shown(value)}, expected true or false`);
    const bit = 1 << passNumber(name);
    if (value) on |= bit;
    else off |= bit;
  }
  return { off, on };
}

/** Refuses what cannot name a function in C or JavaScript. */
export function checkFunctionName(op: string, name: unknown): void {
  if (typeof name === 'string' && /^[A-Za-z_]\w*$/.test(name)) return;
  throw new SinterError('argument', op, `${shown(name)} cannot name a function`);
}

/** What makes a program a training step: sn_step_parts of the core. */
export interface StepParts {
  /** The tensors of the state, then the rates. */
  values: readonly Tensor[];
  /** How many of them are the state's. */
  states: number;
  /** The names of all inputs. */
  paths: readonly string[];
  precision: Precision;
}

/** A program loaded from bytes, the note it was saved with, and how many inputs and outputs it has. */
export interface LoadedProgram {
  program: Program;
  note: string;
  inputs: number;
  outputs: number;
  /** How many inputs are the state's, if it is a training step; else null. */
  states: number | null;
  rates: number;
}

export type ProgramPart = 'program' | 'prelude';

const partOf = (rt: Runtime, program: number, part: ProgramPart): number =>
  part === 'prelude' ? rt.exports.sinter_program_prelude(program) : program;

/** A copy of bytes that the core has made at this address; their number is in the first scratch word. */
const bytesAt = (rt: Runtime, address: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array(new Uint8Array(rt.memory.buffer, rt.check(address) >>> 0, rt.word(0) >>> 0));

export class Program {
  /** Dtype and shape of each output; null, of a loaded program, until the first run. */
  readonly #outputs: (Meta | null)[];
  readonly #device: DeviceName;
  /** The number of elements of all outputs. */
  #size: number;
  #address: number;

  private constructor(address: number, outputs: (Meta | null)[], device: DeviceName = 'cpu') {
    this.#address = address;
    this.#device = device;
    this.#outputs = outputs;
    this.#size = outputs.reduce((sum, meta) => sum + (meta ? sizeOf(meta.shape) : 0), 0);
  }

  /** The program that computes outputs from inputs, which are placeholders. It is still to be compiled. */
  static traced(inputs: readonly Tensor[], outputs: readonly Tensor[], options: ProgramOptions, device: DeviceName): Program {
    const rt = runtime();
    const { off, on } = switches(options);
    rt.send([
      ...inputs.map((t) => t.use('jit')),
      ...outputs.map((t) => t.use('jit')),
      ...options.donate.map(Number),
      off,
      on,
      Number(options.record ?? false),
      Math.min(options.memoryBudget ?? 0, 0xffffffff),
      Number(options.tune ?? false),
      Number(options.excess ?? (options.precision ?? 'float32') !== 'float32'),
    ]);
    const address = rt.check(rt.exports.sinter_compile(inputs.length, outputs.length));
    return new Program(
      address,
      outputs.map((t) => t.meta),
      device,
    );
  }

  /** Compiles for about ms milliseconds, and returns whether that is done. After a failure it releases the program and
   *  throws. */
  compile(ms = Infinity): boolean {
    if (this.#address === 0) throw new DisposedError('jit', 'the program was disposed of');
    return tracingFor(this.#device, () => {
      const rt = runtime();
      const status = rt.exports.sinter_compile_continue(this.#address, ms);
      if (status === 0) return rt.word(0) !== 0;
      const error = rt.takeError(status);
      this.release();
      throw error;
    });
  }

  /** Compiles in slices, between which the event loop has its turns. */
  async compileInTurns(): Promise<void> {
    do await nextTurn();
    while (!this.compile(SLICE_MS));
  }

  /** Loads a program from the bytes of save() or saveStep(). */
  static load(bytes: Tensor): LoadedProgram {
    const rt = runtime();
    const address = rt.check(rt.exports.sinter_program_load(bytes.use('load')));
    const [inputs = 0, outputs = 0, states = 0, rates = 0] = rt.receive(0, 4);
    const note = rt.exports.sinter_program_note(address);
    const program = new Program(address, new Array<Meta | null>(outputs).fill(null));
    return { program, note: note === 0 ? '' : rt.text(note), inputs, outputs, states: states < 0 ? null : states, rates };
  }

  /** The program as bytes, with a note for whoever loads it. */
  save(note: string): Uint8Array<ArrayBuffer> {
    if (this.#address === 0) throw new DisposedError('save', 'the program was disposed of');
    const rt = runtime();
    rt.sendText(note);
    return bytesAt(rt, rt.exports.sinter_program_save(this.#address));
  }

  /** The program as the bytes of a training step. */
  saveStep({ values, states, paths, precision }: StepParts, note: string): Uint8Array<ArrayBuffer> {
    const rt = runtime();
    const words = [states, values.length - states, dtypeNumber(precision), ...values.map((t) => t.read('export'))];
    rt.sendText([...paths, note].join('\0'), words);
    return bytesAt(rt, rt.exports.sinter_step_save(this.#address));
  }

  /** For a training step: new tensors with the values that it was saved with, those of the state, then the rates; count:
   *  of both. */
  stepValues(count: number): Tensor[] {
    if (this.#address === 0) throw new DisposedError('importStep', 'the step was disposed of');
    const rt = runtime();
    rt.scratch(count);
    rt.ok(rt.exports.sinter_step_init(this.#address));
    return rt.receive(0, count).map((address) => wrap(address));
  }

  /** Runs it and returns new tensors. Where runs are asynchronous, as on a page, these have their values later. */
  run(inputs: readonly Tensor[]): Tensor[] {
    if (this.#device !== 'cpu') {
      checkNotLost('jit', inputs);
      return withAddressesOn('jit', this.#device, inputs, (addresses) => this.#runOn(addresses));
    }
    const rt = runtime();
    const at = rt.scratch(inputs.length + this.#outputs.length + 1);
    const words = rt.words();
    for (let i = 0; i < inputs.length; i++) words[at + i] = inputs[i]!.use('jit');
    return this.#start(rt, inputs.length, at);
  }

  #runOn(addresses: readonly number[]): Tensor[] {
    const rt = runtime();
    const at = rt.scratch(addresses.length + this.#outputs.length + 1);
    rt.send(addresses);
    return this.#start(rt, addresses.length, at);
  }

  /** Runs it synchronously and looks for the first value that is not finite. Returns what the core found, as JSON, or null. */
  watch(inputs: readonly Tensor[]): string | null {
    const rt = runtime();
    const count = this.#outputs.length;
    const place = rt.scratch(inputs.length + count + 1);
    rt.send(inputs.map((t) => t.use('checkNumerics')));
    rt.ok(rt.exports.sinter_program_watch(this.#address, inputs.length, count));
    const made = rt.words().slice(place + inputs.length, place + inputs.length + count + 1);
    for (const address of made.subarray(0, count)) rt.exports.sinter_release(address);
    return made[count] === 0 ? null : rt.text(made[count]!);
  }

  /** Runs it on the inputs whose addresses are in words `at` and on; the core writes those of the results behind them. */
  #start(rt: Runtime, inputs: number, at: number): Tensor[] {
    const count = this.#outputs.length;
    rt.ok(
      rt.runsAsync
        ? rt.exports.sinter_program_run_async(this.#address, inputs, count)
        : rt.exports.sinter_program_run(this.#address, inputs),
    );
    noticePressure(rt, this.#size);
    if (rt.runsAsync) rt.turns?.start();
    const made = rt.words();
    const results = this.#outputs.map((meta, i) => wrap(made[at + inputs + i]!, meta));
    if (this.#outputs.includes(null)) this.#learn(results);
    return results;
  }

  #learn(results: readonly Tensor[]): void {
    results.forEach((t, i) => (this.#outputs[i] = t.meta));
    this.#size = results.reduce((sum, t) => sum + t.size, 0);
  }

  /** Whether it has a prelude: a part that depends on captured tensors alone, and runs once, at the first call. */
  get hasPrelude(): boolean {
    return runtime().exports.sinter_program_prelude(this.#address) !== 0;
  }

  /** What the compiler did for the program or its prelude, as JSON. The program must have been compiled with `record`. */
  inspection(part: ProgramPart = 'program'): string {
    return this.#text((rt, address) => rt.exports.sinter_program_inspection(partOf(rt, address, part)));
  }

  /** What tuning has tried, as JSON; null for a program that does not tune: without `tune`, or on a device beside the CPU. */
  tuning(): string | null {
    if (this.#address === 0) throw new DisposedError('tuning', 'the program was disposed of');
    const rt = runtime();
    const address = rt.exports.sinter_program_tuning(this.#address);
    return address === 0 ? null : rt.text(address);
  }

  /** The code of a kernel as WebAssembly text or WGSL. */
  listing(kernel: number, part: ProgramPart = 'program'): string {
    return this.#text((rt, address) => rt.check(rt.exports.sinter_program_wat(partOf(rt, address, part), kernel)));
  }

  /** The program as C, in a function called name. */
  cSource(name: string): string {
    checkFunctionName('cSource', name);
    return this.#text((rt, address) => {
      rt.sendText(name);
      return rt.check(rt.exports.sinter_program_c_source(address));
    });
  }

  /** What the program computes, before it is lowered. It must have been compiled with `record`. */
  graph(): Graph {
    return JSON.parse(this.#text((rt, address) => rt.check(rt.exports.sinter_program_graph(address)))) as Graph;
  }

  /** The tensors that it captured. In the graph they are arguments after its own, in this order. */
  captured(): Tensor[] {
    const rt = runtime();
    const list: Tensor[] = [];
    for (let address; (address = rt.exports.sinter_program_captured(this.#address, list.length)) !== 0; ) list.push(wrap(address));
    return list;
  }

  #text(address: (rt: Runtime, program: number) => number): string {
    if (this.#address === 0) throw new DisposedError('inspect', 'the program was disposed of');
    const rt = runtime();
    return rt.text(address(rt, this.#address));
  }

  release(): void {
    if (this.#address !== 0) runtimeOrNull()?.exports.sinter_program_release(this.#address);
    this.#address = 0;
  }
}
