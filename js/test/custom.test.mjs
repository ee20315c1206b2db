// customVjp and customJvp: the rule counts, in both directions, under jit, vmap and in loops; what a rule must be.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const x = sn.tensor([0.5, 1, -2], { dtype: 'float64' });
const ones = sn.onesLike(x);
const list = (t) => [...t.dataSync()];

// Rules that are wrong on purpose: 10 x in place of 2 x, so that a derivative tells where it is from.
const byVjp = sn.customVjp((t) => t.square(), {
  forward: (t) => [t.square(), { t }],
  backward: ({ t }, ct) => [ct.mul(t).mul(10)],
});
const byJvp = sn.customJvp((t) => t.square(), { jvp: ([t], [dt]) => [t.square(), dt.mul(t).mul(10)] });

for (const [name, f] of Object.entries({ customVjp: byVjp, customJvp: byJvp })) {
  const total = (t) => f(t).sum();
  const squares = [0.25, 1, 4];
  const tens = [5, 10, -20];

  test(`${name}: the value is the function's, the derivative the rule's`, () => {
    assert.deepEqual(list(f(x)), squares);
    for (const wrap of [(g) => g, (g) => sn.jit(g), (g) => sn.jit(g, { jit: false })]) {
      assert.deepEqual(list(wrap(f)(x)), squares);
      assert.deepEqual(list(wrap(sn.grad(total))(x)), tens);
      assert.deepEqual(list(wrap((t) => sn.jvp(f, [t], [ones])[1])(x)), tens);
      assert.deepEqual(list(wrap((t) => sn.vjp(f, t)[1](ones)[0])(x)), tens);
    }
  });

  test(`${name}: second derivatives are the rule's derivative`, () => {
    const twice = sn.grad((t) => sn.grad(total)(t).sum());
    assert.deepEqual(list(twice(x)), [10, 10, 10]);
    assert.deepEqual(list(sn.jvp(sn.grad(total), [x], [ones])[1]), [10, 10, 10]);
    assert.deepEqual(sn.hessian(total)(x).toArray(), [[10, 0, 0], [0, 10, 0], [0, 0, 10]]);
  });

  test(`${name}: under vmap, on either side of the derivative`, () => {
    assert.deepEqual(list(sn.vmap(f)(x)), squares);
    assert.deepEqual(list(sn.vmap(sn.grad((t) => f(t)))(x)), tens);
    assert.deepEqual(list(sn.grad((t) => sn.vmap(f)(t).sum())(x)), tens);
    assert.deepEqual(list(sn.jvp(sn.vmap(f), [x], [ones])[1]), tens);
  });

  test(`${name}: in scan, cond and checkpoint`, () => {
    const twice = (t) => sn.scan((c) => [f(c), null], t, null, { length: 2 })[0].sum();
    const expected = list(x).map((v) => 10 * v * v * 10 * v);
    assert.deepEqual(list(sn.grad(twice)(x)), expected);
    assert.deepEqual(list(sn.jit(sn.grad(twice))(x)), expected);
    assert.deepEqual(list(sn.grad((t) => sn.cond(true, f, (u) => u, t).sum())(x)), tens);
    assert.deepEqual(list(sn.grad((t) => sn.checkpoint(f)(t).sum())(x)), tens);
    const inner = sn.customVjp((t) => f(t), { forward: (t) => [f(t), t], backward: (t, ct) => [sn.grad((u) => f(u).sum())(t).mul(ct)] });
    assert.deepEqual(list(sn.grad((t) => inner(t).sum())(x)), tens);
  });
}

// Functions whose derivatives have control flow in them, which a rule's transpose goes through.
const WITHIN = {
  cond: (t) => sn.cond(t.sum().greater(0), (u) => u.sin(), (u) => u.mul(u), t),
  switchCase: (t) => sn.switchCase(t.sum().astype('int32'), [(u) => u.sin(), (u) => u.mul(2)], t),
  scan: (t) => sn.scan((c, u) => [c.mul(u).sin(), c], t, t)[0],
  'cond in scan': (t) => sn.scan((c, u) => [sn.cond(u.greater(0), (v) => v.sin(), (v) => v.mul(u), c), null], t, t)[0],
  foriLoop: (t) => sn.foriLoop(0, 3, (i, c) => c.sin().add(i), t),
  map: (t) => sn.map((u) => u.sin(), t),
  checkpoint: sn.checkpoint((t) => t.sin().exp()),
};
const wrapped = {
  customVjp: (f) => sn.customVjp(f, { forward: (t) => [f(t), t], backward: (t, ct) => sn.vjp(f, t)[1](ct) }),
  customJvp: (f) => sn.customJvp(f, { jvp: ([t], [dt]) => sn.jvp(f, [t], [dt]) }),
};
for (const [name, f] of Object.entries(WITHIN))
  test(`the transpose of a rule with ${name} in it`, () => {
    const weights = sn.tensor([1, 2, 3], { dtype: 'float64' });
    const derivatives = (g) => {
      const loss = (t) => g(t).mul(weights).sum();
      return [
        sn.jvp(g, [x], [weights])[1],
        sn.grad(loss)(x),
        sn.jvp(sn.grad(loss), [x], [weights])[1],
        sn.jit(sn.vmap(sn.grad(loss)))(sn.stack([x, weights])),
        sn.grad((t) => sn.scan((c, u) => [g(c).mul(u), null], t, [1, 2])[0].sum())(x),
      ];
    };
    const expected = derivatives(f).map(list);
    for (const wrap of Object.values(wrapped))
      derivatives(wrap(f)).forEach((t, i) => assertClose(t, expected[i], 1e-12));
  });

test('what a scan with checkpoints captures for a rule is a constant also in second derivatives', () => {
  const w = sn.tensor([[1, 2, 3], [0, 1, 0], [0.5, 0.2, 0.1]], { dtype: 'float64' });
  const f = (t) => w.matmul(t.sin()).sin();
  const second = (g) => sn.grad((t) => sn.grad((u) => sn.scan((c, v) => [g(c.mul(v)), null], u, [1, 2, 3], { checkpoint: 2 })[0].sum())(t).sum())(x);
  const expected = list(second(f));
  for (const wrap of Object.values(wrapped)) assertClose(second(wrap(f)), expected, 1e-12);
});

test('trees, integers and numbers as arguments and results', () => {
  const f = sn.customVjp(({ a, n }, [b], c) => ({ y: a.mul(b).mul(c), n: n.add(1) }), {
    forward: ({ a, n }, [b], c) => [{ y: a.mul(b).mul(c), n: n.add(1) }, [a, b]],
    backward: ([a, b], ct) => {
      assert.equal(ct.n, null);
      return [{ a: ct.y.mul(b), n: null }, [ct.y.mul(a).mul(7)], null];
    },
  });
  const n = sn.tensor([1, 2], { dtype: 'int32' });
  const [a, b] = [sn.tensor(3), sn.tensor(5)];
  const made = f({ a, n }, [b], 2);
  assert.deepEqual([made.y.item(), list(made.n)], [30, [2, 3]]);
  const grads = sn.grad((a, b) => f({ a, n }, [b], 2).y, { argnums: [0, 1] })(a, b);
  assert.deepEqual(grads.map((t) => t.item()), [5, 21]);
  // null and missing parts are zeros
  const none = sn.customVjp((t, u) => t.mul(u), { forward: (t, u) => [t.mul(u), t], backward: (t, ct) => [null, ct] });
  assert.deepEqual(sn.grad((t, u) => none(t, u), { argnums: [0, 1] })(a, b).map((t) => t.item()), [0, 1]);
  const g = sn.customJvp((t, k) => t.mul(k), { jvp: ([t, k], [dt, dk]) => [t.mul(k), dt.mul(k).add(dk.mul(t))] });
  assert.equal(sn.grad((t) => g(t, 4))(a).item(), 4);
  assert.equal(sn.grad((t) => g(t, t))(a).item(), 6);
});

test('what examples share gets the sum of their cotangents', () => {
  const f = sn.customVjp((t, w) => t.mul(w), { forward: (t, w) => [t.mul(w), [t, w]], backward: ([t, w], ct) => [ct.mul(w), ct.mul(t)] });
  const each = sn.vmap(f, { inAxes: [0, null] });
  const w = sn.tensor(3, { dtype: 'float64' });
  assert.equal(sn.grad((w) => each(x, w).sum())(w).item(), -0.5);
  assert.deepEqual(list(sn.grad((t) => each(t, w).sum())(x)), [3, 3, 3]);
  const j = sn.vmap(sn.customJvp((t, w) => t.mul(w), { jvp: ([t, w], [dt, dw]) => [t.mul(w), dt.mul(w).add(dw.mul(t))] }), { inAxes: [0, null] });
  assert.equal(sn.grad((w) => j(x, w).sum())(w).item(), -0.5);
  assert.deepEqual(list(sn.jvp((w) => j(x, w), [w], [sn.onesLike(w)])[1]), list(x));
});

test('a straight-through estimator and a norm without NaN at zero learn', () => {
  const round = sn.customVjp((t) => t.round(), { forward: (t) => [t.round(), null], backward: (_, ct) => [ct] });
  assert.deepEqual(list(sn.grad((t) => round(t).mul(t).sum())(sn.tensor([0.4, 1.6]))), [0.4, 3.6].map(Math.fround).map((v) => v));
  const norm = sn.customVjp((t) => t.square().sum().sqrt(), {
    forward: (t) => {
      const y = t.square().sum().sqrt();
      return [y, [t, y]];
    },
    backward: ([t, y], ct) => [sn.where(y.greater(0), ct.div(y), 0).mul(t)],
  });
  assert.deepEqual(list(sn.jit(sn.grad(norm))(sn.zeros([2]))), [0, 0]);
});

test('half floats: the rule sees their dtype', () => {
  const f = sn.customVjp((t) => t.mul(2), {
    forward: (t) => [t.mul(2), null],
    backward: (_, ct) => {
      assert.equal(ct.dtype, 'float16');
      return [ct.mul(3)];
    },
  });
  assert.deepEqual(list(sn.grad((t) => f(t).sum())(sn.tensor([1, 2], { dtype: 'float16' }))), [3, 3]);
});

test('rules that are none', () => {
  const wrong = (rule, text) => assertThrows(() => sn.grad((t) => sn.customVjp((u) => u.square(), rule)(t).sum())(x), sn.SinterError, { message: text });
  wrong({ forward: (t) => t.square(), backward: () => [] }, /forward returned .*, expected \[y, residuals\]/);
  wrong({ forward: (t) => [t.sum(), null], backward: (_, ct) => [ct] }, /result is float64 \(3,\), forward returned float64 \(\)/);
  wrong({ forward: (t) => [[t], null], backward: (_, ct) => [ct] }, /forward returned/);
  wrong({ forward: (t) => [t.square(), null], backward: (_, ct) => ct }, /the cotangent is .*, expected an array of 1/);
  wrong({ forward: (t) => [t.square(), null], backward: (_, ct) => [ct.sum()] }, /the cotangent of argument 0 has shape \(\), expected \(3,\)/);
  wrong({ forward: (t) => [t.square(), null], backward: (_, ct) => [ct.astype('float32')] }, /cotangent of argument 0 is float32, expected float64/);
  wrong({ forward: async (t) => [t.square(), null], backward: (_, ct) => [ct] }, /forward returned a Promise/);
  assertThrows(() => sn.customVjp((t) => t, { forward: (t) => [t, null] }), sn.SinterError, { message: /customVjp\(f, \{ forward/ });
  assertThrows(() => sn.customJvp((t) => t, { vjp: () => 0 }), sn.SinterError, { message: /there is no option 'vjp'/ });
  const bent = sn.customJvp((t) => t.square(), { jvp: ([t], [dt]) => [t.square(), dt.square()] });
  assertThrows(() => sn.grad((t) => bent(t).sum())(x), sn.SinterError, { message: /not linear in the tangents/ });
  const captured = (w) => sn.customVjp((t) => t.mul(w), { forward: (t) => [t.mul(w), null], backward: (_, ct) => [ct.mul(w)] })(x).sum();
  assertThrows(() => sn.grad(captured)(ones), sn.SinterError, { message: /captures a tensor that is differentiated by: make it an argument/ });
  const endless = sn.customJvp((t) => t.square(), { jvp: ([t], [dt]) => [endless(t), dt.mul(t).mul(2)] });
  assertThrows(() => sn.grad((t) => endless(t).sum())(x), sn.SinterError, { op: 'customJvp', message: /calls the function that it is the rule of/ });
  // and nothing is lost
  assert.deepEqual(list(sn.grad((t) => byVjp(t).sum())(x)), [5, 10, -20]);
});
