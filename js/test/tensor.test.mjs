// Values, shapes and dtypes of everything that makes, moves and combines elements.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();

test('tensor of nested arrays, numbers and typed arrays', async () => {
  const x = sn.tensor([[1, 2, 3], [4, 5, 6]]);
  assert.deepEqual([...x.shape], [2, 3]);
  assert.equal(x.dtype, 'float32');
  assert.equal(x.size, 6);
  assert.equal(x.ndim, 2);
  assert.deepEqual(await x.data(), Float32Array.of(1, 2, 3, 4, 5, 6));
  assert.deepEqual(x.toArray(), [[1, 2, 3], [4, 5, 6]]);
  assert.equal(sn.tensor(7).item(), 7);
  assert.equal(sn.tensor(7).ndim, 0);
  assert.equal(sn.tensor(Int32Array.of(1, 2)).dtype, 'int32');
  assert.equal(sn.tensor(Float64Array.of(1, 2)).dtype, 'float64');
  assert.equal(sn.tensor([true, false]).dtype, 'bool');
  assert.deepEqual(sn.tensor([[true, 2], [0.5, false]]).dataSync(), Float32Array.of(1, 2, 0.5, 0), 'numbers among booleans stay');
  assert.deepEqual(sn.add([0, 0], [true, 5]).toArray(), [1, 5]);
  assert.equal(sn.tensor([[], []]).dtype, 'float32');
  assert.deepEqual(sn.tensor([[true], [false]]).toArray(), [[true], [false]]);
  assert.deepEqual([...sn.tensor(Float32Array.of(1, 2, 3, 4), { shape: [2, 2] }).shape], [2, 2]);
  assert.deepEqual(sn.tensor([1.9, -1.9], { dtype: 'int32' }).dataSync(), Int32Array.of(1, -1));
  assert.deepEqual(sn.tensor(Uint8Array.of(0, 255)).dataSync(), Uint8Array.of(0, 255));
  assert.deepEqual(sn.tensor(Uint16Array.of(0, 255)).dataSync(), Int32Array.of(0, 255));
});

test('read functions return copies', () => {
  const x = sn.tensor([1, 2]);
  x.dataSync()[0] = 9;
  assert.deepEqual(x.toArray(), [1, 2]);
});

test('creation functions', () => {
  assert.deepEqual(sn.zeros([2, 2]).toArray(), [[0, 0], [0, 0]]);
  assert.deepEqual(sn.ones([2], { dtype: 'int32' }).dataSync(), Int32Array.of(1, 1));
  assert.deepEqual(sn.full([2], 0.5).toArray(), [0.5, 0.5]);
  assert.deepEqual(sn.arange(4).toArray(), [0, 1, 2, 3]);
  assert.deepEqual(sn.arange(1, 2, 0.25).toArray(), [1, 1.25, 1.5, 1.75]);
  assert.deepEqual(sn.arange(3, 0, -1, { dtype: 'i32' }).dataSync(), Int32Array.of(3, 2, 1));
  assertClose(sn.linspace(0, 1, 5), [0, 0.25, 0.5, 0.75, 1]);
  assert.deepEqual(sn.eye(2).toArray(), [[1, 0], [0, 1]]);
  assert.deepEqual(sn.iota([2, 2], 1).toArray(), [[0, 1], [0, 1]]);
});

test('ramps have the dtype they are asked for, rounded once', () => {
  assert.deepEqual(sn.arange(3, { dtype: 'int32' }).dataSync(), Int32Array.of(0, 1, 2)); // options behind any number
  assert.deepEqual(sn.arange(1, 3, { dtype: 'int32' }).dataSync(), Int32Array.of(1, 2));
  assert.deepEqual(sn.linspace(0, 49, { dtype: 'uint8' }).dataSync(), Uint8Array.from({ length: 50 }, (_, i) => i));
  assertThrows(() => sn.arange(3, { type: 'int32' }), sn.SinterError, { message: /arange: there is no option 'type'/ });
  assertThrows(() => sn.arange(3, { dtype: 'int32' }, 2), sn.SinterError, { message: /arange: stop is an object/ });
  assert.deepEqual(sn.arange(-1, 2, 0.75, { dtype: 'int32' }).dataSync(), Int32Array.of(-1, 0, 0, 1));
  assert.deepEqual(sn.arange(0.5, 3, 1, { dtype: 'uint8' }).dataSync(), Uint8Array.of(0, 1, 2));
  assert.deepEqual(sn.linspace(0, 10, 4, { dtype: 'int8' }).dataSync(), Int8Array.of(0, 3, 6, 10));
  assert.deepEqual(sn.linspace(0, 1, 0, { dtype: 'int32' }).dataSync(), Int32Array.of());
  const steps = sn.arange(0, 300, 0.1, { dtype: 'float16' });
  assert.deepEqual(steps.dataSync(), sn.arange(0, 300, 0.1).astype('float16').dataSync());
  assertThrows(() => sn.arange(126, 130, 1, { dtype: 'int8' }), sn.SinterError, { message: /arange: element 1 is 129, and int8 holds -128 to 127/ });
  assertThrows(() => sn.linspace(-1, 1, 3, { dtype: 'uint8' }), sn.SinterError, { message: /linspace: element 0 is -1, and uint8 holds 0 to 255/ });
});

test('linspace ends at its end, whatever its steps add up to', () => {
  for (const dtype of ['float64', 'float32', 'float16', 'bfloat16'])
    for (const n of [2, 3, 14, 20, 50, 56, 99]) {
      const line = sn.linspace(-3.7, 11.3, n, { dtype }).dataSync();
      const ends = sn.tensor([-3.7, 11.3], { dtype }).dataSync();
      assert.deepEqual([line[0], line[n - 1]], [...ends], `${dtype}, ${n}`);
    }
  assert.deepEqual(sn.linspace(2, 5, 1).toArray(), [2]);
});

test('sizes 0 and rank 0 are legal', () => {
  const empty = sn.zeros([0, 3]);
  assert.deepEqual(empty.toArray(), []);
  assert.deepEqual(empty.add(1).dataSync(), new Float32Array(0));
  assert.equal(empty.sum().item(), 0);
  assert.deepEqual(empty.sum(0).toArray(), [0, 0, 0]);
  assert.deepEqual([...sn.matmul(sn.zeros([2, 0]), sn.zeros([0, 3])).toArray()], [[0, 0, 0], [0, 0, 0]]);
});

const UNARY = {
  neg: (x) => -x, abs: Math.abs, exp: Math.exp, log: Math.log, sqrt: Math.sqrt, tanh: Math.tanh, sin: Math.sin,
  cos: Math.cos, square: (x) => x * x, sigmoid: (x) => 1 / (1 + Math.exp(-x)), relu: (x) => Math.max(x, 0),
  floor: Math.floor, ceil: Math.ceil, trunc: Math.trunc, sign: Math.sign, reciprocal: (x) => 1 / x, log1p: Math.log1p,
};

test('elementwise functions and methods', () => {
  const values = [0.5, 1.25, 2, 3.75];
  const x = sn.tensor(values);
  for (const [name, f] of Object.entries(UNARY)) {
    assertClose(sn[name](x), values.map(f), 1e-6);
    assertClose(x[name](), values.map(f), 1e-6);
  }
});

test('binary ops take tensors, numbers and arrays on either side', () => {
  const x = sn.tensor([1, 2, 3]);
  assert.deepEqual(x.add(x).toArray(), [2, 4, 6]);
  assert.deepEqual(x.mul(2).toArray(), [2, 4, 6]);
  assert.deepEqual(sn.sub(1, x).toArray(), [0, -1, -2]);
  assert.deepEqual(sn.div([2, 4, 6], x).toArray(), [2, 2, 2]);
  assert.deepEqual(x.maximum([[2], [3]]).toArray(), [[2, 2, 3], [3, 3, 3]]);
  assert.equal(sn.add(1, 2).item(), 3);
  assert.deepEqual(x.greater(1.5).toArray(), [false, true, true]);
  assert.deepEqual(sn.where(x.less(2), x, 0).toArray(), [1, 0, 0]);
  assert.deepEqual(x.less(2).where(-1, 1).toArray(), [-1, 1, 1]);
  assertClose(sn.pow(x, 2), [1, 4, 9]);
});

test('a changing scalar does not compile again', () => {
  const x = sn.tensor([1, 2]);
  const misses = () => sn.memory().programMisses;
  x.mul(0.3).dataSync();
  const before = misses();
  for (let i = 0; i < 5; i++) assertClose(x.mul(0.4 + i), [0.4 + i, 0.8 + 2 * i]);
  assert.equal(misses(), before);
});

test('dtypes promote as in the table', () => {
  const i = sn.tensor([1, 2], { dtype: 'int32' });
  const f = sn.tensor([0.5, 1.5]);
  const d = sn.tensor([0.5, 1.5], { dtype: 'float64' });
  assert.equal(i.add(i).dtype, 'int32');
  assert.equal(i.add(1).dtype, 'int32');
  assert.equal(i.add(f).dtype, 'float32');
  assert.equal(f.add(d).dtype, 'float64');
  assert.equal(f.add(1).dtype, 'float32');
  assert.equal(d.mul(2).dtype, 'float64');
  assert.equal(i.sqrt().dtype, 'float32');
  assert.equal(sn.tensor([true]).add(sn.tensor([true], { dtype: 'int32' })).dtype, 'int32');
  assert.equal(f.equal(f).dtype, 'bool');
  assert.deepEqual(i.mul(0.5).toArray(), [0.5, 1]);
});

test('astype truncates, saturates, and takes NaN to 0', () => {
  const x = sn.tensor([1.9, -1.9, NaN, 1e20, -1e20]);
  assert.deepEqual(x.astype('int32').dataSync(), Int32Array.of(1, -1, 0, 2147483647, -2147483648));
  assert.deepEqual(sn.tensor([0, 2]).astype('bool').toArray(), [false, true]);
  assert.deepEqual(sn.tensor([true, false]).astype('float32').toArray(), [1, 0]);
  assert.deepEqual(sn.bitcast(sn.tensor([1]), 'int32').dataSync(), Int32Array.of(0x3f800000));
});

test('reductions over all, one, several and negative axes', () => {
  const x = sn.arange(24).reshape([2, 3, 4]);
  assert.equal(x.sum().item(), 276);
  assert.deepEqual(sn.sum(x, { axis: [0, 2] }).toArray(), [60, 92, 124]);
  assert.deepEqual(x.sum(-1).toArray(), [[6, 22, 38], [54, 70, 86]]);
  assert.deepEqual([...x.mean({ axis: 1, keepdims: true }).shape], [2, 1, 4]);
  assert.deepEqual(x.max({ axis: 0 }).toArray()[2], [20, 21, 22, 23]);
  assert.equal(x.min().item(), 0);
  assert.equal(sn.tensor([1, 2], { dtype: 'int32' }).mean().item(), 1.5);
  assert.equal(sn.tensor([3, 4], { dtype: 'int32' }).sum().dtype, 'int32');
});

test('argmax and argmin', () => {
  const x = sn.tensor([[1, 5, 2], [7, 0, 7]]);
  assert.deepEqual(x.argmax({ axis: 1 }).dataSync(), Int32Array.of(1, 0));
  assert.deepEqual(x.argmin(-1).dataSync(), Int32Array.of(0, 1));
  assert.equal(x.argmax().item(), 3);
  assert.equal(x.argmax({ axis: 0, keepdims: true }).ndim, 2);
  assert.equal(sn.tensor([1, NaN, 3]).argmax().item(), 1);
});

test('shape ops', () => {
  const x = sn.arange(6).reshape([2, 3]);
  assert.deepEqual(x.transpose().toArray(), [[0, 3], [1, 4], [2, 5]]);
  assert.deepEqual(x.reshape([3, -1]).toArray(), [[0, 1], [2, 3], [4, 5]]);
  assert.deepEqual([...x.expandDims(0).shape], [1, 2, 3]);
  assert.deepEqual([...x.expandDims([0, -1]).shape], [1, 2, 3, 1]);
  assert.deepEqual([...sn.squeeze(sn.zeros([1, 2, 1])).shape], [2]);
  assert.deepEqual([...sn.squeeze(sn.zeros([1, 2, 1]), 0).shape], [2, 1]);
  assert.deepEqual(sn.broadcastTo([1, 2], [2, 2]).toArray(), [[1, 2], [1, 2]]);
  assert.deepEqual(x.slice([0, 1], [2, 2]).toArray(), [[1, 2], [4, 5]]);
  assert.deepEqual(x.slice([1, -1], [1, -1], { strides: [1, -2] }).toArray(), [[5, 3]]);
  assert.deepEqual(x.flip(1).toArray(), [[2, 1, 0], [5, 4, 3]]);
  assert.deepEqual(x.flip().toArray(), [[5, 4, 3], [2, 1, 0]]);
  assert.deepEqual(sn.pad([1, 2], [[1, 2]], { value: 9 }).toArray(), [9, 1, 2, 9, 9]);
  assert.deepEqual(sn.concat([x, [[6, 7, 8]]]).toArray()[2], [6, 7, 8]);
  assert.deepEqual(sn.concat([x, x], { axis: -1 }).toArray()[0], [0, 1, 2, 0, 1, 2]);
  assert.deepEqual(sn.stack([[1, 2], [3, 4]], { axis: 1 }).toArray(), [[1, 3], [2, 4]]);
  assert.deepEqual([...sn.moveaxis(sn.zeros([2, 3, 4]), 0, -1).shape], [3, 4, 2]);
  assert.deepEqual([...sn.swapaxes(sn.zeros([2, 3, 4]), 0, 2).shape], [4, 3, 2]);
});

test('matmul with matrices, vectors and batches', () => {
  const a = sn.tensor([[1, 2], [3, 4]]);
  assert.deepEqual(a.matmul(a).toArray(), [[7, 10], [15, 22]]);
  assert.deepEqual(sn.matmul([1, 1], a).toArray(), [4, 6]);
  assert.deepEqual(a.matmul([1, 1]).toArray(), [3, 7]);
  const batch = sn.ones([5, 2, 3]).matmul(sn.ones([3, 4]));
  assert.deepEqual([...batch.shape], [5, 2, 4]);
  assert.equal(batch.toArray()[4][1][3], 3);
});

test('a larger matmul agrees with plain loops', () => {
  const [m, k, n] = [37, 129, 65];
  const a = Float32Array.from({ length: m * k }, (_, i) => Math.sin(i));
  const b = Float32Array.from({ length: k * n }, (_, i) => Math.cos(i));
  const c = sn.tensor(a, { shape: [m, k] }).matmul(sn.tensor(b, { shape: [k, n] })).dataSync();
  for (let i = 0; i < m; i += 5) {
    for (let j = 0; j < n; j += 7) {
      let sum = 0;
      for (let p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
      assert.ok(Math.abs(sum - c[i * n + j]) < 1e-4);
    }
  }
});

test('softmax and cross entropy', () => {
  const x = sn.tensor([[1, 2, 3], [1000, 0, -1000]]);
  assertClose(x.softmax().sum(-1), [1, 1]);
  assertClose(x.logSoftmax().toArray()[1], [0, -1000, -2000]);
  const loss = sn.softmaxCrossEntropy(x, sn.tensor([2, 1], { dtype: 'int32' }));
  assertClose(loss, [Math.log(Math.exp(-2) + Math.exp(-1) + 1), 1000]);
  const mixed = sn.softmaxCrossEntropy(sn.tensor([[0, 0]]), [[0.5, 0.5]]);
  assertClose(mixed, [Math.LN2]);
});

test('NaN, infinities and signed zero follow IEEE 754', () => {
  const x = sn.tensor([NaN, Infinity, -0]);
  assert.deepEqual(x.add(1).toArray(), [NaN, Infinity, 1]);
  assert.deepEqual(x.isnan().toArray(), [true, false, false]);
  assert.deepEqual(x.isfinite().toArray(), [false, false, true]);
  assert.ok(Object.is(x.neg().toArray()[2], 0));
  assert.ok(Number.isNaN(x.max().item()));
});

test('eval computes several tensors at once', () => {
  const x = sn.tensor([1, 2]);
  const [a, b] = [x.add(1), x.mul(3)];
  sn.eval(a, { b });
  assert.deepEqual(a.toArray(), [2, 3]);
  assert.deepEqual(b.toArray(), [3, 6]);
});
