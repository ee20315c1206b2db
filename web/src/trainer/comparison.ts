// Runs the same training in each precision, side by side: from the same seed, on the same batches, one step of each in turn. So
// anything else that loads the machine slows all of them alike. All of them run on the CPU.

import { COMPARED_STEPS, PRECISIONS, type ComparedRun } from '../state/protocol.ts';
import type { Training } from '../program/workers/training.ts';
import { Session } from './session.ts';

interface Run {
  session: Session;
  memory: number;
  losses: number[];
  times: number[];
  scaling: { scale: number; skipped: number };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;
}

export class Comparison {
  private readonly runs: Run[] = [];

  constructor(
    private readonly training: Training,
    private readonly seed: number,
  ) {}

  /** The number of steps that each run has done. */
  get step(): number {
    return this.runs.at(-1)?.losses.length ?? 0;
  }

  get isDone(): boolean {
    return this.runs.length === PRECISIONS.length && this.step === COMPARED_STEPS;
  }

  /** Prepares one of the runs, or does a step of each. */
  async advance(): Promise<void> {
    const missing = PRECISIONS[this.runs.length];
    if (missing === undefined) for (const run of this.runs) await this.train(run);
    else {
      const session = new Session(this.training, this.seed, { precision: missing });
      const run = { session, memory: 0, losses: [], times: [], scaling: session.scaling };
      this.runs.push(run);
      run.memory = session.memoryOfStep();
    }
  }

  /** The state after the last whole step, which also exists for a run that failed. */
  get report(): ComparedRun[] {
    return this.runs.map(({ memory, losses, times, scaling }, i) => ({
      precision: PRECISIONS[i],
      losses,
      memory,
      ms: median(times),
      ...scaling,
    }));
  }

  dispose(): void {
    for (const { session } of this.runs) session.dispose();
  }

  private async train(run: Run): Promise<void> {
    const { loss, ms } = await run.session.step();
    run.losses.push(loss);
    if (!Number.isNaN(ms)) run.times.push(ms);
    run.scaling = run.session.scaling;
  }
}
