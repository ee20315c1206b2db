// profile(f): what the kernels did while f ran. Recorded in the core, read once at the end.

import { checkFunction, checkInteger } from './check.js';
import { readOptions } from './options.js';
import { runtime, type Runtime } from './runtime/runtime.js';

export interface KernelProfile {
  /** The ops in it, e.g. 'matmul+add+relu'. */
  name: string;
  /** 'map', 'scalar', 'reduce', 'row', 'contraction', 'chain' or 'call'. */
  kind: string;
  /** What ran it the last time: 'vm' (strip interpreter), 'jit' (emitted code) or 'ready' (compiled code of the core). */
  engine: string;
  calls: number;
  /** Milliseconds, summed over calls: in each from the first worker's start to the last one's end. */
  ms: number;
  /** Operations on floats, and bytes read and written, summed over calls. */
  flops: number;
  bytes: number;
  /** 10^9 operations, and 10^9 bytes, per second. */
  gflops: number;
  gbps: number;
  /** Most workers that took part in a call. */
  threads: number;
}

export interface Interval {
  begin: number;
  end: number;
}

/** One worker at work on one kernel. */
export interface Span {
  name: string;
  kind: string;
  /** The number of the kernel in its program, or in the region of a loop: that of inspect. */
  step: number;
  /** 0: the caller or the driver. */
  worker: number;
  /** Milliseconds since the profile began. */
  begin: number;
  end: number;
}

/** A shader at work, under the name of its kernel. */
export interface DeviceKernel extends Interval {
  name: string;
}

/** A submission to a graphics processor, and from when to when that worked on it. */
export interface DeviceSpan extends Interval {
  /** Shaders that it started. */
  dispatches: number;
  /** Whether times are by the device's own clock; otherwise the end is when the host heard of it. */
  isExact: boolean;
  /** The shaders that it started, in order (the first 2,048); none where the device has no clock. */
  kernels: readonly DeviceKernel[];
}

/** Milliseconds that a worker is not in a kernel, by what goes on meanwhile. */
export interface Gaps {
  /** Other workers are in a kernel, which has no work for this one. */
  waiting: number;
  /** A program runs, but no worker is in a kernel: work is being handed out. */
  dispatch: number;
  /** The core compiles. */
  compile: number;
  /** Nothing runs: JavaScript, tracing, and building lazy graphs. */
  host: number;
}

/** How a worker spent the whole time: totalMs = busyMs + gapMs, and gapMs is the sum of gaps. */
export interface WorkerProfile {
  worker: number;
  busyMs: number;
  gapMs: number;
  gaps: Gaps;
}

export interface ChromeTrace {
  displayTimeUnit: 'ms';
  traceEvents: Record<string, unknown>[];
}

export interface Profile {
  /** The instruction set of the CPU's kernels, and the most workers that a run may have: those of info(). */
  isa: string;
  threads: number;
  /** Wall time of f and of what it had started. */
  totalMs: number;
  /** How often kernels ran. */
  steps: number;
  /** Kernels by their total time, longest first. */
  kernels: KernelProfile[];
  spans: Span[];
  /** Whole runs of programs, and compiles, in milliseconds since the profile began. */
  runs: Interval[];
  compiles: Interval[];
  /** How many spans were not kept, beyond maxSpans. */
  lostSpans: number;
  workers: WorkerProfile[];
  /** What a device beside the CPU did; it works while the workers do other things. */
  device: DeviceSpan[];
  /** For chrome://tracing and other viewers. */
  toChromeTrace(): ChromeTrace;
}

export interface ProfileOptions {
  /** Most spans to keep; default 65536. */
  maxSpans?: number;
}

/** Layout of sn_kernel_profile: three addresses, padding, three doubles, two words. */
const KERNEL_BYTES = 48;
/** Layout of sn_span: two doubles, three words, padding. */
const SPAN_BYTES = 32;
/** SN_SPAN_RUN and SN_SPAN_COMPILE, in the place of a kernel's number. */
const RUN = 0xffffffff;
const COMPILE = 0xfffffffe;

function readKernels(rt: Runtime): KernelProfile[] {
  const address = rt.exports.sinter_profile_kernels() >>> 0;
  const view = new DataView(rt.memory.buffer);
  return Array.from({ length: rt.word(0) }, (_, i) => {
    const at = address + i * KERNEL_BYTES;
    const ms = view.getFloat64(at + 16, true);
    const flops = view.getFloat64(at + 24, true);
    const bytes = view.getFloat64(at + 32, true);
    return {
      name: rt.text(view.getUint32(at, true)),
      kind: rt.text(view.getUint32(at + 4, true)),
      engine: rt.text(view.getUint32(at + 8, true)),
      calls: view.getUint32(at + 40, true),
      ms,
      flops,
      bytes,
      gflops: ms > 0 ? flops / ms / 1e6 : 0,
      gbps: ms > 0 ? bytes / ms / 1e6 : 0,
      threads: view.getUint32(at + 44, true),
    };
  });
}

interface Recorded {
  spans: Span[];
  runs: Interval[];
  compiles: Interval[];
  lost: number;
}

function readSpans(rt: Runtime, kernels: readonly KernelProfile[], origin: number): Recorded {
  const address = rt.exports.sinter_profile_spans() >>> 0;
  const recorded: Recorded = { spans: [], runs: [], compiles: [], lost: rt.word(1) };
  const view = new DataView(rt.memory.buffer);
  for (let i = 0, at = address; i < rt.word(0); i++, at += SPAN_BYTES) {
    const begin = view.getFloat64(at, true) - origin;
    const end = view.getFloat64(at + 8, true) - origin;
    const number = view.getUint32(at + 16, true);
    if (number === RUN) recorded.runs.push({ begin, end });
    else if (number === COMPILE) recorded.compiles.push({ begin, end });
    else {
      const { name = '', kind = '' } = kernels[number] ?? {};
      recorded.spans.push({ name, kind, step: view.getUint32(at + 24, true), worker: view.getUint32(at + 20, true), begin, end });
    }
  }
  return recorded;
}

/** Milliseconds that at least one of the intervals covers. */
function covered(intervals: readonly Interval[], totalMs: number): number {
  let [sum, until] = [0, 0];
  for (const { begin, end } of [...intervals].sort((a, b) => a.begin - b.begin)) {
    const [from, to] = [Math.max(begin, until), Math.min(end, totalMs)];
    if (to <= from) continue;
    sum += to - from;
    until = to;
  }
  return sum;
}

/** A moment in which a worker is in no kernel counts under the first name of Gaps that fits. */
function workerProfiles({ spans, runs, compiles }: Recorded, workers: number, totalMs: number): WorkerProfile[] {
  const anyBusy = covered(spans, totalMs);
  const running = covered([...spans, ...runs], totalMs);
  const inCore = covered([...spans, ...runs, ...compiles], totalMs);
  return Array.from({ length: workers }, (_, worker) => {
    const busyMs = covered(spans.filter((span) => span.worker === worker), totalMs);
    return {
      worker,
      busyMs,
      gapMs: totalMs - busyMs,
      gaps: {
        waiting: anyBusy - busyMs,
        dispatch: running - anyBusy,
        compile: inCore - running,
        host: totalMs - inCore,
      },
    };
  });
}

function chromeTrace({ spans, runs, compiles }: Recorded, workers: readonly WorkerProfile[], device: readonly DeviceSpan[]): ChromeTrace {
  const core = workers.length; // a track of its own, below the workers
  const interval = (name: string, { begin, end }: Interval, tid = core) =>
    ({ name, cat: 'core', ph: 'X', pid: 1, tid, ts: begin * 1000, dur: (end - begin) * 1000 });
  const names = workers.map(({ worker }) => ({
    name: 'thread_name',
    ph: 'M',
    pid: 1,
    tid: worker,
    args: { name: worker === 0 ? 'worker 0 (caller)' : `worker ${worker}` },
  }));
  const events = spans.map(({ name, kind, worker, begin, end }) => ({
    name,
    cat: kind,
    ph: 'X',
    pid: 1,
    tid: worker,
    ts: begin * 1000,
    dur: (end - begin) * 1000,
  }));
  const around = [
    { name: 'thread_name', ph: 'M', pid: 1, tid: core, args: { name: 'runs and compiles' } },
    ...runs.map((run) => interval('run', run)),
    ...compiles.map((compile) => interval('compile', compile)),
    ...device.map((span) => interval(`device: ${span.dispatches} dispatches`, span, core + 1)),
    ...device.flatMap(({ kernels }) => kernels.map((kernel) => interval(kernel.name, kernel, core + 1))),
  ];
  return { displayTimeUnit: 'ms', traceEvents: [...names, ...around, ...events] };
}

/** Runs f, awaits it, waits for what it started, and reports every kernel that ran meanwhile. Kernels that otherwise run
 *  side by side take turns, so that each has a time of its own. */
export async function profile(f: () => unknown, options?: ProfileOptions): Promise<Profile> {
  checkFunction('profile', f, 'profile(() => ...) reports what runs meanwhile');
  const { maxSpans = 65536 } = readOptions<ProfileOptions>('profile', options, { maxSpans: 'integer' });
  checkInteger('profile', 'maxSpans', maxSpans, 0);
  const rt = runtime();
  rt.ok(rt.exports.sinter_profile_start(maxSpans));
  const origin = rt.exports.sinter_profile_now();
  const watched = rt.device?.watch();
  let device: DeviceSpan[] = [];
  let totalMs: number;
  try {
    await f();
    await rt.turns?.idle();
    rt.ok(rt.exports.sinter_synchronize());
  } finally {
    if (watched) device = await watched();
    totalMs = rt.exports.sinter_profile_now() - origin;
    rt.exports.sinter_profile_stop();
  }
  const kernels = readKernels(rt);
  const recorded = readSpans(rt, kernels, origin);
  const workers = workerProfiles(recorded, rt.workers?.count ?? 1, totalMs);
  return {
    isa: rt.text(rt.exports.sinter_isa()),
    threads: rt.workers?.count ?? 1,
    totalMs,
    steps: kernels.reduce((steps, { calls }) => steps + calls, 0),
    kernels: [...kernels].sort((a, b) => b.ms - a.ms),
    spans: recorded.spans,
    runs: recorded.runs,
    compiles: recorded.compiles,
    lostSpans: recorded.lost,
    workers,
    device,
    toChromeTrace: () => chromeTrace(recorded, workers, device),
  };
}
