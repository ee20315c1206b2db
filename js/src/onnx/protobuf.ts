// Reads protocol buffers: a reader iterates over the fields of one message.
//
// Files are untrusted. Every length is checked against the enclosing message before it is used. Nested messages are readers
// over a part of the same bytes. Nothing is copied or allocated because of what a file merely claims.

import { internals, SinterError } from '../index.js';

const { damagedError } = internals;

/** Wire types: the last three bits of a tag. */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;

/** A range of bytes in a file. */
export interface Range {
  begin: number;
  end: number;
}

export class Reader {
  /** The number of the field that next() found. */
  field = 0;
  #wire = 0;
  #at: number;
  #valueAt: number;
  readonly #begin: number;
  readonly #end: number;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #label: string;
  readonly #outer: Reader | null;

  /** A message in a range of a file; label: its name in errors. */
  constructor(bytes: Uint8Array, label: string, range: Range = { begin: 0, end: bytes.length }, outer: Reader | null = null) {
    this.#bytes = bytes;
    this.#label = label;
    this.#outer = outer;
    this.#begin = range.begin;
    this.#at = this.#valueAt = range.begin;
    this.#end = range.end;
    this.#view = outer ? outer.#view : new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** The path to this message, for errors. */
  get where(): string {
    const labels: string[] = [];
    for (let each: Reader | null = this; each; each = each.#outer) labels.push(each.#label);
    return labels.reverse().join('.');
  }

  get range(): Range {
    return { begin: this.#begin, end: this.#end };
  }

  /** The offset behind everything read so far. */
  get at(): number {
    return this.#at;
  }

  /** Where the value of the current field begins; for a text or a message, where its bytes begin. */
  get valueAt(): number {
    return this.#valueAt;
  }

  fail(text: string): SinterError {
    return damagedError('onnx', `${this.where}: ${text} at byte ${this.#at}`);
  }

  /** Moves to the next field, whose value must then be read or skipped. Returns false at the end of the message. */
  next(): boolean {
    if (this.#at === this.#end) return false;
    const tag = this.#varint();
    this.field = Math.floor(tag / 8);
    this.#wire = tag % 8;
    if (this.field < 1 || this.field > 0x1fffffff) throw this.fail(`no field has the number ${this.field}`);
    this.#valueAt = this.#at;
    return true;
  }

  /** Skips the value of the current field. */
  skip(): void {
    if (this.#wire === VARINT) this.#varint();
    else if (this.#wire === FIXED64) this.#take(8);
    else if (this.#wire === FIXED32) this.#take(4);
    else this.bytes();
  }

  #expect(wire: number): void {
    if (this.#wire !== wire) throw this.fail(`field ${this.field} is written in the way ${this.#wire}, expected ${wire}`);
  }

  /** Moves past so many bytes; returns where they begin. */
  #take(count: number): number {
    if (count > this.#end - this.#at) throw this.fail(`${count} bytes where ${this.#end - this.#at} are left`);
    const begin = this.#at;
    this.#at += count;
    return begin;
  }

  /** An unsigned whole number. Beyond 2^53 it is rounded to the nearest number of JavaScript. */
  #varint(): number {
    let value = 0;
    let factor = 1;
    for (let i = 0; i < 10; i++) {
      const byte = this.#bytes[this.#take(1)]!;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
    throw this.fail('a number of more than 10 bytes');
  }

  /** A signed whole number of 64 bits. */
  int(): number {
    this.#expect(VARINT);
    return this.#signed();
  }

  #signed(): number {
    const from = this.#at;
    const value = this.#varint();
    if (value < 2 ** 53) return value;
    let wide = 0n;
    for (let i = from, shift = 0n; i < this.#at; i++, shift += 7n) wide |= BigInt(this.#bytes[i]! & 127) << shift;
    return Number(BigInt.asIntN(64, wide));
  }

  float(): number {
    this.#expect(FIXED32);
    return this.#view.getFloat32(this.#take(4), true);
  }

  /** The bytes of a text, a message, or packed numbers. */
  bytes(): Range {
    this.#expect(LENGTH);
    const count = this.#varint();
    const begin = this.#take(count);
    this.#valueAt = begin;
    return { begin, end: begin + count };
  }

  /** The bytes of the field: a view of the file. */
  view(): Uint8Array {
    const { begin, end } = this.bytes();
    return this.#bytes.subarray(begin, end);
  }

  text(): string {
    const { begin, end } = this.bytes();
    try {
      // Copies the bytes, because texts cannot be decoded from shared memory.
      return new TextDecoder('utf-8', { fatal: true }).decode(this.#bytes.slice(begin, end));
    } catch {
      throw this.fail('a text that is not UTF-8');
    }
  }

  /** A nested message. */
  message(label: string): Reader {
    return new Reader(this.#bytes, label, this.bytes(), this);
  }

  /** Reads the numbers of a repeated field, packed or single, by calling `each` for every one. */
  #repeated(wire: number, bytes: number, each: () => void): void {
    if (this.#wire !== LENGTH) {
      this.#expect(wire);
      return each();
    }
    const { begin, end } = this.bytes();
    if (bytes > 0 && (end - begin) % bytes !== 0) throw this.fail(`${end - begin} bytes of numbers of ${bytes}`);
    this.#at = begin;
    while (this.#at < end) each();
    if (this.#at !== end) throw this.fail('a number goes beyond its list');
  }

  ints(list: number[]): void {
    this.#repeated(VARINT, 0, () => list.push(this.#signed()));
  }

  floats(list: number[]): void {
    this.#repeated(FIXED32, 4, () => list.push(this.#view.getFloat32(this.#take(4), true)));
  }

  doubles(list: number[]): void {
    this.#repeated(FIXED64, 8, () => list.push(this.#view.getFloat64(this.#take(8), true)));
  }
}
