// tune: which form of a program is the quickest on this machine, found out by running forms of it by turns (the core's
// tensor/tune.h). Forms differ in how work is cut and fused, never in a bit of a result.

import { checkFunction } from './check.js';
import { compiledFunction } from './jit.js';
import { readOptions } from './options.js';
import { COMPILE, type CompileOptions } from './program.js';
import { dispose, flatten } from './pytree.js';
import { runtime } from './runtime/runtime.js';
import { nextTurn } from './runtime/turns.js';
import { keep } from './scope.js';

/** One choice that was tried against the best form so far. */
export interface Trial {
  /** Its name: 'task', 'lanes', 'chains', 'fuse' ... */
  knob: string;
  /** What it decides, in words. */
  what: string;
  /** What the number behind it was multiplied by; 0 is off. */
  factor: number;
  /** 'same': its kernels are those of the best form; 'refused': it could not be compiled, as within a memory budget. */
  outcome: 'taken' | 'lost' | 'same' | 'refused';
  /** Whether the program has it now. */
  chosen: boolean;
  /** Milliseconds of a run, and of the best form then: means of the quicker half of some runs. Absent where it was not run. */
  ms?: number;
  bestMs?: number;
}

/** What tuning has tried. Where tuned.use or tuned.load told of a program: what is chosen, without times. */
export interface Tuning {
  /** Whether the program has the form that it will keep. */
  done: boolean;
  /** A run as tuned and as it was without, from one last check by turns; absent while it goes on, and if nothing was taken. */
  ms?: number;
  plainMs?: number;
  trials: Trial[];
}

/** A call takes its turn of the event loop after so many milliseconds. */
const TURN_MS = 10;

/**
 * tune(f)(...args): runs f on the arguments, some hundreds of times, until the quickest form of its program is known; what
 * was tried. From then on jit with { tune: true } compiles that form at once, and inspect with { tune: true } shows it. Nothing is used up. A function that is known is not run: what was tried then is told again.
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

/** Until the run that makes a result is over; the result goes. */
async function ended(result: unknown): Promise<void> {
  const { tensors } = flatten(result, 'tune');
  if (runtime().runsAsync && tensors.length > 0) await tensors.reduce((least, t) => (t.size < least.size ? t : least)).data();
  dispose(result);
}
