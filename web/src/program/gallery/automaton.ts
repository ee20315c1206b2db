// A neural cellular automaton: each cell sees its neighbours and changes by one small network, the same for all. Out of one
// cell a heart grows.

import * as sn from 'sinter';
import type { Lesson, Program } from 'playground';

const { nn, optim } = sn;
const SIDE = 20;
const CHANNELS = 8;

export const settings = { sizes: [32, 14], learningRate: 0.003, seed: 0 };
export const labels = { sizes: 'Hidden size, rounds' };

/** 1 within a heart, 0 outside. */
const heart = Array.from({ length: SIDE * SIDE }, (_, i) => {
  const x = ((i % SIDE) - SIDE / 2 + 0.5) / (SIDE / 2.9);
  const y = (SIDE / 2 + 0.5 - Math.floor(i / SIDE)) / (SIDE / 2.9);
  return (x * x + y * y - 1) ** 3 - x * x * y ** 3 < 0 ? 1 : 0;
});

export default ({ sizes: [width, rounds], learningRate }: typeof settings): Program => {
  const see = nn.conv2d(CHANNELS, width, 3, { padding: 'same' });
  const change = nn.linear(width, CHANNELS);

  const middle = Array.from({ length: SIDE * SIDE * CHANNELS }, (_, i) =>
    Math.floor(i / CHANNELS) === (SIDE / 2) * SIDE + SIDE / 2 ? 1 : 0);
  const seed = sn.tensor(middle).reshape([1, SIDE, SIDE, CHANNELS]);
  const target = sn.tensor(heart).reshape([SIDE, SIDE]);

  /** What has grown after some rounds, (SIDE, SIDE). */
  function grown(params: any, count: number) {
    const round = ([cells]: readonly [sn.Tensor]) => {
      const felt = sn.relu(see.apply(params.see, cells));
      return [[cells.add(change.apply(params.change, felt))], null] as const;
    };
    const [[cells]] = sn.scan(round, [seed] as const, null, { length: count });
    return cells.slice([0, 0, 0, 0], [1, SIDE, SIDE, 1]).reshape([SIDE, SIDE]);
  }

  return {
    about: `Cells of ${CHANNELS} numbers, ${rounds} rounds`,
    // In the beginning nothing changes.
    model: (key) => ({ see: see.init(key), change: { weight: sn.zeros([width, CHANNELS]), bias: sn.zeros([CHANNELS]) } }),
    loss: (params) => grown(params, rounds).sub(target).square().mean(),
    data: () => [],
    optimizer: optim.adam({ lr: learningRate }),
    pace: 60,
    metrics: {
      'right cells': (params) =>
        sn.equal(sn.greater(grown(params, rounds), 0.5), sn.greater(target, 0.5)).astype('float32').mean(),
    },
    views: [
      { kind: 'picture', title: 'In the end', image: (params) => grown(params, rounds) },
      { kind: 'picture', title: 'Half way', image: (params) => grown(params, Math.max(1, rounds >> 1)) },
    ],
  };
};

export const lesson: Lesson = [
  {
    text: 'No cell knows where it is. Each sees the eight around it and adds to its own numbers what one small network says; that is all that is learnt. Errors of the last round reach the first one through the whole loop.',
    see: 'Press Start: more than 95 % of the cells are as they should be.',
    check: ({ ['right cells']: right = 0 }) => right > 0.95,
  },
  {
    text: 'Ask for fewer rounds and see where a heart is out of reach: in each round, news travels by one cell.',
  },
];
