// einsum: sums of products, in one call into the core.

import { withTensors, type TensorLike } from './apply.js';
import { SinterError } from './errors.js';
import { runtime } from './runtime/runtime.js';
import type { Tensor } from './tensor.js';

/**
 * A sum of products. spec has one term per operand, with a letter for each axis, then '->' and the letters of the result;
 * the other letters are summed over. Without '->' the result has the letters that occur once, in alphabetical order. '...'
 * stands for further axes. A letter twice in a term takes the diagonal.
 *
 *     einsum('bij,bjk->bik', x, y)    einsum('ii', x)    einsum('bqhd,bkhd->bhqk', q, k)
 */
export function einsum(spec: string, ...operands: TensorLike[]): Tensor {
  if (typeof spec !== 'string' || operands.length === 0)
    throw new SinterError('argument', 'einsum', 'expected a spec and operands');
  return withTensors('einsum', operands, (core, addresses) => {
    runtime().sendText(spec.replaceAll('\0', '?'), addresses);
    return core.sinter_einsum(addresses.length);
  });
}
