// The module with one thread, forced by passing its URL: the same results, everything on the caller.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose } from './support.mjs';

const info = await sn.init({ wasm: new URL('../dist/sinter.wasm', import.meta.url), threads: 4 });

test('one thread, and the reason', () => {
  assert.equal(info.threads, 1);
  assert.match(info.reasons.join(), /no threads/);
});

test('ops, reads and gradients work', async () => {
  const x = sn.tensor([[1, 2], [3, 4]]);
  assert.deepEqual(await x.matmul(x).data(), Float32Array.of(7, 10, 15, 22));
  assert.deepEqual(x.sum(0).toArray(), [4, 6]);
  assertClose(sn.grad((t) => sn.square(t).sum())(x), [[2, 4], [6, 8]]);
});

test('memory grows as needed, and data stays in place', async () => {
  const first = sn.ones([1000]).mul(3);
  assert.equal(first.sum().item(), 3000);
  const large = sn.ones([30, 1_000_000]).mul(2);
  assert.equal((await large.data()).length, 30e6);
  large.dispose();
  assert.equal(first.toArray()[999], 3);
});

test('a training step', () => {
  const step = sn.trainStep(({ w }) => sn.square(w).sum(), sn.optim.adam({ lr: 0.1 }));
  let state = step.init({ w: sn.tensor([1, -1]) });
  for (let i = 0; i < 100; i++) ({ state } = step(state));
  assertClose(step.params(state).w, [0, 0], 0.05);
});

test('random numbers are the same bits', () => {
  assert.deepEqual(sn.random.bits(sn.random.key(0)).dataSync(), Int32Array.of(4070199207 | 0));
  assertClose(sn.random.normal(sn.random.key(42)), -0.028304616, 1e-9);
});
