// Measures when each submission of a profile was worked on. With timestamps, by the device's own clock: then each dispatch is a
// pass of its own while profiling, so that each kernel has its times. Otherwise from its submission, or the end of the previous
// one, until the host learns of its end.

import type { DeviceKernel, DeviceSpan } from '../index.js';
import type { DeviceState } from './devicestate.js';

/** The most passes of a submission with times of their own; later dispatches share the last pass. */
const MOST_PASSES = 2048;
const TIME_BYTES = 8;
const NANOSECONDS = 1e6;

/** The timestamps of a submission: one pass per dispatch. */
export class Clock {
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #read: GPUBuffer;
  /** The kernel that ran in each pass so far. */
  readonly #names: string[] = [];
  #passes = 0;

  constructor(device: GPUDevice) {
    const size = 2 * MOST_PASSES * TIME_BYTES;
    this.#queries = device.createQuerySet({ type: 'timestamp', count: 2 * MOST_PASSES });
    this.#resolved = device.createBuffer({ size, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
    this.#read = device.createBuffer({ size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  }

  /** The descriptor for the next pass. */
  pass(): GPUComputePassDescriptor {
    const first = 2 * this.#passes++;
    return { timestampWrites: { querySet: this.#queries, beginningOfPassWriteIndex: first, endOfPassWriteIndex: first + 1 } };
  }

  /** Notes a dispatch; returns whether it needs another pass than the one before. */
  turn(name: string): boolean {
    const isFirst = this.#names.length === 0;
    if (this.#names.length < MOST_PASSES) this.#names.push(name);
    return !isFirst && this.#names.length > this.#passes;
  }

  /** Call after the last pass, before the submission. */
  resolve(encoder: GPUCommandEncoder): void {
    encoder.resolveQuerySet(this.#queries, 0, 2 * this.#passes, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#read, 0, 2 * this.#passes * TIME_BYTES);
  }

  /** The times of all kernels once the submission has ended, in milliseconds relative to its end (so not above 0). */
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
  readonly #state: DeviceState;
  #began = 0;
  #spans: Promise<DeviceSpan | null>[] | null = null;

  constructor(state: DeviceState) {
    this.#state = state;
  }

  begin(): void {
    this.#began = performance.now();
    this.#spans = [];
  }

  /** Everything submitted since begin, once all of it has ended. */
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

  /** A clock for a new submission; null if nobody is profiling, or the device has no timestamps. */
  clock(): Clock | null {
    const { device } = this.#state;
    return this.#spans && device.features.has('timestamp-query') ? new Clock(device) : null;
  }

  submitted(clock: Clock | null, dispatches: number): void {
    if (!this.#spans) return;
    const begin = performance.now() - this.#began;
    this.#spans.push(this.#span(clock, dispatches, begin).catch(() => null)); // the device was lost
  }

  async #span(clock: Clock | null, dispatches: number, begin: number): Promise<DeviceSpan> {
    await this.#state.device.queue.onSubmittedWorkDone();
    const end = performance.now() - this.#began;
    if (!clock) return { begin, end, dispatches, isExact: false, kernels: [] };
    const kernels = (await clock.kernels()).map((kernel) => ({ ...kernel, begin: Math.max(0, end + kernel.begin), end: end + kernel.end }));
    return { begin: kernels[0]?.begin ?? end, end, dispatches, isExact: true, kernels };
  }
}
