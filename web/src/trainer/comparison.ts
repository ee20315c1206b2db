// The same training in each precision, side by side: from the same seed, on the same batches, one step of each in turn, so
// that whatever else the machine does slows all of them alike.

import { COMPARED_STEPS, PRECISIONS, type ComparedRun } from '../state/protocol.ts';
import type { Settings } from '../state/settings.ts';
import { Session, type Task } from './session.ts';

interface Run {
  session: Session;
  memory: number;
  losses: number[];
  times: number[];
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;
}

export class Comparison {
  private readonly runs: Run[] = [];

  constructor(
    private readonly task: Task,
    private readonly settings: Settings,
  ) {}

  /** Steps that each has done. */
  get step(): number {
    return this.runs.at(-1)?.losses.length ?? 0;
  }

  get isDone(): boolean {
    return this.runs.length === PRECISIONS.length && this.step === COMPARED_STEPS;
  }

  /** Makes one of the runs ready, or does a step of each. */
  advance(): void {
    const missing = PRECISIONS[this.runs.length];
    if (missing === undefined) for (const run of this.runs) this.train(run);
    else {
      const session = new Session(this.task, this.settings, missing);
      this.runs.push({ session, memory: 0, losses: [], times: [] });
      this.runs[this.runs.length - 1].memory = session.memoryOfStep();
    }
  }

  get report(): ComparedRun[] {
    return this.runs.map(({ session, memory, losses, times }, i) => ({
      precision: PRECISIONS[i],
      losses,
      memory,
      ms: median(times),
      ...session.precisionReport,
    }));
  }

  dispose(): void {
    for (const { session } of this.runs) session.dispose();
  }

  private train({ session, losses, times }: Run): void {
    const { loss, ms } = session.step();
    losses.push(loss);
    if (!Number.isNaN(ms)) times.push(ms);
  }
}
