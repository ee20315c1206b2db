// A physics-informed net: it never sees the solution, only the equation  u'' = f  and that u is 0 at both ends. Its loss
// is made of its own second derivative, so training takes a third one.

import * as sn from 'sinter';
import type { Lesson, Program } from 'playground';

const { nn, optim } = sn;

export const settings = { sizes: [24, 24], learningRate: 0.005, seed: 0 };
export const labels = { sizes: 'Hidden sizes' };

const solution = (x: sn.Tensor) => sn.sin(x.mul(Math.PI)).add(sn.sin(x.mul(2 * Math.PI)).mul(0.5));
const force = (x: sn.Tensor) =>
  sn.sin(x.mul(Math.PI)).add(sn.sin(x.mul(2 * Math.PI)).mul(2)).mul(-Math.PI * Math.PI);

export default ({ sizes, learningRate }: typeof settings): Program => {
  const widths = [1, ...sizes];
  const net = nn.sequential(
    ...sizes.flatMap((size, i) => [nn.linear(widths[i], size), nn.tanh()]),
    nn.linear(widths[sizes.length], 1),
  );
  // 0 at -1 and at 1, whatever the network says.
  const u = (params: any, x: sn.Tensor) =>
    net.apply(params, sn.expandDims(x, 1)).reshape([x.size]).mul(sn.sub(1, x.square()));
  const slope = (params: any) => sn.grad((x: sn.Tensor) => u(params, x).sum());
  const bend = (params: any) => sn.grad((x: sn.Tensor) => slope(params)(x).sum());

  const places = sn.linspace(-1, 1, 64);
  const fine = sn.linspace(-1, 1, 201);
  return {
    about: `A network ${[...widths, 1].join(' – ')} that has to bend as the equation says`,
    model: net,
    loss: (params, x) => bend(params)(x).sub(force(x)).square().mean().div(100),
    data: () => [places],
    optimizer: optim.adam({ lr: learningRate }),
    pace: 60,
    metrics: { error: (params) => sn.max(sn.abs(u(params, fine).sub(solution(fine)))) },
    views: [
      {
        kind: 'curves',
        title: 'u(x), from -1 to 1',
        x: fine,
        lines: { learnt: (params) => u(params, fine), solution: solution(fine) },
      },
    ],
  };
};

export const lesson: Lesson = [
  {
    text: 'The network is a function u of x. Nobody tells it the values of u: the loss says how far its second derivative is from what the equation asks for. sn.grad of sn.grad gives that derivative, and training goes through it once more.',
    see: 'Press Start: the line comes within 0.05 of the solution everywhere.',
    check: ({ error = 1 }) => error < 0.05,
  },
  {
    text: 'The Compiler tab shows what became of the three derivatives: one program of a few kernels.',
    see: 'The error falls below 0.02.',
    check: ({ error = 1 }) => error < 0.02,
  },
];
