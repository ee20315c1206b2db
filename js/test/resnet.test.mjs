// A whole network with batch norm, strides and shortcuts: losses of steps and running statistics are PyTorch's
// (tests/golden/layer_cases.py wrote them).
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { resnet8 } from '../../bench/resnet.mjs';
import * as sn from '../dist/index.js';
import { assertClose } from './support.mjs';

await sn.init();
const golden = JSON.parse(readFileSync(new URL('../../tests/golden/layers.json', import.meta.url), 'utf8')).resnet;

const sines = (seed, shape, dtype) =>
  sn.tensor(Float64Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i * 0.7 + seed) * 0.6), { shape, dtype: 'float64' }).astype(dtype);

/** Losses of training steps, and the running statistics of the last shortcut. */
const train = (dtype) => {
  const net = resnet8(sn);
  const made = net.init(sn.random.key(0));
  let weights = 0;
  const params = sn.tree.map((p) => (p.ndim > 1 ? sines(weights++, p.shape, dtype).div(8) : p.astype(dtype)), made.params);
  const step = sn.trainStep((p, x, y, { state }) => {
    const [logits, next] = net.apply(p, x, { state, train: true });
    return [sn.softmaxCrossEntropy(logits, y).mean(), { state: next }];
  }, sn.optim.sgd({ lr: 1 / 256, momentum: 0.9 }));
  let state = step.init(params, { state: sn.tree.map((t) => t.astype(dtype), made.state) });
  const labels = sn.tensor([0, 3, 6, 9], { dtype: 'int32' });
  const losses = golden.losses.map((_, i) => {
    const result = step(state, sines(i, [4, 8, 8, 3], dtype), labels);
    state = result.state;
    return result.loss.item();
  });
  const [, [, last]] = step.state(state)[5];
  return { losses: sn.tensor(losses, { dtype: 'float64' }), ...last };
};

test('ResNet-8 trains as in PyTorch, in float64 and in float32', () => {
  for (const [dtype, tolerance] of [['float64', 1e-9], ['float32', 1e-3]]) {
    const { losses, mean, variance } = train(dtype);
    assertClose(losses, golden.losses, tolerance);
    assertClose(mean, golden.mean, tolerance);
    assertClose(variance, golden.variance, tolerance);
  }
});
