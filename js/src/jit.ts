// jit(f): f is traced once per structure, shapes, dtypes and static values of its arguments; after that
// a call is one call into the core.
//
// Cache key: the structure of the arguments with static values in place, then dtype and shape of every
// tensor. A number among the arguments is static: pass a tensor where it changes from call to call.

import { argumentNumbers, checkFunction } from './check.js';
import { SinterError } from './errors.js';
import { readOptions, type OptionSchema } from './options.js';
import { flatten, rebuild, shapeKey, type TreeShape } from './pytree.js';
import { COMPILE, Program, placeholder, type CompileOptions, type ProgramOptions } from './program.js';
import { refusePromise, tidyTraced } from './scope.js';
import { Tensor } from './tensor.js';
import { compiling, isTracing } from './trace.js';

export interface JitOptions extends CompileOptions {
  /** Arguments whose tensors the call uses up: their memory is taken for the results. */
  donate?: number | readonly number[];
  /** Called after every trace: to find out what makes a function compile again. */
  onTrace?: (trace: Trace) => void;
}

/** Why a function was traced. */
export interface Trace {
  /** Dtypes and shapes of the tensors, in order. */
  tensors: readonly string[];
  /** 'first call', or what differs from the call traced before. */
  reason: string;
}

/** A compiled function. */
export interface Jitted<A extends readonly unknown[], R> {
  (...args: A): R;
  /** Programs compiled and kept: one per combination of structure, shapes, dtypes and static values. */
  readonly cacheSize: number;
  /** The times f was traced, the last 64 of them, and why. Calls that find their program leave none. */
  readonly traces: readonly Trace[];
  /** Releases the programs; the next call compiles again. */
  dispose(): void;
}

/** Compiled programs kept per function; the one unused for longest goes first. */
const MAX_PROGRAMS = 64;

interface Compiled {
  program: Program;
  result: TreeShape;
}

class ProgramCache {
  readonly #entries = new Map<string, Compiled>();

  get size(): number {
    return this.#entries.size;
  }

  get(key: string, make: () => Compiled): Compiled {
    const found = this.#entries.get(key);
    const entry = found ?? make();
    if (found) this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size > MAX_PROGRAMS) this.#evict();
    return entry;
  }

  #evict(): void {
    for (const [key, { program }] of this.#entries) {
      this.#entries.delete(key);
      program.release();
      return;
    }
  }

  clear(): void {
    for (const { program } of this.#entries.values()) program.release();
    this.#entries.clear();
  }
}

/** What decides which program a call runs. */
interface Call {
  structure: string;
  tensors: readonly string[];
}

const MAX_TRACES = 64;
const lastCalls = new WeakMap<Trace[], Call>();

function reasonOf(before: Call | undefined, now: Call): string {
  if (!before) return 'first call';
  if (before.structure !== now.structure) return 'the structure or a static value of the arguments changed';
  const at = now.tensors.findIndex((key, i) => key !== before.tensors[i]);
  if (at < 0) return 'the program was given up for others';
  return `tensor ${at} changed from ${before.tensors[at]!} to ${now.tensors[at]!}`;
}

function note(traces: Trace[], call: Call, onTrace: ((trace: Trace) => void) | undefined): void {
  const trace = { tensors: call.tensors, reason: reasonOf(lastCalls.get(traces), call) };
  lastCalls.set(traces, call);
  traces.push(trace);
  if (traces.length > MAX_TRACES) traces.shift();
  onTrace?.(trace);
}

/** The program run last, for calls of plain tensors that look the same: no tree, no key. */
class Recent {
  readonly #keys: readonly string[];
  readonly #compiled: Compiled;

  private constructor(keys: readonly string[], compiled: Compiled) {
    this.#keys = keys;
    this.#compiled = compiled;
  }

  static of(args: readonly unknown[], compiled: Compiled): Recent | null {
    if (!args.every((arg) => arg instanceof Tensor)) return null;
    return new Recent(
      args.map((arg) => arg.meta.key),
      compiled,
    );
  }

  match(args: readonly unknown[]): Compiled | null {
    const keys = this.#keys;
    if (args.length !== keys.length) return null;
    for (let i = 0; i < keys.length; i++) {
      const arg = args[i];
      if (!(arg instanceof Tensor) || arg.meta.key !== keys[i]) return null;
    }
    return this.#compiled;
  }
}

const collected = new FinalizationRegistry<ProgramCache>((cache) => cache.clear());

/** Traces f on placeholders of the given arguments. */
export function compile(
  f: (args: unknown[]) => unknown,
  tensors: readonly Tensor[],
  shape: TreeShape,
  options: ProgramOptions,
): Compiled {
  let compiled: Compiled | undefined;
  tidyTraced(() => {
    const inputs = tensors.map((t) => placeholder(t.meta));
    const result = compiling(() => f(rebuild(shape, inputs) as unknown[]));
    refusePromise('jit', result, 'the function to compile must be synchronous');
    const { tensors: outputs, shape: resultShape } = flatten(result);
    compiled = { program: new Program(inputs, outputs, options), result: resultShape };
  });
  return compiled!;
}

/** Which leaves belong to donated arguments. */
function donatedLeaves(args: readonly unknown[], donate: ReadonlySet<number>): boolean[] {
  return args.flatMap((arg, i) => flatten(arg).tensors.map(() => donate.has(i)));
}

function checkDonation(tensors: readonly Tensor[], flags: readonly boolean[]): void {
  const timesGiven = new Map<Tensor, number>();
  for (const t of tensors) timesGiven.set(t, (timesGiven.get(t) ?? 0) + 1);
  tensors.forEach((t, i) => {
    if (!flags[i] || timesGiven.get(t) === 1) return;
    throw new SinterError('argument', `jit: ${String(t)} is donated and given a second time`);
  });
}

const JIT: OptionSchema<JitOptions> = { ...COMPILE, donate: 'any', onTrace: 'function' };

/** Compiles f at its first call with arguments of a kind; see the head of this file. */
export function jit<A extends readonly unknown[], R>(
  f: (...args: A) => R,
  given?: JitOptions,
): Jitted<A, R> {
  checkFunction('jit', f, 'jit(f) compiles f at its first call');
  const { donate = [], onTrace, ...options } = readOptions('jit', given, JIT);
  const cache = new ProgramCache();
  const donated = new Set(argumentNumbers('jit', 'donate', donate));
  const traces: Trace[] = [];
  let recent: Recent | null = null;

  const call = (...args: A): R => {
    if (isTracing()) return f(...args);
    const known = recent?.match(args);
    if (known) return rebuild(known.result, known.program.run(args as unknown as Tensor[])) as R;
    const { tensors, shape } = flatten(args);
    const flags = donated.size > 0 ? donatedLeaves(args, donated) : tensors.map(() => false);
    if (donated.size > 0) checkDonation(tensors, flags);
    const call: Call = { structure: shapeKey(shape), tensors: tensors.map((t) => t.meta.key) };
    const compiled = cache.get(`${call.structure}${call.tensors.join()}`, () => {
      const made = compile((list) => f(...(list as unknown as A)), tensors, shape, {
        ...options,
        donate: flags,
      });
      note(traces, call, onTrace);
      return made;
    });
    recent = donated.size === 0 ? Recent.of(args, compiled) : null;
    const { program, result } = compiled;
    const outputs = program.run(tensors);
    tensors.forEach((t, i) => flags[i] && t.donated());
    return rebuild(result, outputs) as R;
  };

  const jitted = Object.defineProperties(call, {
    cacheSize: { get: () => cache.size },
    traces: { get: () => [...traces] },
    dispose: {
      value: () => {
        recent = null;
        cache.clear();
      },
    },
  }) as Jitted<A, R>;
  collected.register(jitted, cache);
  return jitted;
}
