// A tensor in a console: what is shown, and that to look computes nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import * as sn from '../dist/index.js';

await sn.init({ threads: 2 });

const computed = (t) => {
  sn.eval(t);
  return t;
};

test('dtype, shape and values, aligned', () => {
  assert.equal(inspect(sn.tensor([[1, 2.5, -3], [4, 5, 1 / 3]])),
    'Tensor(float32 (2, 3))\n[[       1,      2.5,       -3],\n [       4,        5, 0.333333]]');
  assert.equal(inspect(sn.tensor(3.5)), 'Tensor(float32 ()) 3.5');
  assert.equal(inspect(sn.tensor([true, false])), 'Tensor(bool (2,)) [ true, false]');
  assert.equal(inspect(sn.tensor([])), 'Tensor(float32 (0,)) []');
  assert.equal(inspect(sn.tensor([0, -0, NaN, -Infinity, 16777216])),
    'Tensor(float32 (5,)) [        0,        -0,       NaN, -Infinity,  16777216]');
});

test('16-bit floats, without making a tensor', () => {
  for (const dtype of ['float16', 'bfloat16']) {
    const t = computed(sn.tensor([1, -1.5, 0, Infinity, NaN], { dtype }));
    const before = sn.memory().tensors;
    assert.equal(inspect(t), `Tensor(${dtype} (5,)) [       1,     -1.5,        0, Infinity,      NaN]`);
    assert.equal(sn.memory().tensors, before);
  }
  const small = computed(sn.tensor([2 ** -24, 2 ** -14, 65504, -2], { dtype: 'float16' }));
  assert.equal(inspect(small), 'Tensor(float16 (4,)) [  5.96046e-8, 0.0000610352,        65504,           -2]');
});

test('what has no value yet says so, and gets none by being shown', async () => {
  const t = sn.tensor([1, 2]).add(1);
  const programs = sn.memory().programs;
  assert.equal(inspect(t), 'Tensor(float32 (2,), not computed)');
  assert.equal(inspect({ t }), '{ t: Tensor(float32 (2,), not computed) }');
  assert.equal(sn.memory().programs, programs);
  await t.data();
  assert.equal(inspect(t), 'Tensor(float32 (2,)) [2, 3]');
  sn.jit((x) => {
    assert.equal(inspect(x), 'Tensor(float32 (2,), not computed)');
    return x;
  })(t);
  t.dispose();
  assert.equal(inspect(t), 'Tensor(float32 (2,), disposed)');
});

test('large tensors are shown by their edges', () => {
  assert.equal(inspect(computed(sn.arange(1001).add(0))), 'Tensor(float32 (1001,)) [   0,    1,    2, ...,  998,  999, 1000]');
  const lines = inspect(computed(sn.arange(5000).reshape([20, 250]).add(0))).split('\n');
  assert.equal(lines.length, 8);
  assert.equal(lines[1], '[[   0,    1,    2, ...,  247,  248,  249],');
  assert.equal(lines[4], ' ...,');
  assert.equal(lines[7], ' [4750, 4751, 4752, ..., 4997, 4998, 4999]]');
  assert.equal(inspect([computed(sn.arange(100).add(0))]), '[ Tensor(float32 (100,)) [ 0,  1,  2, ..., 97, 98, 99] ]');
});

test('a row longer than a line goes on below; rank 8 stays short', () => {
  const lines = inspect(computed(sn.arange(100).add(0))).split('\n');
  assert.ok(lines.length > 4 && lines.every((line) => line.length <= 80), lines.join('\n'));
  const deep = inspect(computed(sn.zeros([4, 4, 4, 4, 4, 4, 4, 4]).add(1)));
  assert.ok(deep.length < 8000, `${deep.length} characters`);
});

test('beyond the depth of an inspection there is one line', () => {
  assert.match(inspect({ a: { b: { c: [sn.ones([2, 2])] } } }, { depth: 2 }), /\[Array\]/);
  assert.equal(sn.ones([2])[Symbol.for('Deno.customInspect')](), 'Tensor(float32 (2,), not computed)');
});

test('init registers a formatter for consoles of browsers, and none in Node', () => {
  assert.equal(globalThis.devtoolsFormatters, undefined);
});
