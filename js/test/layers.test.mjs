// Layers with state, randomness and options: against PyTorch's (tests/golden/layer_cases.py wrote them) and against the
// same written with ops; modules made of such; initialisers; summaries.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();
const { nn, random } = sn;
const key = (seed) => random.key(seed);
const golden = JSON.parse(readFileSync(new URL('../../tests/golden/layers.json', import.meta.url), 'utf8'));

const sines = (seed, shape, scale = 1, shift = 0) =>
  sn.tensor(Float64Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i * 0.7 + seed) * 0.6 * scale + shift), { shape, dtype: 'float64' });
const flat = (t) => [...t.dataSync()];
const floats = (shape, seed) => random.uniform(key(seed), shape, { minval: -1, maxval: 1 });
const asDoubles = (tree) => sn.tree.map((t) => t.astype('float64'), tree);

test('batchNorm: results, running statistics and gradients are PyTorch\'s', () => {
  const layer = nn.batchNorm(3, { momentum: 0.2, eps: 1e-3 });
  assert.equal(layer.hasState, true);
  const made = layer.init(key(0));
  assert.deepEqual(sn.tree.map(flat, made), { params: { weight: [1, 1, 1], bias: [0, 0, 0] }, state: { mean: [0, 0, 0], variance: [1, 1, 1] } });
  const params = { weight: sines(1, [3]), bias: sines(2, [3]) };
  let state = asDoubles(made.state);
  for (let i = 0; i < 4; i++) {
    const x = sines(3 + i, [4, 2, 2, 3], i + 1, i);
    const [y, next] = layer.apply(params, x, { state, train: i < 3 });
    assertClose(y, golden.batchNorm.y[i], 1e-12);
    assertClose(next.mean, golden.batchNorm.mean[i], 1e-12);
    assertClose(next.variance, golden.batchNorm.variance[i], 1e-12);
    if (i === 2) {
      const loss = (p, t) => layer.apply(p, t, { state, train: true })[0].mul(sines(9, [4, 2, 2, 3])).sum();
      const [p, t] = sn.grad(loss, { argnums: [0, 1] })(params, x);
      for (const [name, g] of Object.entries({ ...p, x: t })) assertClose(g, golden.batchNorm.grads[name], 1e-10);
    }
    state = next;
  }
});

test('batchNorm reads its input no more often for the running statistics', () => {
  const layer = nn.batchNorm(16);
  const { params, state } = layer.init(key(0));
  const x = floats([256, 16], 1);
  const kernels = (f) => sn.inspect(f)(params, state, x).kernels.filter(({ kind }) => kind !== 'scalar').length;
  const whole = kernels((p, s, t) => layer.apply(p, t, { state: s, train: true }));
  const apart = kernels((p, s, t) => sn.batchNorm(t, p));
  assert.ok(whole <= apart + 1, `${whole} kernels, ${apart} without the statistics`);
});

const part = (i) => ({ weight: sines(2 + i, [8, 8]), bias: sines(6 + i, [8]) });
const attentionParams = { query: part(0), key: part(1), value: part(2), result: part(3) };

test('multiHeadAttention is PyTorch\'s', () => {
  const x = sines(1, [2, 5, 8]);
  assertClose(nn.multiHeadAttention(8, 2).apply(attentionParams, x), golden.attention, 1e-12);
  assertClose(nn.multiHeadAttention(8, 4, { causal: true }).apply(attentionParams, x), golden.attentionCausal, 1e-12);
  const mask = sn.tensor([[[[true, true, true, false, true]]], [[[true, false, true, true, true]]]]);
  assertClose(nn.multiHeadAttention(8, 2).apply(attentionParams, x, { mask }), golden.attentionMasked, 1e-12);
});

test('multiHeadAttention: fewer keys are shared, positions turn', () => {
  const layer = nn.multiHeadAttention(8, 4, { keyHeads: 2, rope: 100, bias: false });
  const params = layer.init(key(1));
  assert.deepEqual(sn.tree.map((t) => [...t.shape], params), { query: { weight: [8, 8] }, key: { weight: [8, 4] }, value: { weight: [8, 4] }, result: { weight: [8, 8] } });
  const x = floats([3, 6, 8], 2);
  const heads = ({ weight }, n) => sn.permuteDims(x.matmul(weight).reshape([3, 6, n, 2]), [0, 2, 1, 3]);
  const [q, k] = [sn.rope(heads(params.query, 4), { base: 100 }), sn.rope(heads(params.key, 2), { base: 100 })];
  const mixed = sn.attention(q, sn.repeat(k, 2, { axis: 1 }), sn.repeat(heads(params.value, 2), 2, { axis: 1 }));
  const expected = sn.permuteDims(mixed, [0, 2, 1, 3]).reshape([3, 6, 8]).matmul(params.result.weight);
  assertClose(layer.apply(params, x), expected.toArray(), 1e-5);
});

for (const [form, options] of [['gpt', {}], ['llama', { keyHeads: 2, hidden: 12 }]])
  test(`transformerBlock, ${form}: pieces through a cache are the whole, in one program`, () => {
    const block = nn.transformerBlock(8, 4, { form, ...options });
    const params = block.init(key(3));
    const x = floats([2, 7, 8], 4);
    const whole = block.apply(params, x);
    const decode = sn.jit((p, t, cache) => block.decode(p, t, cache));
    let cache = block.cache(2, 9);
    const pieces = [];
    for (const [begin, size] of [[0, 3], [3, 1], [4, 1], [5, 1], [6, 1]]) {
      const [y, next] = decode(params, x.slice([0, begin, 0], [2, size, 8]), cache);
      pieces.push(y);
      cache = next;
    }
    assert.equal(decode.cacheSize, 2);
    assert.equal(cache.length.item(), 7);
    assertClose(sn.concat(pieces, { axis: 1 }), whole.toArray(), 2e-5);
  });

test('transformerBlock is what its options say', () => {
  const x = floats([2, 3, 8], 1);
  const gpt = nn.transformerBlock(8, 2);
  const p = gpt.init(key(1));
  const normed = (t, { weight, bias }) => sn.layerNorm(t, { weight, bias });
  const after = x.add(nn.multiHeadAttention(8, 2, { causal: true }).apply(p.attention, normed(x, p.norm)));
  const [up, , down] = p.feed;
  const fed = sn.gelu(normed(after, p.feedNorm).matmul(up.weight).add(up.bias)).matmul(down.weight).add(down.bias);
  assertClose(gpt.apply(p, x), after.add(fed).toArray(), 1e-5);
  assert.deepEqual([...up.weight.shape], [8, 32]);

  const llama = nn.transformerBlock(8, 2, { form: 'llama', hidden: 20 });
  const q = llama.init(key(2));
  assert.deepEqual(sn.tree.map((t) => [...t.shape], q.feed), [{ gate: { weight: [8, 20] }, value: { weight: [8, 20] } }, { weight: [20, 8] }]);
  const seen = x.add(nn.multiHeadAttention(8, 2, { causal: true, rope: true, bias: false }).apply(q.attention, sn.rmsNorm(x, q.norm)));
  const own = sn.rmsNorm(seen, q.feedNorm);
  const gated = sn.silu(own.matmul(q.feed[0].gate.weight)).mul(own.matmul(q.feed[0].value.weight)).matmul(q.feed[1].weight);
  assertClose(llama.apply(q, x), seen.add(gated).toArray(), 1e-5);

  const dropping = nn.transformerBlock(8, 2, { dropout: 1 });
  assertClose(dropping.apply(p, x, { train: true, key: key(1) }), x.toArray());
  assertClose(dropping.apply(p, x), gpt.apply(p, x).toArray());
});

test('groupNorm, rmsNorm, gates and convolutions are PyTorch\'s', () => {
  const x = sines(1, [2, 5, 6, 4]);
  const weighted = (shape, seed, outputs) => ({ weight: sines(seed, shape), bias: sines(4, [outputs]) });
  assertClose(nn.groupNorm(2, 4, { eps: 1e-3 }).apply({ weight: sines(4, [4]), bias: sines(5, [4]) }, x), golden.groupNorm, 1e-12);
  assertClose(nn.rmsNorm(4, { eps: 1e-3 }).apply({ weight: sines(4, [4]) }, x), golden.rmsNorm, 1e-12);
  const gates = { gate: { weight: sines(2, [4, 3]), bias: sines(4, [3]) }, value: { weight: sines(3, [4, 3]), bias: sines(5, [3]) } };
  assertClose(nn.swiglu(4, 3).apply(gates, x), golden.swiglu, 1e-12);
  assertClose(nn.geglu(4, 3).apply(gates, x), golden.geglu, 1e-12);
  const depthwise = nn.depthwiseConv2d(4, 3, { multiplier: 2, strides: 2, padding: [[1, 1], [1, 1]] });
  assertClose(depthwise.apply(weighted([3, 3, 1, 8], 2, 8), x), golden.depthwiseConv2d, 1e-12);
  assertClose(nn.convTranspose2d(4, 5, [3, 2], { strides: 2 }).apply(weighted([3, 2, 5, 4], 3, 5), x), golden.convTranspose2d, 1e-12);
  assertClose(nn.conv1d(3, 4, 3, { dilation: 2 }).apply(weighted([3, 3, 4], 2, 4), sines(1, [2, 7, 3])), golden.conv1d, 1e-12);
});

test('shapes of fresh weights, and biases of channels in front', () => {
  const shapes = (layer) => sn.tree.map((t) => [...t.shape], layer.init(key(0)));
  assert.deepEqual(shapes(nn.depthwiseConv2d(4, [3, 5], { multiplier: 2 })), { weight: [3, 5, 1, 8], bias: [8] });
  assert.deepEqual(shapes(nn.convTranspose2d(6, 4, 3, { groups: 2 })), { weight: [3, 3, 2, 6], bias: [4] });
  assert.deepEqual(shapes(nn.conv1d(6, 4, 3, { bias: false })), { weight: [3, 6, 4] });
  const layer = nn.conv2d(2, 3, 2, { layout: 'NCHW' });
  const params = { weight: floats([2, 2, 2, 3], 1), bias: sn.tensor([1, 2, 3]) };
  const x = floats([1, 2, 4, 5], 2);
  assertClose(layer.apply(params, x), sn.conv2d(x, params.weight, { layout: 'NCHW' }).add(sn.tensor([1, 2, 3]).reshape([3, 1, 1])).toArray());
});

test('embedding: attend scores with the same weight', () => {
  const layer = nn.embedding(10, 4);
  const params = layer.init(key(5));
  const x = floats([2, 3, 4], 1);
  assertClose(layer.attend(params, x), x.matmul(params.weight.transpose()).toArray());
  const loss = (p, t) => sn.softmaxCrossEntropy(layer.attend(p, layer.apply(p, t)), t).mean();
  assert.deepEqual([...sn.grad(loss)(params, sn.tensor([1, 2], { dtype: 'int32' })).weight.shape], [10, 4]);
});

test('dropout: keeps the mean in training, is nothing else', () => {
  const layer = nn.dropout(0.25);
  const x = sn.ones([100, 100]);
  assert.deepEqual(layer.apply({}, x).toArray(), x.toArray());
  assert.equal(layer.hasState, undefined);
  const y = layer.apply({}, x, { train: true, key: key(1) });
  const kept = flat(y).filter((v) => v !== 0);
  assertClose(kept, kept.map(() => 1 / 0.75));
  assert.ok(Math.abs(kept.length / 10000 - 0.75) < 0.02, `${kept.length} kept`);
  assert.deepEqual(layer.apply({}, x, { train: true, key: key(1) }).toArray(), y.toArray());
  assert.notDeepEqual(layer.apply({}, x, { train: true, key: key(2) }).toArray(), y.toArray());
  assert.deepEqual(flat(nn.dropout(1).apply({}, sn.ones([3]), { train: true, key: key(1) })), [0, 0, 0]);
  const slope = sn.grad((t) => layer.apply({}, t, { train: true, key: key(1) }).sum())(x);
  assert.deepEqual(slope.toArray(), y.toArray());
  assertThrows(() => layer.apply({}, x, { train: true }), sn.SinterError, { op: 'nn.dropout', message: /no key/ });
  assertThrows(() => nn.dropout(1.5), sn.SinterError, { op: 'nn.dropout' });
});

test('modules with and without state compose, each layer with a key of its own', () => {
  const net = nn.sequential(nn.linear(4, 4), nn.residual(nn.batchNorm(4), nn.relu()), nn.dropout(0.5), nn.dropout(0.5), nn.batchNorm(4, { momentum: 1 }));
  const { params, state } = net.init(key(1));
  assert.equal(net.hasState, true);
  assert.deepEqual(sn.tree.map((t) => [...t.shape], state), [{}, [{ mean: [4], variance: [4] }, {}], {}, {}, { mean: [4], variance: [4] }]);
  const x = floats([32, 4], 2);
  const [y, next] = net.apply(params, x, { state, key: key(3), train: true });
  const h = x.matmul(params[0].weight).add(params[0].bias);
  const batch = (t) => sn.batchNorm(t, {});
  const joined = h.add(sn.relu(batch(h)));
  const keys = random.splitKeys(key(3), 5);
  const dropped = [keys[2], keys[3]].reduce((t, k) => nn.dropout(0.5).apply({}, t, { train: true, key: k }), joined);
  assertClose(y, batch(dropped).toArray(), 1e-4);
  assertClose(next[1][0].mean, h.mean({ axis: 0 }).mul(0.1).toArray(), 1e-5);
  assertClose(next[4].variance, sn.var_(dropped, { axis: 0, correction: 1 }).toArray(), 1e-4);
  const [evaluated, same] = net.apply(params, x, { state });
  assert.deepEqual([...evaluated.shape], [32, 4]);
  assert.deepEqual(sn.tree.map(flat, same), sn.tree.map(flat, state));
  const pure = nn.sequential(nn.linear(4, 4), nn.dropout(0.5));
  assert.ok(Array.isArray(pure.init(key(1))));
  assert.ok(pure.apply(pure.init(key(1)), x) instanceof sn.Tensor);

  assertThrows(() => net.apply(params, x), sn.SinterError, { op: 'nn.sequential', message: /there is no state/ });
  assertThrows(() => net.apply(params, x, { state: [] }), sn.SinterError, { op: 'nn.sequential', message: /not its state/ });
  assertThrows(() => net.apply(params, x, { state, training: true }), sn.SinterError, { message: /no option 'training'/ });
  assertThrows(() => nn.batchNorm(4).apply(params[4], x), sn.SinterError, { op: 'nn.batchNorm', message: /there is no state/ });
  assertThrows(() => nn.batchNorm(4).apply(params[4], sn.ones([1, 4]), { state: state[4], train: true }), sn.ShapeError, { message: /more than one value/ });
});

test('a network with batchNorm and dropout trains, and is judged by its running statistics', () => {
  const net = nn.sequential(nn.linear(2, 32), nn.batchNorm(32), nn.tanh(), nn.dropout(0.1), nn.linear(32, 2));
  const { params, state: first } = net.init(key(1));
  const step = sn.trainStep((p, x, y, { state, key: k }) => {
    const [scores, next] = net.apply(p, x, { state, key: k, train: true });
    return [sn.softmaxCrossEntropy(scores, y).mean(), { state: next }];
  }, sn.optim.adamw({ lr: 0.01 }), { accumulate: 2 });
  const x = floats([128, 2], 5);
  const y = x.slice([0, 0], [-1, 1]).mul(x.slice([0, 1], [-1, 1])).greater(0).astype('int32').reshape([128]);
  let state = step.init(params, { state: first, key: key(2) });
  for (let i = 0; i < 200; i++) ({ state } = step(state, x, y));
  assert.equal(step.cacheSize, 1);
  const right = sn.evalStep((p, a, b, { state: s }) => net.apply(p, a, { state: s })[0].argmax({ axis: 1 }).equal(b).astype('float32').mean());
  const share = right(state, x, y).item();
  assert.ok(share > 0.9, `${share} right`);
});

test('initialisers: variances, bounds, right angles', () => {
  const { initializers } = nn;
  const shape = [3, 100, 100];
  for (const [name, variance] of Object.entries({ he: 2 / 300, glorot: 2 / 600, lecun: 1 / 300 })) {
    const [even, normal] = ['Uniform', 'Normal'].map((kind) => initializers[name + kind](key(1), shape));
    for (const w of [even, normal]) assert.ok(Math.abs(sn.var_(w).item() / variance - 1) < 0.05, name);
    const bound = Math.sqrt(3 * variance);
    assert.ok(sn.max(sn.abs(even)).item() <= bound && sn.max(sn.abs(normal)).item() > 1.5 * bound, name);
  }
  const cut = initializers.truncatedNormal(key(1), [100, 400]).mul(10);
  assert.ok(sn.max(sn.abs(cut)).item() <= 2);
  assert.ok(Math.abs(sn.var_(cut).item() - 0.774) < 0.01); // of a normal distribution cut at 2
  for (const sizes of [[40, 40], [30, 80], [80, 30], [3, 3, 8, 20]]) {
    const columns = sizes.at(-1);
    const w = initializers.orthogonal(key(2), sizes).reshape([-1, columns]);
    const gram = w.shape[0] >= columns ? w.transpose().matmul(w) : w.matmul(w.transpose());
    assertClose(gram, sn.eye(gram.shape[0]).toArray(), 1e-5);
  }
  const named = nn.linear(30, 20, { initializer: 'heNormal' }).init(key(3)).weight;
  assert.deepEqual(named.toArray(), initializers.heNormal(key(3), [30, 20]).toArray());
  assert.deepEqual(nn.conv2d(2, 3, 3, { initializer: (k, shape) => sn.ones(shape) }).init(key(0)).weight.toArray(), sn.ones([3, 3, 2, 3]).toArray());
  assertThrows(() => nn.linear(2, 3, { initializer: 'he' }), sn.SinterError, { op: 'nn.linear', hint: /heUniform/ });
});

test('summary: shapes, parameters, flops, bytes of each layer', () => {
  const net = nn.sequential(nn.conv2d(1, 4, 3), nn.batchNorm(4), nn.relu(), nn.flatten(), nn.residual(nn.linear(144, 144)), nn.linear(144, 10));
  const summary = nn.summary(net, [2, 8, 8, 1]);
  assert.deepEqual(summary.rows.map(({ path, name, shape, parameters, bytes }) => [path, name, [...shape], parameters, bytes]), [
    ['0', 'conv2d', [2, 6, 6, 4], 40, 160],
    ['1', 'batchNorm', [2, 6, 6, 4], 8, 64],
    ['2', 'relu', [2, 6, 6, 4], 0, 0],
    ['3', 'flatten', [2, 144], 0, 0],
    ['4.0', 'linear', [2, 144], 144 * 145, 4 * 144 * 145],
    ['4', 'residual', [2, 144], 144 * 145, 4 * 144 * 145],
    ['5', 'linear', [2, 10], 1450, 5800],
    ['', 'sequential', [2, 10], 40 + 8 + 144 * 145 + 1450, 160 + 64 + 4 * 144 * 145 + 5800],
  ]);
  assert.equal(summary.parameters, 40 + 8 + 144 * 145 + 1450);
  const linear = summary.rows.find(({ path }) => path === '5');
  assert.ok(linear.flops >= 2 * 2 * 144 * 10 && linear.flops < 2.2 * 2 * 144 * 10, `${linear.flops} flops`);
  const lines = summary.toString().split('\n');
  assert.equal(lines.length, 9);
  assert.match(lines[1], /^0 +conv2d +\(2, 6, 6, 4\) +40 +[\d,]+ +160$/);
  assert.equal(nn.summary(nn.embedding(5, 3), [2, 4], { dtype: 'int32' }).rows[0].parameters, 15);
  assertThrows(() => nn.summary(net, [2, 8, 8, 2]), sn.ShapeError);
});

test('attention refuses what does not fit', () => {
  assertThrows(() => nn.multiHeadAttention(10, 3), sn.SinterError, { op: 'nn.multiHeadAttention', message: /3 heads/ });
  assertThrows(() => nn.multiHeadAttention(12, 6, { keyHeads: 4 }), sn.SinterError, { message: /4 of keys/ });
  assertThrows(() => nn.transformerBlock(8, 2, { form: 'bert' }), sn.SinterError, { op: 'nn.transformerBlock', message: /form "bert"/ });
  assertThrows(() => nn.multiHeadAttention(8, 2).apply(attentionParams, sn.ones([2, 8])), sn.ShapeError, { message: /\(n, tokens, size\)/ });
});
