// The questions to the lab and to the layouter, with their answers. Every question has an id, which its answer repeats.

import type { CompileOptions, KernelProfile, Tuning, WorkerProfile } from 'sinter';
import type { Report } from './report.ts';

/** The configuration of a core, which cannot change after init. */
export interface Engine {
  /** Number of threads; 0: one per core. */
  threads: number;
  jit: boolean;
  relaxedSimd: boolean;
  /** Whether programs are compiled for the graphics processor, if there is one. */
  device: boolean;
}

/** Names of the passes that are off; all others run. */
export type PassesOff = readonly string[];

/** Further compile options, as in the package. */
export type Further = Pick<CompileOptions, 'precision' | 'memoryBudget' | 'jit' | 'winograd'>;

/** Sent by a worker whose work will end, but may take long: the new time limit for its answer, counted from now. */
export interface Patience {
  limitMs: number;
  /** The hint of the error if the limit is exceeded. */
  hint: string;
}

/** The size of a program in numbers. */
export interface Figures {
  kernels: number;
  bytes: number;
  flops: number;
  arenaBytes: number;
}

/** A profile in the form in which it is posted. Arrays have an entry per slice; times are in ms since the profile began. */
export interface Profiled {
  /** When it began, in milliseconds since 1970, on the clock of performance.timeOrigin. */
  epoch: number;
  totalMs: number;
  kernels: KernelProfile[];
  workers: WorkerProfile[];
  lostSpans: number;
  begin: Float64Array;
  end: Float64Array;
  /** For each slice: the number of the kernel in its program, its index in `kernels`, and the thread. */
  step: Uint32Array;
  kernel: Uint32Array;
  worker: Uint32Array;
  /** Begin and end of each run; begin and end of each compilation. */
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
  /** The name of the graphics processor, or why there is none; null if none was asked for. */
  device: { adapter: string } | { reason: string } | null;
}

export interface Sample {
  /** From tracing to the program, in ms. */
  compileMs: number;
  /** Of one call, in ms. */
  runMs: number;
}

/** What went wrong in a program, and the place in its text, from 1, if it is known. */
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
  /** The number of kernels if the passes after this one are off; '': if all are off. */
  kernelsBehind(source: string, off: PassesOff, pass: string): number;
  /** The WebAssembly text of a kernel of the last report, or why there is none. */
  wat(kernel: number): string;
  /** The shaders of a kernel, if it runs on the graphics processor. */
  wgsl(kernel: number): string;
  /** The program of the last report as C. */
  c(): string;
  /** The same as JavaScript. The first call loads the writer. */
  js(): string;
  /** Compiles the program for `sample`; returns the time of one call in ms. */
  prepare(source: string, off: PassesOff, further?: Further): number;
  sample(): Sample;
  /** The size of the prepared program. */
  figures(): Figures;
  /** Begins to tune the program; returns what has been tried after a moment. */
  tune(source: string, off: PassesOff, further?: Further): Tuning;
  /** Continues to tune; returns the same after another moment. */
  tuneOn(): Tuning;
  /** Runs the program so many times under the profiler. */
  profile(source: string, off: PassesOff, further: Further, runs: number): Profiled;
  /** Runs the program once; returns a problem with its first value that is not finite, or null. */
  numerics(source: string): Problem | null;
  /** The last profile as a file. */
  trace(form: 'chrome' | 'speedscope'): string;
  /** The memory bandwidth of all threads, in GB/s. */
  bandwidth(): number;
}

export interface LayoutRequest {
  widths: Float32Array;
  heights: Float32Array;
  /** Pairs of node indices: from, to. */
  edges: Uint32Array;
}

export interface Layout {
  /** Centres of the nodes: x, y. */
  centres: Float32Array;
  /** Points of all edges: x, y. */
  points: Float32Array;
  /** For each edge the index of its first point in `points`, and finally the number of points. */
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

/** Sent by a worker while it waits for data, in bytes. total is 0 while it is unknown. */
export interface Loading {
  received: number;
  total: number;
}

export type Answer = { id: number } & (
  | { ok: true; value: unknown }
  | { ok: false; problem: Problem }
);
