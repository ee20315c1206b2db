// Threefry-2x32 as JAX draws it. Known answers: the reference implementation's own test vectors, and
// values printed in JAX's documentation and in the tests of its JavaScript relative.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();

const { random } = sn;
const unsigned = (tensor) => [...tensor.dataSync()].map((word) => word >>> 0);

test('known answers of the generator', () => {
  // foldIn(key, data) is the block (0, data) under the key.
  assert.deepEqual(unsigned(random.foldIn(random.key(0), 0)), [0x6b200159, 0x99ba4efe]);
});

test('bits', () => {
  assert.deepEqual(unsigned(random.bits(random.key(0))), [4070199207]);
  assert.deepEqual(unsigned(random.bits(random.key(10), [4])), [169096361, 1572511259, 2689743692, 2228103506]);
});

test('split and foldIn', () => {
  const expected = [507451445, 1853169794, 1948878966, 4237131848, 2441914641, 3819641963];
  assert.deepEqual(unsigned(random.split(random.key(1), 3)), expected);
  const folded = [0, 1, 2].flatMap((i) => unsigned(random.foldIn(random.key(1), i)));
  assert.deepEqual(folded, expected);
});

test('uniform', () => {
  const bits = (tensor) => [...new Int32Array(tensor.dataSync().buffer)];
  const float = (...values) => [...new Int32Array(Float32Array.from(values).buffer)];
  assert.deepEqual(bits(random.uniform(random.key(51), [4])), float(0.471269, 0.12344253, 0.17550635, 0.5663593));
  const [, second] = random.splitKeys(random.key(0));
  assert.deepEqual(bits(random.uniform(random.key(0))), float(0.947667));
  assertClose(random.uniform(second), 0.00729382, 1e-8); // printed to eight places only
  const x = random.uniform(random.key(3), [1000], { minval: -2, maxval: 3 }).dataSync();
  assert.ok(x.every((value) => value >= -2 && value < 3));
});

test('normal', () => {
  assertClose(random.normal(random.key(42)), -0.028304616, 1e-9);
  assertClose(random.normal(random.key(42), [3]), [-0.02830462, 0.46713185, 0.29570296], 1e-7);
  const each = random.splitKeys(random.key(42), 3).map((key) => random.normal(key).item());
  assertClose(each, [0.07592554, 0.60576403, 0.4323065], 1e-7);
  let key = random.key(42);
  for (const expected of [0.6057640314102173, -0.21089035272598267, -0.3948981463909149]) {
    const [next, sub] = random.splitKeys(key);
    assertClose(random.normal(sub), expected, 1e-7);
    key = next;
  }
});

test('distributions have their moments', () => {
  const x = random.normal(random.key(7), [100, 1000]);
  assert.ok(Math.abs(x.mean().item()) < 0.01);
  assert.ok(Math.abs(x.square().mean().item() - 1) < 0.01);
  const heads = random.bernoulli(random.key(8), 0.25, [100_000]).astype('float32').mean().item();
  assert.ok(Math.abs(heads - 0.25) < 0.01);
});

test('bernoulli draws for each probability, unless a shape says how many draws', () => {
  const half = sn.full([64], 0.5);
  assert.deepEqual(random.bernoulli(random.key(0), half).toArray(), random.bernoulli(random.key(0), 0.5, [64]).toArray());
  assert.deepEqual(random.bernoulli(random.key(0), [[0], [1]], [2, 3]).toArray(), [[false, false, false], [true, true, true]]);
  assert.throws(() => random.bernoulli(random.key(0), sn.full([3, 1], 0.5), [3]), sn.ShapeError);
});

test('the same numbers inside jit', () => {
  const draw = sn.jit((key) => random.normal(key, [16]));
  assert.deepEqual(draw(random.key(5)).dataSync(), random.normal(random.key(5), [16]).dataSync());
});

test('implicit keys start from a seed and never repeat', () => {
  random.seed(3);
  const first = [random.nextKey(), random.nextKey()].map(unsigned);
  random.seed(3);
  const again = sn.tidy(() => [random.nextKey(), random.nextKey()].map(unsigned));
  assert.deepEqual(first, again);
  assert.notDeepEqual(first[0], first[1]);
  random.nextKey();
});

test('bad keys and seeds', () => {
  assertThrows(() => random.key(1.5), sn.SinterError, { code: 'argument' });
  assertThrows(() => random.foldIn(random.key(0), sn.tensor([1, 2])), sn.SinterError, { op: 'random.foldIn', message: /a whole number or a tensor of one/ });
  assertThrows(() => random.uniform(sn.zeros([2]), [3]), sn.ShapeError, { op: 'random.uniform' });
  assertThrows(() => random.uniform(sn.zeros([3], { dtype: 'int32' })), sn.ShapeError);
});
