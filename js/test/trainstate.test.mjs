// trainStep beyond parameters: states of modules, keys, what a loss returns besides, parts of a batch, clipping; evalStep.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();
const { optim, random } = sn;

const sgd = () => optim.sgd({ lr: 0.1 });
const floats = (shape, seed) => random.uniform(random.key(seed), shape, { minval: -1, maxval: 1 });
const bitsOf = (tree) => sn.tree.map((t) => [...t.dataSync()], tree);

test('a loss hands on a state, and returns what it likes', () => {
  const loss = ({ w }, x, { state }) => {
    const seen = { sum: state.sum.add(x.sum()), steps: state.steps.add(1) };
    return [w.mul(x).sum(), { state: seen, aux: { largest: x.max(), w } }];
  };
  const step = sn.trainStep(loss, sgd());
  const given = { sum: sn.tensor(0), steps: sn.tensor(0, { dtype: 'int32' }) };
  let state = step.init({ w: sn.tensor([1, 2]) }, { state: given });
  let made;
  for (let i = 1; i <= 3; i++) {
    made = step(state, sn.tensor([i, 2 * i]));
    ({ state } = made);
    assert.equal(made.aux.largest.item(), 2 * i);
    assert.equal(step.state(state).steps.item(), i);
  }
  assertClose(made.aux.w, [1 - 0.3, 2 - 0.6]);
  assertClose(step.params(state).w, [1 - 0.6, 2 - 1.2]);
  assert.equal(step.state(state).sum.item(), 18);
  assert.equal(step.cacheSize, 1);
  assert.equal(given.sum.item(), 0); // a copy was given up, not this
});

test('a loss that returns no state keeps the one before, and without aux there is none', () => {
  const step = sn.trainStep(({ w }, { state }) => w.mul(state.k).sum(), sgd());
  let state = step.init({ w: sn.tensor([1]) }, { state: { k: sn.tensor(2) } });
  for (let i = 0; i < 3; i++) {
    const made = step(state);
    ({ state } = made);
    assert.equal(made.aux, undefined);
  }
  assert.equal(step.state(state).k.item(), 2);
  assertClose(step.params(state).w, [1 - 0.6]);
});

test('every step has a key of its own, that of the state folded with the steps done', () => {
  const loss = ({ w }, { key }) => [w.sum(), { aux: key }];
  const step = sn.trainStep(loss, sgd());
  const first = random.key(7);
  let state = step.init({ w: sn.tensor([1]) }, { key: first });
  for (let i = 0; i < 3; i++) {
    const made = step(state);
    ({ state } = made);
    assert.deepEqual(made.aux.toArray(), random.foldIn(first, i).toArray());
  }
  assert.equal(step.cacheSize, 1);
});

test('a key that is not used costs nothing, and there is none where none was given', () => {
  const loss = ({ w }, x) => w.matmul(x).square().mean();
  const [params, x] = [{ w: floats([8, 8], 1) }, floats([8, 8], 2)];
  const kernelsOf = (options) => {
    const step = sn.trainStep(loss, optim.adam());
    const seen = sn.inspect(step)(step.init(params, options), x);
    return seen.kernels.map(({ text }) => text.replace(/\bb\d+/g, 'b')); // the key is a buffer more
  };
  assert.deepEqual(kernelsOf({ key: random.key(1) }), kernelsOf());
  let context;
  const step = sn.trainStep(({ w }, given) => {
    context = given;
    return w.sum();
  }, sgd());
  step(step.init({ w: sn.ones([2]) }));
  assert.equal(context.key, undefined);
  assert.equal(context.state, undefined);
});

const net = sn.nn.sequential(sn.nn.linear(6, 8), sn.nn.tanh(), sn.nn.linear(8, 2));
const mse = (params, x, y) => net.apply(params, x).sub(y).square().mean();

test('accumulate: the mean of the gradients of the parts', () => {
  const params = net.init(random.key(1));
  const [x, y] = [floats([12, 6], 2), floats([12, 2], 3)];
  const step = sn.trainStep(mse, sgd(), { accumulate: 3 });
  const { state, loss } = step(step.init(params), x, y);

  const both = sn.jit(sn.valueAndGrad(mse));
  const part = (t, i) => t.slice([4 * i, 0], [4, -1]);
  const parts = [0, 1, 2].map((i) => both(params, part(x, i), part(y, i)));
  assertClose(loss, parts.reduce((sum, [value]) => sum + value.item(), 0) / 3);
  const mean = parts.map(([, grads]) => grads).reduce((a, b) => sn.tree.map((s, t) => s.add(t), a, b));
  const update = sn.jit((p, g) => sn.tree.map((a, b) => a.sub(b.div(3).mul(0.1)), p, g));
  const expected = update(params, mean);
  sn.tree.map((a, b) => assertClose(a, b.toArray(), 1e-7), step.params(state), expected);
  // sums of whole numbers have no rounding: the same bits as at once
  const linear = ({ w }, a, k) => w.mul(a).mean().mul(k);
  const numbers = sn.arange(0, 32).reshape([8, 4]).astype('float32');
  const runs = [1, 4].map((accumulate) => {
    const one = sn.trainStep(linear, optim.sgd({ lr: 1 }), { accumulate });
    return bitsOf(one.params(one(one.init({ w: sn.ones([4]) }), numbers, sn.tensor(4)).state));
  });
  assert.deepEqual(runs[0], runs[1]);
});

test('accumulate: parts one after the other have the state, and keys of their own', () => {
  const first = random.key(3);
  const loss = ({ w }, x, { state, key }) => [w.mul(x).sum(), { state: { n: state.n.mul(2).add(x.sum()) }, aux: { key, x } }];
  const step = sn.trainStep(loss, sgd(), { accumulate: 2 });
  const made = step(step.init({ w: sn.ones([1]) }, { state: { n: sn.tensor(1) }, key: first }), sn.tensor([[1], [2], [3], [4]]));
  assert.equal(step.state(made.state).n.item(), (1 * 2 + 3) * 2 + 7);
  assert.equal(made.loss.item(), 5);
  const own = random.foldIn(first, 0);
  assert.deepEqual(made.aux.key.toArray(), [0, 1].map((i) => random.foldIn(own, i).toArray()));
  assert.deepEqual(made.aux.x.toArray(), [[[1], [2]], [[3], [4]]]);
});

test('blocks: the mean of their gradients, added in pairs; each of them has the state before, the next one is their mean', () => {
  const first = random.key(3);
  const loss = ({ w }, x, { state, key }) => [
    w.mul(x).sum(),
    { state: { mean: state.mean.mul(0.5).add(x.sum()), n: state.n.add(x.sum().astype('int32')) }, aux: { key, x } },
  ];
  const step = sn.trainStep(loss, optim.sgd({ lr: 1 }), { blocks: 3 });
  const state = { mean: sn.tensor(4), n: sn.tensor(10, { dtype: 'int32' }) };
  const values = [1e8, 3, -1e8, 5, 0.5, 7];
  const made = step(step.init({ w: sn.zeros([1]) }, { state, key: first }), sn.tensor(values, { shape: [6, 1] }));
  const f = Math.fround;
  const sums = [0, 2, 4].map((i) => f(values[i] + values[i + 1]));
  const inPairs = f(f(sums[0] + sums[1]) + sums[2]);
  assert.equal(step.params(made.state).w.item(), -f(inPairs / 3));
  assert.equal(step.state(made.state).mean.item(), f(f(f(f(2 + sums[0]) + f(2 + sums[1])) + f(2 + sums[2])) / 3));
  assert.equal(step.state(made.state).n.item(), 10 + 7); // 0.5 + 7, of the last block
  const own = random.foldIn(first, 0);
  assert.deepEqual(made.aux.key.toArray(), [0, 1, 2].map((i) => random.foldIn(own, i).toArray()));
  assert.deepEqual(made.aux.x.toArray().flat(2), values);
});

test('blocks: each may be cut into parts; one block is the whole batch', () => {
  const params = net.init(random.key(1));
  const [x, y] = [floats([12, 6], 2), floats([12, 2], 3)];
  const of = (options) => {
    const step = sn.trainStep(mse, sgd(), options);
    const { state, loss } = step(step.init(params), x, y);
    return [step.params(state), loss];
  };
  const [whole, loss] = of({});
  for (const options of [{ blocks: 1 }, { blocks: 4 }, { blocks: 3, accumulate: 2 }, { blocks: 5 }, { blocks: 8 }, { blocks: 11 }, { blocks: 13 }, { blocks: 40 }]) {
    const [made, value] = of(options);
    assertClose(value, loss.item(), 1e-6);
    sn.tree.map((a, b) => assertClose(a, b.toArray(), 1e-6), made, whole);
  }
  assertThrows(() => of({ blocks: 5, accumulate: 2 }), sn.ShapeError, { op: 'trainStep', message: /batch argument 0 \(3, 6\) does not divide into 2 parts.*/, hint: /option accumulate/ });
  assertThrows(() => of({ blocks: 0 }), sn.SinterError, { op: 'trainStep', message: /blocks/ });
});

test('blocks of a batch that does not divide: the first have a row less, and each counts as many times as it has rows', () => {
  const loss = ({ w }, x, { state, key }) => [
    w.mul(x).mean(),
    { state: { mean: state.mean.mul(0.5).add(x.mean()), n: state.n.add(x.mean().astype('int32')) }, aux: key },
  ];
  const first = random.key(3);
  const made = (values, blocks) => {
    const step = sn.trainStep(loss, optim.sgd({ lr: 1 }), { blocks });
    const state = { mean: sn.tensor(4), n: sn.tensor(10, { dtype: 'int32' }) };
    const next = step(step.init({ w: sn.ones([1]) }, { state, key: first }), sn.tensor(values, { shape: [values.length, 1] }));
    const { mean, n } = step.state(next.state);
    const keys = [...Array(blocks).keys()].map((i) => random.foldIn(random.foldIn(first, 0), i).toArray());
    assert.deepEqual(next.aux.toArray(), keys);
    return [next.loss.item(), step.params(next.state).w.item(), mean.item(), n.item()];
  };
  // 1, 1, 2, 2 rows: means 3, -6, 8, 40
  assert.deepEqual(made([3, -6, 6, 10, 30, 50], 4), [93 / 6, 1 - 93 / 6, 2 + 93 / 6, 50].map(Math.fround));
  // none, 1, 1
  assert.deepEqual(made([8, 16], 3), [12, -11, 14, 26]);
  const step = sn.trainStep((w, x, y) => w.mul(x.sum()).add(y.sum()), optim.sgd({ lr: 1 }), { blocks: 4 });
  assertThrows(() => step(step.init(sn.ones([])), sn.ones([6, 2]), sn.ones([8])), sn.ShapeError, { op: 'trainStep', message: /batch argument 1 \(8,\) does not divide into 4 parts/ });
  assertThrows(() => step(step.init(sn.ones([])), sn.ones([8, 2]), sn.ones([6])), sn.ShapeError, { op: 'trainStep', message: /batch argument 1 \(6,\) does not divide into 4 parts/ });
  const rows = sn.trainStep((w, x) => [w.mul(x.sum()), { aux: x }], optim.sgd({ lr: 1 }), { blocks: 4 });
  assertThrows(() => rows(rows.init(sn.ones([])), sn.ones([6, 2])), sn.ShapeError, { message: /aux/ });
});

test('accumulate: the memory of one part', () => {
  const params = net.init(random.key(1));
  const arena = (rows, accumulate) => {
    const step = sn.trainStep(mse, sgd(), { accumulate });
    return sn.inspect(step)(step.init(params), floats([rows, 6], 2), floats([rows, 2], 3)).memory.arenaBytes;
  };
  const [one, many] = [arena(4096, 1), arena(16384, 4)];
  assert.ok(many <= 1.01 * one, `${many} bytes of 4 parts, ${one} of one`);
  // of many parameters: besides, the sums of the gradients, each in one place
  const wide = sn.nn.sequential(sn.nn.linear(64, 256), sn.nn.tanh(), sn.nn.linear(256, 64));
  const loss = (p, x) => wide.apply(p, x).sub(x).square().mean();
  const [part, parts] = [1, 4].map((accumulate) => {
    const step = sn.trainStep(loss, sn.optim.adam(), { accumulate });
    return sn.inspect(step)(step.init(wide.init(random.key(2))), floats([256 * accumulate, 64], 2)).memory.arenaBytes;
  });
  const sums = sn.tree.leaves(wide.init(random.key(2))).reduce((bytes, t) => bytes + 4 * t.size, 0);
  assert.ok(parts <= part + 1.01 * sums, `${parts} bytes of 4 parts, ${part} of one, ${sums} of sums`);
});

test('clipNorm: all gradients together have this length at most', () => {
  const loss = ({ a, b }) => a.mul([3, 0]).sum().add(b.mul(4));
  const moved = (options, optimizer = optim.sgd({ lr: 1 })) => {
    const step = sn.trainStep(loss, optimizer, options);
    return bitsOf(step.params(step(step.init({ a: sn.zeros([2]), b: sn.tensor(0) })).state));
  };
  assertClose(Object.values(moved({ clipNorm: 2.5 })).flat(), [-1.5, 0, -2]);
  assert.deepEqual(moved({ clipNorm: 6 }), moved({}));
  // across groups, where each optimizer's own clipping sees a group alone
  const groups = () => optim.groups([{ match: (path) => path === 'a', optimizer: optim.sgd({ lr: 1 }) }, { match: () => true, optimizer: optim.sgd({ lr: 1 }) }]);
  assert.deepEqual(moved({ clipNorm: 2.5 }, groups()), moved({ clipNorm: 2.5 }));
});

test('a loss of NaN is returned, and the state goes on', () => {
  const step = sn.trainStep(({ w, v }, x) => w.mul(x).sum().add(v.sum()), optim.adam({ lr: 0.1 }), { clipNorm: 1 });
  let state = step.init({ w: sn.ones([1]), v: sn.ones([1]) });
  const made = step(state, sn.tensor([NaN]));
  assert.ok(Number.isNaN(made.loss.item()));
  ({ state } = step(made.state, sn.tensor([1])));
  assert.ok(Number.isNaN(step.params(state).w.item()));
  assert.equal(state.optimizer.count.item(), 2);
});

test('evalStep computes with a training state, and leaves it', () => {
  const loss = ({ w }, x, { state }) => [w.mul(x).sum(), { state: { n: state.n.add(1) } }];
  const step = sn.trainStep(loss, optim.ema(sgd(), { decay: 0.5 }));
  let state = step.init({ w: sn.tensor([1]) }, { state: { n: sn.tensor(0) } });
  ({ state } = step(state, sn.tensor([1])));
  const evaluate = sn.evalStep(({ w }, x, { state: { n } }) => ({ y: w.mul(x), n }));
  for (let i = 0; i < 2; i++) {
    const { y, n } = evaluate(state, sn.tensor([2]));
    assertClose(y, [1.8]);
    assert.equal(n.item(), 1);
  }
  assert.equal(evaluate.cacheSize, 1);
  assertClose(evaluate({ ...state, params: state.optimizer.average }, sn.tensor([2])).y, [1.9]);
  step(state, sn.tensor([1]));
  assertThrows(() => evaluate({}, sn.tensor([1])), sn.SinterError, { op: 'evalStep', message: /no training state/ });
  assertThrows(() => sn.evalStep(3), sn.SinterError, { op: 'evalStep' });
});

test('what cannot be is refused, and the state stays usable', () => {
  const step = (loss, options) => sn.trainStep(loss, sgd(), options);
  const refused = (loss, fields, batch = [], init = { state: { n: sn.tensor(0) } }, options = undefined) => {
    const one = step(loss, options);
    const state = one.init({ w: sn.ones([2]) }, init);
    assertThrows(() => one(state, ...batch), sn.SinterError, fields);
    assert.deepEqual(one.params(state).w.toArray(), [1, 1]);
  };
  const sum = ({ w }) => w.sum();
  refused((p) => [sum(p), { state: { n: sn.ones([3]) } }], { op: 'trainStep', message: /state of another kind/ });
  refused((p) => [sum(p), { state: { m: sn.tensor(1) } }], { message: /state of another kind/ });
  refused((p) => [sum(p), { state: { n: sn.tensor(1) } }], { message: /state of another kind/ }, [], {});
  refused((p) => [sum(p), { stat: 1 }], { message: /did you mean 'state'/ });
  refused((p) => [sum(p), 1, 2], { message: /expected a number or \[loss/ });
  refused((p) => [sum(p), sn.ones([1])], { message: /expected a number or \[loss/ });
  refused(() => 'loss', { message: /must return/ });
  refused((p, x) => x.mul(p.w).sum(), { op: 'trainStep', code: 'shape', message: /batch argument 0 \(3, 2\) does not divide into 2/ }, [sn.ones([3, 2])], {}, { accumulate: 2 });
  const one = step(sum);
  assertThrows(() => one.init({ w: sn.ones([1]) }, { key: 3 }), sn.SinterError, { message: /3 is no key/ });
  assertThrows(() => one.init({ w: sn.ones([1]) }, { keys: 3 }), sn.SinterError, { op: 'trainStep.init' });
  assertThrows(() => step(sum, { accumulate: 0 }), sn.SinterError, { op: 'trainStep', message: /accumulate is 0/ });
  assertThrows(() => step(sum, { clipNorm: -1 })(one.init({ w: sn.ones([1]) })), sn.SinterError, { message: /limit is -1/ });
});

test('a step within a trace may return its rate', () => {
  const plain = sgd();
  const remembering = {
    lr: plain.lr,
    init: (params) => ({ ...plain.init(params), rate: sn.zeros([]) }),
    update: (grads, { rate: _, ...state }, params, rate) => {
      const next = plain.update(grads, state, params, rate);
      return { ...next, state: { ...next.state, rate } };
    },
  };
  const step = sn.trainStep(({ w }, x) => w.mul(x).sum(), remembering);
  const state = step.init({ w: sn.tensor([1, 2]) });
  const { optimizer } = sn.jit((given, x) => step(given, x).state)(state, sn.tensor([3, 4]));
  assert.equal(optimizer.rate.item(), Math.fround(0.1));
  assert.equal(step(state, sn.tensor([3, 4])).state.optimizer.rate.item(), Math.fround(0.1));
});

test('memory is constant with all of it on', () => {
  const loss = (params, x, y, { state, key }) => [
    mse(params, x.add(random.normal(key, x.shape).mul(0.01)), y), { state: { n: state.n.add(1) }, aux: { x: x.mean() } }];
  const rate = optim.schedules.warmupCosine({ lr: 0.01, warmup: 3, steps: 100 });
  const step = sn.trainStep(loss, optim.ema(optim.adamw({ lr: rate })), { accumulate: 2, clipNorm: 1 });
  const [x, y] = [floats([8, 6], 2), floats([8, 2], 3)];
  let state = sn.tidy(() => step.init(net.init(random.key(1)), { state: { n: sn.tensor(0) }, key: random.key(2) }));
  const oneStep = () => {
    const made = step(state, x, y);
    state = made.state;
    sn.dispose([made.loss, made.aux]);
  };
  for (let i = 0; i < 10; i++) oneStep();
  const { bytesInUse, tensors, programs } = sn.memory();
  for (let i = 0; i < 200; i++) oneStep();
  assert.deepEqual([sn.memory().bytesInUse, sn.memory().tensors, sn.memory().programs], [bytesInUse, tensors, programs]);
});
