// odeint against solutions that are known, plain Runge-Kutta steps, and differences.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertSlopes, assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const f64 = (data) => sn.tensor(data, { dtype: 'float64' });
const times = [0, 0.5, 1, 2, 5];
const decay = (y) => y.neg();
const lotka = (y, _t, [a, b, c, d]) => {
  const [prey, hunter] = [y.take(0), y.take(1)];
  return sn.stack([prey.mul(a).sub(prey.mul(hunter).mul(b)), prey.mul(hunter).mul(d).sub(hunter.mul(c))]);
};
const rates = [1.1, 0.4, 0.4, 0.1];

test('dopri5 keeps its tolerance, at once and compiled', () => {
  for (const rtol of [1e-4, 1e-8, 1e-11]) {
    const options = { rtol, atol: rtol };
    const solve = (y) => sn.odeint(decay, y, times, options);
    for (const run of [solve, sn.jit(solve), sn.jit(solve, { jit: false })]) {
      assertClose(run(f64(2)), times.map((t) => 2 * Math.exp(-t)), 20 * rtol);
    }
    const { x, v } = sn.odeint(({ x, v }) => ({ x: v, v: x.neg() }), { x: f64([1]), v: f64([0]) }, times, options);
    assertClose(x, times.map((t) => [Math.cos(t)]), 50 * rtol);
    assertClose(v, times.map((t) => [-Math.sin(t)]), 50 * rtol);
    assert.deepEqual(x.shape, [5, 1]);
  }
});

test('time, descending times, one time, float32, numbers', () => {
  assertClose(sn.odeint((_, t) => t.mul(2), f64(0), times), times.map((t) => t * t), 1e-7);
  const back = sn.odeint(decay, f64(Math.exp(-2)), [2, 1, 0]);
  assertClose(back, [Math.exp(-2), Math.exp(-1), 1], 1e-5);
  assert.deepEqual(sn.odeint(([x, v]) => [v, x.neg()], [1, 2], [3]).map((t) => t.toArray()), [[1], [2]]);
  const y = sn.odeint(decay, 2, times, { rtol: 1e-4, atol: 1e-6 });
  assert.equal(y.dtype, 'float32');
  assertClose(y, times.map((t) => 2 * Math.exp(-t)), 1e-3);
  const same = sn.odeint(decay, f64(1), [0, 1, 1, 2]);
  assertClose(same, [1, Math.exp(-1), Math.exp(-1), Math.exp(-2)], 1e-6);
});

test('float32 times that are far from 0: y does not move without them', () => {
  for (const start of [1e3, 1e5, 1e6, -1e6]) {
    const y = sn.odeint(() => sn.tensor(1), 0, [start, start + 1, start + 2]);
    assertClose(y, [0, 1, 2], 1e-6);
  }
});

test('rk4 with one step between times is one loop', () => {
  const loops = (steps) => {
    const seen = sn.inspect((y) => sn.odeint(decay, y, times, { method: 'rk4', steps }))(f64(1));
    const count = seen.stages[0].text.match(/= scan\b/g)?.length;
    seen.dispose();
    return count;
  };
  assert.deepEqual([loops(1), loops(2)], [1, 2]);
});

test('rk4 takes the steps that a plain loop takes', () => {
  const plain = ([x, y], h) => {
    const slope = ([x, y]) => [1.1 * x - 0.4 * x * y, 0.1 * x * y - 0.4 * y];
    const at = (k, w) => [x + h * w * k[0], y + h * w * k[1]];
    const k1 = slope([x, y]);
    const k2 = slope(at(k1, 0.5));
    const k3 = slope(at(k2, 0.5));
    const k4 = slope(at(k3, 1));
    return [x, y].map((v, i) => v + (h * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i])) / 6);
  };
  for (const steps of [1, 4]) {
    const ts = Array.from({ length: 21 }, (_, i) => i * 0.2);
    const expected = [[10, 5]];
    for (let i = 1; i < ts.length; i++) {
      let y = expected.at(-1);
      for (let k = 0; k < steps; k++) y = plain(y, (ts[i] - ts[i - 1]) / steps);
      expected.push(y);
    }
    const solve = (y) => sn.odeint(lotka, y, ts, { method: 'rk4', steps, args: rates });
    assertClose(solve(f64([10, 5])), expected, 1e-12);
    assertClose(sn.jit(solve)(f64([10, 5])), expected, 1e-12);
  }
});

test('gradients by the start, the arguments and the times are those of differences', () => {
  const start = { data: [10, 5], shape: [2] };
  const args = { data: rates, shape: [4] };
  const ts = { data: [0, 0.7, 1.5, 2], shape: [4] };
  for (const options of [{ method: 'rk4', steps: 3 }, { rtol: 1e-11, atol: 1e-11 }]) {
    const loss = (y, p, t) => sn.odeint(lotka, y, t, { ...options, args: [0, 1, 2, 3].map((i) => p.take(i)) }).sin().sum();
    assertSlopes(sn, loss, [start, args, ts], 1e-5);
    assertSlopes(sn, sn.jit(loss), [start, args, ts], 1e-5);
  }
});

test('too few steps give NaN from there on; what comes before stays', () => {
  const y = sn.odeint((y) => y.mul(-50), f64(1), [0, 0.01, 10, 11], { maxSteps: 5, rtol: 1e-4 }).toArray();
  assertClose(y[1], Math.exp(-0.5), 1e-3);
  assert.deepEqual(y.slice(2), [NaN, NaN]);
  assertClose(sn.odeint((y) => y.mul(-50), f64(1), [0, 1], { maxSteps: 100, rtol: 1e-4 }).take(1), 0, 1e-3);
});

test('misuse, and nothing leaks', () => {
  const y = f64([1, 2]);
  const refused = (f, type, message) => assertThrows(f, type, { message });
  refused(() => sn.odeint((y) => ({ y }), y, times), sn.SinterError, /odeint: y is a tensor, the function returned/);
  refused(() => sn.odeint((y) => y.sum(), y, times), sn.ShapeError, 'odeint: y is float64 (2,), the function made its slope float64 ()');
  refused(() => sn.odeint(async (y) => y, y, times), sn.SinterError, /odeint: the function returned a promise/);
  refused(() => sn.odeint(decay, y, 3), sn.ShapeError, /odeint: ts has shape \(\)/);
  refused(() => sn.odeint(decay, sn.tensor([1], { dtype: 'int32' }), times), sn.DTypeError, /not int32/);
  refused(() => sn.odeint(decay, {}, times), sn.SinterError, /no tensor in y0/);
  refused(() => sn.odeint(decay, y, times, { method: 'euler' }), sn.SinterError, /no method "euler"/);
  for (const bad of [{ rtol: -1 }, { atol: -1e-8 }]) refused(() => sn.odeint(decay, y, times, bad), sn.SinterError, /odeint: rtol is .*, expected 0 or more/);
  refused(() => sn.odeint(decay, y, times, { maxSteps: 0 }), sn.SinterError, /maxSteps is 0/);
  const before = sn.memory().tensors;
  sn.dispose(sn.odeint(decay, y, times));
  sn.dispose(sn.odeint(decay, 1, times, { method: 'rk4' }));
  assert.equal(sn.memory().tensors, before);
});
