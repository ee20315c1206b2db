// The garbage collector is the net for a training loop that disposes of nothing, as long as it awaits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertThrows } from './support.mjs';

const MIB = 2 ** 20;
const BATCH = [128, 784];
await sn.init({ maxMemory: 64 * MIB });

const { nn, optim, random } = sn;
const inputs = new Float32Array(BATCH[0] * BATCH[1]).fill(0.1);
const targets = new Float32Array(BATCH[0] * 10).fill(0.5);

/** A step per batch of its own, 400 kB each, and between two of them what is given. */
const train = async (steps, between) => {
  const net = nn.linear(784, 10);
  const step = sn.trainStep((p, x, y) => net.apply(p, x).sub(y).square().mean(), optim.sgd({ lr: 0.01 }));
  let state = step.init(net.init(random.key(0)));
  for (let i = 0; i < steps; i++) {
    const result = step(state, sn.tensor(inputs, { shape: BATCH }), sn.tensor(targets, { shape: [BATCH[0], 10] }));
    state = result.state;
    await between(i, result.loss);
  }
  step.dispose();
};

// The batches take 600 MB and 240 MB: to end without an error is to be collected.

test('a loop that awaits its losses', () => train(1500, (_, loss) => loss.data()));

test('a loop that awaits something else now and then', () =>
  train(600, (i) => (i % 10 === 0 ? new Promise((resolve) => setTimeout(resolve)) : undefined)));

test('garbage is collected before data() runs out of memory', async () => {
  for (let i = 0; i < 20; i++) {
    const [last] = await sn.ones([6 * MIB]).mul(i + 3).data();
    assert.equal(last, i + 3);
  }
});

test('a loop that never awaits ends in an error that names what holds the memory, and what to do', () => {
  const batches = () => {
    for (;;) sn.tensor(inputs, { shape: BATCH });
  };
  assertThrows(batches, sn.OutOfMemoryError, {
    message: /out of memory: 401408 bytes more/,
    hint: /in use 6\d\.\d MB, .*limit 67\.1 MB; most is held by .*\d+ x float32 \(128, 784\) = .*dispose.*awaits/,
  });
});
