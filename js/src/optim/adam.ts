// Optimizers that keep moments of the gradients: Adam (Kingma and Ba 2015), and AdamW, whose weight decay is separate from
// the gradient (Loshchilov and Hutter 2019).

import { expm1, mul, neg, sqrt, square } from '../functions.gen.js';
import type { OptionSchema } from '../options.js';
import { checkShares, readRule, optimizerOf, type UpdateOptions } from './rule.js';
import type { Optimizer } from './optimizer.js';

export interface AdamOptions extends UpdateOptions {
  /** Decay of the mean of the gradients. Default 0.9. */
  beta1?: number;
  /** Decay of the mean of the squared gradients. Default 0.999. */
  beta2?: number;
  /** Added to the root in the divisor. Default 1e-8. */
  eps?: number;
}

const OWN: OptionSchema<Omit<AdamOptions, keyof UpdateOptions>> = { beta1: 'number', beta2: 'number', eps: 'number' };

function moments(op: string, given: AdamOptions | undefined, isDecoupled: boolean, decay: number): Optimizer {
  const { lr = 1e-3, weightDecay = decay, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, ...options } = readRule(op, given, OWN);
  checkShares(op, { beta1, beta2 });
  return optimizerOf(op, { ...options, lr, weightDecay }, {
    slots: ['mean', 'square'],
    isDecoupled,
    formula: (steps) => {
      // 1 - beta^steps. As a difference in float32 it would have lost five of seven digits in the first steps.
      const risen = (beta: number) => neg(expm1(mul(steps, Math.log(beta))));
      const [meanScale, squareScale] = [risen(beta1), risen(beta2)];
      return (g, slots) => {
        const mean = slots.mean.mul(beta1).add(g.mul(1 - beta1));
        const squares = slots.square.mul(beta2).add(square(g).mul(1 - beta2));
        const step = mean.div(meanScale).div(sqrt(squares.div(squareScale)).add(eps));
        return { step, mean, square: squares };
      };
    },
  });
}

/** Adam: p = p - lr * mean / (sqrt(variance) + eps), both corrected for their start at 0. lr is 1e-3 by default; weight
 *  decay is added to the gradient. */
export const adam = (options?: AdamOptions): Optimizer => moments('optim.adam', options, false, 0);

/** AdamW: Adam with a decoupled weight decay, 0.01 by default: p = p - lr * (weightDecay * p + mean / (sqrt(variance) +
 *  eps)). */
export const adamw = (options?: AdamOptions): Optimizer => moments('optim.adamw', options, true, 0.01);
