// A ball on a spring flies through the wind. How must it be let go to hit the mark? The gradient goes through the whole
// flight, back to the hand.

import * as sn from 'sinter';
import type { Lesson, Program } from 'playground';

const { optim } = sn;
const ROUNDS = 120;
const dt = 1 / ROUNDS;
const MARK = [0.75, -0.35];

export const settings = { learningRate: 0.05, seed: 0 };

type Vector = sn.Tensor;

export default ({ learningRate }: typeof settings): Program => {
  const hand = sn.tensor([-0.8, -0.6]);
  const mark = sn.tensor(MARK);
  const wind = sn.tensor([-0.6, 0]);

  /** Places (rounds, 2) of a ball let go with a velocity. */
  function flight(velocity: Vector) {
    const round = ([place, speed]: readonly [Vector, Vector]) => {
      const spring = place.mul(-2.5);
      const drag = speed.sub(wind).mul(-0.7);
      const next = speed.add(spring.add(drag).add(sn.tensor([0, -1.2])).mul(dt));
      const there = place.add(next.mul(dt));
      return [[there, next], there] as const;
    };
    const [, places] = sn.scan(round, [hand, velocity] as const, null, { length: ROUNDS });
    return places;
  }
  const miss = (velocity: Vector) => sn.norm(flight(velocity).slice([ROUNDS - 1, 0], [1, 2]).sub(mark));

  return {
    about: `A velocity, and ${ROUNDS} rounds of a simulation`,
    model: () => ({ velocity: sn.tensor([0.2, 2.5]) }),
    loss: ({ velocity }) => miss(velocity).square(),
    data: () => [],
    optimizer: optim.adam({ lr: learningRate }),
    pace: 30,
    metrics: { miss: ({ velocity }) => miss(velocity) },
    views: [
      {
        kind: 'plane',
        title: 'The flight, and the mark',
        points: ({ velocity }) => sn.concat([flight(velocity), sn.tile(mark.reshape([1, 2]), [40, 1])]),
        classes: sn.concat([sn.zeros([ROUNDS]), sn.ones([40])]),
      },
    ],
  };
};

export const lesson: Lesson = [
  {
    text: 'What is learnt here are two numbers: how fast the ball is let go, and where to. The simulation is a loop of 120 rounds; its gradient is another loop, backwards through them.',
    see: 'Press Start: the ball comes within 0.02 of the mark.',
    check: ({ miss = 1 }) => miss < 0.02,
  },
  {
    text: 'Put the mark elsewhere, or turn the wind: the program is yours to change. The Compiler tab shows both loops.',
  },
];
