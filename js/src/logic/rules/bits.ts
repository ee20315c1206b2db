// Binary relations as bits: 32 entries of a row per word.
//
//   words (rows, ceil(n / 32)) int32     bit i % 32 of word i / 32 of a row: whether its entry i holds
//   pairs (2, count) int32               each fact; some may occur twice
//
// The orientation says which argument numbers the rows. A join of pairs (a, b) with bits whose rows are b combines whole rows,
// new[a] |= bits[b], and never looks at the other argument. Bits behind the last entry are 0.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';

export type Rows = 0 | 1;

const WORD = 32;

export const wordsFor = (n: number): number => Math.ceil(n / WORD);

/** 1 << 0, 1 << 1, ... */
const singleBits = (): Tensor => sn.tensor(Int32Array.from({ length: WORD }, (_, i) => 1 << i));

/** bools (rows, n) -> words. */
export function pack(bools: Tensor): Tensor {
  const [rows, n] = bools.shape as [number, number];
  const words = wordsFor(n);
  const whole = words * WORD === n ? bools : sn.pad(bools, [[0, 0], [0, words * WORD - n]]);
  return sn.bitwiseOrReduce(sn.where(sn.reshape(whole, [rows, words, WORD]), singleBits(), 0), { axis: 2 });
}

/** words -> bools (rows, n). */
export function unpack(words: Tensor, n: number): Tensor {
  const [rows, width] = words.shape as [number, number];
  const bits = sn.notEqual(sn.bitwiseAnd(sn.reshape(words, [rows, width, 1]), singleBits()), 0);
  return sn.slice(sn.reshape(bits, [rows, width * WORD]), [0, 0], [rows, n]);
}

/** For each shift, the mask of the bits c of a word with c & shift = 0. */
const HALVES: readonly (readonly [shift: number, mask: number])[] = [[16, 0xffff], [8, 0xff00ff], [4, 0x0f0f0f0f], [2, 0x33333333], [1, 0x55555555]];

/** Transposes a matrix of bits. Blocks of 32 x 32 bits are transposed by swapping halves, quarters and so on (Hacker's
 *  Delight, 7-3); then the blocks are rearranged. */
export function transposed(words: Tensor, n: number): Tensor {
  const [rows, width] = words.shape as [number, number];
  const blocks = wordsFor(rows);
  if (blocks * width === 0) return sn.zeros([n, blocks], { dtype: 'int32' });
  let t = sn.pad(words, [[0, blocks * WORD - rows], [0, 0]]);
  for (const [shift, mask] of HALVES) {
    const pairs = sn.reshape(t, [(blocks * 16) / shift, 2, shift, width]);
    const [low, high] = [0, 1].map((i) => sn.take(pairs, i, { axis: 1 })) as [Tensor, Tensor];
    const swap = sn.bitwiseAnd(sn.bitwiseXor(sn.bitwiseRightShift(low, shift), high), mask);
    t = sn.stack([sn.bitwiseXor(low, sn.bitwiseLeftShift(swap, shift)), sn.bitwiseXor(high, swap)], { axis: 1 });
  }
  const moved = sn.transpose(sn.reshape(t, [blocks, WORD, width]), [2, 1, 0]);
  return sn.slice(sn.reshape(moved, [width * WORD, blocks]), [0, 0], [n, blocks]);
}

/** Inverts all entries; bits behind the last entry stay 0. */
export function inverted(words: Tensor, n: number): Tensor {
  const all = Int32Array.from({ length: wordsFor(n) }, (_, i) => (n - i * WORD >= WORD ? -1 : (1 << (n - i * WORD)) - 1));
  return sn.bitwiseAnd(sn.bitwiseInvert(words), sn.tensor(all));
}

/** new[a] |= words[b] for each pair (a, b). */
export function joinRows(words: Tensor, to: Tensor, from: Tensor, rows: number): Tensor {
  const none = sn.zeros([rows, words.shape[1]!], { dtype: 'int32' });
  return to.size === 0 ? none : sn.scatter(none, to, sn.take(words, from, { axis: 0 }), { mode: 'or' });
}

/**
 * new[a] |= words[b] wherever bit b of row a of left is set. Takes eight rows b at a time and first makes all 256 combinations
 * of them, so that each row a needs one lookup instead of up to eight (the method of the four Russians).
 */
export function joinBits(left: Tensor, words: Tensor): Tensor {
  const [rows, groups] = left.shape as [number, number];
  const [count, width] = words.shape as [number, number];
  const blocks = groups * 4;
  const none = sn.zeros([rows, width], { dtype: 'int32' });
  if (blocks === 0) return none;
  const owns = sn.reshape(sn.pad(words, [[0, blocks * 8 - count], [0, 0]]), [blocks, 8, width]);
  const bytes = sn.bitwiseAnd(sn.bitwiseRightShift(sn.reshape(left, [rows, groups, 1]), sn.tensor(Int32Array.of(0, 8, 16, 24))), 255);
  const [made] = sn.scan(
    (sofar: Tensor, [own, byte]: [Tensor, Tensor]) => {
      let ways: Tensor = sn.zeros([1, width], { dtype: 'int32' });
      for (let i = 0; i < 8; i++) ways = sn.concat([ways, sn.bitwiseOr(ways, sn.slice(own, [i, 0], [1, width]))], { axis: 0 });
      return [sn.bitwiseOr(sofar, sn.take(ways, byte, { axis: 0 })), null];
    },
    none,
    [owns, sn.transpose(sn.reshape(bytes, [rows, blocks]))] as [Tensor, Tensor],
  );
  return made;
}

/** The words of facts given as consecutive pairs of members. */
export function wordsOfPairs(pairs: Int32Array, shape: readonly number[], rows: Rows): Int32Array {
  const width = wordsFor(shape[1 - rows]!);
  const words = new Int32Array(shape[rows]! * width);
  for (let i = 0; i < pairs.length; i += 2) {
    const column = pairs[i + 1 - rows]!;
    words[pairs[i + rows]! * width + (column >> 5)]! |= 1 << (column & 31);
  }
  return words;
}

/** Facts as two columns. The last fact is repeated to reach one of few sizes, so that few programs are compiled. */
export function columnsOf(pairs: Int32Array): Int32Array {
  const count = pairs.length / 2;
  if (count === 0) return pairs;
  const step = count <= 16 ? 16 : 2 ** (Math.floor(Math.log2(count - 1)) - 2);
  const padded = Math.ceil(count / step) * step;
  return Int32Array.from({ length: 2 * padded }, (_, i) => pairs[2 * Math.min(i % padded, count - 1) + Math.floor(i / padded)]!);
}

/** The number of set bits. */
export function countBits(words: Int32Array): number {
  let count = 0;
  for (let i = 0; i < words.length; i++) {
    let x = words[i]!;
    if (x === 0) continue;
    x -= (x >>> 1) & 0x55555555;
    x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
    count += Math.imul((x + (x >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }
  return count;
}

/** Calls found with the row and column of each set bit, row by row. */
export function eachBit(words: Int32Array, width: number, found: (row: number, column: number) => void): void {
  for (let i = 0; i < words.length; i++) {
    for (let x = words[i]!; x !== 0; x &= x - 1) found(Math.floor(i / width), (i % width) * WORD + (31 - Math.clz32(x & -x)));
  }
}
