// A convolution is a product of a view with the filter;
// what follows is done while a tile is at hand.

import * as sn from 'sinter';

export function program(x: sn.Tensor, filter: sn.Tensor, mean: sn.Tensor, variance: sn.Tensor) {
  const y = sn.conv2d(x, filter, { padding: 'same' });
  return sn.relu(sn.batchNorm(y, { mean, variance }));
}

export const inputs = [
  sn.random.normal(sn.random.key(0), [1, 56, 56, 64]),
  sn.random.normal(sn.random.key(1), [3, 3, 64, 64]),
  sn.zeros([64]),
  sn.ones([64]),
];
