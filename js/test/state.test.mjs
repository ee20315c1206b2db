// saveState and loadState: trees with all that can be in them, what does not fit, and bytes that were changed.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertThrows } from './support.mjs';

before(() => sn.init({ deterministic: true }));

const { io } = sn;

const bits = (tree) => sn.tree.leaves(tree).map((t) => [t.dtype, t.shape, t.dataSync()]);

/** f is called, and leaves no tensor behind. */
const withoutLoss = (f) => {
  const { tensors, bytesInUse } = sn.memory();
  f();
  assert.deepEqual([sn.memory().tensors, sn.memory().bytesInUse], [tensors, bytesInUse]);
};

class Model {
  constructor() {
    this.w = sn.tensor([1, 2]);
    this.activation = 'tanh';
  }
}

const makeTree = () => ({
  params: [{ w: sn.tensor([[1, NaN], [-0, 4]]), b: sn.tensor([7], { dtype: 'i32' }) }],
  place: { pass: 3, index: 128 },
  values: [null, undefined, NaN, -0, 2 ** 53, true, 'text', 10n],
  map: new Map([['a', sn.tensor([true])], [1, 'one']]),
  set: new Set([sn.tensor([1.5], { dtype: 'f16' })]),
  empty: {},
});

test('a tree comes back as it was, with and without a tree like it', () => {
  const tree = makeTree();
  const bytes = io.saveState(tree);
  for (const again of [io.loadState(bytes), io.loadState(bytes, makeTree())]) {
    assert.deepEqual(bits(again), bits(tree));
    assert.deepEqual(again.place, tree.place);
    assert.deepEqual(again.values, tree.values);
    assert.equal(again.map.get(1), 'one');
    assert.ok(again.set instanceof Set);
    assert.deepEqual(again.empty, {});
  }
  assert.deepEqual(io.saveState(io.loadState(bytes)), bytes);
  assert.deepEqual(Object.keys(io.safetensors.decode(bytes).tensors).sort(), ['map.a', 'params.0.b', 'params.0.w', 'set.0']);
});

test('values are those of the file, not of the tree like it', () => {
  const saved = io.loadState(io.saveState({ step: 7, t: sn.ones([2]) }), { step: 0, t: sn.zeros([2]) });
  assert.deepEqual([saved.step, saved.t.toArray()], [7, [1, 1]]);
});

test('an instance of a class is one again by a tree like it', () => {
  const bytes = io.saveState({ model: new Model() });
  const { model } = io.loadState(bytes, { model: new Model() });
  assert.ok(model instanceof Model);
  assert.deepEqual(model.w.toArray(), [1, 2]);
  assert.equal(Object.getPrototypeOf(io.loadState(bytes).model), Object.prototype);
});

test('a tensor alone, and a tree without tensors', () => {
  assert.deepEqual(io.loadState(io.saveState(sn.tensor([1, 2]))).toArray(), [1, 2]);
  assert.deepEqual(io.loadState(io.saveState([1, 'a'])), [1, 'a']);
});

test('what does not fit is listed', () => {
  const bytes = io.saveState({ a: sn.ones([2]), b: sn.ones([2, 3]), d: sn.ones([1]), e: sn.ones([2]), n: 1 });
  const like = { a: sn.zeros([2]), b: sn.zeros([3, 2]), c: sn.zeros([1]), e: sn.zeros([2], { dtype: 'f64' }), n: sn.zeros([]) };
  withoutLoss(() => {
    assertThrows(() => io.loadState(bytes, like), sn.ShapeError, {
      message: 'loadState: missing: c; unexpected: d; of another size or kind: b: float32 (2, 3), expected float32 (3, 2), ' +
        'e: float32 (2), expected float64 (2), n: 1, expected float32 () ({ strict: false } loads what fits)',
    });
    assertThrows(() => io.loadState(bytes, { a: like.a }), sn.SinterError, { message: /unexpected: b, d, e, n \(/ });
  });
});

test('strict: false loads what fits and reports the rest', (t) => {
  const bytes = io.saveState({ a: sn.ones([2]), b: sn.ones([2, 3]), d: sn.ones([1]) });
  const like = { a: sn.zeros([2]), b: sn.full([3], 9), c: sn.full([1], 5), k: 3 };
  let report;
  const loaded = io.loadState(bytes, like, { strict: false, onReport: (given) => (report = given) });
  assert.deepEqual(report, { missing: ['c', 'k'], unexpected: ['d'], differing: ['b: float32 (2, 3), expected float32 (3)'] });
  assert.deepEqual([loaded.a.toArray(), loaded.b.toArray(), loaded.c.toArray(), loaded.k], [[1, 1], [9, 9, 9], [5], 3]);
  like.b.dispose();
  assert.deepEqual(loaded.b.toArray(), [9, 9, 9], 'a copy');
  const warn = t.mock.method(console, 'warn', () => {});
  io.loadState(bytes, { a: like.a }, { strict: false });
  assert.match(warn.mock.calls[0].arguments[0], /sinter: loadState: unexpected: b, d/);
});

test('every changed bit and every missing byte is noticed', () => {
  const bytes = io.saveState({ a: sn.tensor([1, 2, 3]), b: sn.tensor([true]), step: 5 });
  withoutLoss(() => {
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      bytes[bit >> 3] ^= 1 << (bit & 7);
      assertThrows(() => io.loadState(bytes), sn.SinterError);
      bytes[bit >> 3] ^= 1 << (bit & 7);
    }
    for (let size = 0; size < bytes.length; size++)
      assertThrows(() => io.loadState(bytes.subarray(0, size)), sn.SinterError, { message: /damaged/ });
  });
  io.loadState(bytes);
});

test('what is no state, and what cannot be in one', () => {
  const other = io.safetensors.encode({ a: sn.ones([1]) });
  assertThrows(() => io.loadState(other), sn.SinterError, { message: /not of saveState.*safetensors.decode/ });
  assertThrows(() => io.saveState({ f: () => 1 }), sn.SinterError, { message: /function/ });
  assertThrows(() => io.saveState({ at: new Date() }), sn.SinterError, { message: /a Date/ });
  assertThrows(() => io.loadState(io.saveState({}), {}, { strikt: false }), sn.SinterError, { message: /did you mean 'strict'/ });
});

/** A small training with Adam, whose batches are drawn from the step's number. */
const makeTraining = () => {
  const { nn, optim, random } = sn;
  const net = nn.sequential(nn.linear(4, 8), nn.gelu(), nn.linear(8, 1));
  const step = sn.trainStep((p, x) => net.apply(p, x).sub(x.sum({ axis: 1, keepdims: true })).square().mean(), optim.adam({ lr: 0.01 }));
  return { step, first: () => step.init(net.init(random.key(3))), batch: (i) => random.normal(random.key(i), [16, 4]) };
};

test('a run stopped at any step and resumed ends with the same bits', () => {
  const STEPS = 12;
  const { step, first, batch } = makeTraining();
  const saved = [];
  let state = first();
  for (let i = 0; i < STEPS; i++) {
    saved.push(io.saveState({ state, i }));
    ({ state } = step(state, batch(i)));
  }
  const end = bits(state);
  for (const bytes of saved) {
    const other = makeTraining();
    let { state: resumed, i } = io.loadState(bytes, { state: other.first(), i: 0 });
    for (; i < STEPS; i++) ({ state: resumed } = other.step(resumed, other.batch(i)));
    assert.deepEqual(bits(resumed), end);
  }
});
