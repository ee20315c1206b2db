// The lab: one core, configured as asked, that compiles programs, shows the results, and times them.

import * as sn from 'sinter';
import type { Engine, LabMethods, Opened, PassesOff, Sample } from '../protocol.ts';
import { GROUPS, type Report } from '../report.ts';
import { answer } from './answer.ts';
import { toLookAt } from '../../program/workers/training.ts';
import { describe, linesIn, SourceError } from './source.ts';
import { Timing } from './timing.ts';

let timing: Timing | null = null;
let inspection: sn.Inspection | null = null;

async function open({ threads, jit, relaxedSimd }: Engine): Promise<Opened> {
  await sn.init({ threads: threads === 0 ? 'auto' : threads, jit, relaxedSimd });
  const { reasons, isa, ...on } = sn.info();
  return {
    threads: on.threads,
    jit: on.jit,
    relaxedSimd: on.relaxedSimd,
    isa,
    reasons,
    passes: sn.passes(),
  };
}

function passes(off: PassesOff): sn.CompileOptions {
  return { passes: Object.fromEntries(off.map((name) => [name, false])) };
}

/** Only what can be posted, and only those stages whose nodes are values. */
function plain({ cSource: _c, jsSource: _j, dispose: _d, prelude: _p, kernels, stages, calls, ...rest }: sn.Inspection): Report {
  const end = stages.findIndex(({ name }) => name === GROUPS) + 1;
  return {
    ...rest,
    stages: stages.slice(0, end),
    lines: calls.map(linesIn),
    kernels: kernels.map(({ wat: _wat, wgsl: _wgsl, ...kernel }) => kernel),
  };
}

async function inspect(source: string, off: PassesOff): Promise<Report> {
  inspection?.dispose();
  inspection = null;
  const { program, inputs } = await toLookAt(source);
  const found = sn.tidy(() => sn.inspect(program, passes(off))(...inputs));
  sn.dispose(inputs);
  inspection = found;
  return plain(found);
}

function inspected(): sn.Inspection {
  if (inspection === null) throw new SourceError('no program was compiled');
  return inspection;
}

const wat = (kernel: number): string => inspected().kernels[kernel].wat();

const c = (): string => inspected().cSource();

async function js(): Promise<string> {
  await import('sinter/source');
  return inspected().jsSource();
}

async function prepare(source: string, off: PassesOff): Promise<number> {
  timing?.dispose();
  timing = new Timing(await toLookAt(source), passes(off));
  return timing.warmUp();
}

function sample(): Sample {
  if (timing === null) throw new SourceError('no program was prepared');
  return timing.sample();
}

answer<LabMethods>({ open, inspect, wat, c, js, prepare, sample }, describe);
