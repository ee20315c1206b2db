// A variational autoencoder: each digit becomes a place in a plane, and each place of the plane a digit.

import * as sn from 'sinter';
import { digits, type Lesson, type Program } from 'playground';

const { losses, nn, optim, random } = sn;
const SIDE = 11;

export const settings = { sizes: [128], batch: 128, learningRate: 0.002, seed: 0 };
export const labels = { sizes: 'Hidden size' };

export default async ({ sizes: [width], batch, learningRate, seed }: typeof settings): Promise<Program> => {
  // An image -> the mean and the logarithm of the variance of its place; a place -> an image.
  const encoder = nn.sequential(nn.linear(784, width), nn.relu(), nn.linear(width, 4));
  const decoder = nn.sequential(nn.linear(2, width), nn.relu(), nn.linear(width, width), nn.relu(), nn.linear(width, 784));

  // Places of a grid from -2 to 2, from the top left.
  const at = sn.linspace(-2, 2, SIDE);
  const places = sn.stack([sn.tile(at, SIDE), sn.repeat(sn.neg(at), SIDE)], { axis: 1 });

  return {
    about: `An autoencoder 784 – ${width} – 2 – ${width} – ${width} – 784`,
    model: (key) => {
      const [first, second] = random.splitKeys(key);
      return { encoder: encoder.init(first), decoder: decoder.init(second) };
    },
    loss: (params, images, _answers, { key }) => {
      const grey = images.mul(0.3081).add(0.1307);
      const [mean, logVariance] = sn.split(encoder.apply(params.encoder, images), 2, { axis: 1 });
      const place = mean.add(sn.exp(logVariance.mul(0.5)).mul(random.normal(key, [batch, 2])));
      const pixels = losses.binaryCrossEntropy(decoder.apply(params.decoder, place), grey).mul(784);
      const spread = sn.exp(logVariance).add(mean.square()).sub(1).sub(logVariance).mul(0.5);
      return pixels.add(sn.sum(spread, { axis: 1 }).mean());
    },
    data: await digits({ batch, seed }),
    optimizer: optim.adam({ lr: learningRate }),
    views: [
      {
        kind: 'picture',
        title: 'The plane, place by place',
        image: ({ decoder: params }) =>
          sn.sigmoid(decoder.apply(params, places))
            .reshape([SIDE, SIDE, 28, 28]).transpose([0, 2, 1, 3]).reshape([SIDE * 28, SIDE * 28]),
      },
    ],
  };
};

export const lesson: Lesson = [
  {
    text: 'Each digit has to pass through two numbers: a place in a plane, shaken a little on its way. What comes out should be what went in. So places close to each other must mean digits that look alike.',
    see: 'Press Start: the loss falls below 180, and digits appear in the plane.',
    check: ({ loss }) => loss < 180,
  },
  {
    text: 'In the end the ten digits share the plane, and between two of them lies what is half of each.',
    see: 'The loss falls below 168.',
    check: ({ loss }) => loss < 168,
  },
];
