// Matrices made orthogonal by rounds of an iteration on their singular values, which needs products alone.

import { matmul, norm, permuteDims } from './functions.gen.js';
import type { Tensor } from './tensor.js';

/** a x + b x^3 + c x^5 of singular values: to between 0.7 and 1.2, from however near to 0 (Jordan 2024). */
export const QUICK = [3.4445, -4.775, 2.0315] as const;

/** To 1, from near to it (Newton and Schulz). */
export const EXACT = [1.5, -0.5, 0] as const;

const turned = (x: Tensor): Tensor => permuteDims(x, [1, 0]);

/** A matrix with the singular vectors of x, its singular values scaled and taken through rounds of each of the steps. */
export function orthogonal(x: Tensor, steps: readonly (readonly [rounds: number, coefficients: readonly [number, number, number]])[]): Tensor {
  const [rows, columns] = x.shape as readonly [number, number];
  let y = x.div(norm(x).add(1e-7));
  if (rows > columns) y = turned(y);
  for (const [rounds, [a, b, c]] of steps) {
    for (let i = 0; i < rounds; i++) {
      const square = matmul(y, turned(y));
      const cubic = square.mul(b);
      y = y.mul(a).add(matmul(c === 0 ? cubic : cubic.add(matmul(square, square).mul(c)), y));
    }
  }
  return rows > columns ? turned(y) : y;
}
