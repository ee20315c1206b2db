// Bad input: a typed error that names the op and the shapes, and everything goes on working.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertRejects, assertThrows } from './support.mjs';

await sn.init();

// After any error the library still computes.
afterEach(() => assert.deepEqual(sn.tensor([1, 2]).add(1).toArray(), [2, 3]));

const a = sn.zeros([2, 3]);
const b = sn.zeros([4, 5]);

test('matmul names both shapes', () => {
  assertThrows(() => sn.matmul(a, b), sn.ShapeError, {
    message: 'matmul: inner dimensions differ: a (2, 3), b (4, 5)',
    code: 'shape',
    op: 'matmul',
    shapes: [[2, 3], [4, 5]],
  });
});

test('shapes that do not broadcast', () => {
  assertThrows(() => a.add(b), sn.ShapeError, { op: 'add', message: /\(2, 3\).*\(4, 5\)/ });
  assertThrows(() => sn.broadcastTo(a, [2, 4]), sn.ShapeError, { message: /\(2, 3\)/ });
});

test('axes out of range', () => {
  assertThrows(() => a.sum(2), sn.ShapeError, { op: 'sum', shapes: [[2, 3]] });
  assertThrows(() => a.mean({ axis: [0, 0] }), sn.ShapeError, { op: 'mean' });
  assertThrows(() => a.argmax(-3), sn.ShapeError, { op: 'argmax' });
  assertThrows(() => sn.concat([a, a], { axis: 2 }), sn.ShapeError, { op: 'concat' });
  assertThrows(() => a.transpose([0, 0]), sn.ShapeError, { op: 'transpose' });
  assertThrows(() => a.transpose([0]), sn.ShapeError, { op: 'transpose' });
});

test('wrong sizes', () => {
  assertThrows(() => a.reshape([4]), sn.ShapeError, { op: 'reshape', message: /\(2, 3\)/ });
  assertThrows(() => a.reshape([-1, -1]), sn.ShapeError, { op: 'reshape' });
  assertThrows(() => sn.tensor([1, 2, 3], { shape: [2] }), sn.ShapeError, { op: 'tensor', shapes: [[2]] });
  assertThrows(() => sn.tensor([[1], [1, 2]]), sn.ShapeError, { op: 'tensor' });
  assertThrows(() => sn.zeros([-1]), sn.ShapeError, { op: 'zeros' });
  assertThrows(() => sn.zeros([1.5]), sn.ShapeError, { op: 'zeros' });
  assertThrows(() => sn.zeros([1, 1, 1, 1, 1, 1, 1, 1, 1]), sn.ShapeError, { op: 'zeros' });
  assertThrows(() => a.slice([0, 2], [1, 2]), sn.ShapeError, { op: 'slice' });
  assertThrows(() => sn.concat([a, b]), sn.ShapeError, { op: 'concat' });
  assertThrows(() => a.squeeze(0), sn.ShapeError, { op: 'squeeze' });
  assertThrows(() => sn.zeros([0]).max(), sn.ShapeError, { op: 'max' });
  assertThrows(() => a.item(), sn.ShapeError, { op: 'item' });
});

test('wrong dtypes', () => {
  assertThrows(() => sn.tensor([1, 2]).bitwiseAnd(1), sn.DTypeError, { op: 'bitwiseAnd' });
  assertThrows(() => sn.zeros([1], { dtype: 'complex' }), sn.DTypeError, { op: 'zeros' });
  assertThrows(() => sn.zeros([1], { dtype: 'toString' }), sn.DTypeError, { op: 'zeros' });
  assertThrows(() => sn.zeros([1], { dtype: 'int64' }), sn.DTypeError, { op: 'zeros', code: 'dtype' });
  assertThrows(() => sn.tensor(new Uint32Array(2)), sn.DTypeError, { op: 'tensor' });
  assertThrows(() => sn.tensor(new BigInt64Array(2)), sn.DTypeError, { op: 'tensor' });
  assertThrows(() => sn.softmaxCrossEntropy(a, sn.tensor([0.5, 1])), sn.SinterError);
});

test('things that are no tensors', () => {
  assertThrows(() => sn.tensor('text'), sn.SinterError, { code: 'argument' });
  assertThrows(() => sn.add(a, null), sn.SinterError, { code: 'argument' });
  assertThrows(() => sn.add(a, undefined), sn.SinterError, { code: 'argument' });
  assertThrows(() => sn.tensor([1, 'x']), sn.SinterError, { code: 'argument' });
  assertThrows(() => sn.concat([]), sn.SinterError, { code: 'argument' });
  assertThrows(() => sn.arange(0, 1, 0), sn.SinterError, { code: 'argument' });
});

test('use after dispose', async () => {
  const x = sn.tensor([[1, 2, 3]]);
  x.dispose();
  x.dispose();
  assertThrows(() => x.add(1), sn.DisposedError, { code: 'disposed', op: 'add', message: 'add: the tensor (1, 3) was disposed' });
  assertThrows(() => sn.add(1, x), sn.DisposedError);
  assertThrows(() => sn.where(true, x, 1), sn.DisposedError);
  assertThrows(() => x.item(), sn.DisposedError);
  await assertRejects(x.data(), sn.DisposedError);
  assert.equal(String(x), 'Tensor(float32 (1, 3), disposed)');
});

test('sizes beyond any memory', () => {
  assertThrows(() => sn.ones([2 ** 16, 2 ** 16, 2 ** 16]).add(1).dataSync(), sn.SinterError);
  assertThrows(() => sn.ones([2 ** 30, 2]).mul(2).dataSync(), sn.OutOfMemoryError, { code: 'memory' });
});

test('an error in the middle of a chain leaks nothing', () => {
  const before = sn.memory().tensors;
  for (let i = 0; i < 10; i++) {
    sn.tidy(() => assertThrows(() => sn.tensor([1, 2]).add([1, 2, 3]), sn.ShapeError));
  }
  assert.equal(sn.memory().tensors, before);
});

test('passes: an unknown name is refused', () => {
  assert.ok(sn.passes().length >= 2);
  assertThrows(() => sn.setPass('nonsense', true), sn.SinterError, { code: 'argument' });
  const [first] = sn.passes();
  sn.setPass(first, false);
  sn.setPass(first, true);
});

test('a tensor that leaks out of a traced function says where it belongs', () => {
  const x = sn.tensor([1, 2, 3]);
  for (const transform of [sn.jit, sn.grad]) {
    let leaked;
    transform((t) => {
      leaked = t.mul(2);
      return leaked.sum();
    })(x);
    assertThrows(() => leaked.add(1), sn.DisposedError, {
      op: 'add',
      message: /was made while a function was traced .*\(return it from that function\)/,
    });
  }
});

test('a training state that an earlier step used up says so', () => {
  const step = sn.trainStep((w, x) => w.mul(x).sum(), sn.optim.sgd({ lr: 0.1 }));
  const first = step.init(sn.tensor([1, 2]));
  const batch = sn.tensor([3, 4]);
  const { state } = step(first, batch);
  assertThrows(() => step(first, batch), sn.DisposedError, {
    op: 'trainStep',
    message: /training state was used up by an earlier step \(go on with the state that the step returned\)/,
  });
  batch.dispose();
  assertThrows(() => step(state, batch), sn.DisposedError, { op: 'jit', message: /was disposed$/ });
});
