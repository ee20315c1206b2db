// Buffers by number. Those that the core gives back wait for the next one of their size: a training step asks for the same
// again and again. The queue keeps the order, so that a buffer can be written anew while an earlier run still reads it.

const { max } = Math;

/** Sizes are multiples of it, and so are offsets that shaders bind. */
const UNIT = 256;
/** Bytes of buffers that wait. */
const MOST_WAITING = 256 * 2 ** 20;

const rounded = (bytes: number): number => max(UNIT, Math.ceil(bytes / UNIT) * UNIT);

export class Buffers {
  readonly #device: GPUDevice;
  readonly #memory: WebAssembly.Memory;
  readonly #list: (GPUBuffer | null)[] = [null]; // number 0 is none
  readonly #free: number[] = [];
  readonly #waiting = new Map<number, GPUBuffer[]>();
  #waitingBytes = 0;
  /** Buffers made so far. */
  made = 0;

  constructor(device: GPUDevice, memory: WebAssembly.Memory) {
    this.#device = device;
    this.#memory = memory;
  }

  get(number: number): GPUBuffer {
    return this.#list[number]!;
  }

  #make(size: number): GPUBuffer | null {
    const { maxBufferSize, maxStorageBufferBindingSize } = this.#device.limits;
    if (size > Math.min(maxBufferSize, maxStorageBufferBindingSize)) return null;
    this.made++;
    return this.#device.createBuffer({
      size,
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
    });
  }

  allocate(bytes: number): number {
    const size = rounded(bytes);
    const found = this.#waiting.get(size)?.pop();
    if (found) this.#waitingBytes -= size;
    const buffer = found ?? this.#make(size);
    if (!buffer) return 0;
    const number = this.#free.pop() ?? this.#list.length;
    this.#list[number] = buffer;
    return number;
  }

  release(number: number): void {
    const buffer = this.get(number);
    this.#list[number] = null;
    this.#free.push(number);
    if (this.#waitingBytes + buffer.size > MOST_WAITING) {
      buffer.destroy();
      return;
    }
    this.#waitingBytes += buffer.size;
    const list = this.#waiting.get(buffer.size);
    if (list) list.push(buffer);
    else this.#waiting.set(buffer.size, [buffer]);
  }

  /** Bytes of the core's memory into a buffer, to a multiple of 4. */
  upload(to: number, from: number, bytes: number): void {
    const whole = Math.ceil(bytes / 4) * 4;
    const data = new Uint8Array(whole); // the queue refuses shared memory
    data.set(new Uint8Array(this.#memory.buffer, from, bytes));
    this.#device.queue.writeBuffer(this.get(to), 0, data);
  }

  copy(to: number, from: number, bytes: number): void {
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.get(from), 0, this.get(to), 0, Math.ceil(bytes / 4) * 4);
    this.#device.queue.submit([encoder.finish()]);
  }
}
