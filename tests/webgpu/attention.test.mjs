// Attention in tiles, where threads share memory: values and gradients are the CPU's, no scores lie in memory, and what is not
// finite stays so.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { settings, start } from './device.mjs';

settings.sharesMemory = true;

let sn;
before(async () => {
  sn = await start();
});

const normal = (seed, shape) => sn.random.normal(sn.random.key(seed), shape);

/** Asserts that f has the values of the CPU on the device, in kernels of which `chains` are several groups in one. */
const check = async (f, args, chains, tolerance = 2e-5) => {
  const { kernels, memory } = sn.inspect(f, { device: 'webgpu' })(...args);
  assert.equal(kernels.filter(({ name }) => name.includes(', ')).length, chains, kernels.map(({ name }) => name).join('; '));
  const sides = ['cpu', 'webgpu'].map((device) => sn.jit(f, { device }));
  const [want, got] = await Promise.all(sides.map((side) => Promise.all([side(...args)].flat().map((t) => t.data()))));
  for (const [i, values] of want.entries()) {
    const most = values.reduce((top, x) => (Number.isFinite(x) ? Math.max(top, Math.abs(x)) : top), 1e-3);
    values.forEach((x, at) => {
      const same = Object.is(x, got[i][at]) || Math.abs(x - got[i][at]) <= tolerance * most;
      assert.ok(same, `result ${i}, element ${at}: ${got[i][at]}, expected ${x}`);
    });
  }
  for (const side of sides) side.dispose();
  return memory;
};

/** [q, k, v] of so many heads, queries, keys, and numbers in a key and a value. */
const inputs = (heads, queries, keys, size, width = size) => [
  normal(1, [...heads, queries, size]),
  normal(2, [...heads, keys, size]),
  normal(3, [...heads, keys, width]),
];

test('without a mask: odd sizes, and values wider than keys', () => check((q, k, v) => sn.attention(q, k, v), inputs([2], 261, 300, 19, 37), 1));
test('of a single head, causal, with more rows than columns', () =>
  check((q, k, v) => sn.attention(q, k, v, { causal: true }), inputs([], 515, 400, 16), 1));

test('heads that share keys, and what is not finite', () => {
  const [q] = inputs([2, 2], 260, 290, 8);
  const [, k, v] = inputs([2, 1], 260, 290, 8);
  const row = sn.arange(260).reshape([260, 1]);
  const column = sn.arange(290);
  const mask = sn.zeros([260, 290])
    .add(sn.where(row.equal(3), -Infinity, 0)) // a row without any
    .add(sn.where(row.equal(70).logicalAnd(column.equal(40)), Infinity, 0))
    .add(sn.where(row.equal(259).logicalAnd(column.equal(289)), NaN, 0))
    .add(sn.where(column.less(64).logicalAnd(row.greater(100)), -Infinity, 0)); // whole tiles
  return check((a, b, c) => sn.attention(a, b, c, { mask }), [q, k, v], 1);
});

test('gradients with the scores in memory', () => {
  const loss = (q, k, v) => sn.attention(q, k, v, { causal: true }).tanh().square().sum();
  return check(sn.grad(loss, { argnums: [0, 1, 2] }), inputs([3], 300, 300, 16), 2);
});

test('gradients with the scores made again: nothing of their size lies in memory', async () => {
  const loss = (q, k, v) => sn.attention(q, k, v, { causal: true }).square().sum();
  const memory = await check(sn.grad(loss, { argnums: [0, 1, 2] }), inputs([], 1030, 1024, 8), 3);
  assert.ok(memory.arenaBytes < 1030 * 1024, `${memory.arenaBytes} bytes`);
});

test('results, scores and sums of rows, all of them read', () => {
  const f = (q, k, v) => {
    const scores = sn.matmul(q, k.swapaxes(-1, -2)).mul(0.3);
    const top = scores.max({ axis: -1, keepdims: true });
    const sum = scores.sub(top).exp().sum({ axis: -1, keepdims: true });
    const weights = scores.sub(top).exp().div(sum);
    return [sn.matmul(weights, v), weights, top.add(sum.log()), scores.square().mean({ axis: -1 })];
  };
  return check(f, inputs([3], 261, 300, 12), 1);
});

test('in 16 bits', () => {
  const f = (q, k, v) => {
    const scores = sn.matmul(q, k.swapaxes(-1, -2)).mul(0.3).astype('float16');
    const weights = sn.softmax(scores.astype('float32')).astype('bfloat16');
    return sn.matmul(weights, v.astype('bfloat16')).astype('float32');
  };
  return check(f, inputs([4], 264, 300, 12), 1, 1e-2);
});

test('rows of more points than a row kernel has', () => check((q, k, v) => sn.attention(q, k, v), inputs([], 260, 5003, 4), 1));
