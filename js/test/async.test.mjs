// await data() leaves the caller's thread free; a worker that dies rejects, never hangs, never lies.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate, setTimeout } from 'node:timers/promises';
import * as sn from '../dist/index.js';
import { assertRejects } from './support.mjs';

// Every worker that the package starts: the driver, then the others.
const workers = [];
const threads = process.getBuiltinModule('node:worker_threads');
const RealWorker = threads.Worker;
threads.Worker = class extends RealWorker {
  constructor(...args) {
    super(...args);
    workers.push(this);
  }
};

await sn.init({ threads: 3 });

/** Ends a worker. The timer holds the process: Sinter lets go of its driver, also of one that is ending,
 * as soon as nobody waits for a result. */
async function kill(worker) {
  const hold = setInterval(() => {}, 1000);
  await worker?.terminate();
  clearInterval(hold);
}

/** Work of some hundred milliseconds. */
const longWork = () => sn.tidy(() => {
  let x = sn.ones([700, 700]).mul(1 / 700);
  for (let i = 0; i < 12; i++) x = x.matmul(x);
  return x.sum();
});

test('data does not block the event loop', async () => {
  const work = longWork();
  let ticks = 0;
  let pending = true;
  const begin = performance.now();
  const result = work.data().finally(() => {
    pending = false;
  });
  const recorded = performance.now() - begin;
  while (pending) {
    await setImmediate();
    ticks++;
  }
  const total = performance.now() - begin;
  assert.ok(Math.abs((await result)[0] - 700) < 1);
  assert.ok(recorded < total / 2, `data returned after ${recorded} of ${total} ms`);
  assert.ok(ticks > 5, `${ticks} ticks`);
});

test('many reads in flight, in any order, among synchronous ones', async () => {
  const x = sn.tensor([1, 2, 3]);
  const promises = Array.from({ length: 100 }, (_, i) => x.mul(i).data());
  assert.equal(x.sum().item(), 6);
  const results = await Promise.all(promises);
  results.forEach((data, i) => assert.deepEqual([...data], [i, 2 * i, 3 * i]));
});

test('a synchronous read of what an asynchronous one computes', async () => {
  const work = longWork();
  const promise = work.data();
  const now = work.item();
  assert.equal((await promise)[0], now);
});

test('many readers of one tensor that is not computed yet', async () => {
  const work = longWork();
  const half = sn.ones([600, 600]).matmul(sn.ones([600, 600])).astype('float16');
  const step = sn.jit((x) => x.matmul(x).sum(0));
  const output = step(sn.ones([600, 600]));
  const readers = [work, half, output].flatMap((t) => [t.data(), t.data()]);
  const now = output.dataSync();
  readers.push(half.data(), output.data(), sn.profile(() => work.data()));
  for (const t of [work, half, output]) t.dispose();
  const [a, b, c, d, e, f, g, h] = await Promise.all(readers);
  assert.ok(Math.abs(a[0] - 700) < 1);
  assert.deepEqual(b, a);
  assert.deepEqual([c[0], d[0], g[0]], [600, 600, 600]);
  for (const data of [e, f, h]) assert.deepEqual(data, now);
});

test('a killed driver rejects what is pending; the next call works', async () => {
  const before = longWork().item();
  const promise = longWork().data();
  const started = workers.length;
  await kill(workers[0]);
  await assertRejects(promise, sn.WorkerError, { code: 'worker', message: /driver/ });
  assert.equal(longWork().item(), before);
  assert.ok(workers.length > started, 'the driver is replaced');
  await setTimeout(200);
  assert.equal((await longWork().data())[0], before);
});

test('a killed worker', async () => {
  const before = longWork().item();
  for (let round = 0; round < 5; round++) {
    const victim = workers.findLast((worker) => worker.threadId > 0);
    const promise = longWork().data().then(([value]) => value, (error) => error);
    await setTimeout(round * 7);
    await kill(victim);
    const settled = await promise;
    if (settled instanceof Error) assert.ok(settled instanceof sn.WorkerError);
    else assert.equal(settled, before);
    assert.equal(longWork().item(), before);
    await setTimeout(100);
  }
  assert.equal((await longWork().data())[0], before);
});

test('workers killed at random moments: everything settles, nothing is wrong', async () => {
  const work = () => sn.tidy(() => {
    let x = sn.ones([300, 300]).mul(1 / 300);
    for (let i = 0; i < 8; i++) x = x.matmul(x).tanh();
    return x.sum();
  });
  const expected = work().item();
  for (let round = 0; round < 20; round++) {
    const settled = Array.from({ length: 1 + (round % 3) }, () =>
      work().data().then(([value]) => value, (error) => error));
    await setTimeout(Math.random() * 15);
    const alive = workers.filter((worker) => worker.threadId > 0);
    await kill(alive[Math.floor(Math.random() * alive.length)]);
    for (const result of await Promise.all(settled)) {
      if (!(result instanceof sn.WorkerError)) assert.equal(result, expected);
    }
    assert.equal(work().item(), expected);
  }
});

test('a synchronous call while a worker is being terminated', async () => {
  const f = (x) => sn.matmul(x, x).tanh().sum();
  const step = sn.jit(f);
  const x = sn.ones([400, 400]).mul(1 / 400);
  const right = step(x).item();
  for (let round = 0; round < 12; round++) {
    const pending = [x.mul(2), x].map((t) => f(t).data().then(() => 'value', (error) => error.code));
    if (round % 3) await setTimeout(round);
    const alive = workers.filter((worker) => worker.threadId > 0);
    const ended = kill(alive[round % alive.length]);
    for (const call of [() => step(x), () => f(x)]) {
      try {
        assert.equal(call().item(), right);
      } catch (error) {
        if (!(error instanceof sn.WorkerError)) throw error;
      }
    }
    for (const what of await Promise.all(pending)) assert.match(what, /value|worker/);
    await ended;
  }
});

test('a worker that traps is replaced once', async () => {
  const alive = workers.filter((worker) => worker.threadId > 0);
  const started = workers.length;
  alive.at(-1).emit('message', { kind: 'dead', reason: 'a trap' });
  for (let i = 0; i < 300 && !(workers.length > started && sn.info().threads === 3); i++) await setTimeout(100);
  await setTimeout(200); // time enough for a second one, which must not come
  assert.equal(workers.length, started + 1);
  assert.equal(sn.info().threads, 3);
});
