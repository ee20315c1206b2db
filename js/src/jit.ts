// jit(f): f is traced once per combination of structure, shapes, dtypes and static values of its arguments; after that a
// call is one call into the core.
//
// Cache key: the structure of the arguments with the static values in their places, then dtype and shape of every tensor. A
// number among the arguments is static: pass a tensor where it changes from call to call. A typed array becomes a tensor at
// the call. All other values that can change unseen are refused, so that no result is ever stale.

import { asTensor } from './apply.js';
import { argumentNumbers, checkFunction, noArgument } from './check.js';
import { debugLevel } from './debug.js';
import { checkDevice, checkNotLost, deviceGeneration, tracingFor, type Choice } from './device.js';
import { SinterError } from './errors.js';
import { readOptions, type OptionSchema } from './options.js';
import { derivedFrom } from './origin.js';
import { flatten, rebuild, shapeKey, tensorCount, tensorsOf, type Flat, type TreeShape } from './pytree.js';
import { recordedIn } from './precision.js';
import { COMPILE, Program, placeholder, type CompileOptions, type ProgramOptions } from './program.js';
import { runtime } from './runtime/runtime.js';
import { saveProgram } from './saved.js';
import { refusePromise, tidyTraced } from './scope.js';
import { Tensor } from './tensor.js';
import { compiling, isTracing, replacing } from './trace.js';
import type { Tuning } from './tune.js';
import { Traces, type Call, type Trace } from './traces.js';

export interface JitOptions extends CompileOptions {
  /** The numbers of arguments whose tensors the call uses up: their memory is taken for the results. */
  donate?: number | readonly number[];
  /** Called after every trace, which shows what makes a function compile again. */
  onTrace?: (trace: Trace) => void;
}

/** A compiled function. */
export interface Jitted<A extends readonly unknown[], R> {
  (...args: A): R;
  /** Programs compiled and kept: one per combination of structure, shapes, dtypes and static values. */
  readonly cacheSize: number;
  /** When f was traced, and why: the last 64 times. Calls that find their program are not listed. */
  readonly traces: readonly Trace[];
  /**
   * Compiles for arguments like these, in slices of some milliseconds between which the event loop has its turns, so that a
   * page goes on; the first call then finds its program. Nothing is computed. f itself is traced at once, in one piece.
   */
  compile(...args: A): Promise<void>;
  /**
   * The program for arguments like these as bytes, for load(): to keep in a file, or to send to a worker. Nothing is
   * computed. The bytes contain the tensors that the function captured. Structures may have arrays, plain objects, Maps and
   * Sets.
   */
  save(...args: A): Uint8Array<ArrayBuffer>;
  /** What tuning has tried for arguments like these, now or earlier; null without option tune. */
  tuning(...args: A): Tuning | null;
  /** Releases the programs; the next call compiles again. */
  dispose(): void;
}

/** The program for some arguments, their tensors, and the structures of arguments and result. */
export interface MadeProgram {
  program: Program;
  tensors: readonly Tensor[];
  args: TreeShape;
  result: TreeShape;
  donated: boolean[];
}

type UseProgram = <T>(as: string, args: readonly unknown[], use: (made: MadeProgram) => T) => T;
const programs = new WeakMap<object, UseProgram>();

/** Calls use with the program of a compiled function for arguments like these, and returns its result. None of the
 *  arguments is used up. as: the caller's name in errors. */
export const withProgram = <A extends readonly unknown[], T>(as: string, f: Jitted<A, unknown>, args: A, use: (made: MadeProgram) => T): T =>
  programs.get(f)!(as, args, use);

/** Most compiled programs kept per function; the least recently used one goes first. */
const MAX_PROGRAMS = 64;

interface Compiled {
  program: Program;
  result: TreeShape;
  /** For device 'auto', if there is a device. */
  choice?: Choice | undefined;
  /** While debugging a device: makes the first run, and compares its results with those of the CPU. */
  test?: ((inputs: readonly Tensor[]) => Tensor[]) | undefined;
}

function run(compiled: Compiled, inputs: readonly Tensor[]): Tensor[] {
  const { program, choice, test } = compiled;
  if (test) {
    compiled.test = undefined;
    return test(inputs);
  }
  if (!choice) return program.run(inputs);
  const outputs = choice.of(inputs).run(inputs);
  choice.made(outputs);
  return outputs;
}

function release({ program, choice }: Compiled): void {
  program.release();
  choice?.release();
}

class ProgramCache {
  readonly #entries = new Map<string, Compiled>();

  get size(): number {
    return this.#entries.size;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  get(key: string, make: () => Compiled): Compiled {
    const found = this.#entries.get(key);
    const entry = found ?? make();
    if (found) this.#entries.delete(key);
    this.add(key, entry);
    return entry;
  }

  add(key: string, entry: Compiled): void {
    this.#entries.set(key, entry);
    if (this.#entries.size > MAX_PROGRAMS) this.#evict();
  }

  #evict(): void {
    for (const [key, entry] of this.#entries) {
      this.#entries.delete(key);
      release(entry);
      return;
    }
  }

  clear(): void {
    for (const entry of this.#entries.values()) release(entry);
    this.#entries.clear();
  }
}

/** The program run last, with what its arguments looked like: a call with arguments like these needs neither tree nor key. */
class Recent {
  readonly #shape: TreeShape;
  /** Whether each argument is a tensor itself. */
  readonly #isPlain: boolean;
  readonly #keys: readonly string[];
  readonly compiled: Compiled;
  /** For each tensor, whether it is donated. */
  readonly flags: readonly boolean[];

  constructor({ tensors, shape }: Flat, compiled: Compiled, flags: readonly boolean[]) {
    this.#shape = shape;
    this.#isPlain = shape.kind === 'array' && shape.items.every(({ kind }) => kind === 'tensor');
    this.#keys = tensors.map((t) => t.meta.key);
    this.compiled = compiled;
    this.flags = flags;
  }

  /** The tensors of args, if these are like the arguments of the last call; else null. */
  match(args: readonly unknown[]): readonly Tensor[] | null {
    const found = this.#isPlain ? args : tensorsOf(args, this.#shape);
    const keys = this.#keys;
    if (found?.length !== keys.length) return null;
    for (let i = 0; i < keys.length; i++) {
      const t = found[i];
      if (!(t instanceof Tensor) || t.meta.key !== keys[i]) return null;
    }
    return found as readonly Tensor[];
  }
}

const collected = new FinalizationRegistry<ProgramCache>((cache) => cache.clear());

type Traced = (args: unknown[]) => unknown;

/** Traces f on placeholders for the given arguments. The program that this gives is not compiled yet. */
function trace(op: string, f: Traced, { tensors, bound, shape }: Flat, options: ProgramOptions): Compiled {
  let compiled: Compiled | undefined;
  const make = (): void => {
    const inputs = tensors.map((t) => placeholder(t.meta));
    const traced = (): unknown => recordedIn(op, options.precision, () => f(rebuild(shape, inputs) as unknown[]));
    const result = replacing(bound, () => compiling(traced));
    refusePromise(op, result, 'the function to compile must be synchronous');
    const { tensors: outputs, shape: resultShape } = flatten(result, op);
    compiled = { program: Program.traced(inputs, outputs, options, device), result: resultShape };
  };
  const device = checkDevice(op, options.device ?? 'cpu');
  tidyTraced(() => tracingFor(device, make));
  return compiled!;
}

/** The compiled program of f for the given arguments. */
export function compile(op: string, f: Traced, args: Flat, options: ProgramOptions): Compiled {
  const made = trace(op, f, args, options);
  made.program.compile();
  return made;
}

/** As trace, for device 'auto': the program of the CPU, and the device's choice between it and one of its own. */
function traceBoth(op: string, f: Traced, args: Flat, options: ProgramOptions): Compiled {
  const made = trace(op, f, args, { ...options, device: 'cpu' });
  const there = (): Program => compile(op, f, args, { ...options, device: 'webgpu' }).program;
  return { ...made, choice: runtime().device?.choose(op, made.program, options.donate, there) };
}

/** As trace, for the device, with a test that compares the first run with one on the CPU. */
function traceTested(op: string, f: Traced, args: Flat, options: ProgramOptions): Compiled {
  const made = trace(op, f, args, options);
  const here = (): Program => compile(op, f, args, { ...options, device: 'cpu', donate: options.donate.map(() => false) }).program;
  return { ...made, test: runtime().device?.test(op, made.program, here) };
}

/** For each leaf, whether its argument is donated; args is the shape of the list of arguments. */
function donatedLeaves(args: TreeShape, donate: ReadonlySet<number>): boolean[] {
  if (args.kind !== 'array') return [];
  return args.items.flatMap((arg, i) => new Array<boolean>(tensorCount(arg)).fill(donate.has(i)));
}

function checkDonation(op: string, tensors: readonly Tensor[], flags: readonly boolean[]): void {
  if (new Set(tensors).size === tensors.length) return;
  const timesGiven = new Map<Tensor, number>();
  for (const t of tensors) timesGiven.set(t, (timesGiven.get(t) ?? 0) + 1);
  tensors.forEach((t, i) => {
    if (!flags[i] || timesGiven.get(t) === 1) return;
    throw new SinterError('argument', op, `${String(t)} is donated and given a second time`);
  });
}

const JIT: OptionSchema<JitOptions> = { ...COMPILE, donate: 'any', onTrace: 'function' };

/** Compiles f at its first call with each combination of structure, shapes, dtypes and static values (numbers among
 *  them) of its arguments; later calls run the program. */
export function jit<A extends readonly unknown[], R>(f: (...args: A) => R, options?: JitOptions): Jitted<A, R> {
  checkFunction('jit', f, 'jit(f) compiles f at its first call');
  return compiledFunction('jit', f, readOptions('jit', options, JIT), (i) => `argument ${i}`);
}

/** As jit; in errors the function is called op, and argument i as nameOf says. */
export function compiledFunction<A extends readonly unknown[], R>(
  op: string,
  f: (...args: A) => R,
  { donate = [], onTrace, ...options }: JitOptions & Pick<ProgramOptions, 'excess'>,
  nameOf: (i: number) => string,
): Jitted<A, R> {
  const cache = new ProgramCache();
  const donated = new Set(argumentNumbers(op, 'donate', donate));
  const traces = new Traces(op, nameOf);
  const onCpu = options.device === 'webgpu' ? compiledFunction(op, f, { ...options, device: 'cpu', donate }, nameOf) : null;
  let recent: Recent | null = null;
  let madeAt = 0;

  const forget = (): void => {
    recent = null;
    cache.clear();
    onCpu?.dispose();
  };

  /** Forgets programs made for a device that was lost since; they are compiled again. */
  const forgetLost = (): void => {
    if ((options.device ?? 'cpu') === 'cpu' || madeAt === deviceGeneration()) return;
    forget();
    madeAt = deviceGeneration();
  };

  const callOf = ({ tensors, shape }: Flat): Call => ({ structure: shapeKey(shape), tensors: tensors.map((t) => t.meta.key) });
  const keyOf = ({ structure, tensors }: Call): string => `${structure}${tensors.join()}`;

  const traceWith = (args: Flat, donate: boolean[]): Compiled => {
    const isThere = options.device === 'webgpu' && checkDevice(op, options.device) !== 'cpu';
    const how = options.device === 'auto' ? traceBoth : isThere && debugLevel() >= 1 ? traceTested : trace;
    if (options.device === 'webgpu' && !isThere) checkNotLost(op, args.tensors);
    return how(op, (list) => f(...(list as unknown as A)), args, { ...options, donate });
  };

  const tell = (call: Call, args: Flat): void => {
    const trace = traces.note(call, args.shape);
    onTrace?.(trace);
  };

  const flagsOf = (args: A, { tensors, shape }: Flat): boolean[] => {
    const flags = donated.size > 0 ? donatedLeaves(shape, donated) : tensors.map(() => false);
    if (donated.size > 0) checkDonation(op, tensors, flags);
    for (const n of donated) if (n >= args.length) throw noArgument(op, n, args.length);
    return flags;
  };

  const compiledWith = (args: A, flat: Flat): { flags: boolean[]; compiled: Compiled } => {
    const flags = flagsOf(args, flat);
    const call = callOf(flat);
    const compiled = cache.get(keyOf(call), () => {
      const made = traceWith(flat, flags);
      made.program.compile();
      tell(call, flat);
      recent = null; // caching this program may have evicted that one
      return made;
    });
    return { flags, compiled };
  };

  const compileInTurns = async (...args: A): Promise<void> => {
    forgetLost();
    const own: Tensor[] = [];
    try {
      const flat = flatten(args, op, (array) => keepIn(own, asTensor(array, op)));
      const call = callOf(flat);
      const key = keyOf(call);
      if (cache.has(key)) return;
      const made = traceWith(flat, flagsOf(args, flat));
      await made.program.compileInTurns();
      if (cache.has(key)) return release(made); // a call has compiled it meanwhile
      cache.add(key, made);
      recent = null;
      tell(call, flat);
    } finally {
      for (const t of own) t.dispose();
    }
  };

  const useProgram = <T>(as: string, args: A, use: (made: MadeProgram) => T): T => {
    forgetLost();
    const own: Tensor[] = [];
    try {
      const flat = flatten(args, as, (array) => keepIn(own, asTensor(array, op)));
      const { flags, compiled } = compiledWith(args, flat);
      return use({ program: compiled.program, tensors: flat.tensors, args: flat.shape, result: compiled.result, donated: flags });
    } finally {
      for (const t of own) t.dispose();
    }
  };

  /** What is saved runs on any machine: for a function of the device it is the program that the CPU would have. */
  const save = (...args: A): Uint8Array<ArrayBuffer> => {
    if (onCpu) return onCpu.save(...args);
    return useProgram('save', args, ({ program, ...note }) => saveProgram(program, note));
  };

  const tuning = (...args: A): Tuning | null =>
    useProgram('tuning', args, ({ program }) => JSON.parse(program.tuning() ?? 'null') as Tuning | null);

  const runWith = ({ compiled, flags }: Recent, tensors: readonly Tensor[]): R => {
    const outputs = run(compiled, tensors);
    if (donated.size > 0) tensors.forEach((t, i) => flags[i] && t.donated());
    return rebuild(compiled.result, outputs) as R;
  };

  /** A call with other arguments than the last one. own: receives the tensors made of typed arrays. */
  const callWith = (args: A, own: Tensor[]): R => {
    const flat = flatten(args, op, (array) => keepIn(own, asTensor(array, op)));
    const { flags, compiled } = compiledWith(args, flat);
    recent = new Recent(flat, compiled, flags);
    return runWith(recent, flat.tensors);
  };

  const call = (...args: A): R => {
    if (isTracing()) return inline(op, f, args);
    forgetLost();
    const known = recent?.match(args);
    if (known) {
      if (donated.size > 0) checkDonation(op, known, recent!.flags);
      return runWith(recent!, known);
    }
    const own: Tensor[] = [];
    try {
      return callWith(args, own);
    } finally {
      for (const t of own) t.dispose();
    }
  };

  const jitted = Object.defineProperties(call, {
    cacheSize: { get: () => cache.size },
    traces: { get: () => traces.list },
    compile: { value: compileInTurns },
    save: { value: save },
    tuning: { value: tuning },
    dispose: {
      value: forget,
    },
  }) as Jitted<A, R>;
  collected.register(jitted, cache);
  programs.set(jitted, useProgram as UseProgram);
  return derivedFrom(f, jitted);
}

const keepIn = (list: Tensor[], t: Tensor): Tensor => {
  list.push(t);
  return t;
};

/** Calls f as part of another trace, with arguments as a compiled f gets them. */
function inline<A extends readonly unknown[], R>(op: string, f: (...args: A) => R, args: A): R {
  const { tensors, shape } = flatten(args, op, (array) => asTensor(array, op));
  return f(...(rebuild(shape, tensors) as unknown as A));
}
