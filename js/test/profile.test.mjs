// profile: every kernel that ran, with its times, work and lanes.
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
  for (const { begin, end, lane } of profile.spans) {
    assert.ok(begin >= -0.5 && end >= begin && end <= profile.totalMs + 0.5);
    assert.ok(lane >= 0 && lane < sn.info().threads);
  }
  for (const { busyMs, gapMs } of profile.lanes) {
    assert.ok(busyMs >= 0 && Math.abs(busyMs + gapMs - profile.totalMs) < 1);
  }
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
