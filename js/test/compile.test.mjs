// f.compile(): a function is compiled in slices between turns of the event loop, and its first call finds the program.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertRejects } from './support.mjs';

const { nn, optim, random } = sn;

before(() => sn.init({ deterministic: true }));

const net = nn.sequential(nn.linear(4, 8), nn.gelu(), nn.linear(8, 1));
const loss = (params, a, b) => net.apply(params, a).sub(b).square().mean();
const makeBatch = (rows = 6) => [random.normal(random.key(1), [rows, 4]), sn.ones([rows, 1])];

test('the call that follows traces nothing, and has the values of one without it', async () => {
  let traced = 0;
  const f = (x) => {
    traced++;
    return x.exp().matmul(x).sum();
  };
  const x = random.normal(random.key(0), [5, 5]);
  const made = sn.jit(f);
  const order = [];
  setImmediate(() => order.push('turn'));
  const compiled = made.compile(x).then(() => order.push('compiled'));
  assert.deepEqual([traced, made.cacheSize], [1, 0]);
  await compiled;
  assert.deepEqual(order, ['turn', 'compiled']);
  assert.deepEqual([made.cacheSize, made.traces.length], [1, 1]);
  assert.equal(made(x).item(), sn.jit(f)(x).item());
  assert.equal(traced, 2);
  await made.compile(x);
  assert.deepEqual([traced, made.cacheSize], [2, 1]);
});

test('tensors may be computed, and the function be called or disposed of, before it is done', async () => {
  const f = sn.jit((x) => x.matmul(x).tanh());
  const x = random.normal(random.key(0), [4, 4]);
  const value = x.matmul(x).tanh().dataSync();
  const before = sn.memory().tensors;
  const twice = [f.compile(x), f.compile(x)];
  const early = f(x);
  assert.deepEqual(early.dataSync(), value);
  await Promise.all(twice);
  assert.deepEqual([f.cacheSize, f.traces.length], [1, 1]);
  const last = f(x);
  assert.deepEqual(last.dataSync(), value);
  const other = f.compile(sn.tidy(() => x.add(0)).reshape([2, 8]).slice([0, 0], [2, 2]));
  f.dispose();
  await other;
  f.dispose();
  assert.equal(f.cacheSize, 0);
  sn.tree.map((t) => t.dispose(), [early, last]);
  assert.ok(sn.memory().tensors - before <= 3); // the arguments made above
});

test('it rejects with the error that a call would throw', async () => {
  const x = sn.ones([64, 64]);
  const f = sn.jit((a) => sn.sort(sn.sort(a.exp()).matmul(a)).matmul(a), { memoryBudget: 8 });
  await assertRejects(f.compile(x), sn.SinterError, { message: /^compile: a memory budget of 8 bytes cannot be met/ });
  assert.equal(f.cacheSize, 0);
  const g = sn.jit((a, b) => a.matmul(b));
  await assertRejects(g.compile(x, sn.ones([3, 3])), sn.ShapeError, { message: /^matmul: inner dimensions differ/ });
  const step = sn.trainStep(loss, optim.sgd({ lr: 0.1 }));
  await assertRejects(step.compile({}, ...makeBatch()), sn.SinterError, { message: /is no training state/ });
  await assertRejects(sn.jit((a) => a, { donate: 3 }).compile(x), sn.SinterError, { message: /argument 3/ });
});

test('steps: the state is not used up, and each kind of batch has a program', async () => {
  const step = sn.trainStep(loss, optim.adam({ lr: 0.01 }));
  const evaluate = sn.evalStep(loss);
  const state = step.init(net.init(random.key(3)));
  for (const rows of [6, 3]) {
    const batch = makeBatch(rows);
    await step.compile(state, ...batch);
    await evaluate.compile(state, ...batch);
  }
  assert.deepEqual([step.cacheSize, evaluate.cacheSize], [2, 2]);
  const batch = makeBatch();
  const first = evaluate(state, ...batch).item();
  assert.equal(step(state, ...batch).loss.item(), first);
  assert.deepEqual([step.cacheSize, evaluate.cacheSize], [2, 2]);
});

test('fit compiles so, once for each kind of batch, for training and for validation', async () => {
  const order = [];
  const noting = (name, f) =>
    Object.assign((...args) => (order.push(`${name} ${args[1].shape[0]}`), f(...args)), {
      compile: async (...args) => {
        await f.compile(...args);
        order.push(`compiled ${name} ${args[1].shape[0]}`);
      },
    });
  const step = sn.trainStep(loss, optim.adam({ lr: 0.01 }));
  const data = sn.data.fromArrays(makeBatch(8)).batch(3);
  await sn.fit(noting('step', step), step.init(net.init(random.key(3))), data, {
    epochs: 2,
    validation: { data, step: noting('evaluate', sn.evalStep(loss)) },
  });
  const passes = (name) => [`${name} 3`, `${name} 3`, `${name} 2`];
  const first = (name) => [`compiled ${name} 3`, `${name} 3`, `${name} 3`, `compiled ${name} 2`, `${name} 2`];
  assert.deepEqual(order, [...first('step'), ...first('evaluate'), ...passes('step'), ...passes('evaluate')]);
});
