// Operations on the bits of integers, as NumPy has them, on every way that a program runs; the judge is plain JavaScript.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const ARRAYS = { int32: Int32Array, int8: Int8Array, uint8: Uint8Array };

/** Numbers of all bits that the dtype has. */
const draw = (dtype, n, seed) => {
  const next = () => (seed = (Math.imul(seed, 1664525) + 1013904223) | 0) >>> 7;
  return ARRAYS[dtype].from({ length: n }, () => next() ^ (next() << 16));
};

/** Compiled with and without emitted code, without fusion, and eagerly. */
const everyWay = (f) => [f, sn.jit(f), sn.jit(f, { jit: false }), sn.jit(f, { fusion: false })];

const shiftLeft = (x, n) => (n < 0 || n > 31 ? 0 : x << n);
const shiftRight = (x, n) => x >> (n < 0 || n > 31 ? 31 : n);

const OPS = [
  ['bitwiseAnd', (x, y) => x & y], ['bitwiseOr', (x, y) => x | y], ['bitwiseXor', (x, y) => x ^ y],
  ['bitwiseLeftShift', shiftLeft], ['bitwiseRightShift', shiftRight],
];

test('bits of two integers, by tensors and by numbers', () => sn.tidy(() => {
  for (const [dtype, Ints] of Object.entries(ARRAYS)) {
    const [a, b] = [draw(dtype, 77, 3), draw(dtype, 77, 5)];
    const counts = Ints.from({ length: 77 }, (_, i) => i - (dtype === 'uint8' ? 0 : 38));
    for (const [name, f] of OPS) {
      const second = name.includes('Shift') ? counts : b;
      const want = Ints.from(a, (x, i) => f(x, second[i]));
      for (const way of everyWay((x, y) => sn[name](x, y))) {
        const z = way(sn.tensor(a), sn.tensor(second));
        assert.equal(z.dtype, dtype);
        assert.deepEqual(z.dataSync(), want, `${name} ${dtype}`);
      }
      for (const n of dtype === 'uint8' ? [0, 3, 7, 31, 32] : [-1, 0, 3, 7, 31, 32])
        for (const way of everyWay((x) => x[name](n)))
          assert.deepEqual(way(sn.tensor(a)).dataSync(), Ints.from(a, (x) => f(x, n)), `${name} ${dtype} ${n}`);
    }
    for (const way of everyWay((x) => x.bitwiseInvert()))
      assert.deepEqual(way(sn.tensor(a)).dataSync(), Ints.from(a, (x) => ~x));
  }
}));

test('shapes broadcast, dtypes are promoted, bools stay bools, constants fold', () => sn.tidy(() => {
  const [a, b] = [draw('int32', 12, 1), draw('int8', 4, 2)];
  const z = sn.tensor(a, { shape: [3, 4] }).bitwiseXor(sn.tensor(b));
  assert.equal(z.dtype, 'int32');
  assert.deepEqual(z.dataSync(), a.map((x, i) => x ^ b[i % 4]));
  const [p, q] = [[true, true, false, false], [true, false, true, false]].map((x) => sn.tensor(x, { dtype: 'bool' }));
  for (const [name, want] of [['bitwiseAnd', [1, 0, 0, 0]], ['bitwiseOr', [1, 1, 1, 0]], ['bitwiseXor', [0, 1, 1, 0]]])
    for (const way of everyWay((x, y) => sn[name](x, y))) {
      assert.equal(way(p, q).dtype, 'bool');
      assert.deepEqual([...way(p, q).dataSync()].map(Number), want);
    }
  assert.deepEqual([...p.bitwiseInvert().dataSync()].map(Number), [0, 0, 1, 1]);
  assert.equal(sn.bitwiseLeftShift(p, 3).dtype, 'int32');
  const folded = sn.jit((x) => x.add(sn.full([4], 5, { dtype: 'int32' }).bitwiseLeftShift(2).bitwiseInvert()));
  assert.deepEqual([...folded(sn.zeros([4], { dtype: 'int32' })).dataSync()], [-21, -21, -21, -21]);
  for (const name of ['bitwiseInvert', 'bitwiseOrReduce']) assertThrows(() => sn[name]([0.5]), sn.DTypeError, { op: name });
  assertThrows(() => sn.bitwiseLeftShift([0.5], 1), sn.DTypeError, { op: 'bitwiseLeftShift' });
}));

test('bits of all elements together', () => sn.tidy(() => {
  for (const shape of [[3, 5, 7], [2, 700, 3], [1, 1, 9000], [0, 4, 2], [64, 33, 40]]) {
    const [d, e, f] = shape;
    const a = draw('int32', d * e * f, e).map((x) => x & (x >> 7) & (x << 3));
    const x = sn.tensor(a, { shape });
    const along = (axes) => {
      const kept = shape.map((n, i) => (axes.includes(i) ? 1 : n));
      const out = new Int32Array(kept.reduce((p, n) => p * n, 1));
      a.forEach((v, i) => {
        const at = [Math.floor(i / (e * f)), Math.floor(i / f) % e, i % f].map((k, axis) => (axes.includes(axis) ? 0 : k));
        out[(at[0] * kept[1] + at[1]) * kept[2] + at[2]] |= v;
      });
      return [out, kept];
    };
    for (const axes of [[0], [1], [2], [0, 2], [0, 1, 2]])
      for (const way of everyWay((x) => sn.bitwiseOrReduce(x, { axis: axes, keepdims: true }))) {
        const [want, kept] = along(axes);
        assert.deepEqual(way(x).shape, kept);
        assert.deepEqual(way(x).dataSync(), want, `${shape} over ${axes}`);
      }
    assert.deepEqual(sn.vmap((row) => sn.bitwiseOrReduce(row, 0))(x).dataSync(), along([1])[0]);
  }
  const bools = sn.bitwiseOrReduce(sn.tensor([[true, false], [false, false]], { dtype: 'bool' }), 1);
  assert.equal(bools.dtype, 'bool');
  assert.deepEqual([...bools.dataSync()].map(Number), [1, 0]);
  const small = sn.bitwiseOrReduce(sn.tensor(Int8Array.of(-128, 3)));
  assert.equal(small.dtype, 'int8');
  assert.equal(small.item(), -125);
}));

test('rows meet by lists of pairs: new[x] |= old[y], in one kernel', () => sn.tidy(() => {
  const [rows, words, pairs] = [50, 60, 400];
  const old = draw('int32', rows * words, 9).map((x) => x & (x >> 3) & (x << 5) & (x >> 11));
  const [to, from] = [11, 12].map((seed) => draw('int32', pairs, seed).map((x) => (x >>> 1) % rows));
  const want = old.slice();
  to.forEach((x, i) => {
    for (let w = 0; w < words; w++) want[x * words + w] |= old[from[i] * words + w];
  });
  const [targets, sources] = [sn.tensor(to), sn.tensor(from)];
  const join = (x) => sn.scatter(x, targets, x.take(sources), { mode: 'or' });
  for (const way of everyWay(join)) assert.deepEqual(way(sn.tensor(old, { shape: [rows, words] })).dataSync(), want);
  assert.equal(sn.inspect(join)(sn.tensor(old, { shape: [rows, words] })).kernels.length, 1);
  const nd = sn.scatterNd(sn.zeros([2, 2], { dtype: 'int32' }), [[0, 1], [0, 1]], sn.tensor([4, 3], { dtype: 'int32' }), { mode: 'or' });
  assert.deepEqual(nd.toArray(), [[0, 7], [0, 0]]);
  assertThrows(() => sn.scatter([1, 2], [0], 1, { mode: 'or' }), sn.DTypeError, { op: 'scatter' });
}));
