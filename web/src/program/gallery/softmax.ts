// Softmax along each row, as its definition says.

import * as sn from 'sinter';

export function program(x: sn.Tensor) {
  const largest = sn.max(x, { axis: 1, keepdims: true });
  const e = sn.exp(x.sub(largest));
  return e.div(sn.sum(e, { axis: 1, keepdims: true }));
}

const { random } = sn;
export const inputs = [random.normal(random.key(0), [512, 512])];
