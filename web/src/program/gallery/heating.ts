// Water from a tank warms the floor of a building. How has it to be built for the floor to have the temperature that is
// asked for? The gradient goes through the whole simulation, back to pipes, floor and tank.

import * as sn from 'sinter';
import type { Lesson, Program } from 'playground';

const { optim } = sn;
const STEPS = 40;
const dt = 0.05;
/** Degrees that the floor is to have at the end. */
const WANTED = 36;
const tube = { diameter: 0.019, resistivity: 2.43 };
const slab = { area: 100, density: 2242.58, depth: 0.101 };
const tank = { volume: 0.0757082, Cp: 4180, density: 1000 };
const water = { flow: 0.0006309, Cp: 4180, density: 1000 };

/** As it is built first: metres between the pipes, metres of their wall, heat that the floor takes, degrees of the tank. */
const FIRST = { spacing: 0.50292, wall: 0.001588, capacity: 0.2, heat: 70 };
const NAMES = ['spacing', 'wall', 'capacity', 'heat'] as const;

export const settings = { learningRate: 0.02, seed: 0 };

type House = Record<(typeof NAMES)[number], sn.Tensor>;

export default ({ learningRate }: typeof settings): Program => {
  /** What is learnt is how many times as much of each there is, as a power: so all stay above 0. */
  const built = (powers: House): House =>
    Object.fromEntries(NAMES.map((name) => [name, powers[name].exp().mul(FIRST[name])])) as House;

  /** Degrees of floor, water and tank after each step: (STEPS, 3). */
  function simulate(powers: House) {
    const { spacing, wall, capacity, heat } = built(powers);
    const surface = sn.div(slab.area, spacing).mul(Math.PI * tube.diameter);
    const resistance = wall.mul(10 * tube.resistivity).div(surface);
    const warmed = (degrees: sn.Tensor, power: sn.Tensor) =>
      degrees.add(power.mul(dt / water.Cp / (water.flow * dt * water.density)));
    const step = ([floor, flow, source]: readonly sn.Tensor[]) => {
      const gain = source.sub(flow).mul(water.flow * water.density * water.Cp);
      const left = source.add(gain.mul(dt / tank.Cp / (tank.volume * tank.density)));
      const load = floor.sub(warmed(flow, gain)).div(resistance);
      const now = [
        floor.sub(load.mul(dt).div(capacity).div(slab.area * slab.depth * slab.density)),
        warmed(warmed(flow, gain), load),
        left,
      ] as const;
      return [now, sn.stack([...now])] as const;
    };
    const [, degrees] = sn.scan(step as any, [sn.tensor(33.3), sn.tensor(60), heat] as any, null, { length: STEPS });
    return degrees as sn.Tensor;
  }
  const line = (part: number) => (powers: House) => simulate(powers).slice([0, part], [STEPS, 1]).reshape([STEPS]);
  const miss = (powers: House) => line(0)(powers).slice([STEPS - 1], [1]).sum().sub(WANTED);

  return {
    about: `Four numbers of a building, and ${STEPS} steps of its heating`,
    model: () => Object.fromEntries(NAMES.map((name) => [name, sn.zeros([])])) as House,
    loss: (powers) => miss(powers).square(),
    data: () => [],
    optimizer: optim.adam({ lr: learningRate }),
    pace: 30,
    metrics: {
      miss: (powers) => sn.abs(miss(powers)),
      spacing: (powers) => built(powers).spacing,
      tank: (powers) => built(powers).heat,
    },
    views: [
      {
        kind: 'curves',
        title: 'Degrees of the floor over time, and what is wanted',
        x: sn.linspace(dt, STEPS * dt, STEPS),
        lines: { floor: line(0), wanted: sn.full([STEPS], WANTED) },
      },
    ],
  };
};

export const lesson: Lesson = [
  {
    text: 'A program that computes a building, as one writes it: water, tank and floor, step by step. What is learnt are four numbers of it. Nobody wrote how the temperature depends on them: the gradient of the loop says it.',
    see: 'Press Start: the floor comes within 0.05 degrees of what is wanted.',
    check: ({ miss = 9 }) => miss < 0.05,
  },
  {
    text: 'Ask for another temperature, or let fewer numbers be learnt. In the Compiler tab the loop and the one backwards through it are two nodes, with what a round does inside.',
  },
];
