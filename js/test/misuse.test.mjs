// Likely mistakes: each is a typed error that says what to write, and none is a wrong result or an error of the engine's.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { afterEach, test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();

afterEach(() => assert.deepEqual(sn.tensor([1, 2]).add(1).toArray(), [2, 3]));

const x = sn.tensor([[1, 2, 3], [4, 5, 6]]);
const int = (values) => sn.tensor(values, { dtype: 'int32' });
const argument = { code: 'argument' };

test("JavaScript's operators, JSON and clones do not take tensors for something else", () => {
  for (const use of [() => x + 1, () => x > 1, () => -x, () => x * 2, () => x == 1, () => `${1}` + x]) {
    assertThrows(use, sn.SinterError, { ...argument, message: /a\.greater\(b\)/ });
  }
  assertThrows(() => sn.jit((t) => (t.sum() > 0 ? t : t.neg()))(x), sn.SinterError, { message: /operators/ });
  assert.equal(`${x}`, 'Tensor(float32 (2, 3))');
  assertThrows(() => JSON.stringify({ w: x }), sn.SinterError, { ...argument, message: /sn\.tree\.map/ });
  assert.throws(() => structuredClone({ w: x }), { name: 'DataCloneError', message: /await t\.data\(\)/ });
});

test('indices given as numbers are checked, those in tensors clamped', () => {
  const refused = (f, op) => assertThrows(f, sn.ShapeError, { op, message: /out of range/ });
  refused(() => x.take([2]), 'take');
  refused(() => x.take([-3]), 'take');
  refused(() => x.take(3, { axis: 1 }), 'take');
  refused(() => x.take(new Int32Array([0, 2])), 'take');
  refused(() => sn.take([1, 2, 3], [2 ** 32 + 1]), 'take');
  refused(() => x.takeAlongAxis([[3], [0]]), 'takeAlongAxis');
  refused(() => x.scatterAdd([7], 1), 'scatterAdd');
  refused(() => x.at([0, 2]).set(1), 'at');
  refused(() => sn.scatter(x, [2], 1), 'scatter');
  refused(() => sn.gatherNd(x, [[0, 2], [1, 3]]), 'gatherNd');
  refused(() => sn.scatterNd(x, [[2, 0]], 1), 'scatterNd');
  assert.deepEqual(sn.gatherNd(x, [[0, 2], [-1, -3]]).toArray(), [3, 4]);
  refused(() => sn.nn.embedding(2, 3).apply({ weight: x }, [2]), 'take');
  assertThrows(() => x.take([true, false]), sn.DTypeError, { op: 'take', message: /bools/ });
  assertThrows(() => x.take([0.5]), sn.DTypeError, { op: 'take' });
  assert.deepEqual(x.take([-2, 1]).toArray(), x.toArray());
  assert.deepEqual(x.take(int([9, -9])).toArray(), [[4, 5, 6], [1, 2, 3]]);
  assert.deepEqual(sn.tensor([0, 0]).scatterAdd(int([9]), 1).toArray(), [0, 1]);
});

test('with debug level 1 indices in tensors are checked at the call, too', () => {
  const labels = int([0, 3]);
  sn.setDebug(1);
  try {
    assertThrows(() => x.take(int([2])), sn.ShapeError, { op: 'take', message: /2 is out of range, expected -2 to 1/ });
    assertThrows(() => sn.softmaxCrossEntropy(x, labels), sn.ShapeError, { op: 'softmaxCrossEntropy', message: /labels: 3/ });
    assert.deepEqual(sn.jit((t, i) => t.take(i))(x, int([1])).toArray(), [[4, 5, 6]]);
  } finally {
    sn.setDebug(0);
  }
});

test('labels are classes; one outside is refused, or left out by ignoreIndex', () => {
  assertThrows(() => sn.softmaxCrossEntropy(x, [0, 3]), sn.ShapeError, { message: /labels: 3 is out of range, expected 0 to 2/ });
  assertThrows(() => sn.softmaxCrossEntropy(x, [0, -1]), sn.ShapeError, { message: /labels: -1/ });
  assertThrows(() => sn.softmaxCrossEntropy(x, new Int32Array([0, -1])), sn.ShapeError);
  assertThrows(() => sn.softmaxCrossEntropy(x, [0, 1.5]), sn.DTypeError);
  const [first, second] = sn.softmaxCrossEntropy(x, int([0, 1])).toArray();
  assertClose(sn.softmaxCrossEntropy(x, [0, 1]), [first, second], 0);
  const distribution = [[1, 0, 0], [0, 1, 0]];
  assertClose(sn.softmaxCrossEntropy(x, distribution), [first, second], 1e-6);
  for (const labels of [[0, -1], int([0, -1])]) {
    assertClose(sn.softmaxCrossEntropy(x, labels, { ignoreIndex: -1 }), [first, 0], 0);
    const g = sn.jit(sn.grad((t, y) => sn.softmaxCrossEntropy(t, y, { ignoreIndex: -1 }).sum()))(x, labels);
    const whole = sn.grad((t) => sn.softmaxCrossEntropy(t, [0, 1]).sum())(x).toArray();
    assertClose(g, [whole[0], [0, 0, 0]], 1e-6);
  }
  const large = sn.tensor([[1, 2], [Infinity, NaN]]);
  assertClose(sn.grad((t) => sn.softmaxCrossEntropy(t, [1, 7], { ignoreIndex: 7 }).sum())(large).slice([0, 0], [1, 2]),
    [[0.26894142, -0.26894142]], 1e-6);
  assertThrows(() => sn.softmaxCrossEntropy(x, distribution, { ignoreIndex: 0 }), sn.DTypeError, { message: /ignoreIndex/ });
});

test('numbers that a dtype cannot hold are refused', () => {
  const refused = (f) => assertThrows(f, sn.SinterError, { ...argument, message: /holds/ });
  for (const value of [3e10, -3e10, 2 ** 31, NaN, Infinity]) refused(() => int([0, value]));
  refused(() => sn.tensor([300], { dtype: 'uint8' }));
  refused(() => sn.tensor(new Float32Array([-1]), { dtype: 'uint8' }));
  refused(() => sn.tensor(new Int32Array([128]), { dtype: 'int8' }));
  refused(() => sn.full([2], 3e10, { dtype: 'int32' }));
  assert.deepEqual(int([2.7, -2.7, 2 ** 31 - 1, -(2 ** 31)]).toArray(), [2, -2, 2 ** 31 - 1, -(2 ** 31)]);
  assert.deepEqual(sn.tensor(new Uint32Array([2 ** 32 - 1]), { dtype: 'int32' }).toArray(), [-1]);
  assert.deepEqual(sn.tensor([3e10]).astype('int32').toArray(), [2 ** 31 - 1]);
});

test('numbers beyond 32 bits are refused, not wrapped', () => {
  const far = 2 ** 32 + 1;
  for (const f of [
    () => sn.slice([1, 2, 3], [far], [1]), () => sn.slice([1, 2, 3], [0], [2 ** 32 + 3]), () => sn.slice([1, 2, 3], [0], [-2]),
    () => sn.slice([1, 2, 3], [0], [1], { strides: [far] }), () => sn.oneHot([1], 2 ** 33), () => sn.pad([1, 2], [[far, 0]]),
    () => sn.pad([1, 2], [[1.5, 0]]), () => sn.iota([3], 2 ** 32), () => sn.iota([3], 'x'), () => sn.iota([3], Infinity),
    () => sn.roll([1, 2], 2 ** 53 - 1), () => sn.repeat([1], far), () => sn.tile([1], far), () => sn.tril(x, { k: far }),
    () => sn.conv1d(sn.ones([1, 9, 1]), sn.ones([2, 1, 1]), { strides: far }), () => x.transpose(['1', '0']),
    () => sn.reshape(sn.ones([4]), [2 ** 32 + 4]), () => sn.reshape(sn.ones([4]), new Array(2 ** 32 - 1)), () => sn.random.key(1.5), () => sn.random.splitKeys(sn.random.key(0), 1e8),
  ]) {
    assertThrows(f, sn.SinterError);
  }
  assert.deepEqual(sn.slice([1, 2, 3], [1], [-1]).toArray(), [2, 3]);
});

test('sizes are checked before arrays are made', () => {
  const begin = performance.now();
  assertThrows(() => sn.split(x, 2 ** 31), sn.ShapeError, { op: 'split', message: /does not divide/ });
  assertThrows(() => sn.split(sn.zeros([0]), 2 ** 31 - 1), sn.ShapeError, { op: 'split' });
  assertThrows(() => sn.split(x, -1), sn.ShapeError, { op: 'split' });
  assertThrows(() => sn.split(x, 1.5), sn.ShapeError, { op: 'split' });
  assertThrows(() => sn.takeAlongAxis(x, { length: 1e9 }), sn.SinterError, { op: 'takeAlongAxis' });
  assertThrows(() => sn.take(x, { length: 2e8 }), sn.SinterError, { op: 'take' });
  assertThrows(() => sn.tensor(new Array(2 ** 32 - 1)), sn.SinterError, { op: 'tensor' });
  assertThrows(() => sn.tile(x, new Array(1e6).fill(1)), sn.ShapeError, { op: 'tile' });
  assert.ok(performance.now() - begin < 60_000);
});

test('cyclic, deep and detached arrays', () => {
  const cyclic = [];
  cyclic.push(cyclic);
  let deep = [1];
  for (let i = 0; i < 100_000; i++) deep = [deep];
  const array = new Float32Array(4);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  for (const bad of [cyclic, deep, array]) {
    assertThrows(() => sn.tensor(bad), sn.SinterError);
    assertThrows(() => sn.take(x, bad), sn.SinterError);
    assertThrows(() => x.add(bad), sn.SinterError);
  }
  assert.deepEqual(sn.tensor(new Float32Array(0)).shape, [0]);
});

test('modules, keys, optimizers and states that are something else', () => {
  const { nn, optim, random } = sn;
  const refused = (f, message) => assertThrows(f, sn.SinterError, { ...argument, message });
  refused(() => nn.linear(3, 2).init(), /random\.key/);
  refused(() => nn.linear(3, 2).apply(undefined, x), /module\.init/);
  refused(() => random.uniform(0, [2]), /0 is no key/);
  refused(() => random.foldIn(random.key(0), 'epoch'), /foldIn/);
  refused(() => random.bernoulli(random.key(0), 2), /probability/);
  refused(() => random.uniform(random.key(0), [2], { minval: 2, maxval: 1 }), /above/);
  refused(() => nn.sequential([nn.relu()]), /one by one/);
  refused(() => nn.sequential(nn.relu), /nn\.relu\(\)/);
  refused(() => nn.selfAttention(10, 3), /3 heads/);
  refused(() => sn.trainStep((p) => p.sum(), 'adam'), /optim\.adam/);
});

test('an optimizer takes a tree of parameters, and refuses gradients and states of others', () => {
  const params = { w: sn.ones([2]), b: [sn.zeros([1])] };
  for (const optimizer of [sn.optim.adam(), sn.optim.sgd({ lr: 0.1, momentum: 0.9 })]) {
    const state = optimizer.init(params);
    const next = optimizer.update({ w: sn.ones([2]), b: [sn.ones([1])] }, state, params);
    assert.ok(next.params.w.toArray()[0] < 1);
    assertThrows(() => optimizer.update({ w: sn.ones([2]) }, state, params), sn.ShapeError, { message: /1 gradients for 2 parameters/ });
    assertThrows(() => optimizer.update({ w: sn.ones([3]), b: [sn.ones([1])] }, state, params), sn.ShapeError, { message: /gradient \d is/ });
    assertThrows(() => optimizer.update(params, undefined, params), sn.SinterError, { message: /optimizer\.init/ });
  }
  const step = sn.trainStep((p) => p.square().sum(), sn.optim.adam());
  assertThrows(() => step(sn.ones([2])), sn.SinterError, { op: 'trainStep', message: /step\.init\(params\)/ });
  assertThrows(() => step(), sn.SinterError, { op: 'trainStep' });
});

test('a number of an argument that a call does not have', () => {
  assertThrows(() => sn.jit((t) => t.add(1), { donate: 5 })(x), sn.SinterError, { op: 'jit', message: /no argument 5/ });
  assertThrows(() => sn.grad((t) => t.sum(), { argnums: 3 })(x), sn.SinterError, { op: 'grad', message: /no argument 3/ });
});

test('implicit keys are refused where each call would draw the same', () => {
  assertThrows(() => sn.jit(() => sn.random.normal(sn.random.nextKey(), [1]))(), sn.SinterError, { message: /pass a key/ });
});

test('a compiled async function is refused, and its own failure does not end the process', () => {
  const script = `
    const sn = await import('${new URL('../dist/index.js', import.meta.url).href}');
    await sn.init();
    for (const use of [(f) => sn.jit(f)(sn.ones([2])), (f) => sn.grad(f)(sn.ones([2])), (f) => sn.tidy(f)]) {
      try { use(async (t) => { await Promise.resolve(); throw new Error('own'); }); } catch (error) { console.log(error.name); }
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    console.log('alive');`;
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  assert.deepEqual(out.trim().split('\n'), ['SinterError', 'SinterError', 'SinterError', 'alive']);
});
