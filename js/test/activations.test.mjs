// The elementwise functions with parameters, and the newer rows of the op table, against JavaScript's
// own arithmetic.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();

const X = [-1e4, -20, -3, -1.25, -0.5, -0, 0, 1e-3, 0.75, 2, 3, 6.5, 1e4];
const x = sn.tensor(X);
const erf = (v) => {
  // Integral of the series; exact enough for |v| < 6.
  let term = v;
  let total = v;
  for (let n = 1; n < 200; n++) {
    term *= (-v * v) / n;
    total += term / (2 * n + 1);
  }
  return Math.abs(v) > 5 ? Math.sign(v) : (2 / Math.sqrt(Math.PI)) * total;
};

/** The function, the method and a plain loop agree. */
const check = (name, reference, args = [], tolerance = 2e-6) => {
  assertClose(sn[name](x, ...args), X.map(reference), tolerance);
  assertClose(x[name](...args), X.map(reference), tolerance);
};

test('parametrised activations', () => {
  check('leakyRelu', (v) => (v > 0 ? v : 0.01 * v));
  check('leakyRelu', (v) => (v > 0 ? v : 0.3 * v), [{ alpha: 0.3 }]);
  check('elu', (v) => (v > 0 ? v : Math.expm1(v)));
  check('elu', (v) => (v > 0 ? v : 2 * Math.expm1(v)), [{ alpha: 2 }]);
  check('selu', (v) => 1.0507009873554805 * (v > 0 ? v : 1.6732632423543772 * Math.expm1(v)));
  check('hardswish', (v) => (v * Math.min(Math.max(v + 3, 0), 6)) / 6);
});

test('gelu, exactly and by a tanh', () => {
  check('gelu', (v) => (v * (1 + erf(v / Math.SQRT2))) / 2);
  const tanh = (v) => (v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3)))) / 2;
  check('gelu', tanh, [{ approximate: true }]);
  check('gelu', (v) => (v * (1 + erf(v / Math.SQRT2))) / 2, [{ approximate: false }]);
});

test('clip with numbers, tensors and open sides', () => {
  check('clip', (v) => Math.min(Math.max(v, -1), 2), [-1, 2]);
  check('clip', (v) => Math.max(v, -1), [-1]);
  check('clip', (v) => Math.min(v, 2), [null, 2]);
  check('clip', (v) => v, [null, null]);
  assert.deepEqual(sn.clip(sn.tensor([[1, 5], [9, 2]]), [2, 3], [[4], [8]]).toArray(), [[2, 4], [8, 3]]);
  const ints = sn.tensor([-5, 3, 9], { dtype: 'int32' }).clip(0, 4);
  assert.equal(ints.dtype, 'int32');
  assert.deepEqual(ints.toArray(), [0, 3, 4]);
  assert.ok(Number.isNaN(sn.clip(NaN, 0, 1).item()));
  assertThrows(() => sn.clip(sn.zeros([3]), sn.zeros([2]), 1), sn.ShapeError, { message: /\(3,\).*\(2,\)/ });
});

test('gradients of compositions stay finite', () => {
  for (const f of [sn.elu, sn.selu, sn.leakyRelu, sn.hardswish, sn.gelu, sn.silu, sn.softplus, sn.mish]) {
    const slope = sn.grad((t) => f(t).sum())(sn.tensor([-1000, -1, 0, 1, 1000]));
    for (const v of slope.toArray()) assert.ok(Number.isFinite(v), `${f.name}: ${slope.toArray()}`);
  }
});

test('rows with a counterpart in Math', () => {
  const inside = X.filter((v) => Math.abs(v) < 10);
  for (const name of ['tan', 'atan', 'sinh', 'cosh', 'asinh', 'expm1']) {
    const t = sn.tensor(inside, { dtype: 'float64' });
    assertClose(t[name](), inside.map((v) => Math[name](v)), 1e-14);
  }
  for (const name of ['asin', 'acos', 'atanh']) {
    assertClose(sn[name]([-0.9, -0.25, 0, 0.5]), [-0.9, -0.25, 0, 0.5].map((v) => Math[name](v)));
    assert.ok(Number.isNaN(sn[name](1.5).item()));
  }
  assertClose(sn.exp2([-3, 0.5, 10]), [0.125, Math.SQRT2, 1024]);
  assertClose(sn.log2([0.125, 1, 1024]), [-3, 0, 10]);
  assertClose(sn.acosh([1, 2, 1e20]), [0, Math.acosh(2), Math.acosh(1e20)]);
  assertClose(sn.silu(inside), inside.map((v) => v / (1 + Math.exp(-v))));
  assertClose(sn.softplus(inside), inside.map((v) => Math.log1p(Math.exp(v))));
  assertClose(sn.mish(inside), inside.map((v) => v * Math.tanh(Math.log1p(Math.exp(v)))));
  assertClose(sn.atan2([1, -1, 0], [-1, -1, -2]), [Math.atan2(1, -1), Math.atan2(-1, -1), Math.PI]);
});

test('the remainder has the sign of the divisor, of integers too', () => {
  assert.deepEqual(sn.mod([5, -5, 5, -5, 6], [3, 3, -3, -3, 3]).toArray(), [2, 1, -1, -2, 0]);
  const ints = (values) => sn.tensor(values, { dtype: 'int32' });
  const i = ints([7, -7, 7, -7, 9, -2147483648, 2147483647]).mod(ints([4, 4, -4, -4, 0, -1, -2147483648]));
  assert.equal(i.dtype, 'int32');
  assert.deepEqual(i.toArray(), [3, 1, -1, -3, 0, 0, -1]);
  assertClose(sn.mod(1, 0.1), 1 - 9 * Math.fround(0.1), 1e-9);
});
