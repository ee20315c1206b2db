// Ten thousand steps with all of fit on: the bytes in use and the tensors stay what they are, and so does the heap of
// JavaScript. In a file of its own, since what other tests leave to the collector would be counted.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as sn from '../dist/index.js';
import { collectGarbage } from './support.mjs';

before(() => sn.init());

test('10,000 steps', async (t) => {
  const { data, nn, optim, random } = sn;
  const net = nn.sequential(nn.linear(4, 8), nn.batchNorm(8), nn.gelu(), nn.dropout(0.1), nn.linear(8, 1));
  const loss = (params, a, b, { state, key }) => {
    const [y, next] = net.apply(params, a, { state, key, train: true });
    return [sn.losses.mse(y, b), { state: next, aux: { largest: y.max() } }];
  };
  const lr = optim.schedules.warmupCosine({ lr: 0.01, warmup: 100, steps: 10_000 });
  const step = sn.trainStep(loss, optim.ema(optim.adamw({ lr })), { accumulate: 2, clipNorm: 1, precision: 'float16' });
  const evaluate = sn.evalStep((params, a, b, { state }) => sn.losses.mse(net.apply(params, a, { state })[0], b));
  const x = random.normal(random.key(1), [1000, 4]);
  const y = x.sum({ axis: 1, keepdims: true });
  const set = data.fromArrays([x, y]).shuffle(random.key(7)).batch(10).map(([a, b]) => [a.mul(2).div(2), b]).prefetch(2);
  const rows = data.from(() => Array.from({ length: 20 }, (_, i) => [Float32Array.of(i, 1, 2, 3), i])).batch(10)
    .map(([a, b]) => [a, b.reshape([10, 1])]);
  const counts = [];
  const begun = net.init(random.key(3));
  await sn.fit(step, step.init(begun.params, { state: begun.state, key: random.key(4) }), set, {
    epochs: 100,
    validation: { data: rows, step: evaluate },
    earlyStopping: { patience: 1000 },
    checkpoint: { to: () => {}, every: 2000 },
    onStep: () => {},
    onEpoch: async ({ epoch }) => {
      if (epoch % 20 !== 19) return;
      await collectGarbage();
      counts.push([sn.memory().bytesInUse, sn.memory().tensors, process.memoryUsage().heapUsed]);
    },
  });
  t.diagnostic(counts.join('; '));
  const [bytes, tensors, heap] = [0, 1, 2].map((i) => counts.map((each) => each[i]));
  assert.equal(counts.length, 5);
  assert.equal(new Set(bytes.slice(1)).size, 1, String(bytes));
  assert.equal(new Set(tensors.slice(1)).size, 1, String(tensors));
  assert.ok(heap[4] - heap[1] < 1e6, String(heap));
});
