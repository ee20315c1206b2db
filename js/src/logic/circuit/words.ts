// The sixteen functions on words: as ops on tensors, and as the text that C, JavaScript and Verilog share.

import * as sn from '../../index.js';
import { NAMES, valueAt } from '../gates16.js';

type Word = () => sn.Tensor;

const not = (x: sn.Tensor): sn.Tensor => x.bitwiseInvert();

/** By the number of the function, without the constants 0 and 15. */
const WORD_OPS: readonly (((a: Word, b: Word) => sn.Tensor) | null)[] = [
  null,
  (a, b) => a().bitwiseAnd(b()),
  (a, b) => a().bitwiseAnd(not(b())),
  (a) => a(),
  (a, b) => not(a()).bitwiseAnd(b()),
  (_, b) => b(),
  (a, b) => a().bitwiseXor(b()),
  (a, b) => a().bitwiseOr(b()),
  (a, b) => not(a().bitwiseOr(b())),
  (a, b) => not(a().bitwiseXor(b())),
  (_, b) => not(b()),
  (a, b) => a().bitwiseOr(not(b())),
  (a) => not(a()),
  (a, b) => not(a()).bitwiseOr(b()),
  (a, b) => not(a().bitwiseAnd(b())),
  null,
];

/** f on all bits of two words. Each operand is computed only if f depends on it. shape: that of the words. */
export const applyGate = (f: number, a: Word, b: Word, shape: readonly number[]): sn.Tensor =>
  WORD_OPS[f]?.(a, b) ?? sn.full(shape, f === 0 ? 0 : -1, { dtype: 'int32' });

/** f as an expression of bitwise operators. none, all: how the language spells no bits and all bits. */
export function gateText(f: number, a: string, b: string, none: string, all: string): string {
  if (f === 0) return none;
  if (f === 15) return all;
  return NAMES[f]!.replace(/[ab!]/g, (c) => (c === 'a' ? a : c === 'b' ? b : '~'));
}

/**
 * f as masks, each 0 or -1, of the polynomial m0 ^ (a & (m1 ^ (m3 & b))) ^ (m2 & b) over bits. So one expression computes all
 * sixteen functions.
 */
export function masksOf(f: number): [m0: number, m1: number, m2: number, m3: number] {
  const [at00, at01, at10, at11] = [valueAt(f, 0, 0), valueAt(f, 0, 1), valueAt(f, 1, 0), valueAt(f, 1, 1)];
  return [-at00, -(at00 ^ at10), -(at00 ^ at01), -(at00 ^ at01 ^ at10 ^ at11)];
}
