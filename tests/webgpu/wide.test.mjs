// What takes fours of float32 or several terms at a time, where the threads of a workgroup share memory: maps of many points by
// how their operands lie, reductions along and across, products whose terms are cut in parts. The CPU's values.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { tileOf, withClock } from './clock.mjs';
import { onBoth, settings, start } from './device.mjs';

Object.assign(settings, { sharesMemory: true, tune: true });
let sn;
before(async () => {
  sn = await start();
});

const normal = (seed, ...shape) => sn.random.normal(sn.random.key(seed), shape);

/** Values of f on both sides: equal, or within a share of the largest one. */
const same = async (what, f, args, share = 0) => {
  const [want, got] = await onBoth(f, args);
  want.forEach((values, k) => {
    const scale = share * values.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
    assert.equal(got[k].length, values.length, what);
    values.forEach((x, i) => {
      if (!(Object.is(x, got[k][i]) || x === got[k][i] || Math.abs(x - got[k][i]) <= scale)) assert.fail(`${what}, result ${k}, element ${i}: ${got[k][i]}, expected ${x}`);
    });
  });
};
/** Arithmetic that is rounded once, or not at all: the same on every device. */
const plain = (x, y) => x.mul(2).sub(y);

const MAPS = {
  'one after the other': [(x, y) => plain(x, y), [[64, 132], [64, 132]]],
  'with an odd last dimension': [(x, y) => plain(x, y), [[132, 67], [132, 67]]],
  'a row for all': [(x, y) => plain(x, y), [[64, 132], [132]]],
  'a column for all': [(x, y) => plain(x, y), [[64, 132], [64, 1]]],
  'a row of odd length': [(x, y) => plain(x, y), [[132, 67], [67]]],
  'a matrix turned': [(x, y) => plain(x, y.permuteDims([1, 0])), [[96, 100], [100, 96]]],
  'a part of a larger one': [(x, y) => plain(x, y.slice([3, 4], [90, 96])), [[90, 96], [100, 104]]],
  'a part that begins inside a four': [(x, y) => plain(x, y.slice([3, 5], [90, 96])), [[90, 96], [100, 104]]],
  'batches of a matrix': [(x, y) => plain(x, y), [[5, 48, 40], [48, 40]]],
  'several results': [(x, y) => [plain(x, y), x.greater(y), x.add(y).astype('float16'), x.mul(8).astype('int8'), y.neg()], [[80, 128], [80, 128]]],
  'results of two shapes': [(x, y) => [plain(x, y), plain(x, y).permuteDims([1, 0]).add(0)], [[100, 96], [100, 96]]],
  'of other dtypes, too': [(x, y) => x.mul(sn.where(y.greater(0), 2, 3)).add(y.astype('float16').astype('float32')).add(y.mul(4).astype('int32').astype('float32')), [[64, 132], [64, 132]]],
  'a gather': [(x, y) => x.add(sn.take(y, sn.tensor(Int32Array.from({ length: 90 }, (_, i) => (i * 7) % 50)), { axis: 0 })), [[90, 96], [50, 96]]],
  'fewer points than fours are for': [(x, y) => plain(x, y), [[4, 132], [4, 132]]],
};

for (const [name, [f, shapes]] of Object.entries(MAPS))
  test(`a map: ${name}`, () => same(name, f, shapes.map((shape, i) => normal(i + 1, ...shape))));

test('a state in place: fours of Adam for as many steps', async () => {
  const loss = ({ w, b }, x) => x.mul(w).add(b).square().mean();
  const x = normal(1, 96, 128);
  const after = async (device) => {
    const step = sn.trainStep(loss, sn.optim.adam({ lr: 0.1 }), { device });
    const batch = device === 'cpu' ? x : x.to(device);
    let state = step.init({ w: normal(2, 96, 128), b: normal(3, 128) });
    for (let i = 0; i < 5; i += 1) ({ state } = step(state, batch));
    return Promise.all([state.params.w.data(), state.params.b.data()]);
  };
  const [want, got] = [await after('cpu'), await after('webgpu')];
  want.forEach((values, k) => values.forEach((v, i) => assert.ok(Math.abs(v - got[k][i]) < 1e-4)));
});

const SUMS = {
  'all of many': [(x) => sn.sum(x), [[700, 1000]]],
  'all of many, not whole fours': [(x) => sn.sum(x), [[333, 1001]]],
  'the largest of many': [(x) => [sn.max(x), sn.argmax(x.reshape([-1]))], [[700, 1000]]],
  'along rows': [(x) => sn.sum(x, { axis: 1 }), [[40, 5000]]],
  'across': [(x) => sn.sum(x, { axis: 0 }), [[5000, 256]]],
  'across, of two': [(x, y) => sn.sum(x.mul(y), { axis: 0 }), [[5000, 256], [5000, 256]]],
  'across, with a row': [(x, y) => sn.sum(x.mul(y), { axis: 0 }), [[5000, 256], [256]]],
  'across in the middle': [(x) => sn.sum(x, { axis: 1 }), [[4, 3000, 128]]],
  'a softmax': [(x) => sn.softmax(x), [[40, 1000]]],
  'a norm': [(x) => sn.layerNorm(x), [[40, 1000]]],
  'of whole numbers, exactly': [(x) => sn.sum(x.mul(3).astype('int32')), [[700, 1000]]],
};

for (const [name, [f, shapes]] of Object.entries(SUMS))
  test(`a reduction: ${name}`, () => same(name, f, shapes.map((shape, i) => normal(i + 1, ...shape)), 2e-5));

test('a sum keeps NaN, wherever it stands', async () => {
  for (const at of [0, 1, 4097, 699999]) {
    const values = new Float32Array(700000).fill(1);
    values[at] = NaN;
    const [, [[sum], [most]]] = await onBoth((x) => [sn.sum(x), sn.max(x)], [sn.tensor(values)]);
    assert.ok(Number.isNaN(sum) && Number.isNaN(most), `${at}`);
  }
});

/** With tiles, where there are any: an adapter in software would choose none. */
const inTiles = (f) => withClock((code) => tileOf(code) > 0, f);

// (m, k) x (k, n): without tiles and with, k cut so that the last part is shorter, blocks that end inside of it.
for (const [m, k, n] of [[9, 5000, 16], [3, 4099, 5], [1, 70000, 1], [40, 1040, 36], [64, 2000, 70], [66, 1056, 132]])
  test(`a product in parts: (${m}, ${k}) x (${k}, ${n})`, async () => {
    const f = (x, y, z) => [sn.matmul(x, y).mul(2).add(z), sn.matmul(x, y).greater(z)];
    const [want, got] = await inTiles(() => onBoth(f, [normal(1, m, k), normal(2, k, n), normal(3, n)]));
    want[0].forEach((value, i) => assert.ok(Math.abs(value - got[0][i]) < 2e-5 * Math.sqrt(k), `${i}: ${got[0][i]}, ${value}`));
    const far = want[0].filter((_, i) => want[1][i] !== got[1][i]);
    assert.ok(far.length <= 1, `${far.length} comparisons differ`);
  });

test('products in parts, of whole numbers exactly, turned and in batches', async () => {
  const whole = (seed, ...shape) => normal(seed, ...shape).mul(9).astype('int32');
  await same('turned', (x, y) => sn.matmul(x.permuteDims([1, 0]), y), [whole(1, 3000, 12), whole(2, 3000, 8)]);
  await inTiles(() => same('turned', (x, y) => sn.matmul(x.permuteDims([1, 0]), y), [whole(1, 1100, 36), whole(2, 1100, 40)]));
  await inTiles(() => same('in batches', (x, y) => sn.matmul(x, y), [whole(1, 3, 34, 1100), whole(2, 3, 1100, 40)]));
});

test('gradients of a convolution by its weight: few points, many terms', async () => {
  const f = (x, w) => sn.grad((t) => sn.sum(sn.conv2d(x, t, { padding: 'same' }).square()))(w);
  await same('grad', f, [normal(1, 4, 28, 28, 1), normal(2, 3, 3, 1, 16)], 1e-4);
  await same('grad', f, [normal(1, 4, 15, 14, 8), normal(2, 3, 3, 8, 12)], 1e-4);
});
