// Protocol buffers as bytes: a reader that goes through the fields of one message.
//
// A file is not trusted: every length is checked against the message that it lies in before it is used, messages inside are
// readers of their own over a part of the same bytes, and nothing is copied or allocated for what a file merely claims.

import { internals, SinterError } from '../index.js';

const { damaged } = internals;

/** How a value is written, as the last three bits of its tag. */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;

/** A part of a file. */
export interface Range {
  begin: number;
  end: number;
}

export class Reader {
  /** Of the field that next() found. */
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

  /** A message of a file, called label in errors, or a part of it. */
  constructor(bytes: Uint8Array, label: string, range: Range = { begin: 0, end: bytes.length }, outer: Reader | null = null) {
    this.#bytes = bytes;
    this.#label = label;
    this.#outer = outer;
    this.#begin = range.begin;
    this.#at = this.#valueAt = range.begin;
    this.#end = range.end;
    this.#view = outer ? outer.#view : new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** What is read, from the outermost message on. */
  get where(): string {
    const labels: string[] = [];
    for (let each: Reader | null = this; each; each = each.#outer) labels.push(each.#label);
    return labels.reverse().join('.');
  }

  get range(): Range {
    return { begin: this.#begin, end: this.#end };
  }

  /** Behind what was read. */
  get at(): number {
    return this.#at;
  }

  /** Where the value of the field begins that was found last: of a text or a message its bytes. */
  get valueAt(): number {
    return this.#valueAt;
  }

  fail(text: string): SinterError {
    return damaged('onnx', `${this.where}: ${text} at byte ${this.#at}`);
  }

  /** Goes to the next field; what a caller did not read of the last one is passed over. */
  next(): boolean {
    if (this.#at === this.#end) return false;
    const tag = this.#varint();
    this.field = Math.floor(tag / 8);
    this.#wire = tag % 8;
    if (this.field < 1 || this.field > 0x1fffffff) throw this.fail(`no field has the number ${this.field}`);
    this.#valueAt = this.#at;
    return true;
  }

  /** Passes over the value. */
  skip(): void {
    if (this.#wire === VARINT) this.#varint();
    else if (this.#wire === FIXED64) this.#take(8);
    else if (this.#wire === FIXED32) this.#take(4);
    else this.bytes();
  }

  #expect(wire: number): void {
    if (this.#wire !== wire) throw this.fail(`field ${this.field} is written in the way ${this.#wire}, expected ${wire}`);
  }

  /** Moves past so many bytes, and says where they begin. */
  #take(count: number): number {
    if (count > this.#end - this.#at) throw this.fail(`${count} bytes where ${this.#end - this.#at} are left`);
    const begin = this.#at;
    this.#at += count;
    return begin;
  }

  /** A whole number without sign as it is written. Beyond 2^53 the nearest that a number holds. */
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

  /** A whole number of 64 bits with sign. */
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

  /** The bytes of a text, of a message or of packed numbers. */
  bytes(): Range {
    this.#expect(LENGTH);
    const count = this.#varint();
    const begin = this.#take(count);
    this.#valueAt = begin;
    return { begin, end: begin + count };
  }

  /** Bytes as such: a view of the file. */
  view(): Uint8Array {
    const { begin, end } = this.bytes();
    return this.#bytes.subarray(begin, end);
  }

  text(): string {
    const { begin, end } = this.bytes();
    try {
      // A copy: texts cannot be read from shared memory.
      return new TextDecoder('utf-8', { fatal: true }).decode(this.#bytes.slice(begin, end));
    } catch {
      throw this.fail('a text that is not UTF-8');
    }
  }

  /** A message inside. */
  message(label: string): Reader {
    return new Reader(this.#bytes, label, this.bytes(), this);
  }

  /** Numbers of a repeated field, packed or one by one; each is called for every one. */
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
