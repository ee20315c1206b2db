// Four corners of a plane, of which opposite ones belong together: no straight line parts them, four neurons do.

import * as sn from 'sinter';
import type { Lesson, Program } from 'playground';

const { losses, nn, optim, random } = sn;

export const settings = { sizes: [4], learningRate: 0.1, seed: 0 };
export const labels = { sizes: 'Neurons' };

/** Points (n, 2), and 1 for those of which both coordinates have the same sign. */
function corners(seed: number, n: number) {
  const points = random.uniform(random.key(seed), [n, 2], { minval: -1, maxval: 1 });
  const [x, y] = sn.split(points, 2, { axis: 1 });
  return [points, sn.greater(sn.mul(x, y), 0).astype('float32')] as const;
}

/** The middles of n x n squares, row by row from the top left. */
function squares(n: number) {
  const at = sn.linspace(-1 + 1 / n, 1 - 1 / n, n);
  const x = sn.tile(at, n);
  const y = sn.repeat(sn.neg(at), n);
  return sn.stack([x, y], { axis: 1 });
}

export default ({ sizes: [neurons], learningRate }: typeof settings): Program => {
  if (neurons < 1 || neurons > 32) throw new RangeError('Neurons: 1 to 32');
  const hidden = nn.linear(2, neurons);
  const model = nn.sequential(hidden, nn.tanh(), nn.linear(neurons, 1));
  const chance = (params: any, points: sn.Tensor) => sn.sigmoid(model.apply(params, points));

  const [points, classes] = corners(1, 400);
  const [others, answers] = corners(2, 400);
  const places = squares(24);

  return {
    about: `A network 2 – ${neurons} – 1`,
    model,
    loss: (params, x, y) => losses.binaryCrossEntropy(model.apply(params, x), y),
    data: () => [points, classes],
    optimizer: optim.adam({ lr: learningRate }),
    pace: 200,
    metrics: {
      accuracy: (params) =>
        sn.equal(sn.greater(chance(params, others), 0.5).astype('float32'), answers).astype('float32').mean(),
    },
    views: [
      { kind: 'plane', title: 'What belongs together', values: chance, points, classes },
      {
        kind: 'picture',
        title: 'Where each neuron is on',
        image: ([first]) => {
          const on = sn.tanh(hidden.apply(first, places)).add(1).div(2).reshape([24, 24, neurons]);
          const framed = sn.pad(on, [[1, 1], [1, 1], [0, 0]], { value: 0.5 });
          return framed.transpose([0, 2, 1]).reshape([26, 26 * neurons]);
        },
      },
    ],
  };
};

export const lesson: Lesson = [
  {
    text: 'Points of opposite corners belong together. One neuron parts the plane along a line, and no line does it: the network needs some of them, each with a line of its own, as the strip of pictures shows.',
    see: 'Press Start: the boundary bends until more than 92 % of other points lie on the right side.',
    check: ({ accuracy = 0 }) => accuracy > 0.92,
  },
  {
    text: 'Write 1 in place of 4 into the field Neurons, and watch it fail. With 2 it depends on where it begins: try other seeds.',
    see: 'Back with 4 neurons or more, the loss falls below 0.15.',
    check: ({ loss }) => loss < 0.15,
  },
];
