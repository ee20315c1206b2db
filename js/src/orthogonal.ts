// Makes matrices orthogonal: an odd polynomial, applied round by round, brings their singular values near 1. It takes
// matrix products alone.

import { matmul, norm, permuteDims } from './functions.gen.js';
import type { Tensor } from './tensor.js';

/** Coefficients a, b, c of a x + b x^3 + c x^5, which takes singular values of almost 0 to 0.7 .. 1.2 in few rounds
 *  (Jordan 2024). */
export const MUON_COEFFICIENTS = [3.4445, -4.775, 2.0315] as const;

/** Coefficients that take singular values near 1 to 1 (Newton and Schulz). */
export const NEWTON_SCHULZ_COEFFICIENTS = [1.5, -0.5, 0] as const;

const transposed = (x: Tensor): Tensor => permuteDims(x, [1, 0]);

/** A matrix with the singular vectors of x, whose singular values are scaled to at most 1 and go through the rounds of
 *  steps. */
export function orthogonal(x: Tensor, steps: readonly (readonly [rounds: number, coefficients: readonly [number, number, number]])[]): Tensor {
  const [rows, columns] = x.shape as readonly [number, number];
  let y = x.div(norm(x).add(1e-7));
  if (rows > columns) y = transposed(y);
  for (const [rounds, [a, b, c]] of steps) {
    for (let i = 0; i < rounds; i++) {
      const square = matmul(y, transposed(y));
      const cubic = square.mul(b);
      y = y.mul(a).add(matmul(c === 0 ? cubic : cubic.add(matmul(square, square).mul(c)), y));
    }
  }
  return rows > columns ? transposed(y) : y;
}
