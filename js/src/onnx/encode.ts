// Writes protocol buffers: the fields of a message are parts in a list, which are joined once at the end.

import { internals } from '../index.js';

/** A message: its parts, and their total size in bytes. */
export class Message {
  readonly #parts: Uint8Array[] = [];
  size = 0;

  #add(part: Uint8Array): this {
    this.#parts.push(part);
    this.size += part.length;
    return this;
  }

  #varint(value: number): this {
    const bytes: number[] = [];
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    bytes.push(Number(rest));
    return this.#add(Uint8Array.from(bytes));
  }

  int(field: number, value: number): this {
    return this.#varint(field * 8).#varint(value);
  }

  bytes(field: number, bytes: Uint8Array): this {
    return this.#varint(field * 8 + 2).#varint(bytes.length).#add(bytes);
  }

  text(field: number, text: string): this {
    return this.bytes(field, new TextEncoder().encode(text));
  }

  float(field: number, value: number): this {
    return this.#varint(field * 8 + 5).#add(new Uint8Array(Float32Array.of(value).buffer));
  }

  message(field: number, inner: Message): this {
    return this.#varint(field * 8 + 2).#varint(inner.size).append(inner);
  }

  /** Appends fields that are encoded already. */
  raw(bytes: Uint8Array): this {
    return this.#add(bytes);
  }

  /** Appends the fields of another message. */
  append(other: Message): this {
    for (const part of other.#parts) this.#parts.push(part);
    this.size += other.size;
    return this;
  }

  join(op: string): Uint8Array<ArrayBuffer> {
    const out = internals.makeBytes(op, this.size);
    let at = 0;
    for (const part of this.#parts) {
      out.set(part, at);
      at += part.length;
    }
    return out;
  }
}
