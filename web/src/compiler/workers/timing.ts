// Times the compilation of a program, and one call. Samples are short, so that two workers can take turns,
// and whatever else the machine does affects both.

import * as sn from 'sinter';
import type { Figures, Sample } from '../protocol.ts';

export interface Source {
  program: (...args: unknown[]) => unknown;
  inputs: unknown[];
}

/** A sample of calls takes about this long. */
const SAMPLE_MS = 12;
/** Engines compile a second time what runs often; a side that is warmer than the other would win. */
const WARM_UP_MS = 300;
const WARM_UP_CALLS = 3;

export class Timing {
  private readonly run: sn.Jitted<unknown[], unknown>;
  private callsPerSample = 1;
  private compiles = 0;

  constructor(
    private readonly source: Source,
    private readonly options: sn.CompileOptions,
  ) {
    this.run = sn.jit(source.program, options);
  }

  /** Lets the engine settle on its code; returns the time of one call, ms. */
  warmUp(): number {
    const begin = performance.now();
    let calls = 0;
    do {
      this.calls(1);
      calls++;
    } while (calls < WARM_UP_CALLS || performance.now() - begin < WARM_UP_MS);
    const call = this.calls(Math.max(1, Math.min(calls, WARM_UP_CALLS)));
    this.callsPerSample = Math.max(1, Math.floor(SAMPLE_MS / Math.max(call, 1e-4)));
    return this.calls(this.callsPerSample);
  }

  sample(): Sample {
    return { compileMs: this.compile(), runMs: this.calls(this.callsPerSample) };
  }

  figures(): Figures {
    const found = sn.inspect(this.source.program, this.options)(...this.source.inputs);
    const { kernels, bytes, flops, memory } = found;
    found.dispose();
    return { kernels: kernels.length, bytes, flops, arenaBytes: memory.arenaBytes };
  }

  dispose(): void {
    this.run.dispose();
    sn.dispose(this.source.inputs);
  }

  /** ms per call */
  private calls(count: number): number {
    const begin = performance.now();
    for (let i = 0; i < count; i++) sn.dispose(this.run(...this.source.inputs));
    return (performance.now() - begin) / count;
  }

  /**
   * From trace to program; nothing is run. Equal graphs share one program, so each time the graph gets one
   * more result, a number that it has never had.
   */
  private compile(): number {
    const mark = 0.5 + ++this.compiles * 2 ** -20;
    const fresh = (...args: unknown[]): unknown[] => [this.source.program(...args), sn.full([], mark)];
    const found = sn.inspect(fresh, this.options)(...this.source.inputs);
    found.dispose();
    return found.compileMs;
  }
}
