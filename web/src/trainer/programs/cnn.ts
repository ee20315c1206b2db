// Reads digits by convolutions. Batch norm learns by the statistics of each batch and answers by their running means;
// dropout hides a quarter of what the scores are made of, in training alone. Pooling comes before batch norm, which then has
// a quarter of the numbers to go through.

import * as sn from 'sinter';

const { nn, optim } = sn;

/** Images 28 x 28 x 1 -> scores of 10 digits; channels: of each convolution. */
export function network(channels: readonly number[]): sn.nn.AnyModule {
  const blocks = channels.flatMap((count, i) => [
    nn.conv2d(channels[i - 1] ?? 1, count, 3, { padding: 'same', bias: false }),
    nn.maxPool2d(2),
    nn.batchNorm(count),
    nn.relu(),
  ]);
  const side = channels.reduce((size) => Math.floor(size / 2), 28);
  const features = side * side * channels[channels.length - 1];
  return nn.sequential(...blocks, nn.flatten(), nn.dropout(0.25), nn.linear(features, 10));
}

/** Of each step. */
export const rate = (learningRate: number): sn.optim.LearningRate => learningRate;

export const optimizer = (learningRate: number): sn.optim.Optimizer => optim.adam({ lr: rate(learningRate) });
