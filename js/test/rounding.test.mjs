// Mixed precision of deterministic programs: jit rounds to 16 bits what plain JavaScript rounds op by op.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { FIELDS, HALVES, nearest } from './halves.mjs';
import { assertClose } from './support.mjs';

await sn.init({ deterministic: true });
const { random } = sn;

// ---- the judge --------------------------------------------------------------------------------------

const product = (a, b) => a.map((row) => b[0].map((_, j) => row.reduce((sum, x, k) => sum + x * b[k][j], 0)));
const flip = (a) => a[0].map((_, j) => a.map((row) => row[j]));
const each = (f, a, ...more) => a.map((x, i) => (Array.isArray(x) ? each(f, x, ...more.map((m) => m[i])) : f(x, ...more.map((m) => m[i]))));

/** Loss and gradients of two layers, each op rounded as the dtype says; sums and all that is not a product in 64 bits. */
function judged(dtype, x, { w, b, v }, labels) {
  const round = (a) => each(nearest(dtype), a);
  const [x16, w16, v16] = [x, w, v].map(round);
  const y = round(product(x16, w16)).map((row) => row.map((p, j) => Math.fround(p + b[j])));
  const h = round(each((p) => Math.max(p, 0), y));
  const logits = round(product(h, v16));
  const shares = logits.map((row) => row.map((a) => Math.exp(a) / row.reduce((sum, c) => sum + Math.exp(c), 0)));
  const loss = labels.reduce((sum, label, i) => sum - Math.log(shares[i][label]), 0) / labels.length;
  const dlogits = round(shares.map((row, i) => row.map((p, c) => (p - (c === labels[i] ? 1 : 0)) / labels.length)));
  const dy = each((d, p) => (p > 0 ? d : 0), round(product(dlogits, flip(v16))), y);
  const db = flip(dy).map((column) => column.reduce((sum, d) => sum + d, 0));
  return { loss, w: round(product(flip(x16), dy)), b: db, v: round(product(flip(h), dlogits)) };
}

const twoLayers = ({ w, b, v }, x, labels) => sn.softmaxCrossEntropy(x.matmul(w).add(b).relu().matmul(v), labels).mean();
const floats = (shape, seed) => random.uniform(random.key(seed), shape, { minval: -1, maxval: 1 });
const LAYERS = { w: floats([6, 16], 1), b: floats([16], 2), v: floats([16, 5], 3) };
const X = floats([24, 6], 4);
const LABELS = Array.from({ length: 24 }, (_, i) => (i * 7) % 5);
const arraysOf = (tree) => sn.tree.map((t) => t.toArray(), tree);

/** Nearly all numbers as expected, the others one unit of the dtype aside: a sum may have had another order. */
function assertRounded(dtype, actual, expected) {
  const [digits, least] = FIELDS[dtype];
  const [a, e] = [[actual].flat(Infinity), [expected].flat(Infinity)];
  assert.equal(a.length, e.length);
  const others = a.filter((x, i) => x !== e[i]);
  assert.ok(others.length <= 0.05 * a.length + 1, `${others.length} of ${a.length} are others`);
  a.forEach((x, i) => {
    const unit = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(e[i]) || 2 ** least)), least) - digits + 1);
    assert.ok(Math.abs(x - e[i]) <= 2 * unit, `element ${i}: ${x}, expected ${e[i]}`);
  });
}

for (const precision of HALVES) {
  test(`${precision}: values and gradients are those of plain JavaScript that rounds op by op`, () => {
    const both = sn.jit(sn.valueAndGrad(twoLayers), { precision });
    const [loss, grads] = both(LAYERS, X, LABELS);
    const expected = judged(precision, X.toArray(), arraysOf(LAYERS), LABELS);
    assertClose(loss, expected.loss, 1e-5);
    assertRounded(precision, grads.w.toArray(), expected.w);
    assertRounded(precision, grads.v.toArray(), expected.v);
    assertClose(grads.b, expected.b, 1e-6);
    assert.deepEqual(Object.values(grads).map((g) => g.dtype), ['float32', 'float32', 'float32']);
  });
}

test('loops, conditions, checkpoints and vmap round as the ops written out do', () => {
  const w = floats([8, 8], 1);
  const x = floats([3, 8], 2);
  const layer = (x, w) => x.matmul(w).tanh().astype('float32');
  const forms = {
    'written out': (w, x) => layer(layer(layer(x, w), w), w),
    scan: (w, x) => sn.scan((x) => [layer(x, w), null], x, null, { length: 3 })[0],
    checkpoint: (w, x) => sn.checkpoint((x, w) => layer(layer(layer(x, w), w), w))(x, w),
    cond: (w, x) => layer(layer(sn.cond(x.sum().less(1e9), (x) => layer(x, w), (x) => x, x), w), w),
    vmap: (w, x) => sn.vmap((row) => layer(layer(layer(row.reshape([1, 8]), w), w), w).reshape([8]))(x),
  };
  for (const precision of HALVES) {
    const run = (f) => sn.jit(sn.valueAndGrad((w, x) => f(w, x).square().sum()), { precision })(w, x);
    const [value, grad] = run(forms['written out']);
    for (const [name, f] of Object.entries(forms)) {
      const [again, slope] = run(f);
      assertClose(again, value.item(), 1e-6);
      assertClose(slope, grad.toArray(), name === 'checkpoint' ? 1e-6 : 2 ** (3 - FIELDS[precision][0]));
    }
  }
});
