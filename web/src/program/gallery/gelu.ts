// A chain of elementwise ops is one pass over the memory.

import * as sn from 'sinter';

const gelu = (x: sn.Tensor) =>
  x.mul(0.5).mul(sn.erf(x.mul(Math.SQRT1_2)).add(1));

export function program(x: sn.Tensor, y: sn.Tensor) {
  return gelu(gelu(x).add(y))
    .mul(sn.sigmoid(y))
    .sub(sn.square(y).div(2));
}

export const inputs = [1, 2].map((seed) =>
  sn.random.normal(sn.random.key(seed), [512, 1024]));
