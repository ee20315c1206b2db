// Numbers of quantised blocks, by the layouts that GGUF's kinds have.
//
// A block holds q, whole numbers of few bits, and what they are multiplied by. All products below are exact in float32,
// and a sum rounds once: the numbers are those of the format, to the bit.

import { fromHalf } from './half.js';

/** Writes the numbers of the block at an offset of bytes to out, from an index on. */
type Decode = (bytes: Uint8Array, at: number, out: Float32Array, to: number) => void;

const halfAt = (bytes: Uint8Array, at: number): number => fromHalf(bytes[at]! | (bytes[at + 1]! << 8));

/** 16 bytes with numbers j and j + 16 of a block of 32 in their halves; with a scale, and a sum or an offset. A word of
 *  fifth bits lies before them where there is one: bit j is that of number j. */
const simple = (hasFifth: boolean, hasMin: boolean): Decode => {
  const zero = hasMin ? 0 : hasFifth ? 16 : 8;
  return (bytes, at, out, to) => {
    const scale = halfAt(bytes, at);
    // To add -0 changes nothing, not even the sign of a 0.
    const min = hasMin ? halfAt(bytes, at + 2) : -0;
    const fifth = at + (hasMin ? 4 : 2);
    const low = hasFifth ? fifth + 4 : fifth;
    for (let j = 0; j < 16; j++) {
      const byte = bytes[low + j]!;
      let [a, b] = [byte & 15, byte >> 4];
      if (hasFifth) {
        a |= ((bytes[fifth + (j >> 3)]! >> (j & 7)) & 1) << 4;
        b |= ((bytes[fifth + 2 + (j >> 3)]! >> (j & 7)) & 1) << 4;
      }
      out[to + j] = (a - zero) * scale + min;
      out[to + 16 + j] = (b - zero) * scale + min;
    }
  };
};

const q8: Decode = (bytes, at, out, to) => {
  const scale = halfAt(bytes, at);
  for (let j = 0; j < 32; j++) out[to + j] = ((bytes[at + 2 + j]! << 24) >> 24) * scale;
};

/** Scale and minimum of 6 bits of sub-block i of 8, which lie in 12 bytes: the low bits of the first four, of both, in
 *  bytes 0 to 7, the others' halves in bytes 8 to 11, their high bits above the first ones. */
export function packedScale(bytes: Uint8Array, at: number, i: number): [scale: number, min: number] {
  if (i < 4) return [bytes[at + i]! & 63, bytes[at + i + 4]! & 63];
  const low = bytes[at + i + 4]!;
  return [(low & 15) | ((bytes[at + i - 4]! >> 6) << 4), (low >> 4) | ((bytes[at + i]! >> 6) << 4)];
}

/** 8 sub-blocks of 32, q = 0 .. 15 or 0 .. 31, each with its scale and minimum of 6 bits: of a pair of sub-blocks the
 *  first lies in the low halves of 32 bytes, the second in the high ones; fifth bits, a byte for each place of a
 *  sub-block, bit i that of sub-block i. */
const superBlock = (hasFifth: boolean): Decode => {
  const low = hasFifth ? 48 : 16;
  return (bytes, at, out, to) => {
    const scale = halfAt(bytes, at);
    const min = halfAt(bytes, at + 2);
    for (let i = 0; i < 8; i++) {
      const [s, m] = packedScale(bytes, at + 4, i);
      const [by, less] = [scale * s, min * m];
      const from = at + low + (i >> 1) * 32;
      const shift = (i & 1) * 4;
      for (let j = 0; j < 32; j++) {
        let q = (bytes[from + j]! >> shift) & 15;
        if (hasFifth) q |= ((bytes[at + 16 + j]! >> i) & 1) << 4;
        out[to + i * 32 + j] = by * q - less;
      }
    }
  };
};

/** 16 sub-blocks of 16, q = -32 .. 31, each with a scale of 8 bits. Of 128 numbers, four rows of 32: low halves of rows
 *  0 and 1 in 64 bytes, their high halves are rows 2 and 3; the two upper bits of all four in 32 bytes. */
const q6: Decode = (bytes, at, out, to) => {
  const scale = halfAt(bytes, at + 208);
  for (let i = 0; i < 256; i++) {
    const [half, row, j] = [i >> 7, (i >> 5) & 3, i & 31];
    const low = (bytes[at + half * 64 + (row & 1) * 32 + j]! >> ((row >> 1) * 4)) & 15;
    const high = (bytes[at + 128 + half * 32 + j]! >> (row * 2)) & 3;
    out[to + i] = scale * ((bytes[at + 192 + (i >> 4)]! << 24) >> 24) * ((low | (high << 4)) - 32);
  }
};

export const DECODERS: Readonly<Record<string, Decode>> = {
  Q4_0: simple(false, false),
  Q4_1: simple(false, true),
  Q5_0: simple(true, false),
  Q5_1: simple(true, true),
  Q8_0: q8,
  Q4_K: superBlock(false),
  Q5_K: superBlock(true),
  Q6_K: q6,
};
