// profile: every kernel that ran, with its times, work and workers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';

await sn.init();

test('a profile names the kernels and adds up', async () => {
  const f = sn.jit((x, w) => sn.relu(x.matmul(w)).sum());
  const x = sn.ones([256, 256]);
  const w = sn.ones([256, 256]);
  f(x, w).item();
  const profile = await sn.profile(() => {
    for (let i = 0; i < 5; i++) f(x, w).item();
  });
  assert.ok(profile.totalMs > 0);
  assert.ok(profile.steps >= 5);
  const product = profile.kernels.find(({ kind }) => kind === 'contraction');
  assert.ok(product, JSON.stringify(profile.kernels));
  assert.match(product.name, /matmul/);
  assert.equal(product.calls, 5);
  assert.ok(product.flops >= 5 * 2 * 256 ** 3);
  assert.ok(product.gflops > 0 && product.gbps > 0 && product.threads >= 1);
  assert.ok(product.ms <= profile.totalMs);
  for (const { begin, end, worker } of profile.spans) {
    assert.ok(begin >= -0.5 && end >= begin && end <= profile.totalMs + 0.5);
    assert.ok(worker >= 0 && worker < sn.info().threads);
  }
  assert.ok(['ready', 'jit'].includes(product.engine)); // the latter where relaxed SIMD is there
  assert.equal(profile.workers.length, sn.info().threads);
  for (const { busyMs, gapMs, gaps } of profile.workers) {
    assert.ok(busyMs >= 0 && Math.abs(busyMs + gapMs - profile.totalMs) < 1e-6);
    assert.ok(Object.values(gaps).every((ms) => ms >= 0), JSON.stringify(gaps));
    assert.ok(Math.abs(Object.values(gaps).reduce((a, b) => a + b) - gapMs) < 1e-6);
  }
  assert.ok(profile.workers[0].busyMs > 0);
});

test('time outside of kernels has a name', async () => {
  const x = sn.ones([64]);
  x.dataSync();
  const rest = await sn.profile(() => new Promise((resolve) => { setTimeout(resolve, 30); }));
  assert.ok(rest.workers[0].gaps.host >= 25 && rest.compiles.length === 0 && rest.runs.length === 0);
  const first = await sn.profile(() => sn.jit((t) => t.mul(1.375).exp())(x).dispose());
  assert.ok(first.compiles.length === 1 && first.workers[0].gaps.compile > 0, JSON.stringify(first.workers));
  assert.ok(first.runs.length === 1 && first.runs[0].begin >= first.compiles[0].end);
  assert.ok(first.toChromeTrace().traceEvents.some(({ name }) => name === 'compile'));
});

test('a profile says which engine ran a kernel', async () => {
  const x = sn.tensor([1, 2, 3]);
  const engineOf = async (options) => {
    const f = sn.jit((t) => t.mul(0.625).tanh(), options);
    f(x).dispose();
    const { kernels } = await sn.profile(() => f(x).dispose());
    return kernels.map(({ engine }) => engine);
  };
  assert.deepEqual(await engineOf({ jit: false }), ['vm']);
  assert.deepEqual(await engineOf({}), [sn.info().jit ? 'jit' : 'vm']);
});

test('a profile exports a Chrome trace', async () => {
  const profile = await sn.profile(async () => {
    await sn.ones([10_000]).add(1).data();
  });
  const trace = profile.toChromeTrace();
  assert.ok(trace.traceEvents.some(({ ph, dur, name }) => ph === 'X' && dur >= 0 && name));
  assert.ok(JSON.parse(JSON.stringify(trace)).traceEvents.length === trace.traceEvents.length);
});

test('spans beyond the limit are counted, not kept', async () => {
  const profile = await sn.profile(() => {
    for (let i = 0; i < 20; i++) sn.tidy(() => sn.tensor([i]).add(1).item());
  }, { maxSpans: 5 });
  assert.ok(profile.spans.length <= 5);
  assert.ok(profile.lostSpans > 0);
});

test('profiling ends when f throws', async () => {
  await assert.rejects(sn.profile(() => {
    throw new Error('mine');
  }), /mine/);
  const { kernels } = await sn.profile(() => sn.tensor([1]).add(1).item());
  assert.equal(kernels.length, 1);
});
