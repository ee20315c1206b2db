// Loops and conditions: values against plain JavaScript, errors, memory.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertSlopes, assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

/** Runs f at once, compiled, compiled without emitted code, and op by op; values must be those expected. */
const everywhere = (f, args, expected, tolerance = 1e-6) => {
  for (const run of [f, sn.jit(f), sn.jit(f, { jit: false }), sn.jit(f, { fusion: false })]) {
    const results = [run(...args)].flat(Infinity);
    results.forEach((t, k) => assertClose(t, expected[k], tolerance));
    assert.equal(results.length, expected.length);
    sn.dispose(results);
    run.dispose?.();
  }
};

const cell = (c, x) => {
  const next = c.mul(0.5).add(x);
  return [next, next.sub(x)];
};

const plainCell = (start, xs) => {
  const ys = [];
  let c = start;
  for (const x of xs) {
    const next = Math.fround(Math.fround(c * 0.5) + x);
    ys.push(next - x);
    c = next;
  }
  return [c, ys];
};

test('scan: carries and stacks, of no, one and many rounds, in both directions', () => {
  for (const length of [0, 1, 2, 7, 100]) {
    const xs = Array.from({ length }, (_, i) => i - 3);
    const [last, ys] = plainCell(1, xs);
    const x = sn.tensor(Float32Array.from(xs));
    everywhere((c, x) => sn.scan(cell, c, x), [sn.tensor(1), x], [last, ys]);
    const [first, back] = plainCell(1, [...xs].reverse());
    everywhere((c, x) => sn.scan(cell, c, x, { reverse: true }), [sn.tensor(1), x], [first, back.reverse()]);
  }
});

test('scan: unroll changes nothing but how the body is put together', () => {
  for (const length of [0, 1, 5, 6, 12]) {
    for (const unroll of [1, 2, 3, 5, 20]) {
      for (const reverse of [false, true]) {
        const x = sn.tensor(Float32Array.from({ length }, (_, i) => Math.sin(i)));
        const [c, y] = sn.scan(cell, 1, x, { reverse });
        const [unrolledC, unrolledY] = sn.scan(cell, 1, x, { reverse, unroll });
        assert.deepEqual(unrolledC.dataSync(), c.dataSync());
        assert.deepEqual(unrolledY.dataSync(), y.dataSync());
      }
    }
  }
});

test('scan: trees, statics, null', () => {
  const f = ({ a, list: [b], name }, { x, none }) => {
    assert.equal(none, null);
    return [{ a: b, list: [a.add(x)], name }, { sum: a.add(b), text: 'y', pair: [a, null] }];
  };
  const init = { a: sn.tensor([1, 2]), list: [sn.tensor([10, 20])], name: 'carry' };
  const [carry, y] = sn.scan(f, init, { x: sn.tensor([1, 2, 3]), none: null });
  assert.equal(carry.name, 'carry');
  assert.deepEqual(carry.a.toArray(), [12, 22]);
  assert.deepEqual(carry.list[0].toArray(), [5, 6]);
  assert.equal(y.text, 'y');
  assert.equal(y.pair[1], null);
  assert.deepEqual(y.sum.toArray(), [[11, 22], [12, 23], [14, 25]]);
  const [power, nothing] = sn.scan((c) => [c.mul(2), null], 1, null, { length: 10 });
  assert.equal(power.item(), 1024);
  assert.equal(nothing, null);
});

test('scan: arrays of numbers in xs are tensors, and typed arrays anywhere', () => {
  const [c, y] = sn.scan((c, x) => [c.add(x.sum()), x], new Float64Array([1, 2]), [[1, 2], [3, 4]]);
  assert.deepEqual([c.dtype, c.toArray(), y.toArray()], ['float64', [11, 12], [[1, 2], [3, 4]]]);
});

test('a number as carry has the dtype that the body makes of it', () => {
  const sumOf = (xs) => sn.scan((c, x) => [c.add(x), 1], 0, xs);
  for (const dtype of ['float32', 'float64', 'int32']) {
    const [c, ones] = sumOf(sn.tensor([1, 2, 3], { dtype }));
    assert.deepEqual([c.dtype, c.item(), ones.dtype, ones.toArray()], [dtype, 6, 'float32', [1, 1, 1]]);
  }
  assert.equal(sn.foriLoop(0, 5, (i, c) => c.add(i), 0).dtype, 'int32');
  assert.equal(sn.foriLoop(0, 5, (i, c) => c.add(i), 0.5).dtype, 'float32');
  const [a, b] = sn.foriLoop(0, 3, (i, [a, b]) => [b, a.add(sn.tensor(1, { dtype: 'float64' }))], [0, 0]);
  assert.deepEqual([a.dtype, b.dtype, a.item(), b.item()], ['float64', 'float64', 1, 2]);
  assert.equal(sn.whileLoop((c) => c.less(100), (c) => c.mul(2), 3).item(), 192);
  assert.equal(sn.foriLoop(0, 3, () => 7, sn.tensor(1, { dtype: 'int32' })).item(), 7);
});

test('whileLoop', () => {
  for (const limit of [0, 1, 2, 50, 1000]) {
    let expected = 1;
    while (expected < limit) expected *= 3;
    const f = (x, limit) => sn.whileLoop((x) => x.less(limit), (x) => x.mul(3), x);
    everywhere(f, [sn.tensor(1), sn.tensor(limit)], [expected]);
  }
  // Euclid's algorithm
  const gcd = (a, b) => sn.whileLoop(([, b]) => b.notEqual(0), ([a, b]) => [b, sn.mod(a, b)], [a, b])[0];
  const int = (n) => sn.tensor(n, { dtype: 'int32' });
  everywhere(gcd, [int(1071), int(462)], [21]);
  everywhere(gcd, [int(5), int(0)], [5]);
});

test('foriLoop: numbers, tensors, no round', () => {
  const int = (n) => sn.tensor(n, { dtype: 'int32' });
  for (const [lo, hi] of [[0, 10], [3, 4], [-5, 5], [2, 2], [5, 1]]) {
    let expected = 1;
    for (let i = lo; i < hi; i++) expected = expected * 2 + i;
    const body = (i, c) => c.mul(2).add(i);
    everywhere((c) => sn.foriLoop(lo, hi, body, c), [sn.tensor(1)], [expected]);
    everywhere((c, lo, hi) => sn.foriLoop(lo, hi, body, c), [sn.tensor(1), int(lo), int(hi)], [expected]);
    everywhere((c, hi) => sn.foriLoop(lo, hi, body, c), [sn.tensor(1), int(hi)], [expected]);
  }
});

test('cond computes one branch; NaN in the other is nobody\'s', () => {
  const f = (p, x) => sn.cond(p, (x) => x.sqrt(), (x) => x.neg().mul(2), x);
  for (const x of [4, -9, 0]) {
    everywhere((x) => f(x.greaterEqual(0), x), [sn.tensor(x)], [x >= 0 ? Math.sqrt(x) : -2 * x]);
  }
  assert.equal(f(true, 16).item(), 4);
  assert.equal(f(false, 16).item(), -32);
  const number = sn.cond(sn.tensor(true), (x) => x.add(1), () => 7, sn.tensor(1, { dtype: 'float64' }));
  assert.deepEqual([number.dtype, number.item()], ['float64', 2]);
  const int = sn.cond(false, (x) => x, (_, n) => n, sn.tensor(1, { dtype: 'int32' }), 5);
  assert.deepEqual([int.dtype, int.item()], ['int32', 5]);
  assert.deepEqual(sn.cond(true, () => ({ a: [1, 'b'] }), () => ({ a: [2, 'b'] })).a[1], 'b');
});

test('a branch without operands is not computed either where it is not taken, nor its derivative', () => {
  const f = (x, w) => sn.cond(x.greater(0), () => x.log().mul(w), () => w.mul(3)).sum();
  const nested = (x, w) => sn.cond(x.less(9), () => sn.cond(x.greater(0), () => x.log().mul(w), () => w.mul(3)), () => w).sum();
  const looped = (x, w) => sn.scan((c, y) => [c.add(f(y, w)), null], 0, x.reshape([1]))[0];
  const chosen = (x, w) => sn.switchCase(x.greater(0).astype('int32'), [() => w.mul(3), () => x.log().mul(w)]).sum();
  for (const g of [f, nested, looped, chosen])
    for (const [x, value, slope] of [[0, 6, 3], [-1, 6, 3], [1, 0, 0]]) {
      everywhere((x, w) => g(x, w), [sn.tensor(x), sn.tensor(2)], [value]);
      for (const slopeOf of [sn.grad(g, { argnums: 1 }), sn.jit(sn.grad(g, { argnums: 1 }))]) assert.equal(slopeOf(sn.tensor(x), sn.tensor(2)).item(), slope);
    }
  const [outside] = sn.inspect(f)(sn.tensor(1), sn.tensor(2)).stages.find(({ name }) => name === 'dce').text.split('region 0');
  assert.doesNotMatch(outside, /log/);
});

test('switchCase: every branch, beyond the ends too', () => {
  for (const count of [1, 2, 3, 7]) {
    const branches = Array.from({ length: count }, (_, k) => (x, { y }) => x.mul(k).add(y));
    for (let index = -2; index < count + 2; index++) {
      const k = Math.min(Math.max(index, 0), count - 1);
      const f = (i, x, y) => sn.switchCase(i, branches, x, { y });
      everywhere(f, [sn.tensor(index, { dtype: 'int32' }), sn.tensor([1, 2]), sn.tensor(0.5)], [[k + 0.5, 2 * k + 0.5]]);
      assert.deepEqual(sn.switchCase(index, branches, sn.tensor([1, 2]), { y: 0.5 }).toArray(), [k + 0.5, 2 * k + 0.5]);
    }
  }
});

test('map', () => {
  everywhere((m) => sn.map((row) => row.sum(), m), [sn.tensor([[1, 2], [3, 4], [5, 6]])], [[3, 7, 11]]);
  const { s, d } = sn.map(([x, y]) => ({ s: x.add(y), d: x.sub(y) }), [sn.tensor([1, 2]), sn.tensor([3, 5])]);
  assert.deepEqual([s.toArray(), d.toArray()], [[4, 7], [-2, -3]]);
});

test('associativeScan: along any axis, in both directions, of any length', () => {
  for (let n = 0; n <= 20; n++) {
    const xs = Float64Array.from({ length: 2 * n }, (_, i) => Math.sin(i + 1));
    const t = sn.tensor(xs, { shape: [2, n] });
    assertClose(sn.associativeScan((a, b) => a.add(b), t, { axis: 1 }), t.cumsum({ axis: 1 }).toArray(), 1e-12);
    const back = sn.flip(sn.flip(t, { axis: 1 }).cumsum({ axis: 1 }), { axis: 1 });
    assertClose(sn.associativeScan((a, b) => a.add(b), t, { axis: -1, reverse: true }), back.toArray(), 1e-12);
  }
  // a linear recurrence h = a h + b
  const [a, b] = [[0.5, 2, -1, 3, 0.1], [1, 2, 3, 4, 5]];
  const f = (a, b) => sn.associativeScan(([a1, b1], [a2, b2]) => [a1.mul(a2), a2.mul(b1).add(b2)], [a, b])[1];
  let h = 0;
  everywhere(f, [sn.tensor(a), sn.tensor(b)], [a.map((each, i) => (h = each * h + b[i]))]);
});

test('scan: the next carry is stacked, too', () => {
  const f = (c) => sn.scan((c) => {
    const next = c.mul(2);
    return [next, next];
  }, c, null, { length: 3 });
  everywhere(f, [sn.tensor([1, 10])], [[8, 80], [[2, 20], [4, 40], [8, 80]]]);
});

test('loops in loops and in conditions', () => {
  const f = (m) => sn.scan((c, row) => {
    const sum = sn.scan((s, x) => [s.add(x), null], 0, row)[0];
    const kept = sn.cond(sum.greater(4), (s) => sn.foriLoop(0, 3, (_, s) => s.mul(2), s), (s) => s, sum);
    return [c.add(kept), kept];
  }, 0, m);
  everywhere(f, [sn.tensor([[1, 2], [3, 4], [0, 0]])], [59, [3, 56, 0]]);
});

test('captured: lazy tensors, arguments of the function around, and values', () => {
  const value = sn.tensor([1, 2]);
  const lazy = value.mul(10);
  const f = (x) => {
    const inside = x.add(1);
    return sn.scan((c) => [c.add(lazy).add(inside).add(value), c.mul(x)], sn.zeros([2]), null, { length: 3 });
  };
  everywhere(f, [sn.tensor(1)], [[39, 72], [[0, 0], [13, 24], [26, 48]]]);
});

test('what a function captured is what it was when it was called', () => {
  let k = sn.tensor(2);
  const add = () => sn.foriLoop(0, 3, (_, c) => c.add(k), 0);
  const first = add();
  k.dispose();
  k = sn.tensor(5);
  assert.deepEqual([first.item(), add().item()], [6, 15]);
});

test('inside, tensors have no values', () => {
  const hint = { code: 'argument', message: /have no values while a function is being compiled/ };
  assertThrows(() => sn.scan((c) => [c.add(c.item()), null], 1, null, { length: 2 }), sn.SinterError, hint);
  assertThrows(() => sn.cond(true, (x) => x.dataSync(), (x) => x, sn.tensor(1)), sn.SinterError, hint);
  let leaked;
  sn.map((x) => (leaked = x.mul(2)), [1, 2]);
  assertThrows(() => leaked.item(), sn.DisposedError, { message: /made while a function was traced/ });
});

test('errors name the function, the leaf and both types', () => {
  const x = sn.tensor([1, 2, 3]);
  const f64 = sn.tensor([1, 2, 3], { dtype: 'float64' });
  const refused = (f, type, message) => assertThrows(f, type, { message });
  refused(() => sn.scan((c, x) => [{ h: [c.h[0].add(f64)] }, x], { h: [x] }, x), sn.DTypeError,
    'scan: carry.h[0] is float32 (3,), the function made it float64 (3,)');
  refused(() => sn.scan((c) => [c.sum(), null], x, null, { length: 2 }), sn.ShapeError,
    'scan: carry is float32 (3,), the function made it float32 ()');
  refused(() => sn.foriLoop(0, 2, (_, c) => c.add(x), 0), sn.ShapeError,
    'foriLoop: carry is float32 (), the function made it float32 (3,)');
  refused(() => sn.scan((c) => [{ a: c.a }, null], { a: x, b: x }, null, { length: 1 }), sn.SinterError,
    'scan: carry.b is a tensor, the function returned nothing there');
  refused(() => sn.scan((c) => [{ sum: c }, null], x, null, { length: 1 }), sn.SinterError,
    'scan: carry is a tensor, the function returned an object there');
  refused(() => sn.scan((c) => [{ a: [c.a, c.a] }, null], { a: x }, null, { length: 1 }), sn.SinterError,
    'scan: carry.a is a tensor, the function returned an array there');
  refused(() => sn.scan((c) => c, x, x), sn.SinterError, 'scan: the function returned a tensor, expected [carry, y]');
  refused(() => sn.scan((c) => [c, null], x, null), sn.SinterError, /scan: there is no tensor in xs/);
  refused(() => sn.scan((c) => [c, null], 0, { a: x, b: [f64.slice([0], [2])] }), sn.ShapeError,
    'scan: xs.b[0] has 2 slices, shape (2,); xs.a has 3');
  refused(() => sn.scan((c) => [c, null], 0, x, { length: 4 }), sn.ShapeError,
    'scan: xs has 3 slices, shape (3,); option length is 4');
  refused(() => sn.scan((c) => [c, null], 0, sn.tensor(1)), sn.ShapeError, 'scan: xs is a single number and has no slices');
  refused(() => sn.scan(async (c) => [c, null], 0, x), sn.SinterError, /scan: the function returned a promise/);
  refused(() => sn.scan((c) => [c, new Date()], 0, x), sn.SinterError, /scan: a Date cannot be part/);
  refused(() => sn.scan((c) => [c, null], 0, x, { unroll: 0 }), sn.SinterError, /scan: unroll is 0/);
  refused(() => sn.scan((c) => [c, null], 0, null, { length: -1 }), sn.SinterError, /scan: length is -1/);
  refused(() => sn.scan((c) => [c, null], 0, null, { lenght: 1 }), sn.SinterError, /did you mean 'length'/);
  refused(() => sn.scan(3), sn.SinterError, /scan: expected a function, not 3/);
  refused(() => sn.whileLoop((c) => c, (c) => c, 1), sn.DTypeError, 'whileLoop: what the test returned is float32 (), expected bool ()');
  refused(() => sn.whileLoop((c) => c.less(2), (c) => c, x), sn.ShapeError, 'whileLoop: what the test returned is bool (3,), expected bool ()');
  refused(() => sn.whileLoop(() => 'yes', (c) => c, 1), sn.SinterError, /whileLoop: what the test returned is "yes", expected a bool tensor/);
  refused(() => sn.whileLoop(() => true, (c) => c, {}), sn.SinterError, 'whileLoop: there is no tensor in the carry');
  refused(() => sn.whileLoop((c) => c.less(1), (c) => c.add(f64.sum()), sn.tensor(1)), sn.DTypeError,
    'whileLoop: carry is float32 (), the function made it float64 ()');
  refused(() => sn.cond(x, (a) => a, (a) => a, x), sn.DTypeError, 'cond: the condition is float32 (3,), expected bool ()');
  refused(() => sn.cond(true, (a) => ({ r: a }), () => ({ r: f64 }), x), sn.DTypeError,
    'cond: result.r is float32 (3,), another branch returned float64 (3,)');
  refused(() => sn.cond(true, (a) => [a], (a) => [a, a], x), sn.SinterError, 'cond: result[1] is nothing, another branch returned a tensor there');
  refused(() => sn.switchCase(0, []), sn.SinterError, /switchCase: the branches are an array/);
  refused(() => sn.switchCase(0, [(a) => a, (a) => a.sum()], x), sn.ShapeError,
    'switchCase: result is float32 (3,), another branch returned float32 ()');
  refused(() => sn.switchCase(sn.tensor(1), [(a) => a, (a) => a], x), sn.DTypeError, 'switchCase: index is float32 (), expected int32 ()');
  refused(() => sn.foriLoop(0, sn.tensor(3), (_, c) => c, 0), sn.DTypeError, 'foriLoop: hi is float32 (), expected int32 ()');
  refused(() => sn.foriLoop(0, 1.5, (_, c) => c, 0), sn.SinterError, /foriLoop: hi is 1.5/);
  refused(() => sn.associativeScan((a) => a.sum(), x), sn.ShapeError, /associativeScan: xs is float32 \(1,\), the function made it/);
  refused(() => sn.associativeScan((a) => a, [x, f64.slice([0], [2])]), sn.ShapeError,
    'associativeScan: sizes along axis 0 differ: xs[0] (3,), xs[1] (2,)');
  refused(() => sn.associativeScan((a) => a, x, { axis: 1 }), sn.ShapeError, /associativeScan/);
});

test('a promise that a function returns is refused and does not fail by itself', async () => {
  const late = async (x) => x.item();
  const three = sn.tensor(3, { dtype: 'int32' });
  const calls = {
    scan: () => sn.scan(late, 0, [1]),
    map: () => sn.map(late, [1]),
    foriLoop: () => sn.foriLoop(0, 3, late, 0),
    whileLoop: () => sn.whileLoop((x) => x.less(3), late, 0),
    cond: () => sn.cond(true, late, late, 1),
    switchCase: () => sn.switchCase(0, [late, late], 1),
    associativeScan: () => sn.associativeScan(late, [1, 2]),
  };
  const refused = (name, f) => assertThrows(f, sn.SinterError, { op: name, message: /the function returned a promise/ });
  for (const [name, f] of Object.entries(calls)) refused(name, f);
  refused('foriLoop', () => sn.foriLoop(0, three, late, 0));
  await new Promise((resolve) => setTimeout(resolve, 10)); // an unhandled rejection would fail the test
});

test('nothing leaks, after errors neither', () => {
  const x = sn.tensor([1, 2, 3]);
  const run = () => {
    sn.dispose(sn.scan(cell, 0, x, { unroll: 2 }));
    sn.dispose(sn.scan((c, x) => [c.add(x), { y: x }], 0, [1, 2]));
    sn.dispose(sn.whileLoop((c) => c.less(9), (c) => c.add(1), 0));
    sn.dispose(sn.foriLoop(0, sn.tensor(3, { dtype: 'int32' }), (i, c) => c.add(i), 0));
    sn.dispose(sn.switchCase(1, [(a) => a, (a) => a.neg(), (a) => a.add(1)], x));
    sn.dispose(sn.cond(true, (a, n) => a.mul(n), (a) => a, x, 2));
    sn.dispose(sn.associativeScan((a, b) => a.add(b), [1, 2, 3, 4, 5]));
    for (const wrong of [
      () => sn.scan((c) => [c.add(x), null], 0, null, { length: 2 }),
      () => sn.scan(() => { throw new Error('mine'); }, x, x),
      () => sn.cond(true, (a) => a, (a) => a.sum(), x),
      () => sn.whileLoop((c) => c, (c) => c.mul(2), x),
      () => sn.scan((c, x) => [c, x.item()], 0, x),
    ]) assert.throws(wrong);
  };
  const counted = () => sn.tidy(() => {
    run();
    return sn.memory().tensors;
  });
  run();
  const before = sn.memory().tensors;
  const kept = counted();
  assert.equal(counted(), kept);
  assert.equal(sn.memory().tensors, before);
});

test('a million rounds need no more memory than ten', () => {
  const count = sn.jit((n) => sn.whileLoop((i) => i.less(n), (i) => i.add(1), sn.tensor(0, { dtype: 'int32' })));
  const int = (n) => sn.tensor(n, { dtype: 'int32' });
  assert.equal(count(int(10)).item(), 10);
  const { bytesInUse, tensors } = sn.memory();
  const [limit, last] = sn.tidy(() => [1_000_000, count(int(1_000_000)).item()]);
  assert.equal(last, limit);
  assert.deepEqual([sn.memory().bytesInUse, sn.memory().tensors], [bytesInUse, tensors]);
});

test('gradients of loops and conditions are those of differences, at once and compiled', () => {
  const f = (c, w, xs) => {
    const [last, ys] = sn.scan((c, x) => {
      const next = c.mul(w).add(x.sin()).tanh();
      return [next, next.square()];
    }, c, xs);
    return last.sum().add(ys.mean());
  };
  const inputs = [[0.1, 0.2], [0.5, -0.3], [1, 2, 3, 4, 5, 6]].map((data) => ({ data, shape: data.length > 2 ? [3, 2] : [2] }));
  assertSlopes(sn, f, inputs);
  assertSlopes(sn, sn.jit(f), inputs);
  const wave = (x) => sn.cond(x.sum().greater(0), (x) => x.sin().sum(), (x) => x.cos().sum(), x);
  const nested = (x) => sn.foriLoop(0, 4, (_, c) => sn.cond(c.sum().greater(1), (c) => c.mul(x), (c) => c.add(x), c), x).sum();
  for (const data of [[1, 2], [-1, -2], [0.3, 0.4]]) {
    assertSlopes(sn, wave, [{ data, shape: [2] }]);
    assertSlopes(sn, sn.jit(nested), [{ data, shape: [2] }]);
  }
  const product = (x) => sn.associativeScan((a, b) => a.mul(b), x).sum();
  assertSlopes(sn, product, [{ data: [1, 2, 3, 4, 5], shape: [5] }]);
});

test('second derivatives, gradients inside a loop, and none of a while', () => {
  const cubic = sn.grad((x) => sn.grad((x) => sn.foriLoop(0, 3, (_, c) => c.mul(x), x))(x));
  assert.equal(cubic(sn.tensor(2)).item(), 48);
  const slope = sn.grad((z) => z.sub(3).square().sum());
  const descend = (x) => sn.foriLoop(0, 50, (_, x) => x.sub(slope(x).mul(0.1)), x);
  everywhere(descend, [sn.tensor([0, 1])], [[3 - 3 * 0.8 ** 50, 3 - 2 * 0.8 ** 50]]);
  const doubled = (x) => sn.whileLoop((c) => c.less(10), (c) => c.mul(2), x);
  assertThrows(() => sn.grad(doubled)(sn.tensor(1)), sn.SinterError, { message: /whileLoop .* \(use scan or foriLoop/ });
});

test('vmap, jvp and hessian of loops and conditions; a solver and a minimum for every example', () => {
  const rows = [[1, 2, 3], [4, 5, 6]];
  const f = {
    scan: (x) => sn.scan((c, v) => [c.mul(v), null], 1, x)[0],
    cond: (x) => sn.cond(x.sum().greater(7), (x) => x.sqrt().sum(), (x) => x.neg().sum(), x),
    gradient: sn.grad((x) => sn.scan((c, v) => [c.mul(v), null], 1, x)[0]),
    while: (x) => sn.whileLoop((c) => c.sum().less(100), (c) => c.mul(2), x),
    odeint: (x) => sn.odeint((y) => y.neg(), x, [0, 1], { rtol: 1e-3, atol: 1e-3 }),
    minimize: (x) => sn.minimize((z) => z.sub(x).square().sum(), sn.zeros([3])).x,
  };
  for (const each of Object.values(f)) {
    const expected = rows.map((row) => each(sn.tensor(row)).toArray());
    for (const run of [sn.vmap(each), sn.jit(sn.vmap(each))]) assertClose(run(sn.tensor(rows)), expected, 1e-5);
  }
  const doubled = (x) => sn.whileLoop((c) => c.less(10), (c) => c.mul(2), x);
  assert.deepEqual(sn.jvp(doubled, [sn.tensor(1)], [sn.tensor(1)]).map((t) => t.item()), [16, 16]);
  // x^4 + x^3 y + x^2 y + x y + y
  const horner = (x) => sn.foriLoop(0, 3, (_, c) => c.mul(x.take(0)).add(x.take(1)), x.sum());
  assertClose(sn.hessian(horner)(sn.tensor([2, 1])), [[62, 17], [17, 0]]);
  assert.equal(sn.scan((c, x) => [sn.vmap((v) => v.mul(2))(x).sum().add(c), null], 0, rows)[0].item(), 42);
});

test('a branch that an example does not take leaves no NaN in derivatives under vmap', () => {
  const cond = (x) => sn.cond(x.greater(0), (x) => x.log().add(x.sqrt()), (x) => x.mul(3), x);
  const int = (x) => x.astype('int32');
  const functions = {
    cond,
    switchCase: (x) => sn.switchCase(int(x.greater(0)).add(int(x.greater(2))), [(x) => x.neg(), (x) => x.sqrt(), (x) => x.sub(2).log()], x),
    nested: (x) => sn.cond(x.greater(0), (x) => sn.cond(x.greater(2), (x) => x.sub(2).log(), (x) => x.log(), x), (x) => x.square(), x),
    scanned: (x) => sn.foriLoop(0, 3, (_, c) => sn.cond(c.greater(0), (c) => c.sqrt().mul(x), (c) => c.sub(x), c), x),
  };
  const rows = [0, 4, -1, 1, 0.25];
  const xs = sn.tensor(rows);
  for (const [name, f] of Object.entries(functions)) {
    const expected = rows.map((x) => sn.grad(f)(sn.tensor(x)).item());
    const runs = [sn.vmap(sn.grad(f)), sn.grad((x) => sn.vmap(f)(x).sum()), (x) => sn.jvp(sn.vmap(f), [x], [sn.ones([5])])[1]];
    for (const run of runs.flatMap((run) => [run, sn.jit(run)])) assertClose(run(xs), expected, 1e-6);
    assert.deepEqual(sn.vmap(f)(xs).toArray(), rows.map((x) => f(sn.tensor(x)).item()), name);
  }
  const shared = (w, x) => sn.cond(x.greater(0), (x) => x.mul(w).log(), (x) => x.mul(w), x); // by w: 1 / w, x
  const slope = sn.jit(sn.grad((w, xs) => sn.vmap(shared, { inAxes: [null, 0] })(w, xs).sum()));
  assert.equal(slope(2, xs).item(), 0 + 0.5 - 1 + 0.5 + 0.5);
  assert.equal(slope(2, sn.tensor([0, -1])).item(), -1);
  const logarithm = (w, x) => sn.cond(x.greater(0), (_, w) => w.log(), (x) => x, x, w);
  const none = sn.jit(sn.grad((w, xs) => sn.vmap(logarithm, { inAxes: [null, 0] })(w, xs).sum()));
  assert.equal(none(0, sn.tensor([-1, -2])).item(), 0);
});

/** Control flow written out: loops of JavaScript that read the values of conditions. */
const plain = {
  scan(f, carry, xs) {
    const ys = [];
    for (let i = 0; i < xs.shape[0]; i++) {
      const [next, y] = f(carry, sn.take(xs, i));
      carry = next;
      ys.push(y);
    }
    return [carry, sn.stack(ys)];
  },
  whileLoop(test, body, carry) {
    while (test(carry).item()) carry = body(carry);
    return carry;
  },
  foriLoop(lo, hi, body, carry) {
    for (let i = lo; i < hi; i++) carry = body(sn.tensor(i, { dtype: 'int32' }), carry);
    return carry;
  },
  cond: (p, onTrue, onFalse, ...operands) => (p.item() ? onTrue : onFalse)(...operands),
  switchCase: (i, branches, ...operands) => branches[Math.min(Math.max(i.item(), 0), branches.length - 1)](...operands),
  map: (f, xs) => sn.stack(Array.from({ length: xs.shape[0] }, (_, i) => f(sn.take(xs, i)))),
};

/** A random function of vectors of three int32, (control flow, vectors) -> vector. */
const randomProgram = (random, depth) => {
  const below = (n) => Math.floor(random() * n);
  const pick = (list, k) => list[k % list.length];
  const [a, b, kind, number] = [below(8), below(8), depth > 0 ? below(9) : below(3), below(5)];
  const inner = Array.from({ length: 3 }, () => depth > 0 && randomProgram(random, depth - 1));
  const bounded = (t) => sn.mod(t, 101);
  switch (kind) {
    case 0: return (_, v) => bounded(pick(v, a).mul(pick(v, b)).add(number));
    case 1: return (_, v) => pick(v, a).sub(pick(v, b));
    case 2: return (_, v) => sn.maximum(pick(v, a), sn.flip(pick(v, b))).add(1);
    case 3: return (api, v) => {
      const [c, ys] = api.scan((c, x) => {
        const next = inner[0](api, [c, x.add(c), ...v]);
        return [bounded(next), bounded(next.sum())];
      }, pick(v, a), pick(v, b));
      return c.add(ys);
    };
    case 4: return (api, v) => api.whileLoop(
      ([i, c]) => sn.logicalAnd(i.less(number), c.sum().less(150)),
      ([i, c]) => [i.add(1), bounded(inner[0](api, [c, ...v]))],
      [sn.tensor(0, { dtype: 'int32' }), inner[1](api, v)],
    )[1];
    case 5: return (api, v) => api.foriLoop(0, number, (i, c) => bounded(inner[0](api, [c, c.add(i), ...v])), pick(v, a));
    case 6: return (api, v) => api.cond(pick(v, a).sum().greater(number), (x, y) => inner[0](api, [x, y, ...v]),
      (x, y) => inner[1](api, [y, x]), pick(v, a), pick(v, b));
    case 7: return (api, v) => api.switchCase(sn.mod(pick(v, a).sum(), 4).sub(1), inner.map((f) => (x) => f(api, [x, ...v])), pick(v, b));
    default: return (api, v) => api.map((x) => bounded(inner[0](api, [v[0].add(x), pick(v, a)]).sum()), pick(v, b));
  }
};

test('random nested programs are what they are written out', () => {
  const seed = Number(process.env.SEED ?? 1);
  let state = seed;
  const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  for (let n = 0; n < 1000; n++) {
    const f = randomProgram(random, 1 + (n % 3));
    sn.tidy(() => {
      const v = [[1, 2, 3], [7, -5, 11]].map((x) => sn.tensor(x, { dtype: 'int32' }));
      const expected = f(plain, v).toArray();
      for (const run of [f, sn.jit((_, v) => f(sn, v)), sn.jit((_, v) => f(sn, v), { jit: false })]) {
        assert.deepEqual(run(run === f ? sn : null, v).toArray(), expected, `program ${n}, seed ${seed}`);
        run.dispose?.();
      }
    });
  }
});

test('one thread gives the same', () => {
  const program = `
    import { createHash } from 'node:crypto';
    import * as sn from 'sinter';
    await sn.init({ threads: 1 });
    const [c, y] = sn.scan((c, x) => [c.mul(0.5).add(x.sin()), c.matmul(c)], sn.eye(20), sn.ones([50, 20, 20]).mul(0.3));
    console.log(createHash('sha256').update(c.dataSync()).update(y.dataSync()).digest('hex'));
    process.exit(0);`;
  const [c, y] = sn.scan((c, x) => [c.mul(0.5).add(x.sin()), c.matmul(c)], sn.eye(20), sn.ones([50, 20, 20]).mul(0.3));
  const alone = execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: new URL('..', import.meta.url), encoding: 'utf8' });
  assert.equal(alone.trim(), createHash('sha256').update(c.dataSync()).update(y.dataSync()).digest('hex'));
});
