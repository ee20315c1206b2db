// A loop that reads a tensor step by step: what its gradient costs grows with the steps, not with their square.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose } from './support.mjs';

await sn.init();
const { random } = sn;

const FEATURES = 5;

/** Ways to read step t of x (steps, features). */
const WAYS = {
  slice: (x, t) => x.slice([t, 0], [1, -1]).squeeze(0),
  split: (x, t) => x.split(x.shape[0])[t].squeeze(0),
  at: (x, t) => x.at(t).get(),
  range: (x, t) => x.at({ begin: t, end: t + 1 }).get().reshape([FEATURES]),
  take: (x, t) => x.take(t),
  second: (x, t) => x.transpose().slice([0, t], [-1, 1]).squeeze(1),
  nested: (x, t) => (t < 3 ? x.slice([0, 0], [3, -1]).take(t) : x.slice([3, 0], [-1, -1]).take(t - 3)),
};

const loss = (x, w, read) => {
  let h = sn.zeros([FEATURES]);
  for (let t = 0; t < x.shape[0]; t++) h = read(x, t).add(h.mul(w)).tanh();
  return h.sum();
};

test('all ways to read a step have the same gradient', () => {
  const x = random.normal(random.key(1), [7, FEATURES]), w = random.normal(random.key(2), [FEATURES]);
  const gradient = (read) => sn.grad((x) => loss(x, w, read))(x).toArray();
  // a step's own gradient, taken with all steps as tensors of their own
  const apart = sn.grad((...steps) => loss({ shape: [7], steps }, w, (all, t) => all.steps[t]), { argnums: [0, 1, 2, 3, 4, 5, 6] });
  const expected = apart(...x.split(7).map((step) => step.squeeze(0))).map((step) => step.toArray());
  for (const [name, read] of Object.entries(WAYS)) assertClose(gradient(read), expected);
});

test('kernels and memory grow with the steps', () => {
  const cost = (steps, read) => {
    const { kernels, memory } = sn.inspect((x, w) => sn.grad((x) => loss(x, w, read))(x))(
      sn.ones([steps, FEATURES]), sn.ones([FEATURES]));
    return { kernels: kernels.length, bytes: kernels.reduce((sum, { bytes }) => sum + bytes, 0), naive: memory.naiveBytes };
  };
  for (const [name, read] of Object.entries(WAYS)) {
    const few = cost(20, read), many = cost(40, read);
    for (const what of Object.keys(few)) {
      assert.ok(many[what] < 2.2 * few[what], `${name}: ${what} ${few[what]} of 20 steps, ${many[what]} of 40`);
    }
  }
});

test('signs of zero stay what a step gives', () => {
  const gradient = sn.grad((x) => sn.concat([x.take(1), x.take(0)]).mul([-0, 0, 3, -0]).sum())(sn.ones([2, 2]));
  assert.deepEqual([...gradient.dataSync()], [3, -0, -0, 0]);
});
