// Each row with mean 0 and variance 1, scaled, shifted.

import * as sn from 'sinter';

const along = { axis: 1, keepdims: true };

export function program(x: sn.Tensor, scale: sn.Tensor, shift: sn.Tensor) {
  const centred = x.sub(sn.mean(x, along));
  const variance = sn.mean(sn.square(centred), along);
  return centred.mul(sn.rsqrt(variance.add(1e-5)))
    .mul(scale)
    .add(shift);
}

const x = sn.random.normal(sn.random.key(0), [512, 512]);
export const inputs = [x, sn.ones([512]), sn.zeros([512])];
