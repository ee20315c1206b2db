// The lab: one core, set up as asked, that compiles programs, shows what became of them, and times them.

import * as sn from 'sinter';
import type { Engine, LabMethods, Opened, PassesOff, Sample } from '../protocol.ts';
import type { Report } from '../report.ts';
import { answer } from './answer.ts';
import { readInspection } from './inspection.ts';
import { describe, evaluate, SourceError } from './source.ts';
import { Timing } from './timing.ts';

let timing: Timing | null = null;

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

function setPasses(off: PassesOff): void {
  for (const name of sn.passes()) sn.setPass(name, !off.includes(name));
}

function inspect(source: string, off: PassesOff): Report {
  setPasses(off);
  return sn.tidy(() => {
    const { program, inputs } = evaluate(source);
    const begin = performance.now();
    const found = sn.inspect(program)(...inputs);
    return readInspection(found, performance.now() - begin);
  });
}

function wat(_kernel: number): string | null {
  return null;
}

function c(): string | null {
  return null;
}

function prepare(source: string, off: PassesOff): number {
  setPasses(off);
  timing?.dispose();
  timing = new Timing(evaluate(source));
  return timing.warmUp();
}

function sample(): Sample {
  if (timing === null) throw new SourceError('no program was prepared');
  return timing.sample();
}

answer<LabMethods>({ open, inspect, wat, c, prepare, sample }, describe);
