// Measures a few real training steps and keeps the last trace for download.

import * as sn from 'sinter';
import type { KernelTiming, ProfileReport } from '../state/protocol.ts';

/** Kinds of kernels that multiply matrices. */
const PRODUCTS = ['contraction', 'chain'];

/** The work of the graphics processor. It reports the time of whole submissions, not that of each shader. */
function shadersOf({ device }: sn.Profile, steps: number): KernelTiming[] {
  if (device.length === 0) return [];
  const calls = device.reduce((sum, { dispatches }) => sum + dispatches, 0) / steps;
  const ms = device.reduce((sum, { begin, end }) => sum + end - begin, 0) / steps;
  return [{ name: 'all shaders', kind: 'shader', engine: 'wgsl', calls, ms, gflops: NaN, gbps: NaN }];
}

export class Profiler {
  private trace: unknown = null;

  /** Runs `work`, which returns the number of training steps it did. */
  async measure(work: () => Promise<number>): Promise<ProfileReport> {
    let steps = 0;
    const profile = await sn.profile(async () => {
      steps = await work();
    });
    this.trace = profile.toChromeTrace();
    return {
      steps,
      msPerStep: profile.totalMs / steps,
      flops: profile.kernels.reduce((sum, { kind, flops }) => sum + (PRODUCTS.includes(kind) ? flops : 0), 0) / steps,
      kernels: [...shadersOf(profile, steps), ...profile.kernels.map((kernel) => ({
        name: kernel.name,
        kind: kernel.kind,
        engine: kernel.engine,
        calls: kernel.calls / steps,
        ms: kernel.ms / steps,
        gflops: kernel.gflops,
        gbps: kernel.gbps,
      }))],
    };
  }

  /** The Chrome trace of the last measurement; null before the first. */
  traceJson(): string | null {
    if (this.trace === null) return null;
    return typeof this.trace === 'string' ? this.trace : JSON.stringify(this.trace);
  }
}
