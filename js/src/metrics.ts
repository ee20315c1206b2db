// Metrics: how good predictions are, as numbers that need no gradient. Predictions are scores (..., classes), or class
// numbers (...) like the labels.

import { asTensor, type TensorLike } from './apply.js';
import { checkChoice, checkInteger } from './check.js';
import { ShapeError, SinterError, shapeText } from './errors.js';
import { argsort, cumsum, eye, logicalAnd, maximum, mean, scatterAdd, sum, take, topk, where, zeros } from './functions.gen.js';
import { readOptions } from './options.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';

/** Predicted classes and labels, int32 (...), and the number of classes if scores give it. */
function classesOf(op: string, predictions: TensorLike, labels: TensorLike): { predicted: Tensor; label: Tensor; classes: number | undefined } {
  const [p, t] = [asTensor(predictions, op), asTensor(labels, op)];
  const areScores = p.ndim === t.ndim + 1;
  const classes = areScores ? p.shape.at(-1)! : undefined;
  const predicted = areScores ? p.argmax({ axis: -1 }) : p.astype('int32');
  if (String(predicted.shape) !== String(t.shape))
    throw new ShapeError(op, `predictions ${shapeText(p.shape)} are neither scores nor classes for labels ${shapeText(t.shape)}`, { shapes: [p.shape, t.shape] });
  return { predicted, label: t.astype('int32'), classes };
}

/** The share of right predictions, a float32 scalar. */
export const accuracy = (predictions: TensorLike, labels: TensorLike): Tensor =>
  tidy(() => {
    const { predicted, label } = classesOf('metrics.accuracy', predictions, labels);
    return mean(predicted.equal(label).astype('float32'));
  });

/** The share of labels that are among the k classes of the highest scores (..., classes); k is 5 by default. */
export const topK = (scores: TensorLike, labels: TensorLike, options?: { k?: number }): Tensor =>
  tidy(() => {
    const op = 'metrics.topK';
    const { k = 5 } = readOptions<{ k?: number }>(op, options, { k: 'integer' });
    const [x, t] = [asTensor(scores, op), asTensor(labels, op)];
    if (String(x.shape.slice(0, -1)) !== String(t.shape) || x.ndim === 0)
      throw new ShapeError(op, `scores ${shapeText(x.shape)} do not fit labels ${shapeText(t.shape)}`, { shapes: [x.shape, t.shape] });
    checkInteger(op, 'k', k, 1, x.shape.at(-1));
    const found = topk(x, k).indices.equal(t.astype('int32').reshape([...t.shape, 1]));
    return mean(found.any({ axis: -1 }).astype('float32'));
  });

export interface ClassesOptions {
  /** The number of classes; needed where predictions are no scores. */
  classes?: number;
}

function countPairs(op: string, predictions: TensorLike, labels: TensorLike, given: number | undefined): Tensor {
  const { predicted, label, classes: found } = classesOf(op, predictions, labels);
  const classes = given ?? found;
  if (classes === undefined)
    throw new SinterError('argument', op, 'how many classes there are is not known', { hint: 'write { classes: 10 }' });
  checkInteger(op, 'classes', classes, 1, 46340); // whose square is an int32
  const isClass = (t: Tensor): Tensor => logicalAnd(t.greaterEqual(0), t.less(classes));
  // A pair with a label or prediction that is no class counts in an extra place behind the matrix.
  const place = where(logicalAnd(isClass(label), isClass(predicted)), label.mul(classes).add(predicted), classes * classes);
  const counts = scatterAdd(zeros([classes * classes + 1], { dtype: 'int32' }), place.reshape([-1]), place.reshape([-1]).mul(0).add(1));
  return counts.slice([0], [classes * classes]).reshape([classes, classes]);
}

/** How often each label (a row) was predicted as each class (a column): int32 (classes, classes). */
export const confusionMatrix = (predictions: TensorLike, labels: TensorLike, options?: ClassesOptions): Tensor =>
  tidy(() => {
    const op = 'metrics.confusionMatrix';
    return countPairs(op, predictions, labels, readOptions<ClassesOptions>(op, options, { classes: 'integer' }).classes);
  });

export interface F1Options extends ClassesOptions {
  /** 'macro': the mean over classes; 'micro': one value for all predictions together; 'weighted': the mean over classes
   *  weighted by how often each is the label; 'none': a value per class. Default 'macro'. */
  average?: 'macro' | 'micro' | 'weighted' | 'none';
}

/** 2 precision recall / (precision + recall); 0 for a class that occurs neither in labels nor in predictions. */
export const f1 = (predictions: TensorLike, labels: TensorLike, options?: F1Options): Tensor =>
  tidy(() => {
    const op = 'metrics.f1';
    const { classes, average = 'macro' } = readOptions<F1Options>(op, options, { classes: 'integer', average: 'any' });
    checkChoice(op, 'average', average, ['macro', 'micro', 'weighted', 'none']);
    const counts = countPairs(op, predictions, labels, classes).astype('float32');
    const right = sum(counts.mul(eye(counts.shape[0]!)), { axis: 1 });
    const [labelled, predicted] = [sum(counts, { axis: 1 }), sum(counts, { axis: 0 })];
    if (average === 'micro') return sum(right).mul(2).div(sum(labelled).add(sum(predicted)));
    const each = right.mul(2).div(maximum(labelled.add(predicted), 1));
    if (average === 'macro') return mean(each);
    return average === 'none' ? each : sum(each.mul(labelled)).div(sum(labelled));
  });

/** The area under the ROC curve: how often a positive scores more than a negative, where ties count half. scores (n);
 *  labels (n) are bools, or 0 and 1. */
export const auc = (scores: TensorLike, labels: TensorLike): Tensor =>
  tidy(() => {
    const op = 'metrics.auc';
    const [x, t] = [asTensor(scores, op), asTensor(labels, op)];
    if (x.ndim !== 1 || String(x.shape) !== String(t.shape))
      throw new ShapeError(op, `needs scores (n) and labels (n): ${shapeText(x.shape)} and ${shapeText(t.shape)}`, { shapes: [x.shape, t.shape] });
    const positive = t.astype('int32');
    /** The share of (negative, positive) pairs in which the negative comes first, in order of scores. Equal scores are
     *  in order of labels: descending puts positives first, so ties count nothing; ascending counts them in full. */
    const share = (descending: boolean): Tensor => {
      const byLabel = argsort(positive, { descending });
      const order = take(byLabel, argsort(take(x, byLabel)));
      const sorted = take(positive, order);
      const before = cumsum(sorted.neg().add(1), { axis: 0 });
      return sum(before.mul(sorted).div(sum(positive.neg().add(1)))).div(sum(positive));
    };
    return share(true).add(share(false)).div(2);
  });
