// Trees: what counts as one, that instances and Maps are differentiated, trained and kept, and that nothing in the
// arguments of a compiled function can change without being seen.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();

class Model {
  constructor(w, name = 'model') {
    this.w = w;
    this.name = name;
  }

  apply(x) {
    return x.mul(this.w);
  }
}

const x = sn.tensor([1, 2, 3]);

test('an instance is differentiated by its fields and keeps its class', () => {
  const g = sn.grad((m) => m.apply(x).sum())(new Model(sn.ones([3])));
  assert.ok(g instanceof Model);
  assert.equal(g.name, 'model');
  assert.deepEqual(g.w.toArray(), [1, 2, 3]);
  const [value, inMap] = sn.valueAndGrad((m) => m.get('w').mul(x).sum())(new Map([['w', sn.full([3], 2)]]));
  assert.equal(value.item(), 12);
  assert.deepEqual(inMap.get('w').toArray(), [1, 2, 3]);
  const [only] = sn.grad((s) => [...s][0].square().sum())(new Set([x]));
  assert.deepEqual(only.toArray(), [2, 4, 6]);
});

for (const [name, make, read] of [
  ['an instance', (w) => new Model(w), (p) => p.w],
  ['a Map', (w) => new Map([['w', w]]), (p) => p.get('w')],
]) {
  test(`${name} is trained`, () => {
    const step = sn.trainStep((p) => read(p).square().sum(), sn.optim.sgd({ lr: 0.25 }));
    let state = step.init(make(sn.ones([2])));
    for (let i = 0; i < 3; i++) ({ state } = step(state));
    assert.deepEqual(read(step.params(state)).toArray(), [0.125, 0.125]);
    assert.equal(step.cacheSize, 1);
  });
}

test('a compiled function sees what changed in an instance', () => {
  const f = sn.jit((m, t) => m.apply(t));
  const m = new Model(sn.ones([3]));
  assert.deepEqual(f(m, x).toArray(), [1, 2, 3]);
  m.w = sn.full([3], 7);
  assert.deepEqual(f(m, x).toArray(), [7, 14, 21]);
  assert.equal(f.cacheSize, 1);
  const scaled = sn.jit((config, t) => t.mul(config.k));
  const config = Object.assign(Object.create({}), { k: 1 });
  assert.deepEqual(scaled(config, x).toArray(), [1, 2, 3]);
  config.k = 5;
  assert.deepEqual(scaled(config, x).toArray(), [5, 10, 15]);
});

test('a function in a field that uses its own instance is refused, another one is not', () => {
  class Closed {
    w = sn.ones([3]);
    act = sn.relu;
    forward = (t) => t.mul(this.w);
    apply(t) {
      return this.act(t.mul(this.w));
    }
  }
  const m = new Closed();
  const message = /write it as a method/;
  assertThrows(() => sn.jit((model, t) => model.forward(t))(m, x), sn.SinterError, { op: 'mul', message });
  assertThrows(() => sn.grad((model) => model.forward(x).sum())(m), sn.SinterError, { op: 'mul', message });
  assert.deepEqual(sn.jit((model, t) => model.apply(t))(m, x).toArray(), [1, 2, 3]);
  assert.deepEqual(sn.grad((model) => model.apply(x).sum())(m).w.toArray(), [1, 2, 3]);
  assert.deepEqual(m.forward(x).toArray(), [1, 2, 3]);
});

test('two classes with the same fields are two structures', () => {
  class Twice extends Model {
    apply(t) {
      return t.mul(this.w).mul(2);
    }
  }
  const f = sn.jit((m, t) => m.apply(t));
  const w = sn.ones([3]);
  assert.deepEqual(f(new Model(w), x).toArray(), [1, 2, 3]);
  assert.deepEqual(f(new Twice(w), x).toArray(), [2, 4, 6]);
  const g = sn.jit((value) => value);
  assert.deepEqual([Symbol('a'), Symbol('a')].map((s) => g(s).description), ['a', 'a']);
  assert.equal(g.cacheSize, 2);
});

test('a typed array among the arguments is a tensor of the call', () => {
  const f = sn.jit((t, d) => t.add(d));
  const array = new Float32Array([1, 1, 1]);
  assert.deepEqual(f(x, array).toArray(), [2, 3, 4]);
  array[0] = 100;
  assert.deepEqual(f(x, array).toArray(), [101, 3, 4]);
  assert.equal(f.cacheSize, 1);
  assert.deepEqual(sn.grad((t) => t.square().sum())(new Float32Array([1, 2])).toArray(), [2, 4]);
  const outer = sn.jit((t) => f(t, new Float32Array([1, 2, 3])));
  assert.deepEqual(outer(x).toArray(), [2, 4, 6]);
  const before = sn.memory().tensors;
  sn.tidy(() => sn.jit((d) => sn.sum(d))(array).item());
  assert.equal(sn.memory().tensors, before);
});

test('an array of numbers that changed is another static value', () => {
  const f = sn.jit((t, d) => t.add(sn.tensor(d)));
  const list = [1, 1, 1];
  assert.deepEqual(f(x, list).toArray(), [2, 3, 4]);
  list[0] = 100;
  assert.deepEqual(f(x, list).toArray(), [101, 3, 4]);
});

test('what can change unseen is refused by name', () => {
  const f = sn.jit((t) => t);
  const cyclic = [x];
  cyclic.push(cyclic, cyclic);
  const refusals = [
    [new Date(), /a Date/], [/x/, /a RegExp/], [new Error('x'), /an Error/], [new WeakMap(), /a WeakMap/],
    [new ArrayBuffer(8), /an ArrayBuffer/], [new DataView(new ArrayBuffer(8)), /a DataView/],
    [{ deep: [Promise.resolve()] }, /a Promise/], [new Map([[{}, 1]]), /a key of a Map/], [cyclic, /cycle/],
    [new Array(2 ** 32 - 1), /no element 0/],
  ];
  for (const [value, message] of refusals) {
    assertThrows(() => f(value), sn.SinterError, { code: 'argument', op: 'jit', message });
    assertThrows(() => sn.jit(() => value)(), sn.SinterError, { op: 'jit', message });
    assertThrows(() => sn.grad((v) => v)(value), sn.SinterError, { op: 'grad', message });
    assertThrows(() => sn.tree.leaves(value), sn.SinterError, { op: 'tree.leaves', message });
  }
  assertThrows(() => sn.jit(() => new Float32Array(2))(), sn.SinterError, { message: /a Float32Array.*sn\.tensor/ });
  assertThrows(() => sn.eval(Promise.resolve(x)), sn.SinterError, { op: 'eval', message: /a Promise/ });
});

test('a gradient by what holds no tensor is refused', () => {
  assertThrows(() => sn.grad((list) => sn.square(list).sum())([1, 2]), sn.SinterError, { op: 'grad', message: /no tensor/ });
  assertThrows(() => sn.grad((s) => s)('text'), sn.SinterError, { op: 'grad', message: /no tensor/ });
  assert.deepEqual(sn.grad(() => x.sum())({}), {});
});

test('results in instances, Maps and Sets outlive tidy and come out of compiled functions', () => {
  const inTidy = sn.tidy(() => ({ m: new Map([['a', x.add(1)]]), s: new Set([x.add(2)]), i: new Model(x.add(3)) }));
  assert.deepEqual(inTidy.m.get('a').toArray(), [2, 3, 4]);
  assert.deepEqual([...inTidy.s][0].toArray(), [3, 4, 5]);
  assert.deepEqual(inTidy.i.w.toArray(), [4, 5, 6]);
  const looped = { t: null };
  looped.self = looped;
  assert.deepEqual(sn.tidy(() => ((looped.t = x.add(9)), looped)).t.toArray(), [10, 11, 12]);
  const f = sn.jit((t) => ({ m: new Map([['a', t.add(1)]]), i: new Model(t.mul(2)), n: 3, none: undefined }));
  for (let i = 0; i < 2; i++) {
    const { m, i: made, n, none } = f(x);
    assert.deepEqual(m.get('a').toArray(), [2, 3, 4]);
    assert.deepEqual(made.apply(x).toArray(), [2, 8, 18]);
    assert.deepEqual([n, none], [3, undefined]);
  }
  sn.dispose(inTidy);
  assert.ok(inTidy.i.w.isDisposed && inTidy.m.get('a').isDisposed);
});

test('tree.map wants trees of one structure, and may return anything', () => {
  const tree = { w: x, layers: [new Model(x.add(1))] };
  const plain = sn.tree.map((t) => t.toArray(), tree);
  assert.deepEqual(plain.layers[0].w, [2, 3, 4]);
  assert.equal(JSON.stringify(plain), '{"layers":[{"name":"model","w":[2,3,4]}],"w":[1,2,3]}');
  assertThrows(() => sn.tree.map((a) => a, { a: x, b: x }, { a: x, c: x }), sn.SinterError, { op: 'tree.map', message: /structure: tree\.b is a tensor in one, nothing in another/ });
  assertThrows(() => sn.tree.map((a) => a, { a: [x] }, { a: new Set([x]) }), sn.SinterError, { message: /structure: they have other containers/ });
  assertThrows(() => sn.tree.map(tree, (t) => t), sn.SinterError, { op: 'tree.map', message: /map\(f, tree\)/ });
});

/* A call like the last one is found without a key (tensorsOf): it must see every difference that a key would. */
const bare = (fields) => Object.assign(Object.create({}), fields);
const DIFFERENT = [
  ['a static value', { w: x, k: 1 }, { w: x, k: 2 }],
  ['the sign of a zero', { w: x, k: 0 }, { w: x, k: -0 }],
  ['a number and its text', { w: x, k: 1 }, { w: x, k: '1' }],
  ['a tensor and a number', { w: x, k: x }, { w: x, k: 1 }],
  ['a name', { w: x, k: undefined }, { w: x, l: undefined }],
  ['a name that objects inherit', { w: x, toString: Object.prototype.toString }, { w: x, other: Object.prototype.toString }],
  ['a further field', { w: x }, { w: x, k: 1 }],
  ['a missing field', { w: x, k: 1 }, { w: x }],
  ['the length of an array', [x, [1]], [x, [1, 1]]],
  ['an array and an object', { w: x, k: [] }, { w: x, k: {} }],
  ['an object and an instance', { w: x, name: 'model' }, new Model(x)],
  ['two classes', new Model(x), bare({ w: x, name: 'model' })],
  ['the order of a Map', new Map([['a', x], ['b', 1]]), new Map([['b', 1], ['a', x]])],
  ['a key of a Map', new Map([['a', x]]), new Map([['b', x]])],
  ['a Map and a Set', new Map([[0, x]]), new Set([x])],
  ['the size of a Set', new Set([x]), new Set([x, 1])],
  ['a shape', { w: x }, { w: sn.ones([4]) }],
  ['a dtype', { w: x }, { w: x.astype('int32') }],
];
for (const [name, one, other] of DIFFERENT) {
  test(`calls in turns with trees that differ by ${name} have a program each`, () => {
    const f = sn.jit(() => x);
    for (let round = 0; round < 3; round++) {
      for (const tree of [one, one, other, other]) f(tree);
      assert.equal(f.cacheSize, 2);
    }
    assert.equal(f.traces.length, 2);
  });
}

test('the program of the last call is made again where others have taken its place', async () => {
  const f = sn.jit(({ w }) => w.add(1));
  assert.deepEqual(f({ w: x }).toArray(), [2, 3, 4]);
  for (let n = 10; n < 80; n++) await f.compile({ w: sn.ones([n]) });
  assert.deepEqual(f({ w: x }).toArray(), [2, 3, 4]);
});

test('NaN among the arguments is one static value, and fields have no order', () => {
  const f = sn.jit(({ w, k }) => w.mul(k));
  for (const tree of [{ w: x, k: NaN }, { k: NaN, w: x }]) f(tree);
  assert.equal(f.cacheSize, 1);
});

test('a donated tensor is refused a second time in each call', () => {
  const f = sn.jit(({ a, b }, other) => a.add(b).add(other), { donate: 0 });
  const trees = () => ({ a: sn.tensor([2, 3, 4]), b: sn.tensor([3, 4, 5]) });
  for (let i = 0; i < 2; i++) assert.deepEqual(f(trees(), x).toArray(), [6, 9, 12]);
  const tree = trees();
  assertThrows(() => f({ a: tree.a, b: tree.a }, x), sn.SinterError, { code: 'argument', message: /given a second time/ });
  assert.deepEqual(f(tree, x).toArray(), [6, 9, 12]);
  assertThrows(() => f(tree, x), sn.DisposedError, { code: 'disposed' });
});

test('a trace names the argument that changed', () => {
  const f = sn.jit((tree, k) => tree.layers[0].w.mul(k));
  const call = (w, k, more = {}) => f({ layers: [new Model(w)], ...more }, k);
  call(sn.ones([2]), 1);
  call(sn.ones([3]), 1);
  call(sn.ones([3]), 2);
  call(sn.ones([3]), 2, { extra: 'yes' });
  call(sn.ones([3]), 2);
  assert.deepEqual(f.traces.map(({ reason }) => reason), [
    'first call',
    'argument 0.layers[0].w changed from float32(2,) to float32(3,)',
    'argument 1 changed from 1 to 2: numbers are part of the program, pass a tensor',
    'argument 0.extra is new: "yes"',
  ]);
  class Other extends Model {}
  const g = sn.jit((m) => m.w);
  for (const type of [Model, Other]) g(new type(x));
  assert.equal(g.traces[1].reason, 'the structure or a static value of the arguments changed');
});

test('with debug level 1 the tenth compile of a function is warned of, once, with what changed', () => {
  const said = [];
  const { warn } = console;
  console.warn = (...words) => said.push(words.join(' '));
  sn.setDebug(1);
  try {
    const f = sn.jit((t, i) => t.mul(i));
    for (let i = 0; i < 12; i++) f(x, i);
    const step = sn.trainStep((p, i) => p.mul(i).sum(), sn.optim.sgd({ lr: 0.1 }));
    let state = step.init(x);
    for (let i = 0; i < 12; i++) ({ state } = step(state, i));
  } finally {
    sn.setDebug(0);
    console.warn = warn;
  }
  assert.deepEqual(said, [
    'sinter: jit: compiled for the 10th time: argument 1 changed from 8 to 9: numbers are part of the program, pass a tensor',
    'sinter: trainStep: compiled for the 10th time: batch argument 0 changed from 8 to 9: numbers are part of the program, pass a tensor',
  ]);
  const quiet = sn.jit((t, i) => t.mul(i));
  for (let i = 0; i < 12; i++) quiet(x, i);
  assertClose(quiet(x, 2), [2, 4, 6]);
});
