// Matrix products, and the determinant.

import * as sn from '../../index.js';
import type { Op } from '../plan.js';
import { made } from '../value.js';

const gemm: Op = {
  since: 1,
  run: (n, a, b, c) => {
    const left = n.flag('transA') ? sn.transpose(a!.t) : a!.t;
    const right = n.flag('transB') ? sn.transpose(b!.t) : b!.t;
    const [alpha, beta] = [n.float('alpha', 1), n.float('beta', 1)];
    const product = sn.matmul(left, right);
    const scaled = alpha === 1 ? product : sn.mul(product, alpha);
    if (!c) return scaled;
    return sn.add(scaled, beta === 1 ? c.t : sn.mul(c.t, beta));
  },
};

/** The determinant, by elimination with the largest element of a column as the pivot. */
const det: Op = {
  since: 11,
  run: (_, x) => {
    const size = x!.shape.at(-1)!;
    let rest = sn.reshape(x!.t, [-1, size, size]);
    let product = sn.ones([rest.shape[0]!], { dtype: rest.dtype });
    for (let left = size; left > 0; left--) {
      const column = sn.slice(rest, [0, 0, 0], [-1, left, 1]);
      const pivot = sn.argmax(sn.abs(column), { axis: 1, keepdims: true });
      const row = sn.takeAlongAxis(rest, sn.broadcastTo(pivot, [rest.shape[0]!, 1, left]), { axis: 1 });
      const isFirst = sn.equal(sn.iota([1, left, 1], 1), 0);
      const first = sn.slice(rest, [0, 0, 0], [-1, 1, left]);
      // Swaps the pivot's row with the first row.
      const isPivot = sn.equal(sn.iota([1, left, 1], 1), pivot);
      const swapped = sn.where(isFirst, row, sn.where(isPivot, first, rest));
      const head = sn.slice(row, [0, 0, 0], [-1, 1, 1]);
      const sign = sn.where(sn.equal(pivot, 0), 1, -1);
      product = sn.mul(product, sn.reshape(sn.mul(head, sign.astype(head.dtype)), [-1]));
      if (left === 1) break;
      const below = sn.slice(swapped, [0, 1, 0], [-1, -1, 1]);
      const factor = sn.div(below, sn.where(sn.equal(head, 0), 1, head));
      const next = sn.sub(sn.slice(swapped, [0, 1, 1], [-1, -1, -1]), sn.mul(factor, sn.slice(row, [0, 0, 1], [-1, -1, -1])));
      rest = next;
    }
    return sn.reshape(product, [...x!.shape.slice(0, -2)]);
  },
};

export const LINEAR: Readonly<Record<string, Op>> = {
  MatMul: { since: 1, run: (_, a, b) => sn.matmul(a!.t, b!.t) },
  Gemm: gemm,
  Einsum: { since: 12, run: (n, ...x) => made(x[0]!.type, sn.einsum(n.text('equation').replaceAll(' ', ''), ...x.map((each) => each.t))) },
  Det: det,
};
