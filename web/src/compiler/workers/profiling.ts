// Profiles the kernels of a program while it runs a few times: as plain data, and as files for other viewers.

import * as sn from 'sinter';
import { toSpeedscope } from 'sinter/report';
import type { Profiled } from '../protocol.ts';
import { toLookAt } from '../../program/workers/read.ts';
import { SourceError } from './source.ts';

const MAX_SPANS = 400_000;
const WARM_UP_MS = 200;
/** Number of elements: more than any cache holds. */
const LARGE = 1 << 23;
const ROUNDS = 6;

let last: sn.Profile | null = null;

const pairs = (list: readonly sn.Interval[]): Float64Array => Float64Array.from(list.flatMap(({ begin, end }) => [begin, end]));

/** Runs a program so many times under the profiler. */
export async function profile(source: string, options: sn.CompileOptions, times: number): Promise<Profiled> {
  const { program, inputs } = await toLookAt(source);
  const run = sn.jit(program, options);
  const once = (): void => sn.dispose(run(...inputs));
  let epoch: number;
  try {
    const begin = performance.now();
    do once();
    while (performance.now() - begin < WARM_UP_MS);
    epoch = performance.timeOrigin + performance.now();
    last = await sn.profile(
      () => {
        for (let i = 0; i < times; i++) once();
      },
      { maxSpans: MAX_SPANS },
    );
  } finally {
    run.dispose();
    sn.dispose(inputs);
  }
  const { totalMs, kernels, spans, runs, compiles, workers, lostSpans } = last;
  const number = new Map(kernels.map(({ name, kind }, i) => [`${kind} ${name}`, i]));
  return {
    epoch,
    totalMs,
    kernels,
    workers,
    lostSpans,
    begin: Float64Array.from(spans, (span) => span.begin),
    end: Float64Array.from(spans, (span) => span.end),
    step: Uint32Array.from(spans, (span) => span.step),
    kernel: Uint32Array.from(spans, ({ kind, name }) => number.get(`${kind} ${name}`) ?? 0),
    worker: Uint32Array.from(spans, (span) => span.worker),
    runs: pairs(runs),
    compiles: pairs(compiles),
  };
}

function profiled(): sn.Profile {
  if (last === null) throw new SourceError('nothing was profiled');
  return last;
}

/** The last profile as a file for chrome://tracing or speedscope.app. */
export const traceFile = (form: 'chrome' | 'speedscope'): string =>
  JSON.stringify(form === 'chrome' ? profiled().toChromeTrace() : toSpeedscope(profiled()));

/** Memory bandwidth of all threads in GB/s: the best of a few rounds. */
export function bandwidth(): number {
  const scale = sn.jit((x: sn.Tensor) => x.mul(1.5));
  const x = sn.ones([LARGE]);
  let best = 0;
  for (let i = 0; i < ROUNDS; i++) {
    const begin = performance.now();
    const y = scale(x);
    sn.eval(y);
    best = Math.max(best, (2 * 4 * LARGE) / (performance.now() - begin) / 1e6);
    y.dispose();
  }
  scale.dispose();
  x.dispose();
  return best;
}
