// A growing buffer: numbers and texts are appended one after the other, little-endian.

export class Sink {
  #bytes = new Uint8Array(1024);
  #view = new DataView(this.#bytes.buffer);
  length = 0;

  /** Makes room for so many bytes at the end; returns where they begin. */
  #room(count: number): number {
    const at = this.length;
    this.length += count;
    if (this.length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.length, 2 * this.#bytes.length));
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }

  // #room comes first, because it may replace the view.
  #number = (count: number, put: (view: DataView, at: number) => void): void => {
    const at = this.#room(count);
    put(this.#view, at);
  };

  uint8 = (value: number): void => this.#number(1, (view, at) => view.setUint8(at, value));
  int8 = (value: number): void => this.#number(1, (view, at) => view.setInt8(at, value));
  uint16 = (value: number): void => this.#number(2, (view, at) => view.setUint16(at, value, true));
  int16 = (value: number): void => this.#number(2, (view, at) => view.setInt16(at, value, true));
  uint32 = (value: number): void => this.#number(4, (view, at) => view.setUint32(at, value, true));
  int32 = (value: number): void => this.#number(4, (view, at) => view.setInt32(at, value, true));
  float32 = (value: number): void => this.#number(4, (view, at) => view.setFloat32(at, value, true));
  float64 = (value: number): void => this.#number(8, (view, at) => view.setFloat64(at, value, true));
  uint64 = (value: bigint): void => this.#number(8, (view, at) => view.setBigUint64(at, value, true));
  int64 = (value: bigint): void => this.#number(8, (view, at) => view.setBigInt64(at, value, true));

  put(bytes: Uint8Array): void {
    const at = this.#room(bytes.length);
    this.#bytes.set(bytes, at);
  }

  /** Appends a text, with its length before it. */
  text(value: string): void {
    const bytes = new TextEncoder().encode(value);
    this.uint64(BigInt(bytes.length));
    this.put(bytes);
  }

  /** Everything written so far: a view, valid until more is written. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.length);
  }
}
