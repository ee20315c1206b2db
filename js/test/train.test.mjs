// Networks, optimizers and the compiled training step.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();

const XOR = { x: [[0, 0], [0, 1], [1, 0], [1, 1]], y: [[0], [1], [1], [0]] };

const xorNet = () => sn.nn.sequential(sn.nn.linear(2, 16), sn.nn.tanh(), sn.nn.linear(16, 1));

test('modules make parameters of the right shapes', () => {
  const net = xorNet();
  const params = net.init(sn.random.key(0));
  assert.deepEqual([...params[0].weight.shape], [2, 16]);
  assert.deepEqual([...params[0].bias.shape], [16]);
  assert.deepEqual(params[1], {});
  assert.deepEqual([...net.apply(params, XOR.x).shape], [4, 1]);
  assert.equal(sn.nn.linear(3, 2, { bias: false }).init(sn.random.key(0)).bias, undefined);
  assertThrows(() => sn.nn.linear(0, 2), sn.SinterError, { code: 'argument' });
  assertThrows(() => net.apply(params, sn.zeros([4, 3])), sn.ShapeError, { op: 'matmul' });
});

for (const [name, make] of [
  ['adam', () => sn.optim.adam({ lr: 0.05 })],
  ['sgd with momentum and clipping', () => sn.optim.sgd({ lr: 0.3, momentum: 0.9, clipNorm: 1 })],
]) {
  test(`trainStep learns xor with ${name}`, () => {
    const net = xorNet();
    const loss = (params, x, y) => sn.mean(sn.square(net.apply(params, x).sub(y)));
    const step = sn.trainStep(loss, make());
    const x = sn.tensor(XOR.x);
    const y = sn.tensor(XOR.y);
    let state = step.init(net.init(sn.random.key(1)));
    let last;
    for (let i = 0; i < 400; i++) {
      const result = step(state, x, y);
      state = result.state;
      last = result.loss.item();
      result.loss.dispose();
    }
    assert.ok(last < 0.01, `loss ${last}`);
    assert.equal(step.cacheSize, 1);
    sn.dispose(state);
  });
}

test('memory is constant after the first steps', () => {
  const net = sn.nn.sequential(sn.nn.linear(20, 32), sn.nn.relu(), sn.nn.linear(32, 5));
  const step = sn.trainStep(
    (params, x, y) => sn.mean(sn.softmaxCrossEntropy(net.apply(params, x), y)),
    sn.optim.adam({ lr: 1e-3 }),
  );
  let state = sn.tidy(() => step.init(net.init(sn.random.key(2))));
  const inputs = Float32Array.from({ length: 8 * 20 }, (_, i) => Math.sin(i));
  const oneStep = () => {
    const x = sn.tensor(inputs, { shape: [8, 20] });
    const y = sn.tensor(Int32Array.of(0, 1, 2, 3, 4, 0, 1, 2));
    const result = step(state, x, y);
    state = result.state;
    const value = result.loss.item();
    sn.dispose([x, y, result.loss]);
    return value;
  };
  const first = oneStep();
  for (let i = 0; i < 9; i++) oneStep();
  const { bytesInUse, tensors, programs } = sn.memory();
  let last;
  for (let i = 0; i < 300; i++) last = oneStep();
  assert.ok(last < first);
  assert.deepEqual(
    [sn.memory().bytesInUse, sn.memory().tensors, sn.memory().programs],
    [bytesInUse, tensors, programs],
  );
});

test('the state is used up, the parameters given to init are not', () => {
  const params = { w: sn.tensor([1, 2]) };
  const step = sn.trainStep(({ w }) => sn.square(w).sum(), sn.optim.sgd({ lr: 0.1 }));
  const first = step.init(params);
  const { state, loss } = step(first);
  assertClose(loss, 5);
  assertClose(step.params(state).w, [0.8, 1.6]);
  assertThrows(() => step(first), sn.DisposedError);
  assert.deepEqual(params.w.toArray(), [1, 2]);
});

test('the learning rate changes without compiling again', () => {
  const optimizer = sn.optim.sgd({ lr: 0.1 });
  const step = sn.trainStep(({ w }) => w.sum(), optimizer);
  let { state } = step(step.init({ w: sn.tensor([1]) }));
  assertClose(step.params(state).w, [0.9]);
  optimizer.lr = 0.5;
  const misses = sn.memory().programMisses;
  ({ state } = step(state));
  assertClose(step.params(state).w, [0.4]);
  assert.equal(step.cacheSize, 1);
  assert.equal(sn.memory().programMisses, misses);
  optimizer.lr = sn.tensor(0.1);
  ({ state } = step(state));
  assertClose(step.params(state).w, [0.3]);
  optimizer.lr = (count) => sn.div(1, count.add(1));
  ({ state } = step(state));
  assertClose(step.params(state).w, [0.05]);
  assert.equal(step.cacheSize, 2);
});

test('adam follows its formula', () => {
  const [lr, b1, b2, eps] = [0.1, 0.9, 0.999, 1e-8];
  const step = sn.trainStep(({ w }) => sn.square(w).sum(), sn.optim.adam({ lr }));
  let state = step.init({ w: sn.tensor([1, -2]) });
  const w = [1, -2];
  const m = [0, 0];
  const v = [0, 0];
  for (let t = 1; t <= 5; t++) {
    ({ state } = step(state));
    for (const i of [0, 1]) {
      const g = 2 * w[i];
      m[i] = b1 * m[i] + (1 - b1) * g;
      v[i] = b2 * v[i] + (1 - b2) * g * g;
      w[i] -= (lr * (m[i] / (1 - b1 ** t))) / (Math.sqrt(v[i] / (1 - b2 ** t)) + eps);
    }
    assertClose(step.params(state).w, w, 2e-5);
  }
});

test('optimizers work without trainStep', () => {
  const optimizer = sn.optim.adam({ lr: 0.1 });
  const params = { w: sn.tensor([1]) };
  const { params: next } = optimizer.update({ w: sn.tensor([2]) }, optimizer.init([params.w]), params);
  assertClose(next.w, [0.9], 1e-5);
});
