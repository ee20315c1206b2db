// Measures one case at a time, in short samples that alternate between fusion and no fusion, so that other load on the machine
// affects both.

import * as sn from 'sinter';
import { answer } from '../../compiler/workers/answer.ts';
import { describe } from '../../compiler/workers/source.ts';
import type { BenchMethods, Engine, Times } from '../protocol.ts';
import { fuses, program, type Program } from './cases.ts';

const SAMPLE_MS = 20;
/** The warm-up: engines compile code a second time once it runs often. */
const WARM_UP_MS = 250;
const WARM_UP_CALLS = 3;

class Timed {
  private calls = 1;

  constructor(private readonly program: Program) {
    const begin = performance.now();
    let calls = 0;
    let spent = 0;
    for (; calls < WARM_UP_CALLS || spent < WARM_UP_MS; calls++, spent = performance.now() - begin) program.call();
    this.calls = Math.max(1, Math.round((SAMPLE_MS * calls) / spent));
  }

  /** Milliseconds per call. */
  sample(): number {
    const begin = performance.now();
    for (let i = 0; i < this.calls; i++) this.program.call();
    return (performance.now() - begin) / this.calls;
  }

  dispose(): void {
    this.program.dispose();
  }
}

let fused: Timed | null = null;
let plain: Timed | null = null;

async function open(): Promise<Engine> {
  const { threads, relaxedSimd, jit } = await sn.init();
  return { threads, relaxedSimd, jit };
}

function prepare(id: string): Times {
  fused?.dispose();
  plain?.dispose();
  fused = plain = null;
  fused = new Timed(program(id, true));
  if (fuses(id)) plain = new Timed(program(id, false));
  return sample();
}

function sample(): Times {
  if (fused === null) throw new Error('no case was prepared');
  return { fused: fused.sample(), plain: plain?.sample() ?? null };
}

answer<BenchMethods>({ open, prepare, sample }, describe);
