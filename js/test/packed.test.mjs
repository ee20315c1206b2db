// Weights that a compiled function meets again stay packed: the same results, whatever becomes of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';

await sn.init();

const [M, K, N] = [48, 300, 200];
const BYTES = K * N * 4;
const input = (i) => sn.random.normal(sn.random.key(i), [M, K]);
const weights = (i) => sn.random.normal(sn.random.key(100 + i), [K, N]);
const make = () => sn.jit((x, w) => x.matmul(w).add(1).relu());
const expected = (x, w) => x.matmul(w).add(1).relu().dataSync();

test('from the second call on memory holds them packed; a text of the kernel says so', () => {
  const f = make();
  const [x, w] = [input(0), weights(0)];
  f(x, w).dispose();
  const before = sn.memory().bytesInUse;
  f(x, w).dispose();
  const more = sn.memory().bytesInUse - before;
  assert.ok(more >= BYTES && more < 1.2 * BYTES, `${more} bytes more`);
  for (let i = 0; i < 3; i++) {
    const other = input(i);
    assert.deepEqual(f(other, w).dataSync(), expected(other, w));
  }
  const held = sn.memory().bytesInUse;
  f.dispose();
  assert.ok(sn.memory().bytesInUse <= held - BYTES);
  const { stages } = sn.inspect((a, b) => a.matmul(b))(x, w);
  assert.match(stages.find(({ name }) => name === 'kernels').text, /keeps B/);
});

test('others, disposed ones and new ones in their memory', () => {
  const f = make();
  const x = input(1);
  for (let i = 0; i < 12; i++) {
    const w = weights(i);
    const want = expected(x, w);
    for (let n = 0; n < 1 + (i % 4); n++) assert.deepEqual(f(x, w).dataSync(), want, `weights ${i}, call ${n}`);
    w.dispose();
  }
});

test('weights that steps change in place, evaluated in between', async () => {
  const evaluate = make();
  const step = sn.jit((w) => w.mul(0.5), { donate: [0] });
  const x = input(2);
  let w = weights(2);
  for (let i = 0; i < 4; i++) {
    const want = expected(x, w);
    const pending = [evaluate(x, w), evaluate(x, w), evaluate(x, w)].map((y) => y.data());
    const next = step(w);
    for (const y of await Promise.all(pending)) assert.deepEqual(y, want);
    w = next;
    for (let n = 0; n < 3; n++) assert.deepEqual(evaluate(x, w).dataSync(), expected(x, w));
  }
});

test('a loop packs what no round changes once a run, and anew in each', () => {
  const rounds = 6;
  const loop = sn.jit((h, w, v) => sn.scan((s) => [s.matmul(w).matmul(v).mul(0.01), s.matmul(w).sum()], h, null, { length: rounds }));
  const nested = sn.jit((h, w) => sn.foriLoop(0, 3, (i, s) => sn.scan((c) => [c.matmul(w).mul(0.1), null], s, null, { length: 2 })[0].add(i.astype('float32')), h));
  const written = (h, w, v) => {
    const sums = [];
    for (let i = 0; i < rounds; i++) {
      sums.push(h.matmul(w).sum());
      h = h.matmul(w).matmul(v).mul(0.01);
    }
    return [h, sn.stack(sums)];
  };
  const nestedWritten = (h, w) => {
    for (let i = 0; i < 3; i++) {
      for (let k = 0; k < 2; k++) h = h.matmul(w).mul(0.1);
      h = h.add(i);
    }
    return h;
  };
  const x = input(3);
  const v = sn.random.normal(sn.random.key(7), [N, K]);
  for (let i = 0; i < 6; i++) {
    const w = weights(i);
    for (let n = 0; n < 2; n++) {
      const [y, sums] = loop(x, w, v);
      const [wantY, wantSums] = written(x, w, v);
      assert.deepEqual(y.dataSync(), wantY.dataSync(), `weights ${i}, run ${n}`);
      assert.deepEqual(sums.dataSync(), wantSums.dataSync());
      const square = sn.random.normal(sn.random.key(50 + i + n), [K, K]);
      assert.deepEqual(nested(x, square).dataSync(), nestedWritten(x, square).dataSync());
    }
    w.dispose();
  }
});
