// Optimizer steps of ai.onnx.preview.training: each updates parameters by their gradients and states.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Node, Op } from '../plan.js';
import { made, type Value } from '../value.js';

type Update = (n: Node, rate: Tensor, times: Tensor, x: Tensor, g: Tensor, states: readonly Tensor[]) => Tensor[];

/** Inputs are the learning rate, the count of steps, then all parameters, all gradients, and all of each kind of state. */
const optimizer = (states: number, f: Update): Op => ({
  since: 1,
  run: (n, rate, times, ...lists) => {
    const count = lists.length / (states + 2);
    const at = (kind: number, i: number): Value => lists[kind * count + i]!;
    const results = Array.from({ length: count }, (_, i) => {
      const x = at(0, i).t;
      const g = sn.add(at(1, i).t, sn.mul(x, n.float('norm_coefficient')));
      return f(n, rate!.t, times!.t, x, g, Array.from({ length: states }, (_s, k) => at(k + 2, i).t));
    });
    return Array.from({ length: states + 1 }, (_, kind) => results.map((each, i) => made(at(0, i).type, each[kind]!))).flat();
  },
});

const adagrad = optimizer(1, (n, rate, times, x, g, [h]) => {
  const r = sn.div(rate, sn.add(sn.mul(times, n.float('decay_factor')), 1));
  const sum = sn.add(h!, sn.square(g));
  return [sn.sub(x, sn.div(sn.mul(r, g), sn.add(sn.sqrt(sum), n.float('epsilon')))), sum];
});

const adam = optimizer(2, (n, rate, times, x, g, [v, h]) => {
  const [alpha, beta] = [n.float('alpha', 0.9), n.float('beta', 0.999)];
  const first = sn.add(sn.mul(v!, alpha), sn.mul(g, 1 - alpha));
  const second = sn.add(sn.mul(h!, beta), sn.mul(sn.square(g), 1 - beta));
  const corrected = sn.div(sn.mul(rate, sn.sqrt(sn.sub(1, sn.pow(beta, times)))), sn.sub(1, sn.pow(alpha, times)));
  const r = sn.where(sn.greater(times, 0), corrected, rate);
  const next = sn.sub(x, sn.div(sn.mul(r, first), sn.add(sn.sqrt(second), n.float('epsilon'))));
  return [sn.mul(next, 1 - n.float('norm_coefficient_post')), first, second];
});

const momentum = optimizer(1, (n, rate, times, x, g, [v]) => {
  const [alpha, beta] = [n.float('alpha'), n.float('beta')];
  const share = sn.where(sn.greater(times, 0), beta, 1);
  const next = sn.add(sn.mul(v!, alpha), sn.mul(g, share));
  const step = n.text('mode') === 'nesterov' ? sn.add(g, sn.mul(next, alpha)) : next;
  return [sn.sub(x, sn.mul(rate, step)), next];
});

export const TRAINING: Readonly<Record<string, Op>> = {
  'ai.onnx.preview.training.Adagrad': adagrad,
  'ai.onnx.preview.training.Adam': adam,
  'ai.onnx.preview.training.Momentum': momentum,
};
