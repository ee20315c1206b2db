// jit and trainStep within a memory budget: the same bits in less memory, what is computed again and at
// what price, and what is said where a budget cannot be met.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const LAYERS = 16, WIDTH = 64, ROWS = 32;
const normal = (seed, shape) => sn.random.normal(sn.random.key(seed), shape).mul(0.1);
const params = Array.from({ length: LAYERS }, (_, l) => ({
  w1: normal(2 * l, [WIDTH, WIDTH]), b1: normal(100 + l, [WIDTH]),
  w2: normal(2 * l + 1, [WIDTH, WIDTH]), b2: normal(200 + l, [WIDTH]),
}));
const x = normal(999, [ROWS, WIDTH]);
const layer = (h, { w1, b1, w2, b2 }) => h.add(h.matmul(w1).add(b1).relu().matmul(w2).add(b2));
const loss = (all, input) => all.reduce(layer, input).square().mean();
const both = sn.valueAndGrad(loss);

const numbers = ([value, slopes]) =>
  [value, ...slopes.flatMap((p) => Object.values(p))].map((t) => [...new Uint32Array(Float32Array.from(t.dataSync()).buffer)]);

const arenaOf = (f, ...args) => {
  const seen = sn.inspect(f)(...args);
  seen.dispose();
  return seen.memory.arenaBytes;
};

test('half the memory has the same bits, from emitted code and from the VM', () => {
  const arena = arenaOf(both, params, x), expected = numbers(sn.jit(both)(params, x));
  for (const share of [0.9, 0.5, 0.3]) {
    for (const jit of [true, false]) {
      const within = sn.jit(both, { memoryBudget: share * arena, jit });
      assert.deepEqual(numbers(within(params, x)), expected);
      assert.deepEqual(numbers(within(params, x)), expected);
      within.dispose();
    }
  }
});

test('inspect shows what is computed again, and at what price', () => {
  const all = sn.inspect(both)(params, x), memoryBudget = all.memory.arenaBytes / 2;
  const seen = sn.inspect(both, { memoryBudget })(params, x);
  const again = seen.kernels.filter((k) => k.again !== null);
  const { budget } = seen.memory;
  assert.equal(all.memory.budget, null);
  assert.ok(all.kernels.every((k) => k.again === null));
  assert.ok(seen.memory.arenaBytes <= memoryBudget);
  assert.equal(budget.bytes, Math.floor(memoryBudget));
  assert.equal(budget.savedBytes, all.memory.arenaBytes - seen.memory.arenaBytes);
  assert.equal(budget.kernelsAgain, again.length);
  assert.equal(seen.kernels.length, all.kernels.length + again.length);
  assert.equal(budget.flopsAgain, again.reduce((sum, k) => sum + k.flops, 0));
  assert.equal(Math.round(seen.flops - all.flops), Math.round(budget.flopsAgain));
  for (const { id, again: first, name, flops } of again) {
    assert.ok(first < id);
    const of = seen.kernels[first];
    assert.deepEqual([of.again, of.name, of.flops], [null, name, flops]);
  }
  for (const part of [all, seen]) part.dispose();
});

test('a budget that is enough changes nothing', () => {
  const all = sn.inspect(both)(params, x);
  for (const memoryBudget of [all.memory.arenaBytes, 1e15, Infinity]) {
    const seen = sn.inspect(both, { memoryBudget })(params, x);
    assert.deepEqual(seen.memory.blocks, all.memory.blocks);
    assert.deepEqual([seen.memory.budget.savedBytes, seen.memory.budget.kernelsAgain], [0, 0]);
    seen.dispose();
  }
  all.dispose();
});

test('a budget that cannot be met says how far it came down, and nothing is lost', () => {
  const arena = arenaOf(both, params, x);
  const within = sn.jit(both, { memoryBudget: 1000 });
  const { tensors } = sn.memory();
  for (let i = 0; i < 2; i += 1) {
    assertThrows(() => within(params, x), sn.SinterError, {
      code: 'argument', op: 'compile', hint: 'raise the budget, or use smaller batches',
      message: new RegExp(`budget of 1000 bytes cannot be met: the arena came down from ${arena} bytes to \\d+ \\(`),
    });
  }
  assert.equal(within.cacheSize, 0);
  assert.equal(sn.memory().tensors, tensors);
});

test('a budget is a number of bytes', () => {
  for (const memoryBudget of [0, -1, NaN, '1000', null]) {
    for (const [op, call] of [
      ['jit', (options) => sn.jit(both, options)],
      ['inspect', (options) => sn.inspect(both, options)],
      ['trainStep', (options) => sn.trainStep(loss, sn.optim.sgd({ lr: 0.1 }), options)],
    ])
      assertThrows(() => call({ memoryBudget }), sn.SinterError, { code: 'argument', op, message: /option memoryBudget is/ });
  }
});

test('training steps within a budget go the same way', () => {
  const optimizer = sn.optim.adam({ lr: 0.01 });
  const plain = sn.trainStep(loss, optimizer);
  const within = sn.trainStep(loss, optimizer, { memoryBudget: arenaOf(both, params, x) / 2 });
  let [a, b] = [plain.init(params), within.init(params)];
  for (let i = 0; i < 4; i += 1) {
    const [ra, rb] = [plain(a, x), within(b, x)];
    [a, b] = [ra.state, rb.state];
    assert.equal(rb.loss.item(), ra.loss.item());
  }
  const weights = (state) => numbers([x, state.params]);
  assert.deepEqual(weights(b), weights(a));
});

test('loops run once, and what is around them again', () => {
  const f = sn.valueAndGrad((p, rows) => {
    const [, h] = sn.scan((c, row) => [c.add(row).tanh(), c], sn.zeros([WIDTH]), p.slice(0, 8).reduce(layer, rows));
    return p.slice(8).reduce(layer, h).square().mean();
  });
  const arena = arenaOf(f, params, x), within = sn.inspect(f, { memoryBudget: 0.6 * arena })(params, x);
  assert.ok(within.kernels.every((k) => k.again === null || !/scan/.test(k.name)));
  assert.ok(within.memory.budget.kernelsAgain > 0);
  within.dispose();
  assert.deepEqual(numbers(sn.jit(f, { memoryBudget: 0.6 * arena })(params, x)), numbers(sn.jit(f)(params, x)));
});

test('a saved program keeps its budget', () => {
  const memoryBudget = arenaOf(both, params, x) / 2;
  const loaded = sn.load(sn.jit(both, { memoryBudget }).save(params, x));
  assert.deepEqual(numbers(loaded(params, x)), numbers(sn.jit(both)(params, x)));
});
