// Products.

import { asTensor, withTensors, type TensorLike } from './apply.js';
import { SinterError } from './errors.js';
import { mul } from './ops.gen.js';
import { matmul, moveaxis, reshape } from './functions.gen.js';
import { runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';

/** Sum over the last axis of x and the last but one of y (its only one at rank 1); of a scalar x * y. */
export function dot(x: TensorLike, y: TensorLike): Tensor {
  return tidy(() => {
    const [a, b] = [asTensor(x, 'dot'), asTensor(y, 'dot')];
    if (a.ndim === 0 || b.ndim === 0) return mul(a, b);
    if (a.ndim === 1 && b.ndim === 1) return matmul(a, b);
    if (b.ndim <= 2) return matmul(a, b);
    const columns = moveaxis(b, -2, 0);
    const product = matmul(a, reshape(columns, [columns.shape[0]!, -1]));
    return reshape(product, [...a.shape.slice(0, -1), ...columns.shape.slice(1)]);
  });
}

/**
 * Sum of products: one term of letters per operand, an axis each, then '->' and those of the result; the
 * other letters are summed. Without '->' the result has the letters that occur once, in alphabetical order.
 * '...' stands for further axes. A letter twice in a term takes the diagonal.
 *
 *     einsum('bij,bjk->bik', x, y)    einsum('ii', x)    einsum('bqhd,bkhd->bhqk', q, k)
 */
export function einsum(spec: string, ...operands: TensorLike[]): Tensor {
  if (typeof spec !== 'string' || operands.length === 0)
    throw new SinterError('argument', 'einsum: expected a spec and operands');
  return withTensors('einsum', operands, (core, addresses) => {
    runtime().sendText(spec.replaceAll('\0', '?'), addresses);
    return core.sinter_einsum(addresses.length);
  });
}

/** x_i y_j for the elements of both, in row-major order. */
export function outer(x: TensorLike, y: TensorLike): Tensor {
  return tidy(() => mul(reshape(asTensor(x, 'outer'), [-1, 1]), reshape(asTensor(y, 'outer'), [1, -1])));
}
