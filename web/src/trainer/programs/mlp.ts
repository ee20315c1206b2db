// Reads digits by products with matrices.

import * as sn from 'sinter';

const { nn, optim } = sn;

/** Rows of 784 pixels -> scores of 10 digits; hidden: the widths between. */
export function network(hidden: readonly number[]): sn.nn.AnyModule {
  const widths = [784, ...hidden];
  const layers = hidden.flatMap((size, i) => [nn.linear(widths[i], size), nn.relu()]);
  return nn.sequential(...layers, nn.linear(widths[hidden.length], 10));
}

/** Of each step. */
export const rate = (learningRate: number): sn.optim.LearningRate => learningRate;

export const optimizer = (learningRate: number): sn.optim.Optimizer => optim.adam({ lr: rate(learningRate) });
