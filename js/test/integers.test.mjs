// Integers and bools as NumPy has them: products that wrap, bools that stay bools, bounds that cannot bind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const ints = (data) => sn.tensor(data, { dtype: 'int32' });
const bools = (data) => sn.tensor(data, { dtype: 'bool' });

/** Numbers of all 32 bits. */
const draw = (seed) => () => (seed = (Math.imul(seed, 1664525) + 1013904223) | 0);

/** Compiled with and without emitted code, and eagerly. */
const everyWay = (f) => [f, sn.jit(f), sn.jit(f, { jit: false }), sn.jit(f, { fusion: false })];

test('products of int32 are exact modulo 2^32, in every shape and on every way', () => {
  for (const [m, k, n] of [[1, 1, 1], [1, 300, 1], [1, 40, 70], [70, 40, 1], [3, 5, 7], [33, 65, 129], [128, 520, 64]]) {
    const next = draw(m + k + n);
    const [a, b] = [[m, k], [k, n]].map((shape) => Int32Array.from({ length: shape[0] * shape[1] }, next));
    const want = new Int32Array(m * n);
    for (let i = 0; i < m; i++)
      for (let p = 0; p < k; p++) for (let j = 0; j < n; j++) want[i * n + j] += Math.imul(a[i * k + p], b[p * n + j]);
    const [x, y] = [sn.tensor(a, { shape: [m, k] }), sn.tensor(b, { shape: [k, n] })];
    for (const multiply of everyWay((x, y) => sn.matmul(x, y).sub(1).add(1))) {
      const z = multiply(x, y);
      assert.equal(z.dtype, 'int32');
      assert.deepEqual(z.dataSync(), want, `${[m, k, n]}`);
    }
    assert.deepEqual(sn.einsum('ij,kj->ik', x, y.transpose()).dataSync(), want);
    assert.deepEqual(sn.dot(x, y).dataSync(), want);
  }
  assert.deepEqual(sn.matmul(ints([[4097]]), ints([[4097]])).toArray(), [[16785409]]);
  assert.equal(sn.dot(ints([4097, 1]), ints([4097, 1])).item(), 16785410);
  assert.deepEqual(sn.outer(ints([4097]), ints([4097])).toArray(), [[16785409]]);
});

test('int8, uint8 and bool are promoted to int32 in products', () => {
  const small = sn.tensor([[-128, 127], [5, -6]], { dtype: 'int8' });
  const y = sn.matmul(small, small);
  assert.equal(y.dtype, 'int32');
  assert.deepEqual(y.toArray(), [[17019, -17018], [-670, 671]]);
  assert.deepEqual(sn.matmul(bools([[true, true]]), bools([[true], [true]])).toArray(), [[2]]);
  assert.equal(sn.matmul(small, sn.ones([2, 2])).dtype, 'float32');
});

test('convolutions of int32 are exact', () => {
  const x = ints([4097, 1, 2, 3]).reshape([1, 4, 1]);
  const filter = ints([4097, 1]).reshape([2, 1, 1]);
  for (const conv of everyWay((x, filter) => sn.conv1d(x, filter, { padding: [[1, 0]] }))) {
    const y = conv(x, filter);
    assert.equal(y.dtype, 'int32');
    assert.deepEqual([...y.dataSync()], [4097, 16785410, 4099, 8197]);
  }
  const depthwise = sn.conv1d(x, filter.reshape([2, 1, 1]), { groups: 1 });
  assert.deepEqual([...depthwise.dataSync()], [16785410, 4099, 8197]);
  assert.deepEqual([...sn.convTranspose1d(x, filter).dataSync()], [16785409, 8194, 8195, 12293, 3]);
  const two = sn.concat([x, x], { axis: 2 });
  assert.deepEqual([...sn.conv1d(two, sn.concat([filter, filter], { axis: 2 }), { groups: 2 }).dataSync()],
    [16785410, 16785410, 4099, 4099, 8197, 8197]);
});

test('add, mul, minimum, maximum, min and max of bools are bools', () => {
  const [a, b] = [bools([false, false, true, true]), bools([false, true, false, true])];
  const cases = {
    add: [false, true, true, true],
    mul: [false, false, false, true],
    maximum: [false, true, true, true],
    minimum: [false, false, false, true],
  };
  for (const [name, want] of Object.entries(cases)) {
    for (const run of everyWay((x, y) => sn[name](x, y))) {
      const y = run(a, b);
      assert.equal(y.dtype, 'bool', name);
      assert.deepEqual(y.toArray(), want, name);
    }
  }
  assert.deepEqual([a.max().toArray(), a.min().toArray()], [true, false]);
  assert.equal(a.reshape([2, 2]).max(0).dtype, 'bool');
  assert.equal(sn.maxPool1d(a.reshape([1, 4, 1]), { window: 2 }).dtype, 'bool');
  assert.deepEqual([a.sum().dtype, a.prod().dtype, a.mean().dtype], ['int32', 'int32', 'float32']);
  assert.deepEqual(a.mul(2).toArray(), [0, 0, 2, 2]);
  assert.equal(a.sub(b).dtype, 'int32');
});

test('a bound of clip that cannot bind leaves the dtype as it is', () => {
  const x = ints([-7, 3, 9]);
  for (const [lo, hi, want] of [[-Infinity, 5, [-7, 3, 5]], [0, Infinity, [0, 3, 9]], [-1e12, 1e12, [-7, 3, 9]], [0, 5, [0, 3, 5]], [-Infinity, Infinity, [-7, 3, 9]]]) {
    const y = sn.clip(x, lo, hi);
    assert.equal(y.dtype, 'int32', `${lo} ${hi}`);
    assert.deepEqual(y.toArray(), want);
  }
  assert.deepEqual(sn.clip(x, 0.5, 5).toArray(), [0.5, 3, 5]);
  assert.equal(sn.clip(x, NaN, 5).dtype, 'float32');
  assert.equal(sn.clip(x, 1e12, Infinity).dtype, 'float32');
  const small = sn.tensor([-100, 100], { dtype: 'int8' });
  assert.deepEqual([sn.clip(small, -1000, 50).dtype, ...sn.clip(small, -1000, 50).toArray()], ['int8', -100, 50]);
});

test('floorDivide and remainder are those of NumPy', () => {
  const [x, y] = [ints([7, -7, 7, -7, 5, -(2 ** 31)]), ints([2, 2, -2, -2, 0, -1])];
  for (const divide of everyWay((x, y) => sn.floorDivide(x, y))) {
    assert.deepEqual(divide(x, y).toArray(), [3, -4, -4, 3, 0, -(2 ** 31)]);
    assert.equal(divide(x, y).dtype, 'int32');
  }
  assert.deepEqual(x.remainder(y).toArray(), [1, 1, -1, -1, 0, 0]);
  assert.equal(sn.remainder, sn.mod);
  const next = draw(5);
  const [a, b] = [0, 1].map(() => Int32Array.from({ length: 500 }, () => next() >> (next() & 31) || 1));
  const want = a.map((v, i) => Number(BigInt.asIntN(32, BigInt(Math.floor(v / b[i])))));
  assert.deepEqual(sn.floorDivide(a, b).dataSync(), want);
  const floats = sn.floorDivide(sn.tensor([6, 7, -7, 1, -3, 5, NaN], { dtype: 'float64' }), sn.tensor([0.1, 2, 2, 0, 0, Infinity, 1], { dtype: 'float64' }));
  assert.deepEqual(floats.toArray(), [59, 3, -4, Infinity, -Infinity, 0, NaN]);
  assert.equal(sn.floorDivide(sn.tensor([-7], { dtype: 'int8' }), 2).dtype, 'int8');
  assert.deepEqual(sn.floorDivide(7, ints([2])).toArray(), [3]);
  assert.deepEqual(sn.grad((x) => sn.floorDivide(x, 2).sum())(sn.tensor([3, 5])).toArray(), [0, 0]);
  assertThrows(() => sn.floorDivide(ints([1, 2]), ints([1, 2, 3])), sn.ShapeError, {});
});

test('integers to the power of integers are exact modulo 2^32', () => {
  const [x, y] = [ints([3, -2, 7, 2, 0, 1]), ints([21, 5, 13, 31, 0, 2 ** 30])];
  for (const power of everyWay((x, y) => x.pow(y))) {
    assert.equal(power(x, y).dtype, 'int32');
    assert.deepEqual(power(x, y).toArray(), [1870418611, -32, -1895237401, -(2 ** 31), 1, 1]);
  }
  assert.deepEqual(ints([3, -2]).pow(3).toArray(), [27, -8]);
  assert.deepEqual(ints([5, 0]).pow(0).toArray(), [1, 1]);
  assert.deepEqual(sn.pow(2, ints([0, 10, 31])).toArray(), [1, 1024, -(2 ** 31)]);
  assert.deepEqual(sn.pow(ints([1, -1, -1, 5]), ints([-3, -3, -4, -1])).toArray(), [1, -1, 1, 0]);
  assert.deepEqual(ints([2, 4]).pow(-1).toArray(), [0.5, 0.25]);
  assert.deepEqual(ints([4]).pow(0.5).toArray(), [2]);
  assert.equal(sn.pow(sn.tensor([2]), ints([3])).dtype, 'float32');
  assert.equal(sn.tensor([3], { dtype: 'int8' }).pow(2).dtype, 'int32');
});
