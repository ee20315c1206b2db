// Quantises numbers to blocks: whole numbers q, and scales such that scale * q, or scale * q - min, is near the numbers.
// dequantize.ts describes the layouts.
//
// The simple kinds follow from the largest number of a block, and match the reference to the bit. For a sub-block of a K kind
// the scale is searched: several scales are tried, each of which turns the numbers into q, and least squares find the scale and
// minimum that fit these q best. The pair with the smallest error is kept.

import { packedScale } from './dequantize.js';
import { fromHalf, toHalf } from './half.js';

const { abs, floor, fround, max, min } = Math;

/** Quantises the numbers of x from an index on, and writes the block at a byte offset. Returns false if its scales exceed
 *  float16. */
type Encode = (x: Float32Array, from: number, bytes: Uint8Array, at: number) => boolean;

/** Writes a float16. Returns false if the value exceeds its range. */
function putHalf(bytes: Uint8Array, at: number, value: number): boolean {
  const bits = toHalf(value);
  bytes[at] = bits & 255;
  bytes[at + 1] = bits >> 8;
  return (bits & 0x7fff) < 0x7c00;
}

const inverse = (scale: number): number => (scale === 0 ? 0 : fround(1 / scale));
const clamp = (q: number, most: number): number => min(max(q, 0), most);

/** The number furthest from 0, with its sign. */
function peak(x: Float32Array, from: number, count: number): number {
  let furthest = 0;
  for (let j = from; j < from + count; j++) if (abs(x[j]!) > abs(furthest)) furthest = x[j]!;
  return furthest;
}

/** The kinds whose numbers j and j + 16 share a byte. Without a minimum, the number furthest from 0 becomes the smallest q,
 *  since there is one more q below 0 than above. */
const simple = (bits: 4 | 5, hasMin: boolean): Encode => {
  const levels = 1 << bits;
  return (x, from, bytes, at) => {
    let [scale, low, offset] = [fround(peak(x, from, 32) / (-levels / 2)), 0, levels / 2 + 0.5];
    if (hasMin) {
      const block = x.subarray(from, from + 32);
      low = min(...block);
      scale = fround(fround(max(...block) - low) / (levels - 1));
      offset = 0.5;
      if (!putHalf(bytes, at + 2, low)) return false;
    }
    if (!putHalf(bytes, at, scale)) return false;
    const by = inverse(scale);
    const q = (j: number): number => clamp(floor(fround(fround(fround(x[from + j]! - low) * by) + offset)), levels - 1);
    const fifth = at + (hasMin ? 4 : 2);
    const to = bits === 5 ? fifth + 4 : fifth;
    for (let j = 0; j < 16; j++) {
      const [a, b] = [q(j), q(j + 16)];
      bytes[to + j] = (a & 15) | ((b & 15) << 4);
      if (bits === 4) continue;
      bytes[fifth + (j >> 3)]! |= (a >> 4) << (j & 7);
      bytes[fifth + 2 + (j >> 3)]! |= (b >> 4) << (j & 7);
    }
    return true;
  };
};

const q8: Encode = (x, from, bytes, at) => {
  const scale = fround(abs(peak(x, from, 32)) / 127);
  if (!putHalf(bytes, at, scale)) return false;
  const by = inverse(scale);
  for (let j = 0; j < 32; j++) {
    const value = fround(x[from + j]! * by);
    bytes[at + 2 + j] = Math.sign(value) * floor(abs(value) + 0.5);
  }
  return true;
};

/** The result of a least-squares fit of numbers x to their q. */
interface Fitted {
  scale: number;
  /** What is subtracted; at least 0. */
  min: number;
}

/** The q of the last call of sums. */
const LEVELS = new Uint8Array(32);

/** Finds scale and min >= 0 such that scale * q - min is near the 32 numbers, with q = 0 .. most. */
function fitWithMin(x: Float32Array, from: number, most: number): Fitted {
  let [low, high] = [0, -Infinity];
  for (let j = from; j < from + 32; j++) {
    low = min(low, x[j]!);
    high = max(high, x[j]!);
  }
  if (!(high > low)) return { scale: 0, min: -low };
  let best: Fitted = { scale: (high - low) / most, min: -low };
  let least = Infinity;
  for (let step = 0; step <= 24; step++) {
    const by = (most + 0.1 * (step - 10)) / (high - low);
    const [n, q1, q2, x1, xq] = sums(x, from, (value) => clamp(floor((value - low) * by + 0.5), most));
    const determinant = n * q2 - q1 * q1;
    if (!(determinant > 0)) continue;
    let fitted = { scale: (n * xq - x1 * q1) / determinant, min: (q1 * xq - q2 * x1) / determinant };
    if (fitted.min < 0) fitted = { scale: xq / q2, min: 0 };
    let error = 0;
    for (let j = 0; j < 32; j++) error += (fitted.scale * LEVELS[j]! - fitted.min - x[from + j]!) ** 2;
    if (error >= least) continue;
    least = error;
    best = fitted;
  }
  return best;
}

/** Computes the q of 32 numbers into LEVELS; returns the count, and the sums of q, q^2, x and x q. */
function sums(x: Float32Array, from: number, level: (value: number) => number): [n: number, q1: number, q2: number, x1: number, xq: number] {
  let [q1, q2, x1, xq] = [0, 0, 0, 0];
  for (let j = 0; j < 32; j++) {
    const value = x[from + j]!;
    const q = level(value);
    LEVELS[j] = q;
    q1 += q;
    q2 += q * q;
    x1 += value;
    xq += value * q;
  }
  return [32, q1, q2, x1, xq];
}

/** The kinds with 8 sub-blocks of 32 (dequantize.ts). */
const superBlock = (bits: 4 | 5): Encode => {
  const most = (1 << bits) - 1;
  return (x, from, bytes, at) => {
    const fitted = Array.from({ length: 8 }, (_, i) => fitWithMin(x, from + i * 32, most));
    const [scale, low] = [max(...fitted.map((each) => each.scale)) / 63, max(...fitted.map((each) => each.min)) / 63];
    if (!putHalf(bytes, at, scale) || !putHalf(bytes, at + 2, low)) return false;
    fitted.forEach((each, i) =>
      packScale(bytes, at + 4, i, scale > 0 ? clamp(floor(each.scale / scale + 0.5), 63) : 0, low > 0 ? clamp(floor(each.min / low + 0.5), 63) : 0));
    const [stored, storedLow] = [fromHalf(toHalf(scale)), fromHalf(toHalf(low))];
    const to = at + (bits === 5 ? 48 : 16);
    for (let i = 0; i < 8; i++) {
      const [s, m] = packedScale(bytes, at + 4, i);
      const by = stored * s > 0 ? 1 / (stored * s) : 0;
      for (let j = 0; j < 32; j++) {
        const q = clamp(floor((x[from + i * 32 + j]! + storedLow * m) * by + 0.5), most);
        bytes[to + (i >> 1) * 32 + j]! |= (q & 15) << ((i & 1) * 4);
        if (bits === 5) bytes[at + 16 + j]! |= (q >> 4) << i;
      }
    }
    return true;
  };
};

/** The inverse of packedScale. The bytes have to be 0 before. */
function packScale(bytes: Uint8Array, at: number, i: number, scale: number, low: number): void {
  if (i < 4) {
    bytes[at + i]! |= scale;
    bytes[at + i + 4]! |= low;
  } else {
    bytes[at + i + 4]! |= (scale & 15) | ((low & 15) << 4);
    bytes[at + i - 4]! |= (scale >> 4) << 6;
    bytes[at + i]! |= (low >> 4) << 6;
  }
}

/** Finds the scale such that scale * q is near the 16 numbers, with q = -32 .. 31. */
function fitSigned(x: Float32Array, from: number): number {
  const furthest = peak(x, from, 16);
  if (furthest === 0) return 0;
  let [best, most] = [0, -1];
  for (let step = -9; step <= 9; step++) {
    const by = -(32 + 0.1 * step) / furthest;
    let [xq, q2] = [0, 0];
    for (let j = from; j < from + 16; j++) {
      const q = clamp(floor(x[j]! * by + 32.5), 63) - 32;
      xq += x[j]! * q;
      q2 += q * q;
    }
    // The squared error of the best scale is the sum of x^2 minus xq^2 / q2.
    if (q2 > 0 && xq * xq > most * q2) [best, most] = [xq / q2, (xq * xq) / q2];
  }
  return best;
}

const q6: Encode = (x, from, bytes, at) => {
  const scales = Float32Array.from({ length: 16 }, (_, i) => fitSigned(x, from + i * 16));
  const scale = peak(scales, 0, 16) / -128;
  if (!putHalf(bytes, at + 208, scale)) return false;
  const stored = fromHalf(toHalf(scale));
  for (let i = 0; i < 256; i++) {
    const [half, row, j] = [i >> 7, (i >> 5) & 3, i & 31];
    const s = scale === 0 ? 0 : min(127, floor(scales[i >> 4]! / scale + 0.5));
    bytes[at + 192 + (i >> 4)] = s;
    const by = stored * s === 0 ? 0 : 1 / (stored * s);
    const q = clamp(floor(x[from + i]! * by + 32.5), 63);
    bytes[at + half * 64 + (row & 1) * 32 + j]! |= (q & 15) << ((row >> 1) * 4);
    bytes[at + 128 + half * 32 + j]! |= (q >> 4) << (row * 2);
  }
  return true;
};

export const ENCODERS: Readonly<Record<string, Encode>> = {
  Q4_0: simple(4, false),
  Q4_1: simple(4, true),
  Q5_0: simple(5, false),
  Q5_1: simple(5, true),
  Q8_0: q8,
  Q4_K: superBlock(4),
  Q5_K: superBlock(5),
  Q6_K: q6,
};
