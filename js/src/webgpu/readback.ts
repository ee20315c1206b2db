// Values come back through staging buffers, which wait for the next reading of their size.

import { SinterError, WorkerError } from '../index.js';
import type { Buffers } from './buffers.js';
import type { Order } from './order.js';

const MOST_WAITING = 4;

/** What is known of the device: a text, or ''. */
export interface Health {
  lost(): string;
  wrong(): string;
}

export class ReadBack {
  readonly #device: GPUDevice;
  readonly #buffers: Buffers;
  readonly #health: Health;
  readonly #order: Order;
  readonly #waiting: GPUBuffer[] = [];

  constructor(device: GPUDevice, buffers: Buffers, order: Order, health: Health) {
    this.#device = device;
    this.#buffers = buffers;
    this.#order = order;
    this.#health = health;
  }

  #take(size: number): GPUBuffer {
    const at = this.#waiting.findIndex((buffer) => buffer.size === size);
    if (at >= 0) return this.#waiting.splice(at, 1)[0]!;
    return this.#device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  }

  #giveBack(buffer: GPUBuffer): void {
    this.#waiting.push(buffer);
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift()!.destroy();
  }

  /** Values are none where something went wrong before. */
  #check(): void {
    const { lost, wrong } = this.#health;
    if (lost()) throw new WorkerError('data', `the device was lost: ${lost()}`);
    if (wrong()) throw new SinterError('internal', 'data', `the device refused a shader: ${wrong()}`);
  }

  /** The first bytes of a buffer, as all that was asked for before leaves them. */
  read(from: number, bytes: number): Promise<ArrayBuffer> {
    if (bytes === 0) return Promise.resolve(new ArrayBuffer(0));
    const { buffer } = this.#buffers.get(from);
    return new Promise((resolve, reject) => {
      this.#order.do(() => void this.take(buffer, 0, bytes).then(resolve, reject));
    });
  }

  /** The same of a buffer that the core does not know, at once. */
  async take(from: GPUBuffer, offset: number, bytes: number): Promise<ArrayBuffer> {
    this.#check();
    const size = Math.ceil(bytes / 4) * 4;
    const staging = this.#take(size);
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(from, offset, staging, 0, size);
    this.#device.queue.submit([encoder.finish()]);
    try {
      await staging.mapAsync(GPUMapMode.READ);
    } catch (cause) {
      this.#check();
      throw new WorkerError('data', `the device was lost: ${String(cause)}`, { cause });
    }
    this.#check();
    const copy = staging.getMappedRange().slice(0, bytes);
    staging.unmap();
    this.#giveBack(staging);
    return copy;
  }
}
