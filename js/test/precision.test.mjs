// Mixed precision: what jit, inspect, evalStep and trainStep store in 16 bits; training with float32 masters and a scaled
// loss. What is rounded op by op: rounding.test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { FIELDS, HALVES, nearest } from './halves.mjs';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();
const { nn, optim, random } = sn;

const floats = (shape, seed) => random.uniform(random.key(seed), shape, { minval: -1, maxval: 1 });
const twoLayers = ({ w, b, v }, x, labels) => sn.softmaxCrossEntropy(x.matmul(w).add(b).relu().matmul(v), labels).mean();
const X = floats([24, 6], 4);

for (const precision of HALVES) {
  test(`${precision}: not far from float32, and never the same`, () => {
    const bound = 2 ** (2 - FIELDS[precision][0]);
    const image = floats([2, 9, 9, 3], 5);
    const net = nn.sequential(nn.conv2d(3, 8, 3), nn.tanh(), nn.flatten(), nn.linear(8 * 49, 12), nn.layerNorm(12), nn.gelu(), nn.linear(12, 4));
    const tokens = floats([2, 10, 8], 6);
    const block = nn.sequential(nn.layerNorm(8), nn.selfAttention(8, 2, { causal: true }), nn.linear(8, 3));
    for (const [module, x] of [[net, image], [block, tokens]]) {
      const loss = (params, x) => module.apply(params, x).square().mean();
      const params = module.init(random.key(1));
      const [wide, narrow] = ['float32', precision].map((precision) => sn.jit(sn.valueAndGrad(loss), { precision })(params, x));
      const leaves = ([value, grads]) => [value, ...leavesOf(grads)];
      leaves(narrow).forEach((t, i) => {
        const [a, b] = [t.dataSync(), leaves(wide)[i].dataSync()];
        const most = b.reduce((m, v) => Math.max(m, Math.abs(v)), 1e-3);
        const error = a.reduce((m, v, k) => Math.max(m, Math.abs(v - b[k])), 0) / most;
              assert.ok(error < 4 * bound, `leaf ${i}: off by ${error}`);
        if (a.length > 4) assert.notDeepEqual(a, b);
      });
    }
  });
}

function leavesOf(tree) {
  if (tree instanceof sn.Tensor) return [tree];
  return Object.values(tree).flatMap(leavesOf);
}

// ---- what is of which dtype -------------------------------------------------------------------------

test('products and convolutions are of 16 bits, sums and losses of 32, other ops as they are given', () => {
  for (const precision of HALVES) {
    const seen = {};
    const note = (name, t) => {
      seen[name] = t.dtype;
      return t;
    };
    sn.jit((x, image, filter, double) => {
      const y = note('matmul', x.matmul(x));
      note('conv2d', sn.conv2d(image, filter));
      note('attention', sn.attention(...[0, 1, 2].map(() => x.reshape([1, 1, 4, 4]))));
      note('exp of a product', y.exp());
      note('exp', x.exp());
      note('product + float32', y.add(x));
      note('layerNorm of a product', sn.layerNorm(y));
      for (const name of ['sum', 'mean', 'cumsum', 'softmax', 'logSoftmax', 'logsumexp', 'var', 'norm']) note(`${name} of a product`, sn[name](y));
      note('loss of a product', sn.softmaxCrossEntropy(y, [0, 1, 2, 3]));
      note('max of a product', y.max());
      note('product of float64', double.matmul(double));
      return note('product of int32', x.astype('int32').matmul(x.astype('int32')));
    }, { precision })(floats([4, 4], 1), floats([1, 5, 5, 2], 2), floats([3, 3, 2, 2], 3), sn.ones([2, 2], { dtype: 'float64' }));
    const of = (dtype) => Object.keys(seen).filter((name) => seen[name] === dtype);
    assert.deepEqual(of(precision), ['matmul', 'conv2d', 'attention', 'exp of a product', 'layerNorm of a product']);
    assert.deepEqual([...of('float64'), ...of('int32')], ['product of float64', 'product of int32']);
    assert.equal(of('float32').length, Object.keys(seen).length - 7);
  }
});

test('inspect: what is kept between kernels is of 16 bits', () => {
  const net = nn.sequential(...[1, 2, 3, 4].flatMap(() => [nn.linear(64, 64), nn.gelu()]));
  const both = sn.valueAndGrad((params, x) => net.apply(params, x).square().mean());
  const params = net.init(random.key(1));
  const x = floats([512, 64], 2);
  const large = 512 * 64;
  const seen = (precision) => {
    const given = sn.tree.map((p) => p.astype(precision), params);
    const { memory } = sn.inspect(both, { precision })(given, x);
    const between = memory.blocks.filter(({ kind, shape }) => kind === 'arena' && shape.reduce((a, b) => a * b, 1) === large);
    return { bytes: memory.arenaBytes, dtypes: new Set(between.map(({ dtype }) => dtype)) };
  };
  const wide = seen('float32');
  assert.deepEqual([...wide.dtypes], ['float32']);
  for (const precision of HALVES) {
    const { bytes, dtypes } = seen(precision);
    assert.deepEqual([...dtypes], [precision]);
    assert.ok(bytes < 0.6 * wide.bytes, `${bytes} bytes, in float32 ${wide.bytes}`);
  }
});

test('inspect: what a product computes behind it is rounded once, when it is stored', () => {
  const layer = (x, w, b) => sn.gelu(x.matmul(w).add(b)).mul(2);
  const args = [X, floats([6, 16], 1), floats([16], 2).astype('float16')];
  const { kernels } = sn.inspect(layer, { precision: 'float16' })(...args);
  const { text } = kernels.find(({ kind }) => kind === 'contraction');
  const behind = text.slice(text.indexOf('total0 ='));
  assert.equal(behind.match(/= astype v\d+ : float16/g).length, 1);
  assert.equal(sn.jit(layer, { precision: 'float16' })(...args).dtype, 'float16');
});

test('inspect: a row reads and widens a number once', () => {
  for (const precision of HALVES) {
    const x = floats([64, 128], 1).astype(precision);
    const { kernels } = sn.inspect((x) => sn.layerNorm(x), { precision })(x);
    assert.deepEqual(kernels.map(({ kind }) => kind), ['row']);
    assert.equal(kernels[0].text.match(/= b\d+\[/g).length, 1, kernels[0].text);
  }
});

test('inspect: an update reads gradients of 16 bits, in one kernel for each parameter', () => {
  const net = nn.sequential(...[1, 2, 3].map(() => nn.linear(256, 256, { bias: false })));
  const step = sn.trainStep((params, x) => net.apply(params, x).square().mean(), optim.adamw({ lr: 0.01 }), { precision: 'float16' });
  const { memory, kernels } = sn.inspect(step)(step.init(net.init(random.key(1))), floats([32, 256], 2));
  const between = memory.blocks.filter(({ kind, shape }) => kind === 'arena' && String(shape) === '256,256');
  assert.deepEqual(between.map(({ dtype }) => dtype), ['float16', 'float16', 'float16']);
  assert.equal(kernels.filter(({ text }) => text.includes(' sqrt ') && text.includes('space(65536)')).length, 3);
});

test('a precision is that of one program: not of what is around it, nor after an error', () => {
  const x = floats([4, 4], 1);
  const dtypeOf = (options) => sn.jit((x) => x.matmul(x), options)(x).dtype;
  assert.equal(dtypeOf({ precision: 'bfloat16' }), 'bfloat16');
  assert.equal(dtypeOf({ precision: 'float32' }), 'float32');
  const failing = sn.jit(() => { throw new Error('mine'); }, { precision: 'float16' });
  assert.throws(() => failing(x), /mine/);
  assert.equal(x.matmul(x).dtype, 'float32');
  assert.equal(dtypeOf(), 'float32');
  const evaluate = sn.evalStep(({ w }, x) => x.matmul(w), { precision: 'float16' });
  assert.equal(evaluate({ params: { w: x }, optimizer: { count: sn.tensor(0) } }, x).dtype, 'float16');
});

test('a precision that there is not is refused', () => {
  const fields = (op) => ({ op, message: /option precision is .*, expected 'float32', 'float16' or 'bfloat16'/ });
  for (const precision of ['float64', 'half', 16, null, true, ['float16']]) {
    assertThrows(() => sn.jit((x) => x, { precision })(X), sn.DTypeError, fields('jit'));
    assertThrows(() => sn.inspect((x) => x, { precision })(X), sn.DTypeError, fields('inspect'));
    assertThrows(() => sn.evalStep(() => X, { precision })({ params: {}, optimizer: { count: X } }), sn.DTypeError, fields('evalStep'));
    assertThrows(() => sn.trainStep(twoLayers, optim.adam(), { precision }), sn.DTypeError, fields('trainStep'));
  }
  assertThrows(() => sn.jit((x) => x, { precison: 'float16' }), sn.SinterError, { message: /did you mean 'precision'/ });
});

// ---- training ---------------------------------------------------------------------------------------

const bitsOf = (tree) => sn.tree.map((t) => [...t.dataSync()], tree);
const whole = (n) => sn.tensor(n, { dtype: 'int32' });
/** Whose gradient is x, times the scale of the loss. */
const slope = ({ w }, x) => w.mul(x).sum();

for (const precision of HALVES) {
  test(`${precision}: training follows float32`, () => {
    const net = nn.sequential(nn.linear(6, 32), nn.gelu(), nn.layerNorm(32), nn.linear(32, 1));
    const x = floats([64, 6], 1);
    const y = x.slice([0, 0], [-1, 1]).mul(3).sin().add(floats([64, 1], 2).mul(0.8));
    const loss = (params, x, y) => net.apply(params, x).sub(y).square().mean();
    const makers = [() => optim.adamw({ lr: 0.01, weightDecay: 0.01 }), () => optim.sgd({ lr: 0.05, momentum: 0.9 }), () => optim.muon({ lr: 0.01 })];
    for (const make of makers) {
      const [wide, narrow] = [{}, { precision }].map((options) => {
        const step = sn.trainStep(loss, make(), options);
        let state = step.init(net.init(random.key(3)));
        let made;
        for (let i = 0; i < 60; i++) ({ state, ...made } = step(state, x, y));
        return { loss: made.loss.item(), params: step.params(state), report: step.precision(state), state };
      });
      assert.ok(Math.abs(narrow.loss - wide.loss) < 0.02 * wide.loss, `${narrow.loss}, in float32 ${wide.loss}`);
      assert.notEqual(narrow.loss, wide.loss);
      assert.equal(narrow.params[0].weight.dtype, precision);
      assert.equal(narrow.state.optimizer.master[0].weight.dtype, 'float32');
      assert.deepEqual(bitsOf(sn.tree.map((m) => m.astype(precision), narrow.state.optimizer.master)), bitsOf(narrow.params));
      assert.deepEqual(narrow.report, { scale: precision === 'float16' ? 2 ** 15 : 1, skipped: 0, steps: 60 });
      assert.deepEqual(wide.report, { scale: 1, skipped: 0, steps: 60 });
    }
  });

  test(`${precision}: updates too small for 16 bits add up in the masters`, () => {
    const step = sn.trainStep(slope, optim.sgd({ lr: 1e-5 }), { precision });
    for (const dtype of ['float32', precision]) {
      let state = step.init({ w: sn.ones([3], { dtype }) });
      for (let i = 0; i < 1000; i++) ({ state } = step(state, sn.tensor([1, 0, -1])));
      assertClose(state.optimizer.master.w, [0.99, 1, 1.01], 2e-5);
      assert.deepEqual(step.params(state).w.toArray(), [...state.optimizer.master.w.dataSync()].map(nearest(precision)));
    }
  });
}

test('float16: a small gradient survives by the scale', () => {
  const moved = (precision) => {
    const step = sn.trainStep(slope, optim.sgd({ lr: 1e6 }), { precision });
    return step.params(step(step.init({ w: sn.zeros([1]) }), sn.tensor([1e-8])).state).w.item();
  };
  assertClose([moved('float16')], [-0.01], 1e-5);
  assertClose([moved('bfloat16')], [-0.01], 1e-4);
});

test('float16: an overflow skips the step whole and halves the scale', () => {
  const loss = ({ w }, x, { state, key }) => [slope({ w }, x), { state: { n: state.n.add(1) }, aux: { key, x } }];
  const step = sn.trainStep(loss, optim.adamw({ lr: 0.1 }), { precision: 'float16' });
  const first = random.key(5);
  let state = step.init({ w: sn.tensor([1, 2]) }, { state: { n: whole(0) }, key: first });
  const before = bitsOf({ params: state.params, state: state.state });
  const { scale, good, skipped, ...own } = bitsOf(state.optimizer);
  for (let i = 0; i < 3; i++) {
    const made = step(state, sn.tensor([4, 1])); // 4 * 2^15 and 4 * 2^14 are infinite in float16
    ({ state } = made);
    assert.equal(made.loss.item(), 6);
    assert.deepEqual(made.aux.key.toArray(), random.foldIn(first, i).toArray());
    if (i === 2) break;
    assert.deepEqual(bitsOf({ params: state.params, state: state.state }), before);
    const { scale: halved, good: none, skipped: counted, ...same } = bitsOf(state.optimizer);
    assert.deepEqual(same, own);
    assert.deepEqual([scale, halved, none, counted].flat(), [2 ** 15, 2 ** (14 - i), 0, i + 1]);
  }
  assert.deepEqual(step.precision(state), { scale: 2 ** 13, skipped: 2, steps: 3 });
  assert.deepEqual([state.optimizer.count.item(), state.optimizer.good.item(), step.state(state).n.item()], [1, 1, 1]);
  assertClose(state.optimizer.master.w, [0.9 - 0.1 * 0.01, 1.9 - 0.1 * 0.02], 1e-5);
});

test('float16: after 2,000 finite steps the scale doubles, up to 2^24', () => {
  const step = sn.trainStep(slope, optim.sgd({ lr: 0 }), { precision: 'float16' });
  let state = step.init({ w: sn.tensor([1]) });
  const x = sn.tensor([2 ** -12]);
  for (let i = 1; i <= 2001; i++) {
    ({ state } = step(state, x));
    if (i === 1999) assert.deepEqual(step.precision(state), { scale: 2 ** 15, skipped: 0, steps: 1999 });
  }
  assert.deepEqual(step.precision(state), { scale: 2 ** 16, skipped: 0, steps: 2001 });
  assert.equal(state.optimizer.good.item(), 1);
  const late = { ...state, optimizer: { ...state.optimizer, scale: sn.tensor(2 ** 24), good: whole(1999) } };
  assert.deepEqual(step.precision(step(late, x).state), { scale: 2 ** 24, skipped: 0, steps: 2002 });
});

test('numbers that are NaN are counted, and the state goes on', () => {
  for (const precision of HALVES) {
    const step = sn.trainStep(slope, optim.adam({ lr: 0.1 }), { precision });
    let state = step.init({ w: sn.ones([1]) });
    for (const bad of [NaN, Infinity, -Infinity]) {
      const made = step(state, sn.tensor([bad]));
      ({ state } = made);
      assert.ok(!Number.isFinite(made.loss.item()));
    }
    for (let i = 0; i < 20; i++) ({ state } = step(state, sn.tensor([NaN])));
    assert.deepEqual(step.precision(state), { scale: 1, skipped: 23, steps: 23 });
    ({ state } = step(state, sn.tensor([1])));
    assertClose(state.optimizer.master.w, [0.9], 1e-5);
    assert.deepEqual(step.precision(state), { scale: 1, skipped: 23, steps: 24 });
  }
});

test('accumulate, clipNorm, schedules, groups and averages work on gradients that are not scaled', () => {
  const x = sn.tensor([[3, 4], [3, 4], [6, 8], [0, 0]]).div(8);
  const loss = ({ w }, x) => x.mul(w).sum().div(x.shape[0]);
  const moved = (options, optimizer = optim.sgd({ lr: 8 }), batch = x) => {
    const step = sn.trainStep(loss, optimizer, { precision: 'float16', ...options });
    const { state } = step(step.init({ w: sn.zeros([2]) }), batch);
    return { w: state.optimizer.master.w.toArray(), report: step.precision(state) };
  };
  assert.deepEqual(moved({}).w, [-3, -4]);
  assert.deepEqual(moved({ accumulate: 4 }).w, [-3, -4]);
  assertClose(moved({ clipNorm: 2.5 / 8 }).w, [-1.5, -2]);
  assertClose(moved({ clipNorm: 2.5 / 8, accumulate: 2 }).w, [-1.5, -2]);
  assertClose(moved({}, optim.sgd({ lr: 8, clipNorm: 2.5 / 8 })).w, [-1.5, -2]);
  assert.deepEqual(moved({}, optim.sgd({ lr: (count) => count.add(16).astype('float32') })).w, [-6, -8]);
  assert.deepEqual(moved({}, optim.groups([{ match: () => true, optimizer: optim.sgd({ lr: 16 }) }])).w, [-6, -8]);
  // one part of four that is not finite makes the mean so
  const broken = x.add(sn.tensor([[0], [Infinity], [0], [0]]));
  assert.deepEqual(moved({ accumulate: 4 }, undefined, broken), { w: [0, 0], report: { scale: 2 ** 14, skipped: 1, steps: 1 } });

  const step = sn.trainStep(loss, optim.ema(optim.sgd({ lr: 8 }), { decay: 0.5 }), { precision: 'float16' });
  const { state } = step(step.init({ w: sn.zeros([2]) }), x);
  assert.equal(state.optimizer.average.w.dtype, 'float32');
  assertClose(state.optimizer.average.w, [-1.5, -2]);
  const evaluate = sn.evalStep(loss, { precision: 'float16' });
  assertClose(evaluate(state, x), -25 / 8);
  assertClose(evaluate({ ...state, params: state.optimizer.average }, x), -12.5 / 8);
});

test('a state of batch norm trains, and a saved state goes on with the same bits', () => {
  const net = nn.sequential(nn.linear(6, 8), nn.batchNorm(8), nn.relu(), nn.dropout(0.2), nn.linear(8, 1));
  const loss = (params, x, { state, key }) => {
    const [y, next] = net.apply(params, x, { state, key, train: true });
    return [y.square().mean(), { state: next }];
  };
  const step = sn.trainStep(loss, optim.adamw({ lr: 0.01 }), { precision: 'float16', accumulate: 2, clipNorm: 1 });
  const { params, state: modules } = net.init(random.key(1));
  const start = () => step.init(params, { state: modules, key: random.key(2) });
  const x = floats([16, 6], 3);
  const run = (state, n) => {
    for (let i = 0; i < n; i++) ({ state } = step(state, x));
    return state;
  };
  const whole = run(start(), 5);
  const saved = sn.io.saveState(run(start(), 2));
  assert.deepEqual(bitsOf(run(sn.io.loadState(saved, start()), 3)), bitsOf(whole));
  assert.deepEqual(new Set(leavesOf(step.state(whole)).map((t) => t.dtype)), new Set(leavesOf(modules).map((t) => t.dtype)));
});

test('a state of a step of another kind is refused, and stays usable', () => {
  const [wide, narrow] = [{}, { precision: 'float16' }].map((options) => sn.trainStep(slope, optim.sgd({ lr: 1 }), options));
  const [a, b] = [wide, narrow].map((step) => step.init({ w: sn.ones([1]) }));
  assertThrows(() => narrow(a, [1]), sn.SinterError, { op: 'trainStep', message: /has no float32 masters, this step has option precision/ });
  assertThrows(() => wide(b, [1]), sn.SinterError, { message: /has float32 masters, this step has no option precision/ });
  assertThrows(() => narrow.precision({}), sn.SinterError, { op: 'trainStep.precision', message: /no training state/ });
  assert.equal(wide.params(wide(a, sn.tensor([1])).state).w.item(), 0);
  assert.equal(narrow.params(narrow(b, sn.tensor([1])).state).w.item(), 0);
});

test('memory is constant, and one program does it all', () => {
  const net = nn.sequential(nn.linear(6, 8), nn.tanh(), nn.linear(8, 2));
  const loss = (params, x, { key }) => net.apply(params, x.add(random.normal(key, x.shape))).square().mean();
  const step = sn.trainStep(loss, optim.adamw({ lr: 0.01 }), { precision: 'float16', accumulate: 2, clipNorm: 1 });
  const x = floats([8, 6], 2);
  let state = sn.tidy(() => step.init(net.init(random.key(1)), { key: random.key(2) }));
  const oneStep = () => {
    const made = step(state, x);
    state = made.state;
    made.loss.dispose();
  };
  for (let i = 0; i < 10; i++) oneStep();
  const { bytesInUse, tensors, programs } = sn.memory();
  for (let i = 0; i < 200; i++) oneStep();
  assert.deepEqual([sn.memory().bytesInUse, sn.memory().tensors, sn.memory().programs], [bytesInUse, tensors, programs]);
  assert.equal(step.cacheSize, 1);
});
