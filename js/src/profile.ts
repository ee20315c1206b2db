// profile(f): what the kernels did while f ran. Recorded in the core, read once at the end.

import { runtime, type Runtime } from './runtime/runtime.js';

export interface KernelProfile {
  /** The ops in it, e.g. 'matmul+add+relu'. */
  name: string;
  /** 'map', 'reduce' or 'contraction'. */
  kind: string;
  calls: number;
  /** Summed over calls, from the first lane's start to the last one's end. */
  ms: number;
  flops: number;
  bytes: number;
  gflops: number;
  gbps: number;
  /** Most lanes that took part in a call. */
  threads: number;
}

/** One lane at work on one kernel. */
export interface Span {
  name: string;
  kind: string;
  /** 0: the caller or the driver. */
  lane: number;
  /** Milliseconds since the profile began. */
  begin: number;
  end: number;
}

/** What a lane did of the whole time: work in kernels, and the gaps between. */
export interface LaneProfile {
  lane: number;
  busyMs: number;
  gapMs: number;
}

export interface ChromeTrace {
  displayTimeUnit: 'ms';
  traceEvents: Record<string, unknown>[];
}

export interface Profile {
  /** Wall time of f and of what it had started. */
  totalMs: number;
  /** Runs of kernels. */
  steps: number;
  /** Longest first. */
  kernels: KernelProfile[];
  spans: Span[];
  /** Spans that found no room. */
  lostSpans: number;
  lanes: LaneProfile[];
  /** For chrome://tracing and other viewers. */
  toChromeTrace(): ChromeTrace;
}

export interface ProfileOptions {
  /** Most spans to keep; default 65536. */
  maxSpans?: number;
}

/** Layout of sn_kernel_profile: two addresses, three doubles, two words. */
const KERNEL_BYTES = 40;
/** Layout of sn_span: two doubles, two words. */
const SPAN_BYTES = 24;

function readKernels(rt: Runtime): KernelProfile[] {
  const address = rt.exports.sinter_profile_kernels() >>> 0;
  const view = new DataView(rt.memory.buffer);
  return Array.from({ length: rt.word(0) }, (_, i) => {
    const at = address + i * KERNEL_BYTES;
    const ms = view.getFloat64(at + 8, true);
    const flops = view.getFloat64(at + 16, true);
    const bytes = view.getFloat64(at + 24, true);
    return {
      name: rt.text(view.getUint32(at, true)),
      kind: rt.text(view.getUint32(at + 4, true)),
      calls: view.getUint32(at + 32, true),
      ms,
      flops,
      bytes,
      gflops: ms > 0 ? flops / ms / 1e6 : 0,
      gbps: ms > 0 ? bytes / ms / 1e6 : 0,
      threads: view.getUint32(at + 36, true),
    };
  });
}

function readSpans(
  rt: Runtime,
  kernels: readonly KernelProfile[],
  origin: number,
): { spans: Span[]; lost: number } {
  const address = rt.exports.sinter_profile_spans() >>> 0;
  const lost = rt.word(1);
  const view = new DataView(rt.memory.buffer);
  const spans = Array.from({ length: rt.word(0) }, (_, i) => {
    const at = address + i * SPAN_BYTES;
    const kernel = kernels[view.getUint32(at + 16, true)];
    return {
      name: kernel?.name ?? '',
      kind: kernel?.kind ?? '',
      lane: view.getUint32(at + 20, true),
      begin: view.getFloat64(at, true) - origin,
      end: view.getFloat64(at + 8, true) - origin,
    };
  });
  return { spans, lost };
}

function laneProfiles(spans: readonly Span[], totalMs: number): LaneProfile[] {
  const busy = new Map<number, number>();
  for (const { lane, begin, end } of spans) busy.set(lane, (busy.get(lane) ?? 0) + (end - begin));
  return [...busy]
    .sort(([a], [b]) => a - b)
    .map(([lane, busyMs]) => ({ lane, busyMs, gapMs: Math.max(0, totalMs - busyMs) }));
}

function chromeTrace(spans: readonly Span[], lanes: readonly LaneProfile[]): ChromeTrace {
  const names = lanes.map(({ lane }) => ({
    name: 'thread_name',
    ph: 'M',
    pid: 1,
    tid: lane,
    args: { name: lane === 0 ? 'lane 0 (caller)' : `lane ${lane}` },
  }));
  const events = spans.map(({ name, kind, lane, begin, end }) => ({
    name,
    cat: kind,
    ph: 'X',
    pid: 1,
    tid: lane,
    ts: begin * 1000,
    dur: (end - begin) * 1000,
  }));
  return { displayTimeUnit: 'ms', traceEvents: [...names, ...events] };
}

/** Runs f, awaits it, waits for what it started, and reports every kernel that ran meanwhile. */
export async function profile(f: () => unknown, { maxSpans = 65536 }: ProfileOptions = {}): Promise<Profile> {
  const rt = runtime();
  rt.ok(rt.exports.sinter_profile_start(maxSpans));
  const origin = rt.exports.sinter_profile_now();
  let totalMs: number;
  try {
    await f();
    rt.ok(rt.exports.sinter_synchronize());
  } finally {
    totalMs = rt.exports.sinter_profile_now() - origin;
    rt.exports.sinter_profile_stop();
  }
  const kernels = readKernels(rt);
  const { spans, lost } = readSpans(rt, kernels, origin);
  const lanes = laneProfiles(spans, totalMs);
  return {
    totalMs,
    steps: kernels.reduce((steps, { calls }) => steps + calls, 0),
    kernels: [...kernels].sort((a, b) => b.ms - a.ms),
    spans,
    lostSpans: lost,
    lanes,
    toChromeTrace: () => chromeTrace(spans, lanes),
  };
}
