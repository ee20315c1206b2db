// Loops that carry arrays of structs, field by field: values and derivatives against plain JavaScript, and the same bits
// with the pass that makes planes of them and without.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertSlopes } from './support.mjs';

await sn.init({ threads: 2 });

const N = 37;
const H = 0.1;
const states = (n = N) => Array.from({ length: n }, (_, i) => [Math.sin(i), Math.cos(3 * i), i / n, 0.5, 1 + (i % 3)]);

/** (n, 5) -> its fields, and back. */
const fields = (s) => Array.from({ length: 5 }, (_, k) => s.slice([0, k], [s.shape[0], 1]).reshape([s.shape[0]]));
const slopes = ([x, y, u, v, m]) => {
  const pull = x.square().add(y.square()).add(m).rsqrt();
  return [u, v, x.mul(pull).neg(), y.mul(pull).neg(), m.mul(0)];
};

const euler = (s) => s.add(sn.stack(slopes(fields(s)), { axis: 1 }).mul(H));
const leap = (s) => {
  const [x, y, u, v, m] = fields(s);
  const [, , a, b] = slopes([x, y, u, v, m]);
  const nextU = u.add(a.mul(H)), nextV = v.add(b.mul(H));
  return sn.stack([x.add(nextU.mul(H)), y.add(nextV.mul(H)), nextU, nextV, m], { axis: 1 });
};

const plainEuler = ([x, y, u, v, m]) => {
  const pull = 1 / Math.sqrt(x * x + y * y + m);
  return [x + H * u, y + H * v, u - H * x * pull, v - H * y * pull, m];
};
const plainLeap = ([x, y, u, v, m]) => {
  const pull = 1 / Math.sqrt(x * x + y * y + m);
  const nextU = u - H * x * pull, nextV = v - H * y * pull;
  return [x + H * nextU, y + H * nextV, nextU, nextV, m];
};

const rounds = (step, n) => (s) => sn.foriLoop(0, n, (_, c) => step(c), s);
const plainRounds = (step, n) => (rows) => {
  let now = rows;
  for (let i = 0; i < n; i += 1) now = now.map(step);
  return now;
};

/** How often a program's loops are cut. */
const cuts = (f, ...args) =>
  sn.inspect(f)(...args).stages.flatMap(({ rewrites }) => rewrites).filter(({ rule }) => rule === 'planes_of_structs').length;

/** Results of f with the pass and without: the same bits. */
const bothWays = (f, ...args) => {
  const [on, off] = [true, false].map((planes) => [sn.jit(f, { passes: { planes } })(...args)].flat(Infinity));
  assert.equal(on.length, off.length);
  on.forEach((t, k) => assert.deepEqual(t.dataSync(), off[k].dataSync(), `result ${k}`));
  return on;
};

test('states that a loop reads field by field are carried as planes', () => {
  const s = sn.tensor(states());
  for (const [step, plain] of [[euler, plainEuler], [leap, plainLeap]]) {
    for (const n of [0, 1, 2, 9]) {
      const [made] = bothWays(rounds(step, n), s);
      assertClose(made, plainRounds(plain, n)(states()), 1e-5);
    }
    assert.equal(cuts(rounds(step, 9), s), 1);
    assert.equal(cuts(rounds((c) => step(c).add(c.sum({ axis: 1, keepdims: true })), 9), s), 0, 'it is read as a whole');
    assert.equal(cuts(rounds(step, 9), sn.tensor(states(2))), 0, 'it is tiny');
  }
});

test('of no states and of one', () => {
  for (const n of [0, 1]) {
    const s = sn.zeros([n, 5]).add(0.5);
    const [made] = bothWays(rounds(leap, 3), s);
    assertClose(made, plainRounds(plainLeap, 3)(Array.from({ length: n }, () => Array(5).fill(0.5))), 1e-5);
  }
});

test('derivatives of such loops stack planes', () => {
  const s = sn.tensor(states());
  for (const step of [euler, leap]) {
    const loss = (s) => rounds(step, 5)(s).square().sum();
    assert.ok(cuts(sn.grad(loss), s) >= 2, 'both loops');
    bothWays(sn.valueAndGrad(loss), s);
    bothWays((s, t) => sn.jvp(rounds(step, 5), [s], [t]), s, s.mul(0.5));
    bothWays(sn.grad((s) => sn.grad(loss)(s).square().sum()), s);
    assertSlopes(sn, loss, [{ data: states(13).flat(), shape: [13, 5] }]);
    const long = sn.grad(loss);
    const row = 7;
    const one = sn.grad(loss)(sn.tensor([states()[row]]));
    assertClose(long(s).slice([row, 0], [1, 5]), one.toArray(), 1e-5);
  }
});

test('a history of the states, whole or of a field', () => {
  const s = sn.tensor(states());
  const history = (s) => sn.scan((c) => [leap(c), leap(c)], s, null, { length: 6 });
  const [last, all] = bothWays(history, s);
  let now = states();
  const rows = Array.from({ length: 6 }, () => (now = now.map(plainLeap)));
  assertClose(last, rows[5], 1e-5);
  assertClose(all, rows, 1e-5);
  const [places] = bothWays((s) => history(s)[1].slice([0, 0, 0], [6, N, 1]), s);
  assertClose(places, rows.map((round) => round.map(([x]) => [x])), 1e-5);
  bothWays(sn.grad((s) => history(s)[1].square().sum()), s);
});

test('a while loop whose test reads a field, other carries, and loops in loops', () => {
  const s = sn.tensor(states());
  const while_ = (s) => sn.whileLoop(([i, c]) => i.less(20).logicalAnd(fields(c)[0].max().less(0.9)), ([i, c]) => [i.add(1), leap(c)], [0, s]);
  assert.equal(cuts(while_, s), 1);
  bothWays(while_, s);
  const mixed = (s, w) =>
    sn.scan(([c, w]) => [[leap(c), w.matmul(w).tanh()], null], [s, w], null, { length: 4 })[0];
  assert.equal(cuts(mixed, s, sn.eye(16)), 1);
  bothWays(mixed, s, sn.eye(16).mul(0.5));
  const nested = (s) => sn.foriLoop(0, 3, (_, c) => sn.foriLoop(0, 2, (_, d) => leap(d), c), s);
  const [made] = bothWays(nested, s);
  assertClose(made, plainRounds(plainLeap, 6)(states()), 1e-5);
  bothWays(sn.grad((s) => nested(s).square().sum()), s);
});

test('under vmap, and in other dtypes', () => {
  const batch = sn.stack([sn.tensor(states()), sn.tensor(states()).mul(0.5)], { axis: 0 });
  const each = sn.vmap(rounds(leap, 4));
  assert.equal(cuts(each, batch), 1);
  const [made] = bothWays(each, batch);
  assertClose(made.slice([0, 0, 0], [1, N, 5]), [plainRounds(plainLeap, 4)(states())], 1e-5);
  bothWays(sn.grad((b) => each(b).square().sum()), batch);
  for (const dtype of ['float64', 'float16', 'bfloat16', 'int32', 'int8', 'uint8', 'bool']) {
    const s = sn.tensor(states().map((row) => row.map((x) => Math.round(4 * x))), { dtype: 'int32' }).astype(dtype);
    const turn = (c) => {
      const [a, b, ...rest] = fields(c);
      const next = dtype === 'bool' ? a.logicalXor(b) : a.add(b).astype(dtype);
      return sn.stack([next, a, ...rest], { axis: 1 });
    };
    bothWays(rounds(turn, 3), s);
    assert.equal(cuts(rounds(turn, 3), s), 1, dtype);
  }
});
