// Tunes a program by running it, a moment at a time, so that the page can show the progress and stop it.

import * as sn from 'sinter';
import type { Source } from './timing.ts';

/** Milliseconds until the worker answers the page, which then asks again. */
const MOMENT_MS = 150;

export class TuningRuns {
  private readonly run: sn.Jitted<unknown[], unknown>;

  constructor(
    private readonly source: Source,
    options: sn.CompileOptions,
  ) {
    this.run = sn.jit(source.program, { ...options, tune: true });
  }

  /** Runs for a moment; returns what has been tried so far. The result is kept for the next visit, if the browser stores
   *  files. */
  async goOn(): Promise<sn.Tuning> {
    const { inputs } = this.source;
    const end = performance.now() + MOMENT_MS;
    let found: sn.Tuning;
    do {
      sn.dispose(this.run(...inputs));
      found = this.run.tuning(...inputs) ?? { done: true, trials: [] };
    } while (!found.done && performance.now() < end);
    if (found.done) await sn.tuned.save().catch(() => undefined);
    return found;
  }

  dispose(): void {
    this.run.dispose();
    sn.dispose(this.source.inputs);
  }
}
