// The loss of sequences whose labels have no times (connectionist temporal classification, Graves et al. 2006): minus the
// log probability of all ways to spread the labels over the steps, with blanks between them. It is a scan over the steps,
// with the log probability of being, after each step, at each place of the path: blank, label, blank, label ... blank.

import { asTensor, type TensorLike } from '../apply.js';
import { checkInteger } from '../check.js';
import { scan } from '../control.js';
import { ShapeError, shapeText } from '../errors.js';
import { arange, concat, exp, full, log, logicalAnd, logSoftmax, maximum, pad, permuteDims, stopGradient, sum, takeAlongAxis, where } from '../functions.gen.js';
import { reduced, type LossOptions } from './reduction.js';
import { readOptions } from '../options.js';
import { tidy } from '../scope.js';
import type { Tensor } from '../tensor.js';

export interface CtcOptions extends LossOptions {
  /** The class that stands for no label. Default 0. */
  blank?: number;
  /** Number of steps of each sequence, (n); default: all. */
  inputLengths?: TensorLike;
  /** Number of labels of each sequence, (n); default: all. */
  labelLengths?: TensorLike;
  /** Whether the loss of a sequence that is too short for its labels is 0, not Infinity. Default false. */
  zeroInfinity?: boolean;
}

/** The logarithm of an impossible event's probability: finite, so that the difference of two of them is no NaN. */
const NEVER = -1e30;

/** The logarithm of the sum of e^x over a list. */
function logSum(list: readonly Tensor[]): Tensor {
  const most = stopGradient(list.reduce((a, b) => maximum(a, b)));
  return log(list.map((x) => exp(x.sub(most))).reduce((a, b) => a.add(b))).add(most);
}

/** x moved by `by` places along the last axis, with value in the places in front. */
const moved = (x: Tensor, by: number, value: number): Tensor =>
  pad(x, [[0, 0], [by, 0]], { value }).slice([0, 0], [-1, x.shape[1]!]);

/** Labels (n, count) with a blank before, between and after them: (n, 2 count + 1). */
function withBlanks(labels: Tensor, blank: number): Tensor {
  const [n, count] = labels.shape as readonly [number, number];
  const blanks = full([n, count, 1], blank, { dtype: 'int32' });
  const pairs = concat([blanks, labels.reshape([n, count, 1])], { axis: 2 }).reshape([n, 2 * count]);
  return concat([pairs, full([n, 1], blank, { dtype: 'int32' })], { axis: 1 });
}

/**
 * The loss of each sequence: logits (n, steps, classes) and labels, whole numbers (n, count), of which a sequence may use
 * fewer. As in PyTorch the mean is that of losses divided by the numbers of labels. Logits may be log probabilities as
 * well.
 */
export function ctc(logits: TensorLike, labels: TensorLike, given?: CtcOptions): Tensor {
  const op = 'losses.ctc';
  const options = readOptions<CtcOptions>(op, given, { reduction: 'any', blank: 'integer', inputLengths: 'tensor', labelLengths: 'tensor', zeroInfinity: 'boolean' });
  return tidy(() => {
    const [x, own] = [asTensor(logits, op), asTensor(labels, op).astype('int32')];
    const [n, steps, classes] = x.shape as readonly [number, number, number];
    if (x.ndim !== 3 || own.ndim !== 2 || own.shape[0] !== n)
      throw new ShapeError(op, `needs logits (n, steps, classes) and labels (n, count): ${shapeText(x.shape)} and ${shapeText(own.shape)}`, { shapes: [x.shape, own.shape] });
    const blank = checkInteger(op, 'blank', options.blank ?? 0, 0, classes - 1);
    const lengths = (lengths: TensorLike | undefined, whole: number): Tensor => {
      if (lengths === undefined) return full([n, 1], whole, { dtype: 'int32' });
      const t = asTensor(lengths, op).astype('int32');
      if (String(t.shape) === String([n])) return t.reshape([n, 1]);
      throw new ShapeError(op, `lengths ${shapeText(t.shape)} of ${n} sequences`, { shapes: [t.shape] });
    };
    const [inputs, counts] = [lengths(options.inputLengths, steps), lengths(options.labelLengths, own.shape[1]!)];
    const path = withBlanks(own, blank);
    const places = path.shape[1]!;
    const place = arange(0, places, 1, { dtype: 'int32' });
    const skips = logicalAnd(path.notEqual(blank), path.notEqual(moved(path, 2, blank)));
    const indices = path.reshape([n, 1, places]).broadcastTo([n, steps, places]);
    const seen = permuteDims(takeAlongAxis(logSoftmax(x), indices), [1, 0, 2]);
    const start = where(place.equal(0), full([n, places], 0, { dtype: x.dtype }), NEVER);
    const [end] = scan(
      (before: Tensor, [now, t]: Tensor[]) => {
        const next = logSum([before, moved(before, 1, NEVER), where(skips, moved(before, 2, NEVER), NEVER)]).add(now!);
        return [where(t!.less(inputs), next, before), null];
      },
      start,
      [seen, arange(0, steps, 1, { dtype: 'int32' })],
    );
    const last = counts.mul(2);
    const isEnd = logicalAnd(place.lessEqual(last), place.greaterEqual(last.sub(1)));
    const ends = where(isEnd, end, NEVER);
    const most = stopGradient(ends.max({ axis: 1, keepdims: true }));
    const losses = log(sum(exp(ends.sub(most)), { axis: 1 })).add(most.reshape([n])).neg();
    const made = where(losses.greater(-NEVER / 2), options.zeroInfinity ? 0 : Infinity, losses);
    if (options.reduction !== undefined && options.reduction !== 'mean') return reduced(op, made, options.reduction);
    return reduced(op, made.div(maximum(counts.reshape([n]), 1).astype(x.dtype)));
  });
}
