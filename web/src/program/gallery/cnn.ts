// Reads digits by convolutions. Batch norm learns by the statistics of each batch and answers by their running means;
// dropout hides a quarter of what the scores are made of, in training alone. Pooling comes before batch norm, which
// then has a quarter of the numbers to go through.

import * as sn from 'sinter';
import { digits, type Lesson, type Program } from 'playground';

const { losses, nn, optim } = sn;

export const settings = { sizes: [16, 32], batch: 64, learningRate: 0.001, seed: 0 };
export const labels = { sizes: 'Channels' };

export default async ({ sizes, batch, learningRate, seed }: typeof settings): Promise<Program> => {
  if (sizes.length < 1 || sizes.length > 4 || sizes.some((size) => size < 1 || size > 128))
    throw new RangeError('Channels: 1 to 4 layers of 1 to 128');

  // Images 28 x 28 x 1 -> scores of 10 digits.
  const block = (channels: number, i: number) =>
    nn.sequential(
      nn.conv2d(sizes[i - 1] ?? 1, channels, 3, { padding: 'same', bias: false }),
      nn.maxPool2d(2),
      nn.batchNorm(channels),
      nn.relu(),
    );
  const side = sizes.reduce((size) => Math.floor(size / 2), 28);
  const features = side * side * sizes[sizes.length - 1];
  const model = nn.sequential(
    nn.sequential(...sizes.map(block)),
    nn.sequential(nn.flatten(), nn.dropout(0.25), nn.linear(features, 10)),
  );

  const steps = sizes.map((channels) => `convolution 3×3 to ${channels} – pool – batch norm`);
  return {
    about: `A network 28×28 – ${steps.join(' – ')} – dropout – 10`,
    model,
    loss: (params, images, answers, { state, key }) => {
      const [scores, next] = model.apply(params, images, { state, key, train: true });
      return [losses.softmaxCrossEntropy(scores, answers), { state: next }];
    },
    data: await digits({ batch, seed, shape: [28, 28, 1] }),
    optimizer: optim.adam({ lr: learningRate }),
  };
};

export const lesson: Lesson = [
  {
    text: 'A convolution looks at every place of an image with the same few weights: this network has fewer of them than the dense one, and sees more.',
    see: 'Press Start: after some hundred steps more than 95 % of the test digits are read.',
    check: ({ accuracy = 0 }) => accuracy > 0.95,
  },
  {
    text: 'Dropout hides a quarter of the features in each step of training, and none in the test.',
    see: 'More than 97.5 % are read.',
    check: ({ accuracy = 0 }) => accuracy > 0.975,
  },
];
