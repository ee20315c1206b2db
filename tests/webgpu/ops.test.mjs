// Every elementwise op, reduction and cast on the device: the CPU's values, which the other suites judge. Floats within the
// bound of the op's row and what WGSL lets division and square root have; integers and bools equal.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as sn from '../../js/dist/index.js';
import { camelCase, isPublic, readTable } from '../../scripts/lib/op-table.mjs';
import { assertWithin, onBoth, start } from './device.mjs';

before(() => start());

const SPECIAL = [0, -0, 1, -1, NaN, Infinity, -Infinity, 0.5, 1e30, -1e30, 3, -2];
const INTEGERS = [0, 1, -1, 7, -8, 31, 32, 2147483647, -2147483648, 12345, -3, 2];
const COUNT = 101;

/** Numbers in lo .. hi, the same each time. */
const spread = (seed, lo, hi) => Array.from({ length: COUNT }, (_, i) => lo + (hi - lo) * (((i * 7 + seed * 13) % COUNT) / (COUNT - 1)));

const argumentsOf = ({ arity, lo = '-2', hi = '2' }, dtype) => Array.from({ length: arity }, (_, k) => {
  if (dtype === 'bool') return sn.tensor(Array.from({ length: COUNT }, (_, i) => (i >> k) % 2 === 1), { dtype });
  const special = dtype === 'int32' ? INTEGERS : SPECIAL;
  const turned = special.flatMap((_, i) => (k ? special.map((x) => x) : special.map(() => special[i])));
  const inside = spread(k, Number(lo), Number(hi));
  const values = [...(dtype === 'int32' ? inside.map(Math.round) : inside), ...turned];
  return sn.tensor(values, { dtype });
});

const rows = readTable().filter((row) => row.elementwise && row.arity < 3 && isPublic(row));

for (const row of rows)
  for (const dtype of row.types.flatMap((type) => (type === 'all' ? ['float32', 'bool'] : type)).filter((type) => type !== 'float64'))
    test(`${camelCase(row.name)} of ${dtype}`, async () => {
      const [[want], [got]] = await onBoth((...x) => sn[camelCase(row.name)](...x), argumentsOf(row, dtype));
      if (want instanceof Float32Array) assertWithin(camelCase(row.name), got, want, 2 * Number(row.ulp ?? 0) + 4, 2 ** -20);
      else assert.deepEqual(got, want);
    });

test('there are rows to test', () => assert.ok(rows.length > 60));

for (const name of ['sum', 'mean', 'max', 'min', 'prod', 'argmax', 'std', 'logsumexp', 'any', 'all'])
  for (const shape of [[1], [7], [300], [5, 64], [33, 5, 17], [2, 9000], [9000, 2], [0, 4]])
    test(`${name} of (${shape})`, async () => {
      const size = shape.reduce((a, b) => a * b, 1);
      const x = sn.tensor(Float32Array.from({ length: size }, (_, i) => Math.sin(i * 1.7) * 1.01), { shape });
      const axes = shape.map((_, axis) => axis).filter((axis) => shape[axis] > 0 || ['sum', 'prod', 'any', 'all'].includes(name));
      const each = (t) => (['any', 'all'].includes(name) ? t.greater(0.5) : t);
      const [want, got] = await onBoth((t) => axes.map((axis) => sn[name](each(t), { axis })), [x]);
      want.forEach((values, k) => assertWithin(`${name} over ${axes[k]}`, got[k], values, 64, 1));
    });

test('casts between all dtypes', async () => {
  const dtypes = ['float32', 'int32', 'bool', 'float16', 'bfloat16', 'int8', 'uint8'];
  const values = [0, 1, -1, 0.4, 2.5, 100, -100, 127, 300, 65504, 70000, 1e-7, -0];
  for (const from of dtypes) {
    const x = sn.tensor(values, { dtype: 'float32' }).astype(from);
    const [want, got] = await onBoth((t) => dtypes.map((to) => t.astype(to)), [x]);
    want.forEach((list, k) => assert.deepEqual([...got[k]], [...list], `${from} to ${dtypes[k]}`));
  }
});

test('small dtypes are stored by bytes: products, rows and views', async () => {
  const x = sn.random.normal(sn.random.key(1), [37, 53]);
  const w = sn.random.normal(sn.random.key(2), [53, 29]);
  const f = (a, b) => [
    sn.matmul(a, b).greater(0), sn.matmul(a, b).astype('bfloat16').astype('float32').greater(100), sn.softmax(a).greater(0.02),
    a.sum({ axis: 1 }).greater(0), sn.concat([a.greater(0), a.less(0)], { axis: 1 }), a.transpose().greater(0.1),
  ];
  const [want, got] = await onBoth(f, [x, w]);
  want.forEach((list, k) => assert.deepEqual(got[k], list, `result ${k}`));
});

test('elements at indices are stored in any dtype', async () => {
  const x = sn.random.normal(sn.random.key(1), [11, 6]).mul(20);
  const places = sn.tensor([7, 0, -1, 3, 3, 100], { dtype: 'int32' });
  for (const dtype of ['int8', 'uint8', 'float16', 'bfloat16', 'bool', 'int32']) {
    const f = (a, i) => [
      sn.take(a, i, { axis: 0 }), sn.take(a, i, { axis: 1 }), sn.takeAlongAxis(a, sn.argsort(a.transpose()).transpose(), { axis: 0 }),
      sn.gatherNd(a, i.reshape([3, 2])), sn.topk(a, 4).values, sn.scatter(a, i, sn.take(a, [1, 2, 3, 4, 5, 6], { axis: 0 })),
    ];
    const [want, got] = await onBoth(f, [x.clip(dtype === 'uint8' ? 0 : -100, 100).astype(dtype), places]);
    want.forEach((list, k) => assert.deepEqual(got[k], list, `${dtype}, result ${k}`));
  }
});

test('integers are divided without float64', async () => {
  const numbers = [0, 1, -1, 2, -2, 3, 7, -8, 46341, -46341, 16777217, 2147483646, 2147483647, -2147483647, -2147483648];
  const [x, y] = [numbers.flatMap((a) => numbers.map(() => a)), numbers.flatMap(() => numbers)].map((list) => sn.tensor(list, { dtype: 'int32' }));
  const small = (t) => t.bitwiseAnd(127).astype('int8');
  const f = (a, b) => [sn.floorDivide(a, b), sn.floorDivide(a, -7), sn.floorDivide(small(a), small(b)), sn.mod(a, b)];
  const [want, got] = await onBoth(f, [x, y]);
  want.forEach((list, k) => assert.deepEqual(got[k], list, `result ${k}`));
  const floors = [...x.dataSync()].map((a, i) => (y.dataSync()[i] === 0 ? 0 : Math.floor(a / y.dataSync()[i]) | 0));
  assert.deepEqual([...got[0]], floors);
});

test('resize, whose weights are of float64', async () => {
  const x = sn.random.normal(sn.random.key(1), [5, 7, 2]);
  for (const mode of ['nearest', 'linear', 'cubic'])
    for (const alignCorners of [false, true]) {
      const f = (a) => [sn.resize(a, [3, 15, 2], { mode, alignCorners }), sn.grad((t) => sn.resize(t, [9, 4, 2], { mode, alignCorners }).square().sum())(a)];
      const [want, got] = await onBoth(f, [x]);
      want.forEach((list, k) => assertWithin(`${mode}, ${alignCorners}, result ${k}`, got[k], list, 16, 1));
    }
});

test('the area under a curve is counted without float64', async () => {
  const scores = sn.random.normal(sn.random.key(1), [1000]).mul(20).round();
  const labels = sn.random.bernoulli(sn.random.key(2), 0.3, [1000]);
  const [want, got] = await onBoth((s, l) => sn.metrics.auc(s, l), [scores, labels]);
  assertWithin('area', got[0], want[0], 16);
});

test('factors of products are stored in any dtype', async () => {
  const x = sn.random.normal(sn.random.key(1), [9, 40]).mul(20);
  const w = sn.random.normal(sn.random.key(2), [40, 7]);
  for (const dtype of ['int8', 'uint8', 'float16', 'bfloat16', 'bool', 'int32']) {
    const f = (a, b) => [sn.matmul(a.astype('float32'), b), sn.matmul(a.slice([0, 0], [1, 40]).astype('float32'), a.astype('float32').transpose())];
    const [want, got] = await onBoth(f, [(dtype === 'uint8' ? x.abs() : x).astype(dtype), w]);
    want.forEach((list, k) => assertWithin(`${dtype}, result ${k}`, got[k], list, 64, 64));
  }
});

test('bytes are multiplied as whole numbers', async () => {
  const bytes = (shape, dtype, step) => sn.tensor(Array.from({ length: shape[0] * shape[1] }, (_, i) => ((i * step) % 256) - (dtype === 'int8' ? 128 : 0)), { shape, dtype });
  for (const [m, n] of [[9, 7], [1, 20], [20, 1]])
    for (const [a, b] of [['uint8', 'int8'], ['int8', 'int8'], ['uint8', 'uint8']]) {
      const f = (x, y) => [sn.matmul(x.astype('int32'), y.astype('int32')), sn.matmul(y.transpose().astype('int32'), x.transpose().astype('int32')).astype('float32').mul(0.5)];
      const [want, got] = await onBoth(f, [bytes([m, 37], a, 7), bytes([37, n], b, 13)]);
      want.forEach((list, k) => assert.deepEqual(got[k], list, `${a} ${b}, result ${k}`));
    }
});

test('factors are read in fours where they lie so', async () => {
  const normal = (seed, shape) => sn.random.normal(sn.random.key(seed), shape);
  const [x, y, z] = [normal(1, [3, 20, 32]), normal(2, [32, 20]), normal(3, [20, 32])];
  const f = (a, b, c) => [
    sn.matmul(a, b), sn.matmul(a, c.transpose()), sn.matmul(c.transpose(), c), sn.matmul(c, c.transpose()).add(1),
    sn.matmul(b.transpose(), c.transpose()), sn.matmul(a.transpose([0, 2, 1]), a).add(sn.matmul(b, c)),
    sn.matmul(b, b.slice([0, 0], [20, 20])), sn.matmul(b.slice([1, 0], [31, 20]).transpose(), b.slice([1, 0], [31, 20])),
    sn.matmul(b.slice([0, 1], [32, 17]), c.slice([0, 4], [17, 24])), sn.matmul(c.slice([0, 12], [20, 20]), c).add(c),
  ];
  const [want, got] = await onBoth(f, [x, y, z]);
  want.forEach((list, k) => assertWithin(`result ${k}`, got[k], list, 64, 4));
  const convolve = (a, w) => [1, 2].flatMap((strides) => [sn.conv2d(a, w, { padding: 'same', strides }), sn.conv2d(a, w, { strides, dilation: 2 })]);
  const loss = (a, w) => convolve(a, w).reduce((sum, each) => sum.add(each.square().sum()), sn.tensor(0));
  const [there, here] = await onBoth((a, w) => [...convolve(a, w), ...sn.grad(loss, { argnums: [0, 1] })(a, w)], [normal(4, [2, 9, 11, 8]), normal(5, [3, 3, 8, 16])]);
  there.forEach((list, k) => assertWithin(`convolution ${k}`, here[k], list, 512, 64));
});

/** What a kernel of each op asks for. */
const dispatchesOf = (f, ...x) => sn.inspect(f, { device: 'webgpu' })(...x).kernels.reduce((sum, { dispatches }) => sum + dispatches, 0);

test('long lines are sorted by a network, stable', async () => {
  const numbers = Float32Array.from({ length: 2 * 9001 }, (_, i) => [NaN, Infinity, -Infinity, -0, 0][i % 97] ?? Math.round(50 * Math.sin(i * 1.3)));
  const x = sn.tensor(numbers, { shape: [2, 9001] });
  for (const descending of [false, true]) {
    const f = (a) => [sn.sort(a, { descending }), sn.argsort(a, { descending }), sn.argsort(a.greater(0), { descending }), sn.sort(a.transpose(), { axis: 0, descending })];
    const [want, got] = await onBoth(f, [x]);
    want.forEach((list, k) => assert.deepEqual(got[k], list, `result ${k}`));
  }
  assert.equal(dispatchesOf((a) => sn.sort(a), x), 14 * 15 / 2 + 2);
});

test('long lines are summed up in chunks', async () => {
  const x = sn.random.normal(sn.random.key(3), [3, 5003]);
  const n = x.mul(1000).astype('int32');
  for (const options of [{}, { reverse: true }, { exclusive: true }, { reverse: true, exclusive: true }]) {
    const f = (a, b) => [sn.cumsum(a, { axis: 1, ...options }), sn.cumsum(b, { axis: 1, ...options }), sn.cumprod(b, { axis: 1, ...options }), sn.cumsum(b.transpose(), { axis: 0, ...options })];
    const [want, got] = await onBoth(f, [x, n]);
    assertWithin('sums', got[0], want[0], 2048, 1);
    for (const k of [1, 2, 3]) assert.deepEqual(got[k], want[k], `result ${k}`);
  }
  assert.equal(dispatchesOf((a) => sn.cumsum(a, { axis: 1 }), x), 3);
});

test('scatter changes a copy, one update after the other', async () => {
  const x = sn.random.normal(sn.random.key(3), [300, 9]);
  const index = sn.tensor(Int32Array.from({ length: 500 }, (_, i) => (i * 7) % 40));
  const updates = sn.random.normal(sn.random.key(4), [500, 9]);
  const loss = (a, i, u) => sn.take(a, i, { axis: 0 }).mul(u).sum();
  const [want, got] = await onBoth((a, i, u) => [sn.scatterAdd(a, i, u, { axis: 0 }), sn.grad(loss)(a, i, u)], [x, index, updates]);
  want.forEach((list, k) => assertWithin(`result ${k}`, got[k], list, 64, 4));
});

test('many updates of few lines are sorted by their positions', async () => {
  const count = 3001;
  const index = sn.tensor(Int32Array.from({ length: count }, (_, i) => ((i * i) % 61) - (i % 5 === 0 ? 100 : 0)));
  const updates = sn.random.normal(sn.random.key(4), [count]);
  const x = sn.random.normal(sn.random.key(3), [100]);
  const whole = updates.mul(100).astype('int32');
  const lines = sn.random.normal(sn.random.key(5), [count, 3]);
  const f = (a, i, u, n, l) => [
    sn.scatterAdd(a, i, u, { axis: 0 }), sn.scatter(a, i, u, { axis: 0 }), sn.scatterAdd(sn.zeros([100], { dtype: 'int32' }), i, n, { axis: 0 }),
    sn.scatterAdd(sn.zeros([100, 3]), i, l, { axis: 0 }), sn.scatterAdd(a.astype('float16'), i, u.astype('float16'), { axis: 0 }).astype('float32'),
  ];
  const [want, got] = await onBoth(f, [x, index, updates, whole, lines]);
  want.forEach((list, k) => assert.deepEqual(got[k], list, `result ${k}`));
  assert.equal(dispatchesOf((a, i, u) => sn.scatterAdd(a, i, u, { axis: 0 }), x, index, updates), 12 * 13 / 2 + 2);
});

test('ops along an axis', async () => {
  const x = sn.random.normal(sn.random.key(3), [6, 40]);
  const index = sn.tensor([3, -1, 0, 5, 100, 2], { dtype: 'int32' });
  const f = (a, i) => [
    sn.sort(a), sn.sort(a, { axis: 0, descending: true }), sn.argsort(a), sn.cumsum(a, { axis: 1 }),
    sn.cumsum(a, { axis: 0, reverse: true, exclusive: true }), sn.cumprod(a.mul(0.5), { axis: 1 }), sn.take(a, i, { axis: 0 }),
    sn.concat([a, a.mul(2), a.neg()], { axis: 0 }), sn.pad(a, [[1, 2], [0, 3]]), a.slice([1, 2], [4, 30]), sn.flip(a, { axis: 1 }),
  ];
  const [want, got] = await onBoth(f, [x, index]);
  want.forEach((list, k) => assertWithin(`result ${k}`, got[k], list, 256, 1));
});

test('random keys have the same bits', async () => {
  const f = () => [sn.random.uniform(sn.random.key(4), [100]), sn.random.bits(sn.random.key(4), [10])];
  const [want, got] = await onBoth(f, []);
  assert.deepEqual(got, want);
});
