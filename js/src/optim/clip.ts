// Clipping of gradients by their common length.

import { accumulatorOf } from '../dtype.js';
import { minimum, sqrt, square } from '../ops.gen.js';
import { sum } from '../reduce.js';
import type { Tensor } from '../tensor.js';

/** The gradients, scaled down together where their norm exceeds limit; each keeps its dtype. */
export function clipByGlobalNorm(grads: readonly Tensor[], limit: number): Tensor[] {
  const squares = grads.map((g) => sum(square(g.astype(accumulatorOf(g.dtype)))));
  const norm = sqrt(squares.reduce((total, x) => total.add(x)));
  // max(norm, limit) in the divisor: no division by a norm of 0.
  const scale = minimum(norm, limit).div(norm.maximum(limit));
  const factor = norm.greater(limit).where(scale, 1);
  return grads.map((g) => g.mul(factor).astype(g.dtype));
}
