// What a profile says of the device: when each submission was worked on. By the device's own clock where it has timestamps;
// else from its submission, or the end of the one before, until the host hears of its end.

import type { DeviceSpan } from '../index.js';
import type { Reach } from './reach.js';

/** The clock of a submission under way. */
export interface Clock {
  queries: GPUQuerySet;
  resolved: GPUBuffer;
  read: GPUBuffer;
}

const TIMES_BYTES = 16;
const NANOSECONDS = 1e6;

export class Watch {
  readonly #reach: Reach;
  #began = 0;
  #spans: Promise<DeviceSpan | null>[] | null = null;

  constructor(reach: Reach) {
    this.#reach = reach;
  }

  begin(): void {
    this.#began = performance.now();
    this.#spans = [];
  }

  /** What was submitted since, when all of it is over. */
  async end(): Promise<DeviceSpan[]> {
    const made = await Promise.all(this.#spans ?? []);
    this.#spans = null;
    const spans = made.filter((span) => span !== null);
    let before = 0;
    for (const span of spans) {
      if (!span.isExact) span.begin = Math.max(span.begin, before);
      before = span.end;
    }
    return spans;
  }

  /** For a pass that begins: null where nobody watches, or the device has no clock. */
  clock(): Clock | null {
    const { device } = this.#reach;
    if (!this.#spans || !device.features.has('timestamp-query')) return null;
    const queries = device.createQuerySet({ type: 'timestamp', count: 2 });
    const resolved = device.createBuffer({ size: TIMES_BYTES, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
    const read = device.createBuffer({ size: TIMES_BYTES, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
    return { queries, resolved, read };
  }

  /** At the end of a pass, before it is submitted. */
  resolve(encoder: GPUCommandEncoder, clock: Clock | null): void {
    if (!clock) return;
    encoder.resolveQuerySet(clock.queries, 0, 2, clock.resolved, 0);
    encoder.copyBufferToBuffer(clock.resolved, 0, clock.read, 0, TIMES_BYTES);
  }

  submitted(clock: Clock | null, dispatches: number): void {
    if (!this.#spans) return;
    const begin = performance.now() - this.#began;
    this.#spans.push(this.#span(clock, dispatches, begin).catch(() => null)); // the device was lost
  }

  async #span(clock: Clock | null, dispatches: number, begin: number): Promise<DeviceSpan> {
    await this.#reach.device.queue.onSubmittedWorkDone();
    const end = performance.now() - this.#began;
    if (!clock) return { begin, end, dispatches, isExact: false };
    await clock.read.mapAsync(GPUMapMode.READ);
    const [from = 0n, to = 0n] = new BigInt64Array(clock.read.getMappedRange());
    for (const part of Object.values(clock)) (part as GPUBuffer | GPUQuerySet).destroy();
    return { begin: Math.max(0, end - Number(to - from) / NANOSECONDS), end, dispatches, isExact: true };
  }
}
