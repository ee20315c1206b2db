// What a profile says of the device: when each submission was worked on. By the device's own clock where it has timestamps;
// else from its submission, or the end of the one before, until the host hears of its end. With timestamps each dispatch is a
// pass of its own while a profile is made, so that each kernel has its times.

import type { DeviceKernel, DeviceSpan } from '../index.js';
import type { Reach } from './reach.js';

/** Passes of a submission that have times of their own; what comes later shares the last one. */
const MOST_PASSES = 2048;
const TIME_BYTES = 8;
const NANOSECONDS = 1e6;

/** The clock of a submission under way: a pass for each dispatch. */
export class Clock {
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #read: GPUBuffer;
  /** What ran in each pass so far. */
  readonly #names: string[] = [];
  #passes = 0;

  constructor(device: GPUDevice) {
    const size = 2 * MOST_PASSES * TIME_BYTES;
    this.#queries = device.createQuerySet({ type: 'timestamp', count: 2 * MOST_PASSES });
    this.#resolved = device.createBuffer({ size, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
    this.#read = device.createBuffer({ size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  }

  /** Of a pass that begins. */
  pass(): GPUComputePassDescriptor {
    const first = 2 * this.#passes++;
    return { timestampWrites: { querySet: this.#queries, beginningOfPassWriteIndex: first, endOfPassWriteIndex: first + 1 } };
  }

  /** Notes a dispatch; whether it is to have another pass than the one before it. */
  turn(name: string): boolean {
    const isFirst = this.#names.length === 0;
    if (this.#names.length < MOST_PASSES) this.#names.push(name);
    return !isFirst && this.#names.length > this.#passes;
  }

  /** At the end of the last pass, before the submission. */
  resolve(encoder: GPUCommandEncoder): void {
    encoder.resolveQuerySet(this.#queries, 0, 2 * this.#passes, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#read, 0, 2 * this.#passes * TIME_BYTES);
  }

  /** When all of it is over: kernels, in milliseconds before the end of the last one. */
  async kernels(): Promise<DeviceKernel[]> {
    await this.#read.mapAsync(GPUMapMode.READ);
    const times = new BigInt64Array(this.#read.getMappedRange());
    const end = times[2 * this.#passes - 1]!;
    const before = (at: number): number => Number(times[at]! - end) / NANOSECONDS;
    const kernels = this.#names.map((name, i) => ({ name, begin: before(2 * i), end: before(2 * i + 1) }));
    for (const part of [this.#queries, this.#resolved, this.#read]) part.destroy();
    return kernels;
  }
}

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

  /** For a submission that begins: null where nobody watches, or the device has no clock. */
  clock(): Clock | null {
    const { device } = this.#reach;
    return this.#spans && device.features.has('timestamp-query') ? new Clock(device) : null;
  }

  submitted(clock: Clock | null, dispatches: number): void {
    if (!this.#spans) return;
    const begin = performance.now() - this.#began;
    this.#spans.push(this.#span(clock, dispatches, begin).catch(() => null)); // the device was lost
  }

  async #span(clock: Clock | null, dispatches: number, begin: number): Promise<DeviceSpan> {
    await this.#reach.device.queue.onSubmittedWorkDone();
    const end = performance.now() - this.#began;
    if (!clock) return { begin, end, dispatches, isExact: false, kernels: [] };
    const kernels = (await clock.kernels()).map((kernel) => ({ ...kernel, begin: Math.max(0, end + kernel.begin), end: end + kernel.end }));
    return { begin: kernels[0]?.begin ?? end, end, dispatches, isExact: true, kernels };
  }
}
