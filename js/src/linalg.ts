// Products and the functions built on them that networks end with.

import { asTensor, withAddresses, type TensorLike } from './apply.js';
import { exp, log, stopGradient, sub } from './ops.gen.js';
import { max, sum } from './reduce.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';

/** (..., m, k) x (..., k, n) -> (..., m, n), leading dimensions broadcast; rank 1 as in NumPy. */
export function matmul(x: TensorLike, y: TensorLike): Tensor {
  return withAddresses('matmul', [x, y], (rt, [a, b]) => rt.exports.sinter_matmul(a!, b!));
}

/**
 * One loss per row: logsumexp(logits) - logits[label], stable for large logits. labels are int32
 * classes (...), or a distribution (..., classes).
 */
export function softmaxCrossEntropy(logits: TensorLike, labels: TensorLike): Tensor {
  return withAddresses('softmaxCrossEntropy', [logits, labels], (rt, [a, b]) =>
    rt.exports.sinter_softmax_cross_entropy(a!, b!),
  );
}

export interface SoftmaxOptions {
  /** Default: the last. */
  axis?: number;
}

/** x minus its largest element along the axis; the shift cancels out, so it has no derivative. */
function centred(x: TensorLike, op: string, axis: number): Tensor {
  const t = asTensor(x, op);
  return sub(t, stopGradient(max(t, { axis, keepdims: true })));
}

/** e^x / sum(e^x) along an axis. */
export function softmax(x: TensorLike, { axis = -1 }: SoftmaxOptions = {}): Tensor {
  return tidy(() => {
    const weights = exp(centred(x, 'softmax', axis));
    return weights.div(sum(weights, { axis, keepdims: true }));
  });
}

/** log(softmax(x)), accurate where softmax is 0. */
export function logSoftmax(x: TensorLike, { axis = -1 }: SoftmaxOptions = {}): Tensor {
  return tidy(() => {
    const shifted = centred(x, 'logSoftmax', axis);
    return shifted.sub(log(sum(exp(shifted), { axis, keepdims: true })));
  });
}
