// One run over the cases, in workers that end with it: first the peak of all cores, then case by case. A figure is the best of
// several rounds, and the peak the best of many windows, because anything else the machine does can only make them slower.

import { Rpc } from '../compiler/rpc.ts';
import type { Case } from './cases.ts';
import type { BenchMethods, Engine, PeakMethods, Times } from './protocol.ts';

const OPEN_MS = 30_000;
const ASK_MS = 120_000;
const PEAK_MS = 400;
const ROUNDS = 7;

export interface Machine extends Engine {
  /** GFLOP/s of 128-bit multiply-adds, on as many cores as there are threads. */
  peak: number;
}

export interface Figure {
  case: Case;
  ms: number;
  gflops: number;
  /** The share of the peak, from 0 to 1. */
  share: number;
  /** Milliseconds without fusion; null if that is not measured. */
  plainMs: number | null;
}

export class Measurement {
  private readonly bench = new Rpc<BenchMethods>(
    () => new Worker(new URL('./workers/bench.ts', import.meta.url), { type: 'module', name: 'bench' }),
  );
  private peaks: Rpc<PeakMethods>[] = [];

  async open(): Promise<Machine> {
    const engine = await this.bench.ask('open', [], OPEN_MS);
    return { ...engine, peak: await this.peak(engine) };
  }

  async measure(given: Case, { peak }: Machine): Promise<Figure> {
    const rounds: Times[] = [await this.bench.ask('prepare', [given.id], ASK_MS)];
    while (rounds.length < ROUNDS) rounds.push(await this.bench.ask('sample', [], ASK_MS));
    const ms = Math.min(...rounds.map(({ fused }) => fused));
    const plain = rounds.flatMap((times) => times.plain ?? []);
    const gflops = given.flops / ms / 1e6;
    return { case: given, ms, gflops, share: gflops / peak, plainMs: plain.length > 0 ? Math.min(...plain) : null };
  }

  /** Ends the workers; open questions are rejected. */
  stop(): void {
    for (const rpc of [this.bench, ...this.peaks]) rpc.end();
  }

  private async peak({ threads, relaxedSimd }: Engine): Promise<number> {
    this.peaks = Array.from(
      { length: threads },
      () => new Rpc<PeakMethods>(
        () => new Worker(new URL('./workers/peaks.ts', import.meta.url), { type: 'module', name: 'peak' }),
      ),
    );
    const all = (forMs: number): Promise<number[]> =>
      Promise.all(this.peaks.map((rpc) => rpc.ask('peak', [relaxedSimd, forMs], OPEN_MS)));
    // A first, short round: workers load, and their code warms up, at different times.
    await all(PEAK_MS / 4);
    const rates = await all(PEAK_MS);
    for (const rpc of this.peaks) rpc.end();
    return rates.reduce((sum, rate) => sum + rate, 0);
  }
}
