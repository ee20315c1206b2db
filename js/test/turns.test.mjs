// Without workers await lets the event loop turn: timers fire within a long program and among many short
// ones; and whatever reads in between is right.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import * as sn from '../dist/index.js';

await sn.init({ wasm: new URL('../dist/sinter.wasm', import.meta.url) });

/** Counts turns of the event loop while something is awaited. */
const turnsWhile = async (promise) => {
  let [turns, pending] = [0, true];
  const count = () => {
    turns++;
    if (pending) setImmediate(count);
  };
  setImmediate(count);
  const value = await promise.finally(() => (pending = false));
  return { value, turns };
};

const n = 500;
const x = sn.tensor(Float32Array.from({ length: n * n }, (_, i) => Math.sin(i) / 20), { shape: [n, n] });

/** Some hundred milliseconds: products, which are cut, and sorts. */
const longWork = (k = 0) => sn.tidy(() => {
  let y = x.add(k);
  for (let i = 0; i < 60; i++) y = y.matmul(x).tanh();
  return sn.sort(y).sum(0);
});
const right = longWork().dataSync();

test('one long program is computed in many turns, with the bits of one', async () => {
  const { value, turns } = await turnsWhile(longWork().data());
  assert.deepEqual(value, right);
  assert.ok(turns > 5, `${turns} turns`);
});

test('a single long kernel as well', async () => {
  const big = sn.ones([1800, 1800]).mul(0.5); // 12 GFLOP: far more than 10 ms on any machine
  big.dataSync();
  const { value, turns } = await turnsWhile(big.matmul(big).data());
  assert.equal(value[0], 450);
  assert.ok(turns > 3, `${turns} turns`);
});

test('loops of many rounds as well: of scalars, of kernels, and in each other', async () => {
  const int = (n) => sn.tensor(n, { dtype: 'int32' });
  const loops = {
    scalars: (n) => sn.whileLoop((i) => i.less(n), (i) => i.add(1), int(0)),
    kernels: (n) => sn.foriLoop(0, n, (_, v) => sn.sort(v.mul(-1)), sn.ones([2000])),
    one: (n) => sn.foriLoop(0, n, (_, v) => v.mul(-1), sn.ones([2000])),
    nested: (n) => sn.foriLoop(0, n, (_, v) => sn.foriLoop(0, 3, (_, v) => v.mul(-1), v), sn.ones([2000])),
  };
  const rounds = { scalars: 300_000_000, kernels: 20_000, one: 400_000, nested: 100_000 };
  const first = { scalars: 300_000_000, kernels: 1, one: 1, nested: 1 };
  for (const [name, loop] of Object.entries(loops)) {
    loop(int(2)).dataSync();
    const { value, turns } = await turnsWhile(loop(int(rounds[name])).data());
    assert.equal(value[0], first[name], name);
    assert.ok(turns > 3, `${name}: ${turns} turns`);
  }
  // one that nobody keeps, and what is computed beside it
  const left = loops.scalars(int(rounds.scalars));
  const promise = left.data();
  left.dispose();
  assert.equal((await longWork(4).data()).length, n);
  assert.equal((await promise)[0], rounds.scalars);
});

test('400 awaited steps leave turns to others', async () => {
  const step = sn.jit((v) => v.matmul(x).tanh());
  let v = sn.ones([60, n]);
  const { turns } = await turnsWhile((async () => {
    for (let i = 0; i < 400; i++) {
      v = sn.tidy(() => step(v));
      await v.data();
    }
  })());
  assert.ok(turns > 5, `${turns} turns`);
});

test('synchronous reads in the middle of a run finish it first', async () => {
  const work = longWork(1);
  const promise = work.data();
  const other = longWork(6).dataSync();
  const now = work.dataSync();
  assert.deepEqual(await promise, now);
  assert.deepEqual(longWork(1).dataSync(), now);
  assert.deepEqual(await longWork(6).data(), other);
});

test('many readers of one tensor, and others beside it', async () => {
  const work = longWork(2);
  const readers = [work.data(), work.data(), work.sum().data(), longWork(3).data(), work.data()];
  assert.equal(work.shape[0], n);
  work.dispose();
  const [first, second, sum, other, third] = await Promise.all(readers);
  assert.deepEqual(second, first);
  assert.deepEqual(third, first);
  assert.equal(sum[0], sn.tensor(first).sum().item());
  assert.deepEqual(other, longWork(3).dataSync());
});

test('more runs than can be queued, and one behind them', async () => {
  const works = Array.from({ length: 150 }, (_, i) => x.mul(i).sum(0));
  const values = await Promise.all(works.map((t) => t.data()));
  works.forEach((t, i) => assert.deepEqual(values[i], t.dataSync()));
});

test('a profile of runs in turns counts every kernel once', async () => {
  const inTurns = await sn.profile(() => longWork(4).data());
  const atOnce = await sn.profile(() => longWork(4).dataSync());
  assert.equal(inTurns.steps, atOnce.steps);
  assert.ok(inTurns.runs.length > 1);
  assert.equal(atOnce.runs.length, 1);
});

after(() => assert.equal(sn.info().threads, 1));
