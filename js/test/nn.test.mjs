// Layers against the same written with ops, and small networks of each kind that learn.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();
const { nn } = sn;
const key = (seed) => sn.random.key(seed);
const floats = (shape, seed) => sn.random.uniform(key(seed), shape, { minval: -1, maxval: 1 });

/** Loss before and after steps of Adam on one batch. */
const learn = (net, x, y, steps, lr) => {
  const step = sn.trainStep((params, a, b) => sn.mean(sn.softmaxCrossEntropy(net.apply(params, a), b)), sn.optim.adam({ lr }));
  let state = step.init(net.init(key(0)));
  const losses = [];
  for (let i = 0; i < steps; i += 1) {
    const result = step(state, x, y);
    state = result.state;
    losses.push(result.loss.item());
    result.loss.dispose();
  }
  sn.dispose(state);
  step.dispose();
  return [losses[0], losses.at(-1)];
};

test('conv2d: weights of one size for all, options as those of the op', () => {
  const x = floats([2, 7, 6, 4], 1);
  for (const [args, shape, options] of [
    [[4, 8, 3], [3, 3, 4, 8], {}],
    [[4, 8, [1, 2], { strides: 2, padding: 'same' }], [1, 2, 4, 8], { strides: 2, padding: 'same' }],
    [[4, 8, 3, { groups: 2 }], [3, 3, 2, 8], { groups: 2 }],
  ]) {
    const layer = nn.conv2d(...args);
    const { weight, bias } = layer.init(key(2));
    assert.deepEqual([...weight.shape], shape);
    const shifted = { weight, bias: bias.add(0.5) };
    assertClose(layer.apply(shifted, x), sn.conv2d(x, weight, options).add(0.5).toArray());
    const fan = shape[0] * shape[1] * shape[2];
    assert.ok(sn.max(sn.abs(weight)).item() <= Math.sqrt(3 / fan));
    assert.ok(Math.abs(sn.var(weight).item() * fan - 1) < 0.25);
  }
  assert.equal(nn.conv2d(4, 8, 3, { bias: false }).init(key(0)).bias, undefined);
  assertThrows(() => nn.conv2d(4, 8, 0), sn.SinterError, { code: 'argument' });
  assertThrows(() => nn.conv2d(5, 8, 3, { groups: 2 }), sn.SinterError, { code: 'argument' });
});

test('pools, flatten, gelu, layerNorm and residual are their ops', () => {
  const x = floats([2, 6, 6, 3], 3);
  assertClose(nn.maxPool2d(2).apply({}, x), sn.maxPool2d(x, { window: 2 }).toArray());
  assertClose(nn.avgPool2d(3, { strides: 1 }).apply({}, x), sn.avgPool2d(x, { window: 3, strides: 1 }).toArray());
  assert.deepEqual([...nn.flatten().apply({}, x).shape], [2, 108]);
  assertClose(nn.gelu().apply({}, x), sn.gelu(x).toArray());
  const norm = nn.layerNorm(3);
  const params = norm.init(key(0));
  assertClose(norm.apply(params, x), sn.layerNorm(x).toArray(), 1e-5);
  const doubled = { weight: params.weight.mul(2), bias: params.bias.add(1) };
  assertClose(norm.apply(doubled, x), sn.layerNorm(x).mul(2).add(1).toArray(), 1e-5);
  const inner = nn.linear(3, 3);
  const both = nn.residual(inner, nn.relu());
  const given = both.init(key(4));
  assertClose(both.apply(given, x), x.add(sn.relu(inner.apply(given[0], x))).toArray());
});

test('embedding takes rows of its weight', () => {
  const layer = nn.embedding(10, 4);
  const params = layer.init(key(5));
  assert.deepEqual([...params.weight.shape], [10, 4]);
  const rows = params.weight.toArray();
  assertClose(layer.apply(params, sn.tensor([[3, 0], [9, 3]], { dtype: 'int32' })), [[rows[3], rows[0]], [rows[9], rows[3]]]);
});

test('selfAttention is the attention of its projections; causal, no token sees a later one', () => {
  const layer = nn.selfAttention(8, 2, { causal: true });
  const params = layer.init(key(6));
  const x = floats([2, 5, 8], 7);
  const heads = ({ weight }) => sn.permuteDims(x.matmul(weight).reshape([2, 5, 2, 4]), [0, 2, 1, 3]);
  const mixed = sn.attention(...params.slice(0, 3).map(heads), { causal: true });
  const expected = sn.permuteDims(mixed, [0, 2, 1, 3]).reshape([2, 5, 8]).matmul(params[3].weight);
  const y = layer.apply(params, x);
  assertClose(y, expected.toArray(), 1e-5);
  const later = sn.concat([x.slice([0, 0, 0], [2, 4, 8]), floats([2, 1, 8], 8)], { axis: 1 });
  assertClose(layer.apply(params, later).slice([0, 0, 0], [2, 4, 8]), y.slice([0, 0, 0], [2, 4, 8]).toArray(), 1e-6);
});

test('a convolutional network learns', () => {
  const net = nn.sequential(nn.conv2d(1, 4, 3), nn.relu(), nn.maxPool2d(2), nn.flatten(), nn.linear(36, 3));
  const y = sn.tensor(Int32Array.from({ length: 9 }, (_, i) => i % 3));
  const [first, last] = learn(net, floats([9, 8, 8, 1], 9), y, 60, 0.02);
  assert.ok(first > 0.8 && last < 0.1, `${first} -> ${last}`);
});

test('a transformer learns', () => {
  const [size, tokens, letters] = [16, 6, 5];
  const block = nn.residual(nn.layerNorm(size), nn.selfAttention(size, 2, { causal: true }));
  const net = nn.sequential(nn.embedding(letters, size), block, nn.layerNorm(size), nn.linear(size, letters));
  // What a token's successor is depends on the token before it.
  const x = sn.tensor([[0, 1, 2, 0, 3, 4], [1, 2, 0, 3, 4, 0]], { dtype: 'int32' });
  const y = sn.tensor([[1, 2, 0, 3, 4, 0], [2, 0, 3, 4, 0, 1]], { dtype: 'int32' });
  assert.deepEqual([...net.apply(net.init(key(1)), x).shape], [2, tokens, letters]);
  const [first, last] = learn(net, x, y, 150, 0.02);
  assert.ok(first > 1 && last < 0.35, `${first} -> ${last}`);
});
