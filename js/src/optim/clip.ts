// Clipping of gradients by their common norm.

import { checkNumber } from '../check.js';
import { accumulatorOf } from '../dtype.js';
import { minimum, sqrt, square, sum } from '../functions.gen.js';
import { SinterError } from '../errors.js';
import { flatten } from '../pytree.js';
import type { Tensor } from '../tensor.js';

/** Returns the gradients, all scaled by the same factor if their common norm exceeds limit; each keeps its dtype. */
export function clipByGlobalNorm(grads: readonly Tensor[], limit: number): Tensor[] {
  const { tensors } = flatten(grads, 'optim.clipByGlobalNorm');
  if (!(checkNumber('optim.clipByGlobalNorm', 'limit', limit) >= 0))
    throw new SinterError('argument', 'optim.clipByGlobalNorm', `limit is ${limit}, expected a number from 0 on`);
  if (tensors.length === 0) return [];
  const squares = tensors.map((g) => sum(square(g.astype(accumulatorOf(g.dtype)))));
  const norm = sqrt(squares.reduce((total, x) => total.add(x)));
  // The divisor is max(norm, limit), so a norm of 0 does not divide.
  const scale = minimum(norm, limit).div(norm.maximum(limit));
  const factor = norm.greater(limit).where(scale, 1);
  return tensors.map((g) => g.mul(factor).astype(g.dtype));
}
