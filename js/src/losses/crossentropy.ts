// Cross-entropy with options for training: smoothed labels, ignored rows, and classes that count less.

import { asTensor, type TensorLike } from '../apply.js';
import { isFloat } from '../dtype.js';
import { ShapeError, shapeText } from '../errors.js';
import * as functions from '../functions.gen.js';
import { logSoftmax, sum, take, where } from '../functions.gen.js';
import { readOptions, type OptionSchema } from '../options.js';
import { tidy } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { LOSS, reduced, type LossOptions } from './reduction.js';

export interface SoftmaxCrossEntropyOptions extends LossOptions {
  /** Share of each label that is spread evenly over all classes. Default 0. */
  labelSmoothing?: number;
  /** Rows with this label have loss 0, and do not count in the mean. */
  ignoreIndex?: number;
  /** A weight for each class, (classes); the mean is then weighted by those of the labels' classes. */
  weights?: TensorLike;
}

const SOFTMAX: OptionSchema<SoftmaxCrossEntropyOptions> = { ...LOSS, labelSmoothing: 'number', ignoreIndex: 'integer', weights: 'tensor' };

/**
 * -log softmax(logits)[label] for each row, as in PyTorch: logits (..., classes), labels whole numbers (...) or
 * probabilities (..., classes). sn.softmaxCrossEntropy gives the plain loss of each row.
 */
export function softmaxCrossEntropy(logits: TensorLike, labels: TensorLike, given?: SoftmaxCrossEntropyOptions): Tensor {
  const op = 'losses.softmaxCrossEntropy';
  const { labelSmoothing = 0, ignoreIndex, weights, reduction } = readOptions(op, given, SOFTMAX);
  return tidy(() => {
    const x = asTensor(logits, op);
    const classes = x.shape.at(-1) ?? 0;
    const plain = functions.softmaxCrossEntropy(x, labels, ignoreIndex === undefined ? {} : { ignoreIndex });
    const t = asTensor(labels, op);
    const isDistribution = t.ndim === x.ndim && isFloat(t.dtype);
    const w = weights === undefined ? null : asTensor(weights, op);
    if (w && String(w.shape) !== String([classes]))
      throw new ShapeError(op, `weights ${shapeText(w.shape)} of ${classes} classes`, { shapes: [w.shape, x.shape] });
    const perClass = (p: Tensor | null): Tensor => {
      const logs = logSoftmax(x).neg();
      const weighted = w ? logs.mul(w) : logs;
      return sum(p ? weighted.mul(p) : weighted, { axis: -1 });
    };
    const smooth = (own: Tensor): Tensor =>
      labelSmoothing === 0 ? own : own.mul(1 - labelSmoothing).add(perClass(null).mul(labelSmoothing / classes));
    if (isDistribution) return reduced(op, smooth(w ? perClass(t) : plain), reduction);
    const label = t.astype('int32');
    const own = w ? take(w, label.clip(0, classes - 1)) : null;
    const losses = smooth(own ? plain.mul(own) : plain);
    if (ignoreIndex === undefined) return reduced(op, losses, reduction, own ? sum(own) : undefined);
    const counts = label.notEqual(ignoreIndex);
    return reduced(op, where(counts, losses, 0), reduction, sum(own ? where(counts, own, 0) : counts.astype(x.dtype)));
  });
}
