// Graphs as wide as data is long: 100,000 inputs of one op.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';

await sn.init({ maxMemory: 512 * 2 ** 20 });

const COUNT = 100_000;

test('a concat of 100,000 tensors, in 512 MB', () => {
  const whole = sn.tidy(() => sn.concat(Array.from({ length: COUNT }, (_, i) => sn.tensor([i, -i]))));
  const data = whole.dataSync();
  assert.equal(data.length, 2 * COUNT);
  for (let i = 0; i < COUNT; i++) {
    if (data[2 * i] !== i || data[2 * i + 1] !== -i) assert.fail(`pair ${i} is ${data[2 * i]}, ${data[2 * i + 1]}`);
  }
  whole.dispose();
});

test('a tree of sums over 30,000 leaves, in 512 MB', () => {
  const x = sn.ones([16]);
  const total = sn.tidy(() => {
    let level = Array.from({ length: 30_000 }, (_, i) => x.mul(i));
    while (level.length > 1) {
      level = Array.from({ length: Math.ceil(level.length / 2) }, (_, i) =>
        2 * i + 1 < level.length ? level[2 * i].add(level[2 * i + 1]) : level[2 * i]);
    }
    return level[0].max();
  });
  assert.ok(Math.abs(total.item() - (30_000 * 29_999) / 2) < 1e3);
});

test('the gradient of a concat of 1,000', () => {
  const parts = Array.from({ length: 1000 }, (_, i) => sn.tensor([i, 1]));
  const slopes = sn.grad((list) => sn.concat(list).square().sum())(parts);
  for (const i of [0, 1, 499, 999]) assert.deepEqual(slopes[i].toArray(), [2 * i, 2]);
});
