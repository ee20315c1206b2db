// Reads digits by products with matrices.

import * as sn from 'sinter';
import { digits, type Lesson, type Program } from 'playground';

const { losses, nn, optim } = sn;

export const settings = { sizes: [256, 128], batch: 128, learningRate: 0.001, seed: 0 };
export const labels = { sizes: 'Hidden sizes' };

export default async ({ sizes, batch, learningRate, seed }: typeof settings): Promise<Program> => {
  if (sizes.length > 6 || sizes.some((size) => size < 1 || size > 2048))
    throw new RangeError('Hidden sizes: at most 6 layers of 1 to 2048');

  // Rows of 784 pixels -> scores of 10 digits.
  const widths = [784, ...sizes];
  const model = nn.sequential(
    ...sizes.flatMap((size, i) => [nn.linear(widths[i], size), nn.relu()]),
    nn.linear(widths[sizes.length], 10),
  );

  return {
    about: `A network ${[...widths, 10].join(' – ')}`,
    model,
    loss: (params, images, answers) =>
      losses.softmaxCrossEntropy(model.apply(params, images), answers),
    data: await digits({ batch, seed }),
    optimizer: optim.adam({ lr: learningRate }),
  };
};

export const lesson: Lesson = [
  {
    text: 'A network of three products with matrices sees 128 digits in each step, and moves its weights so that the right answers become likelier.',
    see: 'Press Start: the loss falls below 0.5.',
    check: ({ loss }) => loss < 0.5,
  },
  {
    text: 'The digits of the test have never been trained on.',
    see: 'More than 95 % of them are read.',
    check: ({ accuracy = 0 }) => accuracy > 0.95,
  },
  {
    text: 'Draw a digit yourself, make the learning rate ten times larger, or change a size in the program: everything follows. The Compiler tab takes the step apart.',
  },
];
