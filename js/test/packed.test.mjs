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
