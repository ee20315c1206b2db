// A compiled graph and how to call it. Placeholders stand for the inputs while the function is traced.

import { sizeOf } from './axes.js';
import { passNumber } from './core.js';
import { dtypeNumber } from './dtype.js';
import { shown } from './check.js';
import { DisposedError, SinterError } from './errors.js';
import type { OptionSchema } from './options.js';
import { noticePressure } from './pressure.js';
import { runtime, runtimeOrNull, type Runtime } from './runtime/runtime.js';
import { Tensor, wrap, type Meta } from './tensor.js';

/** An argument of a program that is being traced. */
export function placeholder({ dtype, shape, key }: Meta): Tensor {
  const rt = runtime();
  rt.send(shape);
  return wrap(rt.exports.sinter_placeholder(dtypeNumber(dtype), shape.length), { dtype, shape, key });
}

/** How one program is compiled, where it differs from setPass and init. */
export interface CompileOptions {
  /** Passes on or off, by name: see passes(). */
  passes?: Readonly<Record<string, boolean>>;
  /** false: one kernel per op. */
  fusion?: boolean;
  /** false: no code is emitted for it; results are equal. */
  jit?: boolean;
}

export const COMPILE: OptionSchema<CompileOptions> = { passes: 'object', fusion: 'boolean', jit: 'boolean' };

export interface ProgramOptions extends CompileOptions {
  /** Inputs whose memory the program may take for its results. */
  donate: readonly boolean[];
  /** Whether what the compiler does is kept, for inspection(). */
  record?: boolean;
}

/** The compile switches of the core: bits of the passes to turn off and on. */
function switches({ passes: wanted = {}, fusion, jit }: CompileOptions): { off: number; on: number } {
  const named: Record<string, boolean | undefined> = { ...wanted, fuse: fusion ?? wanted['fuse'], jit };
  let [off, on] = [0, 0];
  for (const [name, value] of Object.entries(named)) {
    if (value === undefined) continue;
    if (typeof value !== 'boolean')
      throw new SinterError('argument', `jit: pass ${name} is ${shown(value)}, expected true or false`);
    const bit = 1 << passNumber(name);
    if (value) on |= bit;
    else off |= bit;
  }
  return { off, on };
}

export type ProgramPart = 'program' | 'prelude';

const partOf = (rt: Runtime, program: number, part: ProgramPart): number =>
  part === 'prelude' ? rt.exports.sinter_program_prelude(program) : program;

export class Program {
  readonly #outputs: readonly Meta[];
  /** Elements of all outputs. */
  readonly #size: number;
  #address: number;

  /** Compiles outputs as a function of placeholders. */
  constructor(inputs: readonly Tensor[], outputs: readonly Tensor[], options: ProgramOptions) {
    const rt = runtime();
    const { off, on } = switches(options);
    rt.send([
      ...inputs.map((t) => t.use('jit')),
      ...outputs.map((t) => t.use('jit')),
      ...options.donate.map(Number),
      off,
      on,
      Number(options.record ?? false),
    ]);
    this.#address = rt.check(rt.exports.sinter_compile(inputs.length, outputs.length));
    this.#outputs = outputs.map((t) => t.meta);
    this.#size = this.#outputs.reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  }

  /** Runs it; returns new tensors. On a page they have their values later. */
  run(inputs: readonly Tensor[]): Tensor[] {
    const rt = runtime();
    const count = this.#outputs.length;
    const at = rt.scratch(inputs.length + count + 1);
    const words = rt.words();
    for (let i = 0; i < inputs.length; i++) words[at + i] = inputs[i]!.use('jit');
    rt.ok(
      rt.runsAsync
        ? rt.exports.sinter_program_run_async(this.#address, inputs.length, count)
        : rt.exports.sinter_program_run(this.#address, inputs.length),
    );
    noticePressure(rt, this.#size);
    if (rt.runsAsync) rt.turns?.start();
    const made = rt.words();
    return this.#outputs.map((meta, i) => wrap(made[at + inputs.length + i]!, meta));
  }

  /** Whether a part of it runs once, at the first call, as it depends on captured tensors alone. */
  get hasPrelude(): boolean {
    return runtime().exports.sinter_program_prelude(this.#address) !== 0;
  }

  /** What the compiler did, as JSON; of a program compiled with `record`, or of its prelude. */
  inspection(part: ProgramPart = 'program'): string {
    return this.#text((rt, address) => rt.exports.sinter_program_inspection(partOf(rt, address, part)));
  }

  /** The code emitted for a kernel as WebAssembly text. */
  wat(kernel: number, part: ProgramPart = 'program'): string {
    return this.#text((rt, address) => rt.check(rt.exports.sinter_program_wat(partOf(rt, address, part), kernel)));
  }

  /** The program as C, in a function called name. */
  cSource(name: string): string {
    if (typeof name !== 'string' || !/^[A-Za-z_]\w*$/.test(name)) {
      throw new SinterError('argument', `cSource: ${shown(name)} cannot name a C function`);
    }
    return this.#text((rt, address) => {
      rt.sendText(name);
      return rt.check(rt.exports.sinter_program_c_source(address));
    });
  }

  #text(address: (rt: Runtime, program: number) => number): string {
    if (this.#address === 0) throw new DisposedError('inspect: the program was disposed of');
    const rt = runtime();
    return rt.text(address(rt, this.#address));
  }

  release(): void {
    if (this.#address !== 0) runtimeOrNull()?.exports.sinter_program_release(this.#address);
    this.#address = 0;
  }
}
