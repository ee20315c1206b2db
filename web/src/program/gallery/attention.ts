// Two products with a softmax between them: one kernel,
// and the matrix of scores is never in memory.

import * as sn from 'sinter';

export function program(q: sn.Tensor, k: sn.Tensor, v: sn.Tensor) {
  const scores = sn.matmul(q, sn.swapaxes(k, 1, 2)).div(8);
  return sn.matmul(sn.softmax(scores), v);
}

export const inputs = [0, 1, 2].map((seed) =>
  sn.random.normal(sn.random.key(seed), [8, 512, 64]));
