// Buffers, by their numbers in the core. Released buffers wait to be reused for the same size, since a training step asks for
// the same sizes again and again. The one that has waited longest is reused first, so a program's buffers take turns. The queue
// keeps the order of commands, so a buffer can be overwritten while an earlier run still reads it.
//
// A failed allocation becomes known only some time later. Everything computed since then has failed, too.

import type { Order } from './order.js';
import { MEMORY, lostFailure, type Failure, type DeviceState } from './devicestate.js';

const { max, min } = Math;

/** Sizes are multiples of this many bytes, as are the offsets that shaders bind. */
const UNIT = 256;
/** The most bytes in waiting buffers. */
const MOST_WAITING = 256 * 2 ** 20;

const rounded = (bytes: number): number => max(UNIT, Math.ceil(bytes / UNIT) * UNIT);

/** A buffer with its state. Its number in the core may later belong to another buffer, but its id does not. */
export interface TrackedBuffer {
  buffer: GPUBuffer;
  id: number;
  /** The run that wrote its content; 0: none. */
  run: number;
  failure: Failure | null;
}

export class Buffers {
  readonly #state: DeviceState;
  readonly #memory: WebAssembly.Memory;
  readonly #order: Order;
  readonly #list: (TrackedBuffer | null)[] = [null]; // number 0 is none
  readonly #free: number[] = [];
  readonly #waiting = new Map<number, TrackedBuffer[]>();
  #waitingBytes = 0;
  #made = 0;
  /** Bytes of all buffers, waiting ones included. */
  bytes = 0;

  constructor(state: DeviceState, memory: WebAssembly.Memory, order: Order) {
    this.#state = state;
    this.#memory = memory;
    this.#order = order;
  }

  get(number: number): TrackedBuffer {
    return this.#list[number]!;
  }

  /** The size of the largest possible buffer, in bytes. */
  get most(): number {
    const { maxBufferSize, maxStorageBufferBindingSize } = this.#state.device.limits;
    return min(maxBufferSize, maxStorageBufferBindingSize);
  }

  #make(size: number): TrackedBuffer {
    const { device, runs } = this.#state;
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    this.bytes += size;
    device.pushErrorScope('out-of-memory');
    const tracked: TrackedBuffer = { buffer: device.createBuffer({ size, usage }), id: ++this.#made, run: 0, failure: null };
    device.popErrorScope().then(
      (error) => error && this.#fail(tracked, runs, { status: MEMORY, text: `the device has no memory for ${size} bytes` }),
      () => {}, // it was lost
    );
    return tracked;
  }

  #fail(of: TrackedBuffer, since: number, failure: Failure): void {
    of.failure = failure;
    for (const tracked of this.#list) if (tracked && tracked.run > since) tracked.failure ??= failure;
  }

  allocate(bytes: number): number {
    const size = rounded(bytes);
    if (size > this.most) return 0;
    const found = this.#waiting.get(size)?.shift();
    if (found) this.#waitingBytes -= size;
    const number = this.#free.pop() ?? this.#list.length;
    this.#list[number] = found ?? this.#make(size);
    return number;
  }

  release(number: number): void {
    const tracked = this.get(number);
    const { buffer, failure } = tracked;
    this.#list[number] = null;
    this.#free.push(number);
    if (failure || this.#waitingBytes + buffer.size > MOST_WAITING) {
      this.bytes -= buffer.size;
      this.#order.do(() => buffer.destroy());
      return;
    }
    tracked.run = 0;
    this.#waitingBytes += buffer.size;
    const list = this.#waiting.get(buffer.size);
    if (list) list.push(tracked);
    else this.#waiting.set(buffer.size, [tracked]);
  }

  /** The buffer of a number, before its content is overwritten. A failed buffer is replaced first: the core keeps buffers
   *  for reuse and does not know that they failed. */
  emptied(number: number): TrackedBuffer {
    const { failure, buffer } = this.get(number);
    if (failure) this.#renew(number, buffer);
    return this.get(number);
  }

  #renew(number: number, { size }: GPUBuffer): void {
    this.bytes -= size;
    this.#list[number] = this.#make(size);
  }

  /** Makes all buffers again on another device. Their content is lost. */
  renewAll(why: string): void {
    this.#waiting.clear();
    this.bytes -= this.#waitingBytes;
    this.#waitingBytes = 0;
    this.#list.forEach((tracked, number) => {
      if (!tracked) return;
      this.#renew(number, tracked.buffer);
      this.get(number).failure = lostFailure(why);
    });
  }

  /** Copies bytes from the core's memory to a buffer, rounded up to a multiple of 4. */
  upload(to: number, from: number, bytes: number): void {
    const whole = Math.ceil(bytes / 4) * 4;
    const data = new Uint8Array(whole); // the queue refuses shared memory
    data.set(new Uint8Array(this.#memory.buffer, from, bytes));
    const { buffer } = this.emptied(to);
    this.#order.do(() => this.#state.device.queue.writeBuffer(buffer, 0, data));
  }

  copy(to: number, from: number, bytes: number): void {
    const [source, target] = [this.get(from), this.emptied(to)];
    Object.assign(target, { failure: source.failure, run: source.run });
    this.#order.do(() => {
      const { device } = this.#state;
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(source.buffer, 0, target.buffer, 0, Math.ceil(bytes / 4) * 4);
      device.queue.submit([encoder.finish()]);
    });
  }
}
