// minimize against known minima.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const f64 = (data) => sn.tensor(data, { dtype: 'float64' });
const METHODS = ['lbfgs', 'newton', 'levenbergMarquardt'];

/** Rosenbrock's valley, as residuals or their sum of squares. */
const valley = (method) => (x) => {
  const [a, b] = [x.take(0), x.take(1)];
  const residuals = [b.sub(a.square()).mul(10), a.sub(1).neg()];
  return method === 'levenbergMarquardt' ? residuals : residuals.reduce((sum, r) => sum.add(r.square()), sn.tensor(0));
};

for (const method of METHODS) {
  test(`${method}: a narrow valley, at once and compiled`, () => {
    const solve = (x) => sn.minimize(valley(method), x, { method, tolerance: 1e-8, maxSteps: 200 });
    for (const run of [solve, sn.jit(solve), sn.jit(solve, { jit: false })]) {
      const { x, value, steps, converged } = run(f64([-1.2, 1]));
      assertClose(x, [1, 1], 1e-7);
      assertClose(value, 0, 1e-12);
      assert.deepEqual([converged.item(), converged.dtype, steps.dtype], [1, 'bool', 'int32']);
      assert.ok(steps.item() < 80, `${steps.item()} steps`);
    }
    const single = sn.minimize(valley(method), sn.tensor([-1.2, 1]), { method, tolerance: 1e-3, maxSteps: 200 });
    assert.equal(single.x.dtype, 'float32');
    assertClose(single.x, [1, 1], 2e-3);
  });

  test(`${method}: trees, a fit of a curve`, () => {
    const t = f64(Array.from({ length: 30 }, (_, i) => i / 10));
    const y = t.mul(-0.8).exp().mul(2.5).add(0.3);
    const model = ({ rate, line: [height, level] }) => t.mul(rate).exp().mul(height).add(level).sub(y);
    const f = method === 'levenbergMarquardt' ? model : (p) => model(p).square().sum().mul(0.5);
    const start = { rate: f64(-0.3), line: [f64([1]), f64(0)] };
    const { x, value, converged } = sn.minimize(f, start, { method, tolerance: 1e-7 });
    assertClose(x.rate, -0.8, 1e-5);
    assert.deepEqual(x.line[0].shape, [1]);
    assertClose(x.line[0], [2.5], 1e-5);
    assertClose(x.line[1], 0.3, 1e-5);
    assertClose(value, 0, 1e-9);
    assert.equal(converged.item(), 1);
  });

  test(`${method}: no step, at the minimum and where none are allowed; no minimum`, () => {
    const f = (x) => (method === 'levenbergMarquardt' ? x.sub(3) : x.sub(3).square().sum());
    const at = sn.minimize(f, f64([3, 3]), { method });
    assert.deepEqual([at.steps.item(), at.converged.item(), at.x.toArray()], [0, 1, [3, 3]]);
    const none = sn.minimize(f, f64([0, 1]), { method, maxSteps: 0 });
    assert.deepEqual([none.steps.item(), none.converged.item(), none.x.toArray()], [0, 0, [0, 1]]);
    const { converged, steps } = sn.minimize((x) => (method === 'levenbergMarquardt' ? x.exp().add(1) : x.sum()), f64([0]), { method, maxSteps: 20 });
    assert.ok(steps.item() <= 20 && (method === 'levenbergMarquardt' || converged.item() === 0));
  });
}

test('newton crosses where a function is straight', () => {
  const huber = (x) => sn.where(sn.abs(x).less(1), x.square().mul(0.5), sn.abs(x).sub(0.5)).sum();
  const { x, converged } = sn.minimize(huber, f64([5, -20]), { method: 'newton' });
  assertClose(x, [0, 0], 1e-5);
  assert.equal(converged.item(), 1);
});

test('newton leaves a saddle where the Hessian is not positive', () => {
  const f = (x) => x.take(0).pow(4).sub(x.take(0).square().mul(2)).add(x.take(1).square());
  const { x, value } = sn.minimize(f, f64([0.1, 1]), { method: 'newton' });
  assertClose(x.abs(), [1, 0], 1e-6);
  assertClose(value, -1, 1e-9);
});

test('through a differential equation: its rates from its path', () => {
  const ts = Array.from({ length: 12 }, (_, i) => i * 0.25);
  const path = (rates) => sn.odeint((y, _, [a, b]) => y.mul(a).sub(y.square().mul(b)), f64(0.1), ts, { method: 'rk4', args: rates });
  const seen = path([f64(1.5), f64(0.7)]);
  const { x } = sn.minimize((p) => path(p).sub(seen).square().sum(), [f64(1), f64(1)], { tolerance: 1e-9 });
  assertClose(x[0], 1.5, 1e-5);
  assertClose(x[1], 0.7, 1e-5);
});

test('misuse, and nothing leaks', () => {
  const refused = (f, type, message) => assertThrows(f, type, { message });
  const x = sn.tensor([1, 2]);
  refused(() => sn.minimize((x) => x, x), sn.ShapeError, /minimize: the function returned float32 \(2,\), expected one float/);
  refused(() => sn.minimize(() => 3, x), sn.SinterError, /minimize: the function must return one tensor, it returned 3/);
  refused(() => sn.minimize(async (x) => x.sum(), x), sn.SinterError, /minimize: the function returned a promise/);
  refused(() => sn.minimize((x) => x.sum(), {}), sn.SinterError, /no tensor in x0/);
  refused(() => sn.minimize((x) => x.sum(), sn.zeros([0, 2])), sn.ShapeError, /minimize: x0 has no elements/);
  refused(() => sn.minimize((x) => x.sum(), sn.tensor([1], { dtype: 'int32' })), sn.DTypeError, /not int32/);
  refused(() => sn.minimize((x) => x.sum(), x, { method: 'adam' }), sn.SinterError, /no method "adam"/);
  const before = sn.memory().tensors;
  for (const method of METHODS) sn.dispose(sn.minimize((x) => (method === 'levenbergMarquardt' ? x.sub(3) : x.sub(3).square().sum()), x, { method }));
  assert.equal(sn.memory().tensors, before);
});
