// Buffers by number. Those that the core gives back wait for the next one of their size: a training step asks for the same
// again and again. The queue keeps the order, so that a buffer can be written anew while an earlier run still reads it.

import type { Order } from './order.js';

const { max } = Math;

/** Sizes are multiples of it, and so are offsets that shaders bind. */
const UNIT = 256;
/** Bytes of buffers that wait. */
const MOST_WAITING = 256 * 2 ** 20;

const rounded = (bytes: number): number => max(UNIT, Math.ceil(bytes / UNIT) * UNIT);

/** A buffer by what it is; its number in the core may be another one's later. */
export interface Held {
  buffer: GPUBuffer;
  id: number;
}

export class Buffers {
  readonly #device: GPUDevice;
  readonly #memory: WebAssembly.Memory;
  readonly #order: Order;
  readonly #list: (Held | null)[] = [null]; // number 0 is none
  readonly #free: number[] = [];
  readonly #waiting = new Map<number, Held[]>();
  #waitingBytes = 0;
  /** Buffers made so far. */
  made = 0;

  constructor(device: GPUDevice, memory: WebAssembly.Memory, order: Order) {
    this.#device = device;
    this.#memory = memory;
    this.#order = order;
  }

  get(number: number): Held {
    return this.#list[number]!;
  }

  #make(size: number): Held | null {
    const { maxBufferSize, maxStorageBufferBindingSize } = this.#device.limits;
    if (size > Math.min(maxBufferSize, maxStorageBufferBindingSize)) return null;
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    return { buffer: this.#device.createBuffer({ size, usage }), id: ++this.made };
  }

  allocate(bytes: number): number {
    const size = rounded(bytes);
    const found = this.#waiting.get(size)?.pop();
    if (found) this.#waitingBytes -= size;
    const held = found ?? this.#make(size);
    if (!held) return 0;
    const number = this.#free.pop() ?? this.#list.length;
    this.#list[number] = held;
    return number;
  }

  release(number: number): void {
    const held = this.get(number);
    const { buffer } = held;
    this.#list[number] = null;
    this.#free.push(number);
    if (this.#waitingBytes + buffer.size > MOST_WAITING) {
      this.#order.do(() => buffer.destroy());
      return;
    }
    this.#waitingBytes += buffer.size;
    const list = this.#waiting.get(buffer.size);
    if (list) list.push(held);
    else this.#waiting.set(buffer.size, [held]);
  }

  /** Bytes of the core's memory into a buffer, to a multiple of 4. */
  upload(to: number, from: number, bytes: number): void {
    const whole = Math.ceil(bytes / 4) * 4;
    const data = new Uint8Array(whole); // the queue refuses shared memory
    data.set(new Uint8Array(this.#memory.buffer, from, bytes));
    const { buffer } = this.get(to);
    this.#order.do(() => this.#device.queue.writeBuffer(buffer, 0, data));
  }

  copy(to: number, from: number, bytes: number): void {
    const [source, target] = [this.get(from).buffer, this.get(to).buffer];
    this.#order.do(() => {
      const encoder = this.#device.createCommandEncoder();
      encoder.copyBufferToBuffer(source, 0, target, 0, Math.ceil(bytes / 4) * 4);
      this.#device.queue.submit([encoder.finish()]);
    });
  }
}
