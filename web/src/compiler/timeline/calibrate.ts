// Measures the user's machine with as many threads as the engine has: multiply-adds in registers, and memory bandwidth.

import type { Roof } from 'sinter/report';
import type { PeakMethods } from '../../bench/protocol.ts';
import type { Lab } from '../lab.ts';
import { Rpc } from '../rpc.ts';

const PEAK_MS = 120;
const LIMIT_MS = 20_000;

async function arithmetic(threads: number, fused: boolean): Promise<number> {
  const workers = Array.from(
    { length: threads },
    () => new Rpc<PeakMethods>(() => new Worker(new URL('../../bench/workers/peaks.ts', import.meta.url), { type: 'module', name: 'peak' })),
  );
  try {
    await Promise.all(workers.map((worker) => worker.ask('peak', [fused, 1], LIMIT_MS)));
    const rates = await Promise.all(workers.map((worker) => worker.ask('peak', [fused, PEAK_MS], LIMIT_MS)));
    return rates.reduce((sum, rate) => sum + rate, 0);
  } finally {
    for (const worker of workers) worker.end();
  }
}

export async function calibrate(lab: Lab): Promise<Roof> {
  const { threads, relaxedSimd } = await lab.open();
  return { gflops: await arithmetic(Math.max(1, threads), relaxedSimd), gbps: await lab.bandwidth() };
}
