// Questions to the lab and to the layouter, each with its answer. Every question has a number, under
// which its answer comes back.

import type { CompileOptions, KernelProfile, Tuning, WorkerProfile } from 'sinter';
import type { Report } from './report.ts';

/** What needs a core of its own: these cannot change after init. */
export interface Engine {
  /** Threads; 0: one per core. */
  threads: number;
  jit: boolean;
  relaxedSimd: boolean;
  /** Programs are compiled for the graphics processor, where there is one. */
  device: boolean;
}

/** Passes that are off, by name; all others run. */
export type PassesOff = readonly string[];

/** Further options of compiling, as the package has them. */
export type Further = Pick<CompileOptions, 'precision' | 'memoryBudget' | 'jit' | 'winograd'>;

/** What is under way comes to an end, but may take long: so long at most, from now on. */
export interface Patience {
  limitMs: number;
  /** Of an answer that takes longer. */
  hint: string;
}

/** What a program is, in numbers. */
export interface Figures {
  kernels: number;
  bytes: number;
  flops: number;
  arenaBytes: number;
}

/** A profile as it is posted: an entry a slice, begin and end in ms. */
export interface Profiled {
  /** When it began, in milliseconds since 1970, by the clock that performance.timeOrigin is of. */
  epoch: number;
  totalMs: number;
  kernels: KernelProfile[];
  workers: WorkerProfile[];
  lostSpans: number;
  begin: Float64Array;
  end: Float64Array;
  /** The number of the kernel in its program, its place in `kernels`, and the thread. */
  step: Uint32Array;
  kernel: Uint32Array;
  worker: Uint32Array;
  /** Begin and end of each run, and of each compile. */
  runs: Float64Array;
  compiles: Float64Array;
}

export interface Opened {
  threads: number;
  jit: boolean;
  relaxedSimd: boolean;
  isa: string;
  reasons: string[];
  passes: string[];
  /** The graphics processor's name; null where none was asked for, or why there is none. */
  device: { adapter: string } | { reason: string } | null;
}

export interface Sample {
  /** Trace to program, ms. */
  compileMs: number;
  /** One call, ms. */
  runMs: number;
}

/** What went wrong in a program, and where in its text (from 1) if that is known. */
export interface Problem {
  name: string;
  message: string;
  hint: string;
  line: number | null;
  column: number | null;
}

export interface LabMethods {
  open(engine: Engine): Opened;
  inspect(source: string, off: PassesOff, further?: Further): Report;
  /** How many kernels there are without the passes behind this one; '': without any. */
  kernelsBehind(source: string, off: PassesOff, pass: string): number;
  /** WebAssembly text of a kernel of the last report, or why it has none. */
  wat(kernel: number): string;
  /** Its shaders, where it runs on the graphics processor. */
  wgsl(kernel: number): string;
  /** The program of the last report as C. */
  c(): string;
  /** The same as JavaScript; the first time loads what writes it. */
  js(): string;
  /** Compiles the program for `sample`; returns the time of one call, ms. */
  prepare(source: string, off: PassesOff, further?: Further): number;
  sample(): Sample;
  /** What was prepared, in numbers. */
  figures(): Figures;
  /** Begins to tune the program; what has been tried after a moment. */
  tune(source: string, off: PassesOff, further?: Further): Tuning;
  /** The same after another moment. */
  tuneOn(): Tuning;
  /** Runs the program so many times under the profiler. */
  profile(source: string, off: PassesOff, further: Further, runs: number): Profiled;
  /** Runs the program once: what its first value is that is not finite, or null. */
  numerics(source: string): Problem | null;
  /** The last profile as a file. */
  trace(form: 'chrome' | 'speedscope'): string;
  /** What memory gives all threads, GB/s. */
  bandwidth(): number;
}

export interface LayoutRequest {
  widths: Float32Array;
  heights: Float32Array;
  /** Pairs of places in widths: from, to. */
  edges: Uint32Array;
}

export interface Layout {
  /** Centres of the nodes: x, y. */
  centres: Float32Array;
  /** Points of all edges: x, y. */
  points: Float32Array;
  /** Where in `points` each edge begins (in points), and one more for the end. */
  starts: Uint32Array;
  width: number;
  height: number;
}

export interface LayoutMethods {
  layout(request: LayoutRequest): Layout;
}

type Methods<M> = { [K in keyof M]: (...args: never[]) => unknown };

export interface Question<M extends Methods<M>> {
  id: number;
  method: keyof M;
  args: unknown[];
}

/** Sent between answers, while the worker waits for data: bytes. A total of 0 is not known yet. */
export interface Loading {
  received: number;
  total: number;
}

export type Answer = { id: number } & (
  | { ok: true; value: unknown }
  | { ok: false; problem: Problem }
);
