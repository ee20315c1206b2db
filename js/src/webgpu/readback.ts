// Reads values back through staging buffers, which are kept for later reads of the same size.

import type { Buffers } from './buffers.js';
import type { Order } from './order.js';
import { INTERNAL, errorOf, lostFailure, type Failure, type DeviceState } from './devicestate.js';

const MOST_WAITING = 4;

export class ReadBack {
  readonly #state: DeviceState;
  readonly #buffers: Buffers;
  readonly #order: Order;
  #waiting: GPUBuffer[] = [];

  constructor(state: DeviceState, buffers: Buffers, order: Order) {
    this.#state = state;
    this.#buffers = buffers;
    this.#order = order;
  }

  /** Forgets all staging buffers, for another device. */
  renew(): void {
    this.#waiting = [];
  }

  #take(size: number): GPUBuffer {
    const at = this.#waiting.findIndex((buffer) => buffer.size === size);
    if (at >= 0) return this.#waiting.splice(at, 1)[0]!;
    return this.#state.device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  }

  #giveBack(buffer: GPUBuffer): void {
    this.#waiting.push(buffer);
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift()!.destroy();
  }

  /** Throws if something went wrong before, so that the values are not valid. */
  #check(failure: Failure | null, what: string): void {
    const { lost, wrong } = this.#state;
    if (failure) throw errorOf('data', failure, what);
    if (lost) throw errorOf('data', lostFailure(lost), what);
    if (wrong) throw errorOf('data', { status: INTERNAL, text: wrong }, what);
  }

  /** The first bytes of a buffer, after everything asked for before. what: its name in errors. */
  read(from: number, bytes: number, what: string): Promise<ArrayBuffer> {
    if (bytes === 0) return Promise.resolve(new ArrayBuffer(0));
    const tracked = this.#buffers.get(from);
    return new Promise((resolve, reject) => {
      this.#order.do(() => void this.take(tracked, 0, bytes, what).then(resolve, reject));
    });
  }

  /** The same for any buffer and offset, without waiting for earlier commands. */
  async take(from: { buffer: GPUBuffer; failure: Failure | null }, offset: number, bytes: number, what: string): Promise<ArrayBuffer> {
    this.#check(from.failure, what);
    const { device } = this.#state;
    const size = Math.ceil(bytes / 4) * 4;
    const staging = this.#take(size);
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(from.buffer, offset, staging, 0, size);
    device.queue.submit([encoder.finish()]);
    try {
      await staging.mapAsync(GPUMapMode.READ);
    } catch (cause) {
      this.#check(from.failure, what);
      throw errorOf('data', lostFailure(String(cause)), what);
    }
    this.#check(from.failure, what);
    const copy = staging.getMappedRange().slice(0, bytes);
    staging.unmap();
    this.#giveBack(staging);
    return copy;
  }
}
