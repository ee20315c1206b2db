// A diffusion model: points of a ring drown in noise, and a network learns to say what of them is noise. Taking that away
// step by step makes a ring out of nothing but noise.

import * as sn from 'sinter';
import type { Lesson, Program } from 'playground';

const { nn, optim, random } = sn;
const RADIUS = 0.6;
const STEPS = 24;

export const settings = { sizes: [64, 64], batch: 256, learningRate: 0.003, seed: 0 };
export const labels = { sizes: 'Hidden sizes' };

/** How much of a point is left at times (n, 1) from 0 to 1; the rest is noise. */
const left = (time: sn.Tensor) => sn.cos(time.mul(Math.PI / 2).mul(0.98));
const noisy = (time: sn.Tensor) => sn.sqrt(sn.sub(1, left(time).square()));

export default ({ sizes, batch, learningRate }: typeof settings): Program => {
  // A place and waves of its time -> the noise in it.
  const widths = [6, ...sizes];
  const model = nn.sequential(
    ...sizes.flatMap((size, i) => [nn.linear(widths[i], size), nn.silu()]),
    nn.linear(widths[sizes.length], 2),
  );
  const noiseIn = (params: any, place: sn.Tensor, time: sn.Tensor) => {
    const waves = [time, time.square(), sn.sin(time.mul(Math.PI)), sn.cos(time.mul(Math.PI))];
    return model.apply(params, sn.concat([place, ...waves], { axis: 1 }));
  };

  const angle = random.uniform(random.key(1), [2048, 1], { maxval: 2 * Math.PI });
  const ring = sn.concat([sn.cos(angle), sn.sin(angle)], { axis: 1 }).mul(RADIUS / 0.5);
  const start = random.normal(random.key(2), [400, 2]);

  /** From noise at time 1 back to points at time 0. */
  function points(params: any) {
    const back = ([place]: readonly [sn.Tensor], now: sn.Tensor) => {
      const time = sn.broadcastTo(now, [400, 1]);
      const before = time.sub(1 / STEPS);
      const noise = noiseIn(params, place, time);
      const clean = place.sub(noise.mul(noisy(time))).div(left(time));
      return [[clean.mul(left(before)).add(noise.mul(noisy(before)))], null] as const;
    };
    const [[place]] = sn.scan(back, [start] as const, sn.linspace(1, 1 / STEPS, STEPS));
    return place.mul(0.5);
  }

  return {
    about: `A network ${[...widths, 2].join(' – ')}, asked ${STEPS} times for each point`,
    model,
    loss: (params, clean, { key }) => {
      const [first, second] = random.splitKeys(key);
      const time = random.uniform(first, [batch, 1]);
      const noise = random.normal(second, [batch, 2]);
      const place = clean.mul(left(time)).add(noise.mul(noisy(time)));
      return noiseIn(params, place, time).sub(noise).square().mean();
    },
    data: (step) => {
      const begin = (step * batch) % (2048 - batch);
      return [sn.slice(ring, [begin, 0], [batch, 2])];
    },
    optimizer: optim.adam({ lr: learningRate }),
    pace: 200,
    metrics: {
      'off the ring': (params) => sn.abs(sn.norm(points(params), { axis: 1 }).sub(RADIUS)).mean(),
    },
    views: [{ kind: 'plane', title: 'Made of noise', points }],
  };
};

export const lesson: Lesson = [
  {
    text: 'In training, a point of a ring is mixed with noise, more or less of it, and the network has to say which noise. It never gets better than guessing where little of the point is left: the loss does not fall to 0.',
    see: 'Press Start: points that begin as noise gather on a ring, less than 0.08 off it.',
    check: ({ ['off the ring']: off = 1 }) => off < 0.08,
  },
  {
    text: 'The points are made by asking the network 24 times, in a loop inside of one compiled program. Set STEPS to 4 and see what is lost.',
  },
];
