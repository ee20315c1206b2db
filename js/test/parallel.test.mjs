// sinter/parallel: modules of n modules against the plain ones that they come to; as processes share them: tests/mpi.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { pipelineParallel, tensorParallel } from '../dist/parallel.js';

const { nn, optim, random } = sn;
await sn.init();

const near = (x, y, bound = 1e-5) => {
  assert.deepEqual(x.shape, y.shape);
  assert.ok(x.sub(y).abs().max().item() < bound, `${x} ${y}`);
};
const nearTrees = (x, y, bound) => sn.tree.map((a, b) => near(a, b, bound), x, y);
const member = (params, i) => sn.tree.map((t) => t.at(i).get(), params);
const x = random.normal(random.key(1), [8, 6]);

test('side by side: the sum of the modules, and its derivatives', () => {
  const part = nn.sequential(nn.linear(6, 5), nn.gelu(), nn.linear(5, 3));
  for (const n of [1, 2, 3, 4]) {
    const net = tensorParallel(n, part);
    const params = net.init(random.key(2));
    const plain = (params, x) => Array.from({ length: n }, (_, i) => part.apply(member(params, i), x)).reduce((a, b) => a.add(b));
    near(net.apply(params, x), plain(params, x));
    const loss = (f) => (params, x) => f(params, x).square().sum();
    for (const argnums of [0, 1]) {
      const wanted = sn.grad(loss(plain), { argnums })(params, x);
      nearTrees(sn.grad(loss(net.apply), { argnums })(params, x), wanted, 1e-4);
      nearTrees(sn.jit(sn.grad(loss(net.apply), { argnums }))(params, x), wanted, 1e-4);
    }
  }
});

test('side by side: columns and rows of two products', () => {
  const [wide, n] = [8, 4];
  const net = tensorParallel(n, nn.sequential(nn.linear(6, wide / n), nn.relu(), nn.linear(wide / n, 3, { bias: false })));
  const params = net.init(random.key(3));
  const columns = params[0].weight.permuteDims([1, 0, 2]).reshape([6, wide]);
  const rows = params[2].weight.reshape([wide, 3]);
  near(net.apply(params, x), x.matmul(columns).add(params[0].bias.reshape([wide])).relu().matmul(rows));
});

test('side by side: heads of attention', () => {
  const [size, heads, n] = [12, 4, 2];
  const net = tensorParallel(n, nn.multiHeadAttention(size, heads / n, { width: size / heads, causal: true }));
  const whole = nn.multiHeadAttention(size, heads, { causal: true });
  const params = net.init(random.key(4));
  const columns = ({ weight, bias }) => ({ weight: weight.permuteDims([1, 0, 2]).reshape([size, size]), bias: bias.reshape([size]) });
  const { query, key, value, result } = params;
  const joined = { query: columns(query), key: columns(key), value: columns(value), result: { weight: result.weight.reshape([size, size]), bias: result.bias.sum({ axis: 0 }) } };
  const tokens = random.normal(random.key(5), [2, 7, size]);
  near(net.apply(params, tokens), whole.apply(joined, tokens));
});

test('one behind the other: as sequential, for any number of parts', () => {
  const part = nn.residual(nn.linear(6, 6), nn.tanh());
  for (const [n, parts] of [[1, 1], [1, 4], [2, 1], [3, 2], [4, 8], [4, undefined]]) {
    const net = pipelineParallel(n, part, parts === undefined ? {} : { parts });
    const params = net.init(random.key(6));
    const plain = (params, x) => Array.from({ length: n }).reduce((y, _, i) => part.apply(member(params, i), y), x);
    near(net.apply(params, x), plain(params, x));
    const loss = (f) => (params, x) => f(params, x).square().sum();
    for (const argnums of [0, 1]) nearTrees(sn.jit(sn.grad(loss(net.apply), { argnums }))(params, x), sn.grad(loss(plain), { argnums })(params, x), 1e-4);
  }
});

test('one behind the other: what is not there yet is not computed', () => {
  // Of numbers that no module is given: the logarithm of 0, whose derivative is infinite.
  const safe = { init: () => sn.ones([]), apply: (w, x) => x.log().mul(w).exp() };
  const net = pipelineParallel(3, safe, { parts: 2 });
  const params = net.init(random.key(0));
  const positive = x.abs().add(1);
  near(net.apply(params, positive), positive);
  const slopes = sn.jit(sn.grad((params) => net.apply(params, positive).sum()))(params);
  assert.ok(slopes.toArray().every(Number.isFinite), `${slopes}`);
});

test('modules draw numbers of their own, and parts of the batch do', () => {
  const ones = sn.ones([4, 64]);
  const drop = nn.dropout(0.5);
  const member = { init: () => sn.zeros([]), apply: (_, x, options) => drop.apply({}, x, options) };
  const kept = (net) => net.apply(net.init(random.key(0)), ones, { key: random.key(7), train: true });
  const sum = kept(tensorParallel(2, member));
  assert.ok([0, 2, 4].every((value) => sum.equal(value).any().item()), 'both, one and none of the two');
  const rows = kept(pipelineParallel(1, member, { parts: 4 }));
  assert.ok(rows.at(0).get().notEqual(rows.at(1).get()).any().item());
});

test('a network trains, in 16 bits too, and through checkpoints of its state', () => {
  const block = nn.residual(nn.layerNorm(6), tensorParallel(2, nn.sequential(nn.linear(6, 8), nn.gelu(), nn.linear(8, 6))));
  const net = nn.sequential(pipelineParallel(2, nn.sequential(nn.linear(6, 6), nn.tanh())), block, nn.linear(6, 1));
  const y = x.slice([0, 0], [8, 1]).square();
  for (const precision of ['float32', 'bfloat16']) {
    const step = sn.trainStep((params, x, y) => net.apply(params, x).sub(y).square().mean(), optim.adamw({ lr: 0.02 }), { precision });
    let state = step.init(net.init(random.key(8)));
    const losses = [];
    for (let i = 0; i < 60; i++) {
      const made = step(state, x, y);
      losses.push(made.loss.item());
      state = made.state;
      if (i === 30) state = sn.io.loadState(sn.io.saveState(state), state);
    }
    assert.ok(losses.at(-1) < losses[0] / 4, `${precision}: ${losses[0]} ${losses.at(-1)}`);
  }
});

test('what is wrong', () => {
  const part = nn.linear(6, 6);
  const refused = (f, pattern, code) => assert.throws(f, (error) => error instanceof sn.SinterError && pattern.test(error.message) && (!code || error.code === code));
  for (const make of [tensorParallel, pipelineParallel]) {
    refused(() => make(0, part), /n is 0/);
    refused(() => make(2, {}), /expected one of sn.nn/);
    refused(() => make(2, nn.batchNorm(6)), /a module with a state/, 'unsupported');
    const three = make(3, part).init(random.key(0));
    refused(() => make(2, part).apply(three, x), /not the parameters of 2 modules: one is \(3, 6/);
  }
  refused(() => pipelineParallel(2, part, { parts: 0 }), /parts/);
  refused(() => pipelineParallel(2, part, { pieces: 2 }), /pieces/);
  const net = pipelineParallel(2, part, { parts: 3 });
  refused(() => net.apply(net.init(random.key(0)), x), /\(8, 6\) does not divide into 3 parts/, 'shape');
  const narrow = pipelineParallel(2, nn.linear(6, 5));
  refused(() => narrow.apply(narrow.init(random.key(0)), x), /made float32 \(4, 5\) of float32 \(4, 6\)/, 'shape');
});
