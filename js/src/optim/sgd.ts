import type { Optimizer, LearningRate } from './optimizer.js';
import { readRule, optimizerOf, type UpdateOptions } from './rule.js';

export interface SgdOptions extends UpdateOptions {
  lr: LearningRate;
  /** Share of the last step that the next one keeps. Default 0. */
  momentum?: number;
  /** Uses Nesterov's momentum: the gradient as if taken one step ahead. Default false. */
  nesterov?: boolean;
}

/** Stochastic gradient descent: v = momentum * v + g, p = p - lr * v; with nesterov p = p - lr * (g + momentum * v). */
export function sgd(given: SgdOptions): Optimizer {
  const { momentum = 0, nesterov = false, ...options } = readRule('optim.sgd', given, { momentum: 'number', nesterov: 'boolean' });
  if (momentum === 0) return optimizerOf('optim.sgd', options, { slots: [], formula: () => (g) => ({ step: g }) });
  return optimizerOf('optim.sgd', options, {
    slots: ['velocity'],
    formula: () => (g, slots) => {
      const velocity = slots.velocity.mul(momentum).add(g);
      return { step: nesterov ? g.add(velocity.mul(momentum)) : velocity, velocity };
    },
  });
}
