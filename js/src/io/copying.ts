// Copies the elements of tensors from the core's memory into a file, block by block: the caller may do something else
// between two blocks. It runs in a worker as well (worker.ts), so it knows addresses only.

import { checksum } from './checksum.js';

/** Bytes of a block: to copy it, or to compute its checksum, takes less than a millisecond. */
const BLOCK = 2 ** 20;

/** A file that is to be made. */
export interface Copy {
  /** The bytes before the elements. */
  head: Uint8Array;
  size: number;
  pieces: { from: number; to: number; bytes: number }[];
}

/** Offsets in a state's file of the eight digits of each of its two checksums, and of its generation: all in the header. */
const FIRST = '{"__metadata__":{"checksum":"';
const HEAD_AT = 8 + FIRST.length;
const DATA_AT = HEAD_AT + 8 + '","data":"'.length;
export const GENERATION_AT = DATA_AT + 8 + '","generation":"'.length;
export const NO_CHECKSUMS = { checksum: '00000000', data: '00000000' };

const digits = (hash: number): Uint8Array => new TextEncoder().encode(hash.toString(16).padStart(8, '0'));

/** The checksum of elements, in steps of a block; each block's is the seed of the next. */
function* hashed(data: Uint8Array): Generator<void, number> {
  let hash = 0;
  for (let at = 0; at < data.length; at += BLOCK) {
    hash = checksum(data.subarray(at, at + BLOCK), hash);
    yield;
  }
  return hash;
}

/** Runs a generator to its end without a pause, and returns its result. */
export function atOnce<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Writes into a header the checksum of everything else in it. */
export function sealHead(head: Uint8Array): void {
  head.fill(0x30, HEAD_AT, HEAD_AT + 8);
  head.set(digits(checksum(head)), HEAD_AT);
}

/** Whether a state's bytes are those that were written. */
export function isIntact(bytes: Uint8Array, headBytes: number): boolean {
  const head = bytes.slice(0, headBytes);
  head.set(digits(atOnce(hashed(bytes.subarray(headBytes)))), DATA_AT);
  sealHead(head);
  return head.every((byte, i) => byte === bytes[i]);
}

/** Writes the file into bytes, block by block; isState: with the checksums of a state. */
export function* copied({ head, pieces }: Copy, memory: WebAssembly.Memory, bytes: Uint8Array, isState: boolean): Generator<void, void> {
  bytes.set(head);
  for (const { from, to, bytes: count } of pieces) {
    for (let at = 0; at < count; at += BLOCK) {
      bytes.set(new Uint8Array(memory.buffer, from + at, Math.min(BLOCK, count - at)), to + at);
      yield;
    }
  }
  if (!isState) return;
  bytes.set(digits(yield* hashed(bytes.subarray(head.length))), DATA_AT);
  sealHead(bytes.subarray(0, head.length));
}
