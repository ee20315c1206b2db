// Reduces the losses of all rows or elements.

import { asTensor, type TensorLike } from '../apply.js';
import { checkChoice } from '../check.js';
import { ShapeError, shapeText } from '../errors.js';
import { sum } from '../functions.gen.js';
import type { OptionSchema } from '../options.js';
import type { Tensor } from '../tensor.js';

/** Returns the mean of all losses, their sum, or each loss. */
export type Reduction = 'mean' | 'sum' | 'none';

export interface LossOptions {
  /** What is returned of the losses. Default 'mean'. */
  reduction?: Reduction;
}

export const LOSS: OptionSchema<LossOptions> = { reduction: 'any' };

const REDUCTIONS = ['mean', 'sum', 'none'];

/** Reduces losses as the option says; weight: divisor of the mean instead of their number. */
export function reduced(op: string, losses: Tensor, reduction: Reduction = 'mean', weight?: Tensor): Tensor {
  if (checkChoice(op, 'reduction', reduction, REDUCTIONS) === 2) return losses;
  const total = sum(losses);
  if (reduction === 'sum') return total;
  return total.div(weight ?? losses.size);
}

/** Both as tensors of one shape. */
export function inOneShape(op: string, predictions: TensorLike, targets: TensorLike): [Tensor, Tensor] {
  const [p, t] = [asTensor(predictions, op), asTensor(targets, op)];
  if (String(p.shape) === String(t.shape)) return [p, t];
  throw new ShapeError(op, `predictions and targets differ in shape: ${shapeText(p.shape)} and ${shapeText(t.shape)}`, { shapes: [p.shape, t.shape] });
}
