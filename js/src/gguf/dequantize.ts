// Dequantises blocks, by the layouts of GGUF's kinds.
//
// A block holds small whole numbers q and the factors for them. All products below are exact in float32, and each sum rounds
// once, so the results are the format's to the bit.

import { fromHalf } from './half.js';

/** Decodes the block at a byte offset, and writes its numbers to out from an index on. */
type Decode = (bytes: Uint8Array, at: number, out: Float32Array, to: number) => void;

const halfAt = (bytes: Uint8Array, at: number): number => fromHalf(bytes[at]! | (bytes[at + 1]! << 8));

/** The simple kinds of 32 numbers: a scale, a minimum (hasMin) or a fixed offset, a word with the fifth bits (hasFifth; bit
 *  j is number j's), then 16 bytes whose halves hold numbers j and j + 16. */
const simple = (hasFifth: boolean, hasMin: boolean): Decode => {
  const zero = hasMin ? 0 : hasFifth ? 16 : 8;
  return (bytes, at, out, to) => {
    const scale = halfAt(bytes, at);
    // Adding -0 changes nothing, not even the sign of a 0.
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

/** The 6-bit scale and minimum of sub-block i of 8, packed in 12 bytes. Those of the first four sub-blocks are the low bits
 *  of bytes 0 to 7. The others have their low 4 bits in bytes 8 to 11, and their high 2 bits at the top of bytes 0 to 7. */
export function packedScale(bytes: Uint8Array, at: number, i: number): [scale: number, min: number] {
  if (i < 4) return [bytes[at + i]! & 63, bytes[at + i + 4]! & 63];
  const low = bytes[at + i + 4]!;
  return [(low & 15) | ((bytes[at + i - 4]! >> 6) << 4), (low >> 4) | ((bytes[at + i]! >> 6) << 4)];
}

/** Q4_K and Q5_K: 8 sub-blocks of 32, q = 0 .. 15 or 0 .. 31, each with a 6-bit scale and minimum. Of a pair of sub-blocks
 *  the first lies in the low halves of 32 bytes, the second in the high halves. Fifth bits: byte j is for number j of every
 *  sub-block, and its bit i for sub-block i. */
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

/** Q6_K: 16 sub-blocks of 16, q = -32 .. 31, each with an 8-bit scale. Of every 128 numbers, as four rows of 32: 64 bytes
 *  hold the low 4 bits of rows 0 and 1 in their low halves, those of rows 2 and 3 in their high halves; 32 bytes hold the
 *  upper 2 bits of all four rows. */
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
