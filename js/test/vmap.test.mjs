// vmap: axes and trees, nesting with other transforms, errors. The judge is a loop over the examples. That every op is
// mapped along every axis is tested natively, from the op table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();

/** An error's text up to its hint. */
const beginning = (text) => (typeof text === 'string' ? new RegExp(`^${text.replace(/[^\w\s]/g, '\\$&')}(?: \\(|$)`) : text);
const f64 = (data) => sn.tensor(data, { dtype: 'float64' });
const ramp = (...shape) => sn.arange(shape.reduce((a, b) => a * b)).astype('float64').mul(0.37).sin().reshape(shape);
const xs = ramp(4, 3);
const w = ramp(3, 2);
const rows = (t) => Array.from({ length: t.shape[0] }, (_, i) => t.at(i).get());

test('a function of one example becomes one of many', () => {
  const f = (x) => x.matmul(w).tanh().sum();
  assertClose(sn.vmap(f)(xs), rows(xs).map((x) => f(x).item()), 1e-12);
  assert.deepEqual(sn.vmap((x) => x.mul(2), { outAxes: 1 })(xs).shape, [3, 4]);
  assertClose(sn.vmap((x) => x.sum(), { inAxes: 1 })(xs), xs.sum({ axis: 0 }).toArray(), 1e-12);
  assertClose(sn.vmap((x) => x.sum(), { inAxes: -1 })(xs), xs.sum({ axis: 0 }).toArray(), 1e-12);
});

test('axes of trees, null for what all share, for results too', () => {
  const f = (p, x, k) => ({ y: x.matmul(p.w).add(p.b), shared: p.w.sum(), k });
  const p = { w, b: ramp(4, 2) };
  const got = sn.vmap(f, { inAxes: [{ w: null, b: 0 }, 0, null], outAxes: { y: 1, shared: null, k: 0 } })(p, xs, 'text');
  assert.deepEqual([got.y.shape, got.shared.shape, got.k], [[2, 4], [], 'text']);
  const want = rows(xs).map((x, i) => x.matmul(w).add(p.b.at(i).get()).toArray());
  assertClose(got.y.transpose(), want, 1e-12);
  const repeated = sn.vmap((x) => [x, w])(xs)[1];
  assert.deepEqual(repeated.shape, [4, 3, 2]);
  const inMap = sn.vmap((m) => m.get('a').add(m.get('b')), { inAxes: [new Map([['a', 0], ['b', null]])] })(new Map([['a', xs], ['b', ramp(3)]]));
  assert.deepEqual(inMap.shape, [4, 3]);
});

test('vmap of vmap', () => {
  const outer = sn.vmap((a) => sn.vmap((b) => a.mul(b).sum())(xs))(xs);
  assertClose(outer, xs.matmul(xs.transpose()).toArray(), 1e-12);
});

const loss = (p, x, y) => x.matmul(p.w1).tanh().matmul(p.w2).sub(y).square().sum();
const params = { w1: ramp(3, 5), w2: ramp(5, 2) };
const ys = ramp(4, 2);

test('gradients per example, their sum, the gradient of a vmap, and all compiled', () => {
  const perExample = sn.vmap(sn.grad(loss), { inAxes: [null, 0, 0] });
  const got = perExample(params, xs, ys);
  rows(xs).forEach((x, i) => {
    const want = sn.grad(loss)(params, x, ys.at(i).get());
    for (const name of ['w1', 'w2']) assertClose(got[name].at(i).get(), want[name].toArray(), 1e-12);
  });
  const whole = sn.grad((p) => sn.vmap(loss, { inAxes: [null, 0, 0] })(p, xs, ys).sum())(params);
  const compiled = sn.jit(perExample)(params, xs, ys);
  for (const name of ['w1', 'w2']) {
    assertClose(got[name].sum({ axis: 0 }), whole[name].toArray(), 1e-12);
    assertClose(compiled[name], got[name].toArray(), 1e-12);
  }
});

test('vmap of hessian, of jacobian, of jvp and of vjp against the loop', () => {
  const f = (x) => x.matmul(w).tanh().square().sum().mul(x.at(0).get());
  const v = f64([1, -1, 2]);
  const functions = {
    hessian: sn.hessian(f),
    jacfwd: sn.jacfwd((x) => x.softmax().mul(x)),
    jacrev: sn.jacrev((x) => x.sort().cumprod(0)),
    jvp: (x) => sn.jvp(f, [x], [v])[1],
    vjp: (x) => sn.vjp((t) => t.matmul(w), x)[1](v.slice([0], [2]))[0],
  };
  for (const [name, g] of Object.entries(functions)) {
    const want = rows(xs).map((x) => g(x).toArray());
    assertClose(sn.vmap(g)(xs), want, 1e-12);
    assertClose(sn.jit(sn.vmap(g))(xs), want, 1e-12);
    assert.ok(name);
  }
});

test('a compiled function within, random numbers by mapped keys, indices that are mapped', () => {
  const inner = sn.jit((x) => x.square().sum());
  assertClose(sn.vmap(inner)(xs), xs.square().sum({ axis: 1 }).toArray(), 1e-12);
  const keys = sn.random.split(sn.random.key(3), 4);
  const draw = (key) => sn.random.normal(key, [5]);
  assertClose(sn.vmap(draw)(keys), rows(keys).map((key) => draw(key).toArray()));
  const table = ramp(7, 3);
  const index = sn.tensor([[1, 6], [0, 0], [3, 2]], { dtype: 'int32' });
  assertClose(sn.vmap((i) => table.take(i))(index), table.take(index).toArray());
  const one = sn.vmap((x, i) => x.at(i).get(), { inAxes: [0, 0] })(xs, sn.tensor([2, 0, 1, 2], { dtype: 'int32' }));
  assertClose(one, [xs.toArray()[0][2], xs.toArray()[1][0], xs.toArray()[2][1], xs.toArray()[3][2]]);
});

test('convolutions with an image and with a filter for each example', () => {
  const images = ramp(3, 1, 6, 6, 2);
  const filters = ramp(3, 3, 3, 2, 4);
  const conv = (x, k) => x.conv2d(k, { padding: 'same' });
  const want = rows(images).map((x, i) => conv(x, filters.at(i).get()).toArray());
  assertClose(sn.vmap(conv)(images, filters), want, 1e-12);
  const shared = sn.vmap(conv, { inAxes: [null, 0] })(images.at(0).get(), filters);
  assertClose(shared, rows(filters).map((k) => conv(images.at(0).get(), k).toArray()), 1e-12);
});

test('no examples at all', () => {
  const none = sn.vmap((x) => x.matmul(w).tanh())(sn.zeros([0, 3], { dtype: 'float64' }));
  assert.deepEqual(none.shape, [0, 2]);
});

test('an instance is rebuilt around its example; what is shared stays', () => {
  class Model {
    constructor(weights, shift) {
      this.w = weights;
      this.shift = shift;
      this.twice = (x) => x.mul(2);
    }

    apply(x) {
      return this.twice(x.mul(this.w)).add(this.shift);
    }
  }
  const m = new Model(xs, ramp(3));
  const got = sn.vmap((model, x) => model.apply(x), { inAxes: [{ w: 0, shift: null }, 0] })(m, xs);
  assertClose(got, xs.mul(xs).mul(2).add(ramp(3)).toArray(), 1e-12);
});

test('errors name the leaves and their sizes', () => {
  const add = (p, x) => p.a.add(x);
  const cases = [
    [() => sn.vmap(add)({ a: xs }, ramp(5, 3)), sn.ShapeError, 'vmap: mapped sizes differ: argument 0.a (4, 3) has 4 along axis 0, argument 1 (5, 3) has 5 along axis 0'],
    [() => sn.vmap(add, { inAxes: [null, null] })({ a: xs }, xs), sn.SinterError, 'vmap: no tensor is mapped'],
    [() => sn.vmap(add, { inAxes: [0, 2] })({ a: xs }, xs), sn.ShapeError, 'vmap: inAxes for argument 1 is 2, out of range for 2 dimensions'],
    [() => sn.vmap(add, { inAxes: [0] })({ a: xs }, xs), sn.SinterError, 'vmap: inAxes is an array, expected an array of 2'],
    [() => sn.vmap(add, { inAxes: [{ b: 0 }, 0] })({ a: xs }, xs), sn.SinterError, 'vmap: inAxes[0] is an object, expected an object with a'],
    [() => sn.vmap((x) => ({ y: x }), { outAxes: { y: 2 } })(xs), sn.ShapeError, 'vmap: outAxes for result.y is 2, out of range for 2 dimensions'],
    [() => sn.vmap((x) => x, { outAxes: null })(xs), sn.SinterError, /^vmap: output 0 depends on what is mapped/],
    [() => sn.vmap((x) => x.item())(f64([1, 2])), sn.SinterError, /^item: tensors have no values while a function is being (compiled|recorded)/],
    [() => sn.vmap(async (x) => x)(xs), sn.SinterError, 'vmap: the function returned a promise'],
    [() => sn.vmap((x) => new Date())(xs), sn.SinterError, /^vmap: a Date cannot be part/],
    [() => sn.vmap(3), sn.SinterError, 'vmap: expected a function, not 3'],
  ];
  for (const [call, type, message] of cases) assertThrows(call, type, { message: beginning(message) });
  let leaked;
  sn.vmap((x) => (leaked = x.mul(2)))(xs);
  assertThrows(() => leaked.toArray(), sn.DisposedError, { message: /was made while a function was traced/ });
});
