// Bytes of a WebAssembly module: numbers read and written as the format has them.

/** Reads from an offset on. */
export class Reader {
  readonly bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  byte(): number {
    return this.bytes[this.at++]!;
  }

  /** An unsigned number in LEB128, below 2^32. */
  number(): number {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = this.byte();
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  }

  /** Skips a number of any size, signed or not. */
  skipNumber(): void {
    while (this.byte() >= 128);
  }

  take(count: number): Uint8Array {
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  text(): string {
    return new TextDecoder().decode(this.take(this.number()));
  }

  list<T>(read: () => T): T[] {
    return Array.from({ length: this.number() }, read);
  }
}

/** Appends to an array that grows. */
export class Writer {
  #bytes = new Uint8Array(4096);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  raw(bytes: ArrayLike<number>): this {
    if (this.#size + bytes.length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#size + bytes.length));
      grown.set(this.#bytes.subarray(0, this.#size));
      this.#bytes = grown;
    }
    this.#bytes.set(bytes, this.#size);
    this.#size += bytes.length;
    return this;
  }

  byte(value: number): this {
    return this.raw([value]);
  }

  /** An unsigned number in LEB128. */
  number(value: number): this {
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.byte((rest % 128) | 128);
    return this.byte(rest);
  }

  /** A signed 32-bit number in LEB128. */
  signed(value: number): this {
    let rest = value | 0;
    for (; rest < -64 || rest > 63; rest >>= 7) this.byte((rest & 127) | 128);
    return this.byte(rest & 127);
  }

  text(text: string): this {
    const bytes = new TextEncoder().encode(text);
    return this.number(bytes.length).raw(bytes);
  }

  /** The bytes that write appends, with their number in front. */
  sized(write: (inner: Writer) => void): this {
    const inner = new Writer();
    write(inner);
    return this.number(inner.size).raw(inner.bytes());
  }

  section(id: number, write: (inner: Writer) => void): this {
    return this.byte(id).sized(write);
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#size);
  }
}
