// Times the compilation of a program, and a call. Samples are short, so that two workers can take turns and other load on the
// machine affects both. A call on the graphics processor ends when a value of it can be read.

import * as sn from 'sinter';
import type { Figures, Sample } from '../protocol.ts';

export interface Source {
  program: (...args: unknown[]) => unknown;
  inputs: unknown[];
}

/** The approximate duration of a sample of calls. */
const SAMPLE_MS = 12;
/** The warm-up: engines compile code a second time once it runs often, and a side that is warmer would win. */
const WARM_UP_MS = 300;
const WARM_UP_CALLS = 3;

export class Timing {
  private readonly run: sn.Jitted<unknown[], unknown>;
  private readonly inputs: unknown[];
  private callsPerSample = 1;
  private compiles = 0;

  constructor(
    private readonly source: Source,
    private readonly options: sn.CompileOptions,
  ) {
    this.run = sn.jit(source.program, options);
    const { device = 'cpu' } = options;
    this.inputs = device === 'webgpu' ? (sn.tree.map((t) => (t as sn.Tensor).to(device), source.inputs) as unknown[]) : source.inputs;
  }

  /** Lets the engine settle on its code; returns the time of one call, in ms. */
  async warmUp(): Promise<number> {
    const begin = performance.now();
    let calls = 0;
    do {
      await this.calls(1);
      calls++;
    } while (calls < WARM_UP_CALLS || performance.now() - begin < WARM_UP_MS);
    const call = await this.calls(Math.max(1, Math.min(calls, WARM_UP_CALLS)));
    this.callsPerSample = Math.max(1, Math.floor(SAMPLE_MS / Math.max(call, 1e-4)));
    return this.calls(this.callsPerSample);
  }

  async sample(): Promise<Sample> {
    return { compileMs: this.compile(), runMs: await this.calls(this.callsPerSample) };
  }

  figures(): Figures {
    const found = sn.inspect(this.source.program, this.options)(...this.source.inputs);
    const { kernels, bytes, flops, memory } = found;
    found.dispose();
    return { kernels: kernels.length, bytes, flops, arenaBytes: memory.arenaBytes };
  }

  dispose(): void {
    this.run.dispose();
    sn.dispose([this.source.inputs, this.inputs]);
  }

  /** Runs so many calls; returns the ms per call. */
  private async calls(count: number): Promise<number> {
    const begin = performance.now();
    for (let i = 0; i < count; i++) {
      const made = this.run(...this.inputs);
      if (i === count - 1) await this.settle(made);
      sn.dispose(made);
    }
    return (performance.now() - begin) / count;
  }

  /** Waits for the result. On the CPU a call returns when it is done; on another device the smallest result is awaited. */
  private async settle(made: unknown): Promise<void> {
    if (this.options.device !== 'webgpu') return;
    const [smallest] = (sn.tree.leaves(made) as sn.Tensor[]).sort((a, b) => a.size - b.size);
    await smallest.data();
  }

  /**
   * The time from tracing to the program, in ms; nothing is run. Equal graphs share one program, so the graph gets an
   * additional result each time, a number that it never had before.
   */
  private compile(): number {
    const mark = 0.5 + ++this.compiles * 2 ** -20;
    const fresh = (...args: unknown[]): unknown[] => [this.source.program(...args), sn.full([], mark)];
    const found = sn.inspect(fresh, this.options)(...this.source.inputs);
    found.dispose();
    return found.compileMs;
  }
}
