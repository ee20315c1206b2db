// Reads from untrusted bytes: nothing is read, and no memory is allocated, beyond what the bytes hold.

import { SinterError, internals } from '../index.js';

const { damagedError, shown } = internals;

/** Thrown when bytes are missing. If the file is still arriving, they may come (stream.ts). */
export class Truncated extends SinterError {}

/** Reads numbers and texts one after the other, little-endian. */
export class Cursor {
  at = 0;
  readonly #op: string;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(op: string, bytes: Uint8Array) {
    this.#op = op;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Moves the cursor over so many bytes; returns where they begin. */
  #take(count: number): number {
    this.need(count);
    const at = this.at;
    this.at += count;
    return at;
  }

  /** Throws unless so many bytes are left. */
  need(count: number): void {
    const left = this.#bytes.length - this.at;
    if (count > left) throw new Truncated('argument', this.#op, `damaged: ${count} bytes at ${this.at}, where ${left} are left`);
  }

  uint8 = (): number => this.#view.getUint8(this.#take(1));
  int8 = (): number => this.#view.getInt8(this.#take(1));
  uint16 = (): number => this.#view.getUint16(this.#take(2), true);
  int16 = (): number => this.#view.getInt16(this.#take(2), true);
  uint32 = (): number => this.#view.getUint32(this.#take(4), true);
  int32 = (): number => this.#view.getInt32(this.#take(4), true);
  float32 = (): number => this.#view.getFloat32(this.#take(4), true);
  float64 = (): number => this.#view.getFloat64(this.#take(8), true);
  uint64 = (): bigint => this.#view.getBigUint64(this.#take(8), true);
  int64 = (): bigint => this.#view.getBigInt64(this.#take(8), true);

  /** A count or size, stored in 64 bits. */
  size(what: string): number {
    const size = this.uint64();
    if (size > BigInt(Number.MAX_SAFE_INTEGER)) throw damagedError(this.#op, `${what} is ${size}`);
    return Number(size);
  }

  /** A count of entries that follow, of at least so many bytes each. */
  count(what: string, least: number): number {
    const count = this.size(what);
    this.need(count * least);
    return count;
  }

  /** A copy of so many bytes. */
  copy(count: number): Uint8Array<ArrayBuffer> {
    const at = this.#take(count);
    return this.#bytes.slice(at, at + count) as Uint8Array<ArrayBuffer>;
  }

  /** A text with its length before it. isName: refuses invalid UTF-8, which otherwise becomes U+FFFD. */
  text(what: string, isName = false): string {
    const bytes = this.copy(this.count(`the length of ${what}`, 1));
    try {
      return (isName ? STRICT : LENIENT).decode(bytes);
    } catch {
      throw damagedError(this.#op, `${what} is no UTF-8: ${shown(LENIENT.decode(bytes))}`);
    }
  }
}

const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const LENIENT = new TextDecoder('utf-8', { ignoreBOM: true });
