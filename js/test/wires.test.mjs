// Layers of soft gates over constant wires, in steps of a loop: values and gradients against plain JavaScript, with wires
// that repeat, inputs that no wire leads to, on one cell and on many.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';

await sn.init();

const STEPS = 3;

let seed = 1;
const below = (n) => {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  return Math.floor((seed / 0x80000000) * n);
};
const numbers = (n) => Array.from({ length: n }, () => below(2001) / 1000 - 1);
const matrix = (rows, columns) => Array.from({ length: rows }, () => numbers(columns));

/* ---- plain JavaScript ---- */

/** y = c0 + c1 a + c2 b + c3 ab for each gate and cell. */
const plainLayer = (h, { a, b }, c) =>
  a.map((_, g) => h[a[g]].map((x, cell) => c[0][g] + c[1][g] * x + c[2][g] * h[b[g]][cell] + c[3][g] * x * h[b[g]][cell]));

/** What dy brings: to h, and added to dc. */
const plainBack = (h, { a, b }, c, dy, dc) => {
  const dh = h.map((row) => row.map(() => 0));
  dy.forEach((row, g) => row.forEach((d, cell) => {
    const x = h[a[g]][cell], y = h[b[g]][cell];
    [1, x, y, x * y].forEach((factor, k) => { dc[k][g] += d * factor; });
    dh[a[g]][cell] += d * (c[1][g] + c[3][g] * y);
    dh[b[g]][cell] += d * (c[2][g] + c[3][g] * x);
  }));
  return dh;
};

/** The sum of the last step's squares, its gradient by what it starts from and by all coefficients. */
const plain = (start, wires, coefficients) => {
  const met = [start];
  for (let i = 0; i < STEPS * wires.length; i += 1)
    met.push(plainLayer(met.at(-1), wires[i % wires.length], coefficients[i % wires.length]));
  const last = met.pop();
  const loss = last.flat().reduce((sum, x) => sum + x * x, 0);
  const dc = coefficients.map((c) => c.map((list) => list.map(() => 0)));
  let d = last.map((row) => row.map((x) => 2 * x));
  for (let i = STEPS * wires.length - 1; i >= 0; i -= 1)
    d = plainBack(met.pop(), wires[i % wires.length], coefficients[i % wires.length], d, dc[i % wires.length]);
  return { loss, dh: d, dc };
};

/* ---- the same as tensors ---- */

const indices = (list) => sn.tensor(Int32Array.from(list), { dtype: 'int32' });
const valueOf = (a, b, [c0, c1, c2, c3]) => c0.add(c1.mul(a)).add(b.mul(c2.add(c3.mul(a))));

const forms = {
  rows: (h, { a, b }, c) => valueOf(h.take(indices(a)), h.take(indices(b)), c),
  both: (h, { a, b }, c) => valueOf(...h.take(indices([...a, ...b])).split(2), c),
  ruled: (h, { a, b }, c) => {
    const all = indices([...a, ...b]), others = indices([...b, ...a]);
    const gate = indices([...a, ...a].map((_, i) => i % a.length));
    const f = (x, ...parts) => forms.rows(x, { a, b }, parts);
    return sn.customVjp(f, {
      forward: (...args) => [f(...args), args],
      backward: ([x, , c1, c2, c3], dy) => {
        const y = x.take(indices(b)), dx = dy.mul(x.take(indices(a)));
        const sum = (terms) => terms.sum({ axis: 1, keepdims: true });
        const slope = sn.concat([c1, c2]).add(sn.concat([c3, c3]).mul(x.take(others)));
        return [sn.zeros(x.shape).scatterAdd(all, dy.take(gate).mul(slope)), sum(dy), sum(dx), sum(dy.mul(y)), sum(dx.mul(y))];
      },
    })(h, ...c);
  },
};

const lossOf = (form, wires) => (start, coefficients) => {
  const step = sn.checkpoint((h, all) => wires.reduce((x, w, i) => forms[form](x, w, all[i]), h));
  const [last] = sn.scan((h) => [step(h, coefficients), null], start, null, { length: STEPS });
  return last.square().sum();
};

const assertNear = (got, want, what) => {
  const most = Math.max(1, ...want.map(Math.abs));
  got.forEach((x, i) => assert.ok(Math.abs(x - want[i]) <= 2e-5 * most, `${what}[${i}] is ${x}, expected ${want[i]}`));
  assert.equal(got.length, want.length, what);
};

for (const [inputs, gates, cells] of [[1, 1, 1], [5, 3, 2], [4, 9, 17], [12, 7, 64], [9, 30, 300], [3, 5, 2500]]) {
  test(`gates on ${inputs} inputs, ${gates} gates, ${cells} cells`, () => {
    const layer = (from, to) => ({ a: Array.from({ length: to }, () => below(from)), b: Array.from({ length: to }, () => below(from)) });
    const wires = [layer(inputs, gates), layer(gates, inputs)];
    const start = matrix(inputs, cells);
    const coefficients = wires.map(({ a }) => Array.from({ length: 4 }, () => numbers(a.length).map((x) => x / 2)));
    const want = plain(start, wires, coefficients);
    for (const form of Object.keys(forms)) {
      const made = coefficients.map((c) => c.map((list) => sn.tensor(list.map((x) => [x]))));
      const f = sn.valueAndGrad(lossOf(form, wires), { argnums: [0, 1] });
      const [loss, [dh, dc]] = sn.jit(f)(sn.tensor(start), made);
      const [, [byVm]] = sn.jit(f, { jit: false })(sn.tensor(start), made);
      assert.deepEqual(dh.dataSync(), byVm.dataSync(), `${form}: the strip VM has other bits`);
      assertNear([loss.item()], [want.loss], `${form}: loss`);
      assertNear([...dh.dataSync()], want.dh.flat(), `${form}: dh`);
      dc.forEach((c, i) => c.forEach((x, k) => assertNear([...x.dataSync()], want.dc[i][k], `${form}: dc${k} of layer ${i}`)));
    }
  });
}

test('layers of gates on no cells', () => {
  const wires = [{ a: [0, 2, 2], b: [1, 1, 0] }];
  const coefficients = [Array.from({ length: 4 }, () => sn.ones([3, 1]))];
  for (const form of Object.keys(forms)) {
    const [dh, dc] = sn.jit(sn.grad(lossOf(form, wires), { argnums: [0, 1] }))(sn.zeros([3, 0]), coefficients);
    assert.deepEqual(dh.shape, [3, 0]);
    assert.deepEqual(dc[0][3].toArray(), [[0], [0], [0]]);
  }
});

test('the gradient of a step reads rows where they lie, and scatters nothing', () => {
  const wires = [{ a: [0, 2, 2, 1], b: [1, 1, 0, 3] }];
  const f = sn.grad((h, c) => forms.ruled(h, wires[0], c).square().sum(), { argnums: [0, 1] });
  const seen = sn.inspect(f)(sn.zeros([4, 64]), Array.from({ length: 4 }, () => sn.ones([4, 1])));
  const kinds = seen.kernels.map(({ name }) => name);
  assert.ok(!kinds.some((name) => /scatter|^gather/.test(name)), kinds.join(', '));
  seen.dispose();
});
