// grad, valueAndGrad, jit and their nesting.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();

const cube = (x) => x.mul(x).mul(x).sum();

test('grad of a function of one tensor', () => {
  assertClose(sn.grad(cube)(sn.tensor([1, 2, 3])), [3, 12, 27]);
  assertClose(sn.grad((x) => sn.sin(x))(2), Math.cos(2));
});

test('grad of grad, and once more', () => {
  const first = sn.grad((x) => sn.pow(x, 4));
  const second = sn.grad((x) => first(x));
  const third = sn.grad((x) => second(x));
  assertClose(first(sn.tensor(2)), 32, 1e-5);
  assertClose(second(sn.tensor(2)), 48, 1e-5);
  assertClose(third(sn.tensor(2)), 48, 1e-5);
});

test('grad of grad by variables of equal values: each has its own share', () => {
  const a = sn.tensor(3);
  const inner = (u, v) => sn.grad((p) => p.mul(p).mul(u).add(p.mul(v)))(a); // 2 a u + v
  const zero = () => sn.zeros([]);
  const share = (f, ...args) => sn.grad(f, { argnums: [0, 1] })(...args).map((d) => d.item());
  const t = sn.tensor(0);
  assert.deepEqual(share(inner, zero(), zero()), [6, 1]);
  assert.deepEqual(share(inner, t, t), [6, 1]);
  assert.deepEqual(share((u, v) => inner(u.mul(1), v), t, t), [6, 1]);
  const tree = sn.grad((p) => inner(p.u, p.v))({ u: zero(), v: zero() });
  assert.deepEqual([tree.u.item(), tree.v.item()], [6, 1]);
  const compiled = sn.jit(() => sn.grad(inner, { argnums: [0, 1] })(zero(), zero()))();
  assert.deepEqual(compiled.map((d) => d.item()), [6, 1]);
});

test('what equals a variable but does not come from it has no share of its derivative', () => {
  const zero = sn.zeros([]);
  const f = (u) => sn.grad((p) => p.mul(zero))(sn.tensor(2)).mul(u.add(5)); // 0 (u + 5)
  assert.equal(sn.grad(f)(sn.zeros([])).item(), 0);
});

test('argnums and pytrees', () => {
  const f = (x, y) => x.mul(y).sum();
  const x = sn.tensor([1, 2]);
  const y = sn.tensor([3, 4]);
  assertClose(sn.grad(f, { argnums: 1 })(x, y), [1, 2]);
  const [gx, gy] = sn.grad(f, { argnums: [0, 1] })(x, y);
  assertClose(gx, [3, 4]);
  assertClose(gy, [1, 2]);
  const g = sn.grad(({ w, layers }) => w.mul(layers[0].b).sum())({ w: x, layers: [{ b: y }], name: 'net' });
  assertClose(g.w, [3, 4]);
  assertClose(g.layers[0].b, [1, 2]);
  assert.equal(g.name, 'net');
});

test('an argument that does not matter has derivative 0', () => {
  assertClose(sn.grad((x, y) => x.sum(), { argnums: 1 })(sn.tensor([1]), sn.tensor([2, 3])), [0, 0]);
});

test('valueAndGrad', () => {
  const [value, g] = sn.valueAndGrad(cube)(sn.tensor([2]));
  assertClose(value, 8);
  assertClose(g, [12]);
});

test('gradients through matmul, broadcast, reductions and views agree with differences', () => {
  const w = sn.tensor([[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]], { dtype: 'float64' });
  const x = sn.tensor([[1, 2, 3], [-1, 0.5, 0.25]], { dtype: 'float64' });
  const f = (weights) => sn.tanh(x.matmul(weights).add([0.1, 0.2])).transpose().slice([0, 0], [2, 1]).square().mean();
  const g = sn.grad(f)(w).toArray();
  const eps = 1e-6;
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j < 2; j++) {
      const at = (delta) => {
        const values = w.toArray();
        values[i][j] += delta;
        return f(sn.tensor(values, { dtype: 'float64' })).item();
      };
      assertClose(g[i][j], (at(eps) - at(-eps)) / (2 * eps), 1e-6);
    }
  }
});

test('a value and its gradient in one program, the value seen in two shapes of equal size', () => {
  const numbers = (n, step) => Float32Array.from({ length: n }, (_, i) => Math.cos(i * step));
  const functions = {
    reshape: [[4, 3], [12], (x, w) => x.tanh().mul(0.5).reshape([12]).mul(w).sum()],
    rsqrt: [[4, 3], [2, 6], (x, w) => x.square().add(1).rsqrt().reshape([2, 6]).mul(w).sum()],
    axisOfOne: [[33, 1, 1], [33, 1], (x, w) => x.max({ axis: [1] }).tanh().mul(w).sum()],
  };
  for (const [shape, weights, f] of Object.values(functions)) {
    const x = sn.tensor(numbers(shape.reduce((a, b) => a * b), 1), { shape });
    const w = sn.tensor(numbers(x.size, 1.3), { shape: weights });
    const both = sn.valueAndGrad(f);
    const [value, slope] = sn.jit(both)(x, w);
    const [expected, slopes] = both(x, w);
    assertClose(value, expected.item(), 1e-6);
    assertClose(slope.reshape([-1]), [...slopes.dataSync()], 1e-6);
    const step = 1e-2;
    const at = (i, by) => {
      const moved = numbers(x.size, 1);
      moved[i] += by;
      return f(sn.tensor(moved, { shape }), w).item();
    };
    for (let i = 0; i < x.size; i++) {
      assertClose(sn.tensor(slope.dataSync()[i]), (at(i, step) - at(i, -step)) / (2 * step), 2e-3);
    }
  }
});

test('stopGradient', () => {
  assertClose(sn.grad((x) => x.mul(sn.stopGradient(x)).sum())(sn.tensor([3])), [3]);
});

test('grad refuses what has no derivative', () => {
  assertThrows(() => sn.grad((x) => x)(sn.tensor([1, 2])), sn.ShapeError);
  assertThrows(() => sn.grad((x) => x.sum())(sn.tensor([1], { dtype: 'int32' })), sn.DTypeError);
  assertThrows(() => sn.grad(() => 3)(sn.tensor(1)), sn.SinterError, { code: 'argument' });
  assertThrows(() => sn.grad(async (x) => x)(sn.tensor(1)), sn.SinterError, { code: 'argument' });
  assertThrows(() => sn.grad(cube, { argnums: 3 })(sn.tensor(1)), sn.SinterError, { code: 'argument' });
});

test('grad leaves nothing behind but its result', () => {
  const x = sn.tensor([1, 2, 3]);
  const before = sn.memory().tensors;
  const g = sn.grad(cube)(x);
  sn.eval(g);
  assert.equal(sn.memory().tensors, before + 1);
  g.dispose();
  x.dispose();
});

test('a loop of eager steps keeps nothing of its past', () => {
  const g = sn.grad((w) => sn.square(w).sum());
  let w = sn.tensor([1, 2, 3]);
  const oneStep = () => {
    const next = sn.tidy(() => w.sub(g(w).mul(0.01)));
    w.dispose();
    w = next;
    sn.eval(w);
  };
  for (let i = 0; i < 5; i++) oneStep();
  const { tensors, bytesInUse } = sn.memory();
  for (let i = 0; i < 50; i++) oneStep();
  assert.deepEqual([sn.memory().tensors, sn.memory().bytesInUse], [tensors, bytesInUse]);
  w.dispose();
});

test('jit compiles once per shapes, dtypes, structure and static values', () => {
  let traces = 0;
  const f = sn.jit((x, { scale }) => {
    traces++;
    return x.mul(scale).add(1);
  });
  const x = sn.tensor([1, 2]);
  assert.deepEqual(f(x, { scale: 2 }).toArray(), [3, 5]);
  assert.deepEqual(f(sn.tensor([3, 4]), { scale: 2 }).toArray(), [7, 9]);
  assert.equal(traces, 1);
  assert.equal(f.cacheSize, 1);
  f(sn.tensor([1, 2, 3]), { scale: 2 });
  f(sn.tensor([1, 2], { dtype: 'float64' }), { scale: 2 });
  assert.deepEqual(f(x, { scale: 3 }).toArray(), [4, 7]);
  assert.deepEqual(f(x, { scale: sn.tensor(4) }).toArray(), [5, 9]);
  assert.equal(traces, 5);
  assert.equal(f.cacheSize, 5);
  f.dispose();
  assert.equal(f.cacheSize, 0);
});

test('jit takes and returns pytrees', () => {
  const f = sn.jit(({ a, list }) => ({ sum: a.add(list[0]), same: a, note: 'static' }));
  const { sum, same, note } = f({ a: sn.tensor([1]), list: [sn.tensor([2])] });
  assert.equal(sum.item(), 3);
  assert.equal(same.item(), 1);
  assert.equal(note, 'static');
});

test('jit captures tensors from outside as they are', () => {
  const scale = sn.tensor(10);
  const f = sn.jit((x) => x.mul(scale));
  assert.equal(f(sn.tensor(2)).item(), 20);
  scale.dispose();
  assert.equal(f(sn.tensor(3)).item(), 30);
});

test('reshaped results of one value have their own shapes', () => {
  const f = sn.jit((x) => {
    const y = x.matmul(x).exp();
    return [y.reshape([4]), y, y.reshape([1, 4]), y.reshape([4]).neg(), y.reshape([4])];
  });
  for (const scale of [0, 1]) {
    const results = f(sn.tensor([[0, scale], [0, 0]]));
    assert.deepEqual(results.map(({ shape }) => shape), [[4], [2, 2], [1, 4], [4], [4]]);
    assert.deepEqual(results.map((y) => y.toArray()),
      [[1, 1, 1, 1], [[1, 1], [1, 1]], [[1, 1, 1, 1]], [-1, -1, -1, -1], [1, 1, 1, 1]]);
  }
});

test('jit of grad, grad of jit, jit in jit', () => {
  const g = sn.jit(sn.grad(cube));
  assertClose(g(sn.tensor([1, 2])), [3, 12]);
  assertClose(g(sn.tensor([3, 4])), [27, 48]);
  const compiled = sn.jit(cube);
  assertClose(sn.grad((x) => compiled(x))(sn.tensor([1, 2])), [3, 12]);
  const outer = sn.jit((x) => compiled(x).add(1));
  assertClose(outer(sn.tensor([1, 2])), 10);
});

test('a tensor has no value while a function is being compiled', () => {
  for (const read of [(x) => x.item(), (x) => x.dataSync(), (x) => x.toArray(), (x) => sn.eval(x)]) {
    assertThrows(() => sn.jit((x) => {
      read(x.add(1));
      return x;
    })(sn.tensor(1)), sn.SinterError, { code: 'argument', message: /no values/ });
  }
});

test('an error while tracing leaves jit usable', () => {
  let fail = true;
  const f = sn.jit((x) => (fail ? x.matmul(sn.zeros([9])) : x.add(1)));
  const x = sn.tensor([1]);
  const before = sn.memory().tensors;
  assertThrows(() => f(x), sn.ShapeError);
  assert.equal(sn.memory().tensors, before);
  fail = false;
  assert.equal(f(x).item(), 2);
});

test('donated arguments are used up', () => {
  const f = sn.jit((x, y) => x.add(y), { donate: 0 });
  const x = sn.tensor([1, 2]);
  const y = sn.tensor([3, 4]);
  assert.deepEqual(f(x, y).toArray(), [4, 6]);
  assertThrows(() => x.add(1), sn.DisposedError, { message: /donated/ });
  assert.deepEqual(y.toArray(), [3, 4]);
  assertThrows(() => f(y, y), sn.SinterError, { code: 'argument' });
});

test('a lazy expression keeps the value of what is donated later', () => {
  const f = sn.jit((x) => x.add(1), { donate: 0 });
  const x = sn.tensor([1, 2]);
  const before = x.mul(10);
  const after = f(x);
  assert.deepEqual(before.toArray(), [10, 20]);
  assert.deepEqual(after.toArray(), [2, 3]);
});
