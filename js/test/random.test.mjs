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

/** A permutation as JAX makes it, from the public keys and bits alone: values sorted by unsigned words, round by round. */
const permuted = (key, count) => {
  let order = Array.from({ length: count }, (_, i) => i);
  const rounds = Math.ceil(3 * Math.log(Math.max(1, count)) / Math.log(2 ** 32 - 1));
  for (let round = 0; round < rounds; round++) {
    const [next, own] = random.splitKeys(key);
    const words = unsigned(random.bits(own, [count]));
    order = order.map((value, i) => [words[i], i, value]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, , value]) => value);
    key = next;
  }
  return order;
};

test('permutation', () => {
  for (const count of [0, 1, 2, 7, 1000, 2000]) { // 2,000 take two rounds
    const order = random.permutation(random.key(count), count);
    assert.equal(order.dtype, 'int32');
    assert.deepEqual([...order.dataSync()], permuted(random.key(count), count), `${count}`);
  }
  const x = sn.arange(24).reshape([2, 3, 4]);
  const order = permuted(random.key(5), 3);
  assert.deepEqual(random.permutation(random.key(5), x, { axis: 1 }).toArray(), x.toArray().map((rows) => order.map((i) => rows[i])));
  assert.deepEqual(random.permutation(random.key(5), [10, 20, 30]).toArray(), order.map((i) => 10 * (i + 1)));
  const key = random.key(6);
  const { tensors } = sn.memory();
  random.permutation(key, 2000).dispose();
  assert.equal(sn.memory().tensors, tensors);
  const inside = sn.jit((key) => random.permutation(key, 7));
  assert.deepEqual([...inside(random.key(7)).dataSync()], permuted(random.key(7), 7));
  assertThrows(() => random.permutation(random.key(0), -1), sn.SinterError, { code: 'argument', message: /x is -1/ });
  assertThrows(() => random.permutation(random.key(0), 2.5), sn.SinterError, { code: 'argument', message: /x is 2.5/ });
  assertThrows(() => random.permutation(random.key(0), x, { axis: 3 }), sn.ShapeError, { message: /axis 3 is out of range/ });
  assertThrows(() => random.permutation(1, 3), sn.SinterError, { code: 'argument', message: /1 is no key/ });
});

test('categorical is the largest logit after Gumbel noise', () => {
  const logits = sn.tensor([[0, 1, 2, -1], [5, 0, 0, -Infinity]]);
  const noise = random.gumbel(random.key(3), [2, 4]);
  assertClose(noise, random.uniform(random.key(3), [2, 4], { minval: 2 ** -126 }).log().neg().log().neg().toArray(), 1e-6);
  const drawn = random.categorical(random.key(3), logits);
  assert.equal(drawn.dtype, 'int32');
  assert.deepEqual(drawn.toArray(), noise.add(logits).argmax({ axis: 1 }).toArray());
  const along = random.categorical(random.key(4), logits, { axis: 0, shape: [5, 4] });
  assert.deepEqual(along.toArray(), random.gumbel(random.key(4), [5, 2, 4]).add(logits).argmax({ axis: 1 }).toArray());
});

test('categorical draws with the probabilities of a softmax', () => {
  const shares = [0.1, 0.2, 0.7];
  const drawn = random.categorical(random.key(9), sn.tensor(shares).log(), { shape: [50_000] });
  for (const [i, share] of shares.entries())
    assert.ok(Math.abs(drawn.equal(i).astype('float32').mean().item() - share) < 0.01, `${i}`);
  assert.ok(random.categorical(random.key(1), [-Infinity, 0, -Infinity], { shape: [1000] }).equal(1).all().item());
  assert.deepEqual(random.categorical(random.key(1), sn.zeros([0, 3])).shape, [0]);
});

test('categorical refuses shapes that do not fit', () => {
  const logits = sn.zeros([2, 3]);
  assertThrows(() => random.categorical(random.key(0), logits, { shape: [3] }), sn.ShapeError, { message: /do not broadcast to shape \(3,\)/ });
  assertThrows(() => random.categorical(random.key(0), logits, { shape: [] }), sn.ShapeError, { message: /do not broadcast/ });
  assertThrows(() => random.categorical(random.key(0), logits, { axis: 2 }), sn.ShapeError, { message: /axis 2 is out of range/ });
  assertThrows(() => random.categorical(random.key(0), 3), sn.ShapeError, { message: /it has no axes/ });
  assertThrows(() => random.categorical(random.key(0), logits, { sizes: [1] }), sn.SinterError, { code: 'argument', message: /sizes/ });
});
