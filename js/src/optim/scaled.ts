// Optimizers that divide a gradient by the size of those before it: Adagrad (Duchi et al. 2011) and RMSprop (Tieleman and
// Hinton 2012); and Lion, which keeps only the sign of a step (Chen et al. 2023).

import { sign, sqrt, square } from '../functions.gen.js';
import type { Optimizer } from './optimizer.js';
import { checkShares, readRule, optimizerOf, type UpdateOptions } from './rule.js';

export interface RmspropOptions extends UpdateOptions {
  /** Decay of the mean of the squares of the gradients. Default 0.99. */
  decay?: number;
  /** Added to the root in the divisor. Default 1e-8. */
  eps?: number;
}

/** p = p - lr * g / (sqrt(mean of squares) + eps), as in PyTorch; lr is 0.01 by default. */
export function rmsprop(given?: RmspropOptions): Optimizer {
  const { lr = 1e-2, decay = 0.99, eps = 1e-8, ...options } = readRule('optim.rmsprop', given, { decay: 'number', eps: 'number' });
  checkShares('optim.rmsprop', { decay });
  return optimizerOf('optim.rmsprop', { ...options, lr }, {
    slots: ['square'],
    formula: () => (g, slots) => {
      const squares = slots.square.mul(decay).add(square(g).mul(1 - decay));
      return { step: g.div(sqrt(squares).add(eps)), square: squares };
    },
  });
}

export interface AdagradOptions extends UpdateOptions {
  /** Added to the root in the divisor. Default 1e-10. */
  eps?: number;
}

/** p = p - lr * g / (sqrt(sum of squares) + eps); lr is 0.01 by default. */
export function adagrad(given?: AdagradOptions): Optimizer {
  const { lr = 1e-2, eps = 1e-10, ...options } = readRule('optim.adagrad', given, { eps: 'number' });
  return optimizerOf('optim.adagrad', { ...options, lr }, {
    slots: ['square'],
    formula: () => (g, slots) => {
      const squares = slots.square.add(square(g));
      return { step: g.div(sqrt(squares).add(eps)), square: squares };
    },
  });
}

export interface LionOptions extends UpdateOptions {
  /** Weight of the mean in a step. Default 0.9. */
  beta1?: number;
  /** Decay of the mean. Default 0.99. */
  beta2?: number;
}

/** p = p - lr * (weightDecay * p + sign(beta1 * mean + (1 - beta1) * g)); lr is 1e-4 by default. */
export function lion(given?: LionOptions): Optimizer {
  const { lr = 1e-4, beta1 = 0.9, beta2 = 0.99, ...options } = readRule('optim.lion', given, { beta1: 'number', beta2: 'number' });
  checkShares('optim.lion', { beta1, beta2 });
  return optimizerOf('optim.lion', { ...options, lr }, {
    slots: ['mean'],
    isDecoupled: true,
    formula: () => (g, { mean }) => ({
      step: sign(mean.mul(beta1).add(g.mul(1 - beta1))),
      mean: mean.mul(beta2).add(g.mul(1 - beta2)),
    }),
  });
}
