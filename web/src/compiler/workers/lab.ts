// The lab: one core with the requested configuration. It compiles programs, shows the results and times them.

import * as sn from 'sinter';
import type { Engine, Figures, Further, LabMethods, Loading, Opened, PassesOff, Patience, Problem, Profiled, Sample } from '../protocol.ts';
import { GROUPS, type Report } from '../report.ts';
import { answer } from './answer.ts';
import { graphicsDevice, whyNoDevice } from '../../program/workers/device.ts';
import { watchLoading } from '../../program/workers/playground.ts';
import { toLookAt } from '../../program/workers/read.ts';
import { bandwidth, profile as profileOf, traceFile } from './profiling.ts';
import { describe, linesIn, SourceError } from './source.ts';
import { Timing } from './timing.ts';
import { TuningRuns } from './tuning.ts';

/** Once tracing is done the program is not endless; the rest is the compiler's work. */
const TRACED: Patience = { limitMs: 60_000, hint: 'The program is traced, and has too many ops to be compiled in this time. As sn.scan, a loop of many rounds is one op.' };

let timing: Timing | null = null;
let tuningRuns: TuningRuns | null = null;
let inspection: sn.Inspection | null = null;
/** The text of the inspected program, and its compile options. */
let inspectedOf: sn.CompileOptions & { source: string } = { source: '' };
/** The device that programs are compiled for. */
let target: sn.DeviceName = 'cpu';

async function open({ threads, jit, relaxedSimd, device }: Engine): Promise<Opened> {
  const asked = device ? await graphicsDevice() : undefined;
  await sn.init({ threads: threads === 0 ? 'auto' : threads, jit, relaxedSimd, device: asked });
  await sn.tuned.load().catch(() => undefined); // of earlier visits, if there are any
  const { reasons, isa, device: found, ...on } = sn.info();
  target = found === null ? 'cpu' : 'webgpu';
  return {
    threads: on.threads,
    jit: on.jit,
    relaxedSimd: on.relaxedSimd,
    isa,
    reasons,
    passes: sn.passes(),
    device: found === null ? (device ? { reason: whyNoDevice() } : null) : { adapter: found.adapter },
  };
}

function options(off: PassesOff, further: Further = {}): sn.CompileOptions {
  return { ...further, device: target, passes: Object.fromEntries(off.map((name) => [name, false])) };
}

/** The parts of an inspection that can be posted, with only those stages whose nodes are values. */
function plain({ cSource: _c, jsSource: _j, dispose: _d, prelude: _p, kernels, stages, calls, ...rest }: sn.Inspection): Report {
  const end = stages.findIndex(({ name }) => name === GROUPS) + 1;
  return {
    ...rest,
    stages: stages.slice(0, end),
    lines: calls.map(linesIn),
    kernels: kernels.map(({ wat: _wat, wgsl: _wgsl, ...kernel }) => kernel),
  };
}

/** The program, which posts a message once it is traced. */
async function patiently(source: string): ReturnType<typeof toLookAt> {
  const { program, inputs } = await toLookAt(source);
  const traced = (...args: unknown[]): unknown => {
    const made = program(...args);
    self.postMessage(TRACED);
    return made;
  };
  return { program: traced, inputs };
}

async function inspect(source: string, off: PassesOff, further?: Further): Promise<Report> {
  // A plan with another memory budget is shown beside the inspection, and does not replace it.
  const isBeside = further?.memoryBudget !== undefined;
  if (!isBeside) {
    inspection?.dispose();
    inspection = null;
  }
  const { program, inputs } = await patiently(source);
  const how = { ...options(off, further), tune: true };
  const found = sn.tidy(() => sn.inspect(program, how)(...inputs));
  sn.dispose(inputs);
  if (isBeside) found.dispose();
  else [inspection, inspectedOf] = [found, { source, ...how }];
  return plain(found);
}

async function kernelsBehind(source: string, off: PassesOff, pass: string): Promise<number> {
  const list = sn.passes().filter((name) => name !== 'fuse' && name !== 'jit');
  const behind = list.slice(list.indexOf(pass) + 1);
  const { program, inputs } = await patiently(source);
  const found = sn.tidy(() => sn.inspect(program, options([...off, ...behind]))(...inputs));
  sn.dispose(inputs);
  found.dispose();
  return found.kernels.length;
}

async function numerics(source: string): Promise<Problem | null> {
  const { program, inputs } = await toLookAt(source);
  try {
    sn.dispose(sn.debug.checkNumerics(program)(...inputs));
    return null;
  } catch (error) {
    if (!(error instanceof sn.debug.NumericsError)) throw error;
    const [line = null] = linesIn(error.value.places);
    const path = error.path.slice(1).map(({ op }) => op);
    return { name: error.name, message: error.message, hint: path.length > 0 ? `made from ${path.join(', from ')}` : '', line, column: null };
  } finally {
    sn.dispose(inputs);
  }
}

function inspected(): sn.Inspection {
  if (inspection === null) throw new SourceError('no program was compiled');
  return inspection;
}

const wat = (kernel: number): string => inspected().kernels[kernel].wat();

const wgsl = (kernel: number): string => inspected().kernels[kernel].wgsl();

const c = (): string => inspected().cSource();

/** The text uses the names of parameters, so it is made from the program itself, without the wrapper. */
async function js(): Promise<string> {
  await import('sinter/source');
  const { source, ...rest } = inspectedOf;
  const { program, inputs } = await toLookAt(source);
  const found = sn.tidy(() => sn.inspect(program, rest)(...inputs));
  sn.dispose(inputs);
  try {
    return found.jsSource();
  } finally {
    found.dispose();
  }
}

async function prepare(source: string, off: PassesOff, further?: Further): Promise<number> {
  timing?.dispose();
  timing = new Timing(await toLookAt(source), options(off, further));
  return timing.warmUp();
}

function prepared(): Timing {
  if (timing === null) throw new SourceError('no program was prepared');
  return timing;
}

async function tune(source: string, off: PassesOff, further?: Further): Promise<sn.Tuning> {
  tuningRuns?.dispose();
  tuningRuns = new TuningRuns(await toLookAt(source), options(off, further));
  return tuningRuns.goOn();
}

function tuneOn(): Promise<sn.Tuning> {
  if (tuningRuns === null) throw new SourceError('no program is being tuned');
  return tuningRuns.goOn();
}

const sample = (): Promise<Sample> => prepared().sample();
const figures = (): Figures => prepared().figures();
const profile = (source: string, off: PassesOff, further: Further, runs: number): Promise<Profiled> =>
  // Profiles the form that is shown: the tuned one, if there is one.
  profileOf(source, { ...options(off, further), tune: (inspection?.tuning ?? null) !== null }, runs);

watchLoading((received, total) => self.postMessage({ received, total } satisfies Loading));

answer<LabMethods>({ open, inspect, kernelsBehind, wat, wgsl, c, js, prepare, sample, figures, tune, tuneOn, numerics, profile, trace: traceFile, bandwidth }, describe);
