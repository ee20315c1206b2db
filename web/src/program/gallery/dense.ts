// Bias and activation, done while a tile of the
// product is still at hand.

import * as sn from 'sinter';

export function program(x: sn.Tensor, w: sn.Tensor, b: sn.Tensor) {
  return sn.relu(sn.matmul(x, w).add(b));
}

export const inputs = [
  sn.random.normal(sn.random.key(0), [128, 784]),
  sn.random.normal(sn.random.key(1), [784, 256]),
  sn.zeros([256]),
];
