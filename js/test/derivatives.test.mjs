// vjp, jvp, linearize, jacobian, hessian and checkGrads: trees, nesting, errors, memory. That every op has its rules is
// tested natively, from the op table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();

/** An error's text up to its hint. */
const beginning = (text) => (typeof text === 'string' ? new RegExp(`^${text.replace(/[^\w\s]/g, '\\$&')}(?: \\(|$)`) : text);
const f64 = (data) => sn.tensor(data, { dtype: 'float64' });
const x = f64([0.5, -1, 2]);
const w = f64([[1, -2, 0.5], [0.25, 3, -1]]);
/** Two results in a tree of two arguments in a tree. */
const layer = ({ w, b }, t) => ({ y: w.matmul(t).add(b).tanh(), size: t.square().sum(), name: 'layer' });
const params = { w, b: f64([0.1, -0.2]) };

/** The matrix of differences of f, a function from numbers to numbers. */
const differences = (f, at, h = 1e-6) => {
  const columns = at.map((_, j) => {
    const moved = (by) => f(at.map((value, i) => (i === j ? value + by : value)));
    const [up, down] = [moved(h), moved(-h)];
    return up.map((value, i) => (value - down[i]) / (2 * h));
  });
  return columns[0].map((_, i) => columns.map((column) => column[i]));
};

test('vjp: a cotangent for each result, one for each argument; as often as one likes, after y was read', () => {
  const [y, pull] = sn.vjp(layer, params, x);
  assert.equal(y.name, 'layer');
  assertClose(y.size, 5.25);
  const [dp, dx] = pull({ y: f64([1, 0]), size: 0, name: 'layer' });
  const slope = 1 - y.y.toArray()[0] ** 2;
  assertClose(dp.b, [slope, 0]);
  assertClose(dp.w, [[0.5 * slope, -slope, 2 * slope], [0, 0, 0]]);
  assertClose(dx, [slope, -2 * slope, 0.5 * slope]);
  const [, again] = pull({ y: [0, 0], size: f64(1), name: 'layer' });
  assertClose(again, [1, -2, 4]);
  pull.dispose();
  assertThrows(() => pull({ y: [0, 0], size: 0 }), sn.DisposedError, { op: 'vjp', message: /what pull is made of was disposed of/ });
});

test('vjp of numbers and of a single tensor', () => {
  const [y, pull] = sn.vjp((a, b) => sn.sin(a).mul(b), 2, 3);
  assertClose(y, 3 * Math.sin(2));
  assertClose(pull(1)[0], 3 * Math.cos(2));
  assertClose(pull(sn.tensor(2))[1], 2 * Math.sin(2));
});

test('jvp: tangents of trees, null for zeros and for integers', () => {
  const dx = f64([1, 0, -1]);
  const [y, dy] = sn.jvp(layer, [params, x], [{ w: null, b: f64([1, 1]) }, dx]);
  const numeric = (h) => layer({ w, b: params.b.add(h) }, x.add(dx.mul(h)));
  const [up, down] = [numeric(1e-6), numeric(-1e-6)];
  assertClose(dy.y, up.y.sub(down.y).div(2e-6).toArray());
  assertClose(dy.size, -3);
  assert.equal(dy.name, 'layer');
  assertClose(y.size, 5.25);
  const rows = sn.tensor([1, 0], { dtype: 'int32' });
  const [, picked] = sn.jvp((t, i) => t.take(i), [x, rows], [dx, null]);
  assertClose(picked, [0, 1]);
  const [, none] = sn.jvp(layer, [params, x], [null, null]);
  assertClose(none.y, [0, 0]);
});

test('linearize: J v for several v', () => {
  const [y, push] = sn.linearize((t) => t.square().mul(2), x);
  assertClose(y, [0.5, 2, 8]);
  assertClose(push(f64([1, 0, 0])), [2, 0, 0]);
  assertClose(push(f64([1, 1, 1])), [2, -4, 8]);
});

test('<u, J v> = <J^T u, v>', () => {
  const f = (a, b) => a.matmul(b).softmax().mul(b.sum());
  const [u, da, db] = [f64([[1, -1], [2, 0.5]]), w.mul(0.3), f64([[1, 2], [0, 1], [-1, 0]])];
  const at = [w, w.transpose().add(1)];
  const [, dy] = sn.jvp(f, at, [da, db]);
  const [, pull] = sn.vjp(f, ...at);
  const [ga, gb] = pull(u);
  const back = ga.mul(da).sum().add(gb.mul(db).sum()).item();
  assert.ok(Math.abs(u.mul(dy).sum().item() - back) < 1e-12);
});

test('jacobian: the result\'s dimensions, then the argument\'s, in both modes', () => {
  const f = (t) => w.matmul(t).tanh().reshape([2, 1]).mul(t);
  const want = differences((at) => f(f64(at)).toArray().flat(), x.toArray());
  for (const make of [sn.jacfwd, sn.jacrev, sn.jacobian, (g) => sn.jacobian(g, { mode: 'forward' }), (g) => sn.jacobian(g, { mode: 'reverse' })]) {
    const j = make(f)(x);
    assert.deepEqual(j.shape, [2, 3, 3]);
    assertClose(j.reshape([6, 3]), want, 1e-8);
    assertClose(sn.jit(make(f))(x), j.toArray(), 1e-12);
  }
});

test('jacobian of trees by several arguments', () => {
  for (const mode of ['forward', 'reverse']) {
    const j = sn.jacobian(layer, { argnums: [0, 1], mode })(params, x);
    const [byParams, byX] = j.y;
    assert.deepEqual([byParams.w.shape, byParams.b.shape, byX.shape], [[2, 2, 3], [2, 2], [2, 3]]);
    assert.equal(j.name, 'layer');
    assertClose(j.size[1], [1, -2, 4]);
    assertClose(j.size[0].b, [0, 0]);
    assertClose(byX, differences((at) => layer(params, f64(at)).y.toArray(), x.toArray()), 1e-8);
  }
});

test('hessian: of a number, of trees, of a vector; symmetric, and that of differences', () => {
  const f = (t) => w.matmul(t).tanh().square().sum().mul(t.sum());
  const h = sn.hessian(f)(x);
  const want = differences((at) => sn.grad(f)(f64(at)).toArray(), x.toArray());
  assertClose(h, want, 1e-7);
  assertClose(h.transpose(), h.toArray(), 1e-12);
  const tree = sn.hessian((p) => p.a.square().mul(p.b).sum())({ a: f64([1, 2]), b: f64([3, 4]) });
  assertClose(tree.a.a, [[6, 0], [0, 8]]);
  assertClose(tree.a.b, [[2, 0], [0, 4]]);
  assertClose(tree.b.b, [[0, 0], [0, 0]]);
  const [[aa, ab], [ba]] = sn.hessian((a, b) => a.square().mul(b).sum(), { argnums: [0, 1] })(f64([1, 2]), f64([3, 4]));
  assertClose(aa, [[6, 0], [0, 8]]);
  assertClose(ab, ba.transpose().toArray());
  assert.deepEqual(sn.hessian((t) => t.mul(t))(x).shape, [3, 3, 3]);
});

test('transforms nest, eagerly and in a compiled function', () => {
  const f = (t) => t.tanh().mul(t).sum();
  const v = f64([1, 2, 3]);
  const forwardOverReverse = (t) => sn.jvp(sn.grad(f), [t], [v])[1];
  const reverseOverForward = (t) => sn.grad((s) => sn.jvp(f, [s], [v])[1])(t);
  const product = (t) => sn.hessian(f)(t).matmul(v);
  const pulled = (t) => sn.vjp((s) => sn.grad(f)(s), t)[1](v)[0];
  const want = product(x).toArray();
  for (const g of [forwardOverReverse, reverseOverForward, pulled, sn.jit(product), sn.jit(forwardOverReverse), sn.jit(reverseOverForward), sn.jit(pulled)]) {
    assertClose(g(x), want, 1e-12);
  }
  const third = sn.grad((t) => sn.hessian((s) => s.mul(s).mul(s).mul(s).sum())(t).sum())(x);
  assertClose(third, [12, -24, 48]);
});

test('a value that was read on the way keeps its derivative', () => {
  const seen = [];
  const g = sn.grad((t) => {
    const [y, pull] = sn.vjp((s) => s.square(), t);
    seen.push(y.toArray());
    return pull(y)[0].sum(); // 2 t^3
  });
  assertClose(g(x), [1.5, 6, 24]);
  assert.deepEqual(seen, [[0.25, 1, 4]]);
});

test('hasAux: what is returned beside the loss is handed on', () => {
  const f = (t) => [t.square().sum(), { twice: t.mul(2), note: 'seen' }];
  const [g, aux] = sn.grad(f, { hasAux: true })(x);
  assertClose(g, [1, -2, 4]);
  assertClose(aux.twice, [1, -2, 4]);
  assert.equal(aux.note, 'seen');
  const [[loss, same], slopes] = sn.jit(sn.valueAndGrad(f, { hasAux: true }))(x);
  assertClose(loss, 5.25);
  assertClose(same.twice, [1, -2, 4]);
  assertClose(slopes, [1, -2, 4]);
  const op = 'grad';
  assertThrows(() => sn.grad(f)(x), sn.SinterError, { op, hint: /hasAux: true/ });
  assertThrows(() => sn.grad((t) => t.sum(), { hasAux: true })(x), sn.SinterError, { op, message: /must return \[loss, aux\], it returned a tensor/ });
});

test('errors name the function, the leaf and what was expected', () => {
  const [, pull] = sn.vjp(layer, params, x);
  const cotangents = (y) => ({ y, size: 0, name: 'layer' });
  const cases = [
    [() => pull(cotangents(f64([1]))), sn.ShapeError, 'vjp: the cotangent of result.y has shape (1,), expected (2,)'],
    [() => pull(cotangents(sn.tensor([1, 2]))), sn.DTypeError, 'vjp: the cotangent of result.y is float32, expected float64'],
    [() => pull(cotangents(null)), sn.SinterError, 'vjp: the cotangent of result.y is null, expected a tensor'],
    [() => pull(x), sn.SinterError, 'vjp: the cotangent is a tensor, expected an object with name, size, y'],
    [() => sn.jvp(layer, [params, x], [{ w, b: f64([1]) }, x]), sn.ShapeError, 'jvp: the tangent of argument 0.b has shape (1,), expected (2,)'],
    [() => sn.jvp(layer, [params, x], [null, sn.ones([3])]), sn.DTypeError, 'jvp: the tangent of argument 1 is float32, expected float64'],
    [() => sn.jvp(layer, [params, x], [null]), sn.SinterError, 'jvp: tangents is an array, expected an array of 2'],
    [() => sn.jvp(layer, params, null), sn.SinterError, 'jvp: expected an array, not an object'],
    [() => sn.vjp((t, i) => t.take(i), x, sn.tensor([1], { dtype: 'int32' })), sn.DTypeError, 'vjp: argument 1 is int32; only floats have derivatives'],
    [() => sn.vjp((t) => ({ hit: t.greater(0) }), x), sn.DTypeError, 'vjp: result.hit is bool; only floats have derivatives'],
    [() => sn.jvp((t) => t, [sn.tensor([1], { dtype: 'int32' })], [[1]]), sn.DTypeError, /int32; only floats/],
    [() => sn.vjp(3, x), sn.SinterError, 'vjp: expected a function, not 3'],
    [() => sn.jacobian((t) => t, { mode: 'backward' }), sn.SinterError, 'jacobian: no mode "backward"'],
    [() => sn.hessian((t) => t.sum(), { argnums: 1 })(x), sn.SinterError, 'hessian: there is no argument 1, the function was called with 1'],
    [() => sn.linearize(async (t) => t, x), sn.SinterError, 'linearize: the function returned a promise'],
    [() => sn.jacrev((t) => t.astype('int32'))(x), sn.DTypeError, /jacrev|vjp/],
  ];
  for (const [call, type, message] of cases) assertThrows(call, type, { message: beginning(message) });
});

test('nothing is left behind', () => {
  const run = {
    grad: () => sn.grad((t) => t.square().sum())(x),
    hasAux: () => sn.valueAndGrad((t) => [t.square().sum(), { t: t.mul(2) }], { hasAux: true })(x),
    vjp: () => {
      const [y, pull] = sn.vjp(layer, params, x);
      y.y.dataSync();
      const first = pull({ y: [1, 0], size: 1, name: '' });
      first[1].dataSync();
      return [y, first, pull({ y: [0, 1], size: 1, name: '' })];
    },
    jvp: () => sn.jvp(layer, [params, x], [null, x]),
    linearize: () => sn.linearize((t) => t.square(), x)[1](x),
    hessian: () => sn.hessian((t) => t.tanh().sum())(x),
    jacobian: () => sn.jacobian(layer, { argnums: [0, 1] })(params, x),
    vmap: () => sn.vmap(sn.grad((t) => t.square().sum()))(w),
  };
  for (const [name, call] of Object.entries(run)) {
    const before = sn.memory().tensors;
    sn.tidy(() => {
      sn.eval(...sn.tree.leaves(call()));
    });
    assert.equal(sn.memory().tensors, before, `${name} in tidy`);
    const result = sn.tidy(call);
    sn.eval(...sn.tree.leaves(result));
    sn.dispose(result);
    assert.equal(sn.memory().tensors, before, `${name}, its result kept`);
    const owner = sn.scope();
    sn.eval(...sn.tree.leaves(owner.run(call)));
    owner.dispose();
    assert.equal(sn.memory().tensors, before, `${name} in a scope`);
  }
});

test('a loop of steps does not keep its past', () => {
  let state = f64([1, 2, 3]);
  let count = 0;
  for (let i = 0; i < 10; i++) {
    const next = sn.tidy(() => {
      const [y, pull] = sn.vjp((t) => t.mul(0.5), state);
      const [, dy] = sn.jvp((t) => t.tanh(), [state], [state]);
      return y.add(pull(state)[0]).sub(dy.mul(0.1)).sub(sn.vmap((t) => t.mul(0.01))(state));
    });
    sn.eval(next);
    state.dispose();
    state = next;
    if (i === 2) count = sn.memory().tensors;
  }
  assert.equal(sn.memory().tensors, count);
  state.dispose();
});

test('what a function returns of its caller stays the caller\'s', () => {
  const [[, same], pull] = sn.vjp((t) => [t.mul(2), w], x);
  assertClose(pull([f64([1, 0, 0]), w])[0], [2, 0, 0]);
  pull.dispose();
  same.dispose();
  const [, aux] = sn.grad((t) => [t.sum(), w], { hasAux: true })(x);
  aux.dispose();
  assert.equal(w.isDisposed, false);
});

test('pull ends with the scope that it was made in', () => {
  let kept;
  sn.tidy(() => {
    [, kept] = sn.vjp((t) => t.square(), x);
  });
  assertThrows(() => kept(x), sn.DisposedError, { message: /^vjp: what pull is made of was disposed of/ });
});

test('checkGrads passes what is right and says where something is wrong', () => {
  sn.checkGrads(layer, [params, x], { order: 2 });
  sn.checkGrads((t) => t.astype('float32').tanh().sum(), [sn.tensor([0.5, 1])], { order: 2 });
  sn.checkGrads((t, i) => t.take(i).square(), [x, sn.tensor([0, 2], { dtype: 'int32' })]);
  const wrong = ({ w: weights, b }, t) => ({ y: weights.matmul(t).mul(sn.stopGradient(b)) });
  const where = /^checkGrads: the derivative of result\.y, element 0, by argument 0\.b \(forward\) is 0, by differences -?\d/;
  assertThrows(() => sn.checkGrads(wrong, [params, x]), sn.SinterError, { op: 'checkGrads', message: where });
  assertThrows(() => sn.checkGrads(wrong, [params, x], { modes: ['reverse'] }), sn.SinterError, { message: /result\.y, weighted and summed, by argument 0\.b \(reverse\) is 0/ });
  sn.checkGrads((t) => sn.stopGradient(t).square().sum().mul(0), [x]);
  // Right in its derivative, wrong in that one's own.
  const second = (t) => t.square().mul(sn.stopGradient(t)).add(t.sub(sn.stopGradient(t)).mul(sn.stopGradient(t.square()))).sum();
  sn.checkGrads(second, [x]);
  assertThrows(() => sn.checkGrads(second, [x], { order: 2 }), sn.SinterError, { message: /the derivative of the derivative/ });
  assertThrows(() => sn.checkGrads(layer, [params, x], { order: 3 }), sn.SinterError, { message: /order is 3, expected a whole number from 1 to 2/ });
  assertThrows(() => sn.checkGrads(layer, [params, x], { modes: ['sideways'] }), sn.SinterError, { message: /no mode "sideways"/ });
  assertThrows(() => sn.checkGrads(layer, x), sn.SinterError, { message: /^checkGrads: expected an array, not a tensor/ });
});

test('checkGrads leaves nothing behind', () => {
  const before = sn.memory().tensors;
  sn.checkGrads(layer, [params, x], { order: 2 });
  assert.equal(sn.memory().tensors, before);
});
