// tune: finds the form of a program that is the fastest on this machine, by running its forms by turns (the core's
// tensor/tune.h). Forms differ in how work is cut and fused, never in a bit of a result.

import { checkFunction } from './check.js';
import { compiledFunction } from './jit.js';
import { readOptions } from './options.js';
import { COMPILE, type CompileOptions } from './program.js';
import { dispose, flatten } from './pytree.js';
import { runtime } from './runtime/runtime.js';
import { nextTurn } from './runtime/turns.js';
import { keep } from './scope.js';

/** One change that was tried against the best form so far. */
export interface Trial {
  /** What was changed: 'task', 'lanes', 'chains', 'fuse' ... */
  knob: string;
  /** What this decides, in words. */
  what: string;
  /** The factor that its number was multiplied by; 0 is off. */
  factor: number;
  /** 'taken' or 'lost' by its time; 'same': its kernels are those of the best form; 'refused': it could not be compiled,
   *  e.g. within the memory budget. */
  outcome: 'taken' | 'lost' | 'same' | 'refused';
  /** Whether the program's form has this change now. */
  chosen: boolean;
  /** Milliseconds of a run with the change, and of the best form then: means of the faster half of some runs. Absent if
   *  it was not run. */
  ms?: number;
  bestMs?: number;
}

/** What tuning has tried. If tuned.use or tuned.load knew the program: what was chosen, without times. */
export interface Tuning {
  /** Whether tuning is over. */
  done: boolean;
  /** Milliseconds of a run of the tuned form, and of the form without tuning, by turns in a last check; absent before
   *  that, and if no change was taken. */
  ms?: number;
  plainMs?: number;
  trials: Trial[];
}

/** Milliseconds after which tune gives the event loop a turn. */
const TURN_MS = 10;

/**
 * tune(f)(...args) runs f on the arguments, some hundreds of times, until the fastest form of its program is known, and
 * reports what was tried. From then on jit with { tune: true } compiles that form at once, and inspect with { tune: true }
 * shows it. Nothing is used up. A function that was tuned before is not run: the report is then that of the time before.
 */
export function tune<A extends readonly unknown[]>(f: (...args: A) => unknown, options?: CompileOptions): (...args: A) => Promise<Tuning> {
  checkFunction('tune', f, 'tune(f)(...args) finds the quickest form of f for the arguments');
  const compiling = readOptions('tune', options, COMPILE);
  return async (...args) => {
    const run = compiledFunction('tune', f, { ...compiling, tune: true }, (i) => `argument ${i}`);
    try {
      await run.compile(...args);
      let turn = performance.now();
      for (;;) {
        const report = run.tuning(...args);
        if (report === null) return { done: true, trials: [] };
        if (report.done) return report;
        await ended(keep(run(...args)));
        if (performance.now() - turn < TURN_MS) continue;
        await nextTurn();
        turn = performance.now();
      }
    } finally {
      run.dispose();
    }
  };
}

/** Waits until the run that makes a result is over, then disposes of the result. */
async function ended(result: unknown): Promise<void> {
  const { tensors } = flatten(result, 'tune');
  if (runtime().runsAsync && tensors.length > 0) await tensors.reduce((least, t) => (t.size < least.size ? t : least)).data();
  dispose(result);
}
