// Two spirals, each wound around the other.

import * as sn from 'sinter';
import type { Lesson, Program } from 'playground';

const { losses, nn, optim, random } = sn;
const TURNS = 1.5;

export const settings = { sizes: [32, 32], learningRate: 0.01, seed: 0 };
export const labels = { sizes: 'Hidden sizes' };

/** Points (2 n, 2) of two spirals with a little noise, and of which one each is. */
function spirals(seed: number, n: number) {
  const key = random.key(seed);
  const along = sn.linspace(0.05, 1, n);
  const angle = along.mul(2 * Math.PI * TURNS);
  const one = sn.stack([sn.cos(angle).mul(along), sn.sin(angle).mul(along)], { axis: 1 }).mul(0.92);
  const points = sn.concat([one, one.neg()]).add(random.normal(key, [2 * n, 2]).mul(0.02));
  return [points, sn.concat([sn.zeros([n, 1]), sn.ones([n, 1])])] as const;
}

export default ({ sizes, learningRate }: typeof settings): Program => {
  const widths = [2, ...sizes];
  const model = nn.sequential(
    ...sizes.flatMap((size, i) => [nn.linear(widths[i], size), nn.tanh()]),
    nn.linear(widths[sizes.length], 1),
  );
  const chance = (params: any, points: sn.Tensor) => sn.sigmoid(model.apply(params, points));
  const [points, classes] = spirals(1, 200);
  const [others, answers] = spirals(2, 200);

  return {
    about: `A network ${[...widths, 1].join(' – ')}`,
    model,
    loss: (params, x, y) => losses.binaryCrossEntropy(model.apply(params, x), y),
    data: () => [points, classes],
    optimizer: optim.adam({ lr: learningRate }),
    pace: 60,
    metrics: {
      accuracy: (params) =>
        sn.equal(sn.greater(chance(params, others), 0.5).astype('float32'), answers).astype('float32').mean(),
    },
    views: [{ kind: 'plane', title: 'Which spiral', values: chance, points, classes }],
  };
};

export const lesson: Lesson = [
  {
    text: 'Between two spirals the boundary has to wind itself, too. For a while the network finds only a half plane; then it bends, arm by arm.',
    see: 'Press Start: more than 98 % of the points between those that it learns from are right.',
    check: ({ accuracy = 0 }) => accuracy > 0.98,
  },
  {
    text: 'Is it the width or the depth? Try the sizes 8, or 8, 8, 8, 8; or put nn.relu() in the place of nn.tanh() in the program and look at the shape of the boundary.',
  },
];
