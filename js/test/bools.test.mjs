// Logic on bools, which kernels may read four at a time: all sizes, views that begin anywhere.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';

await sn.init({ threads: 2 });

const bits = (n, seed) => Array.from({ length: n }, (_, i) => ((i * 2654435761 + seed * 40503) >>> 13) % 3 === 0);
const stored = (t) => [...t.dataSync()];
const SIZES = [0, 1, 3, 4, 5, 8, 31, 64, 100, 1000, 1003, 4096];

const OPS = {
  logicalAnd: (a, b) => a && b,
  logicalOr: (a, b) => a || b,
  logicalXor: (a, b) => a !== b,
};

for (const [name, expected] of Object.entries(OPS)) {
  test(`${name} of bools of any number`, () => {
    for (const n of SIZES) {
      const [a, b] = [bits(n, 1), bits(n, 2)];
      const got = sn[name](sn.tensor(a, { dtype: 'bool' }), sn.tensor(b, { dtype: 'bool' }));
      assert.equal(got.dtype, 'bool');
      assert.deepEqual(stored(got), a.map((x, i) => Number(expected(x, b[i]))), `${name} of ${n}`);
    }
  });
}

test('logic of several ops in one kernel is that of each', () => {
  const f = sn.jit((x, y, z) => {
    const either = sn.logicalXor(x, sn.logicalNot(y));
    return [either, sn.logicalNot(sn.logicalOr(sn.logicalAnd(either, z), x))];
  });
  for (const n of SIZES) {
    const [x, y, z] = [1, 2, 3].map((seed) => bits(n, seed));
    const [either, last] = f(...[x, y, z].map((v) => sn.tensor(v, { dtype: 'bool' })));
    const wanted = x.map((v, i) => v !== !y[i]);
    assert.deepEqual(stored(either), wanted.map(Number));
    assert.deepEqual(stored(last), wanted.map((v, i) => Number(!((v && z[i]) || x[i]))));
  }
});

test('a view that begins between words, one that is turned round, one value for all', () => {
  const n = 64, x = bits(n + 8, 4), t = sn.tensor(x, { dtype: 'bool' });
  for (let begin = 0; begin < 8; begin += 1) {
    const part = x.slice(begin, begin + n);
    const view = t.slice([begin], [n]);
    assert.deepEqual(stored(sn.logicalNot(view)), part.map((v) => Number(!v)), `from ${begin}`);
    assert.deepEqual(stored(sn.logicalNot(view.flip(0))), [...part].reverse().map((v) => Number(!v)));
  }
  const single = sn.tensor([true], { dtype: 'bool' });
  assert.deepEqual(stored(sn.logicalXor(t, single)), x.map((v) => Number(!v)));
});

test('bools meet numbers in one kernel', () => {
  const n = 40, x = bits(n, 5), y = bits(n, 6);
  const f = sn.jit((a, b, v) => sn.where(sn.logicalAnd(a, sn.logicalNot(b)), v, v.neg()));
  const v = Array.from({ length: n }, (_, i) => i + 1);
  const got = f(sn.tensor(x, { dtype: 'bool' }), sn.tensor(y, { dtype: 'bool' }), sn.tensor(v));
  assert.deepEqual(stored(got), v.map((k, i) => (x[i] && !y[i] ? k : -k)));
});

test('any and all are one kernel with what they ask of each element and what follows', () => {
  const x = sn.iota([70, 300], 1).div(300);
  const cases = {
    'all elements': (t) => sn.all(sn.isfinite(t)),
    'each row': (t) => sn.where(sn.any(t.greater(0.9), { axis: 1 }), 1, 2),
    'each column': (t) => sn.logicalNot(sn.all(t.less(0.5), { axis: 0 })),
    'the first largest of each row': (t) => sn.argmax(t.mul(2), { axis: 1 }),
  };
  for (const [name, f] of Object.entries(cases)) {
    assert.equal(sn.inspect(f)(x).kernels.length, 1, name);
    assert.deepEqual(sn.jit(f)(x).toArray(), f(x).toArray(), name);
  }
});

test('a number is true unless it is 0: NaN too, however it becomes a bool', () => {
  const numbers = [NaN, 0.5, -0, 0, 1e-45, Infinity];
  const expected = [true, true, false, false, true, true];
  assert.deepEqual(sn.tensor(numbers, { dtype: 'bool' }).toArray(), expected);
  assert.deepEqual(sn.tensor(new Float64Array(numbers), { dtype: 'bool' }).toArray(), expected);
  assert.deepEqual(sn.tensor(numbers).astype('bool').toArray(), expected);
  numbers.forEach((value, i) => assert.equal(sn.full([], value, { dtype: 'bool' }).item(), Number(expected[i])));
});
