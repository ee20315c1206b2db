// Losses of elements, or of vectors in rows: functions of predictions and targets, which return one number by default.

import type { TensorLike } from '../apply.js';
import { abs, exp, log, log1p, maximum, sqrt, square, sum, where } from '../functions.gen.js';
import { readOptions, type OptionSchema } from '../options.js';
import { tidy } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { LOSS, inOneShape, reduced, type LossOptions } from './reduction.js';

type Elementwise<O> = (predictions: Tensor, targets: Tensor, options: O) => Tensor;

/** Makes a loss of f, which gives that of each element, or of each row. */
function loss<O extends LossOptions>(name: string, f: Elementwise<O>, schema: OptionSchema<O>) {
  const op = `losses.${name}`;
  return (predictions: TensorLike, targets: TensorLike, given: O | undefined): Tensor =>
    tidy(() => {
      const options = readOptions(op, given, schema);
      return reduced(op, f(...inOneShape(op, predictions, targets), options), options.reduction);
    });
}

const squares = loss<LossOptions>('mse', (p, t) => square(p.sub(t)), LOSS);
const distances = loss<LossOptions>('mae', (p, t) => abs(p.sub(t)), LOSS);

/** (prediction - target)^2. */
export const mse = (predictions: TensorLike, targets: TensorLike, options?: LossOptions): Tensor => squares(predictions, targets, options);

/** |prediction - target|. */
export const mae = (predictions: TensorLike, targets: TensorLike, options?: LossOptions): Tensor => distances(predictions, targets, options);

export interface HuberOptions extends LossOptions {
  /** The distance at which the square ends. Default 1. */
  delta?: number;
}

const hubers = loss<HuberOptions>('huber', (p, t, { delta = 1 }) => {
  const d = abs(p.sub(t));
  return where(d.lessEqual(delta), square(d).mul(0.5), d.sub(delta / 2).mul(delta));
}, { ...LOSS, delta: 'number' });

/** d^2 / 2 for a distance d = |prediction - target| up to delta, delta (d - delta / 2) beyond. */
export const huber = (predictions: TensorLike, targets: TensorLike, options?: HuberOptions): Tensor => hubers(predictions, targets, options);

const binary = loss<LossOptions>('binaryCrossEntropy', (x, t) => {
  const p = t.astype(x.dtype);
  return maximum(x, 0).sub(x.mul(p)).add(log1p(exp(abs(x).neg())));
}, LOSS);

/** -p log sigmoid(x) - (1 - p) log (1 - sigmoid(x)) for logits x and targets p, which are probabilities of true, or bools. */
export const binaryCrossEntropy = (logits: TensorLike, targets: TensorLike, options?: LossOptions): Tensor => binary(logits, targets, options);

const divergence = loss<LossOptions>('klDivergence', (logs, p) => sum(where(p.greater(0), p.mul(log(where(p.greater(0), p, 1)).sub(logs)), 0), { axis: -1 }), LOSS);

/** sum p (log p - logs), one loss per row, for log probabilities logs and probabilities p, both (..., classes). */
export const klDivergence = (logs: TensorLike, targets: TensorLike, options?: LossOptions): Tensor => divergence(logs, targets, options);

const hinges = loss<LossOptions>('hinge', (x, t) => maximum(x.mul(t).neg().add(1), 0), LOSS);

/** max(0, 1 - score target) for targets of -1 and 1. */
export const hinge = (scores: TensorLike, targets: TensorLike, options?: LossOptions): Tensor => hinges(scores, targets, options);

/** Shorter lengths count as this one, so that a length of 0 has a gradient. */
const SHORTEST = 1e-8;

const angles = loss<LossOptions>('cosine', (a, b) => {
  const dot = (x: Tensor, y: Tensor): Tensor => sum(x.mul(y), { axis: -1 });
  return dot(a, b).div(sqrt(maximum(dot(a, a).mul(dot(b, b)), SHORTEST ** 2))).neg().add(1);
}, LOSS);

/** 1 - cosine of the angle between vectors (..., size), one loss per row. */
export const cosine = (predictions: TensorLike, targets: TensorLike, options?: LossOptions): Tensor => angles(predictions, targets, options);

export interface ContrastiveOptions extends LossOptions {
  /** Distance that vectors of different things should at least have. Default 1. */
  margin?: number;
}

/** For vectors (..., size) at distance d, and same, bools (...): d^2 if both are of the same thing, else max(0, margin -
 *  d)^2 (Hadsell et al. 2006). */
export function contrastive(a: TensorLike, b: TensorLike, same: TensorLike, given?: ContrastiveOptions): Tensor {
  const op = 'losses.contrastive';
  const { margin = 1, reduction } = readOptions<ContrastiveOptions>(op, given, { ...LOSS, margin: 'number' });
  return tidy(() => {
    const [x, y] = inOneShape(op, a, b);
    const near = sum(square(x.sub(y)), { axis: -1 });
    const [, isSame] = inOneShape(op, near, same);
    const far = square(maximum(sqrt(maximum(near, SHORTEST ** 2)).neg().add(margin), 0));
    return reduced(op, where(isSame.astype('bool'), near, far), reduction);
  });
}
