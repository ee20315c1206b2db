// sinter/report: the words follow from the numbers, which are made by hand here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { boundOf, report, toSpeedscope } from '../dist/report.js';
import { assertThrows } from './support.mjs';

await sn.init();

const kernel = (given) => ({ name: 'k', kind: 'map', engine: 'jit', calls: 10, ms: 10, flops: 0, bytes: 0, gflops: 0, gbps: 0, threads: 2, ...given });
const profileOf = (kernels, gaps = {}) => {
  const busy = kernels.reduce((sum, { ms }) => sum + ms, 0);
  const all = { waiting: 0, dispatch: 0, compile: 0, host: 0, ...gaps };
  const totalMs = busy + all.dispatch + all.compile + all.host;
  const worker = (number) => ({ worker: number, busyMs: busy, gapMs: totalMs - busy, gaps: all });
  return { totalMs, kernels, workers: [worker(0), worker(1)], spans: [] };
};
const roof = { gflops: 100, gbps: 20 };

test('a kernel is bounded by what it comes closest to', () => {
  const bound = (given, workers = 2) => boundOf(kernel(given), roof, workers);
  assert.equal(bound({ gbps: 18, gflops: 2 }), 'memory');
  assert.equal(bound({ gbps: 2, gflops: 80 }), 'arithmetic');
  assert.equal(bound({ kind: 'contraction', gbps: 2, gflops: 10 }), 'packing');
  assert.equal(bound({ kind: 'contraction', gbps: 2, gflops: 80 }), 'arithmetic');
  assert.equal(bound({ gbps: 18, threads: 1 }), 'one thread');
  assert.equal(bound({ gbps: 18, threads: 1 }, 1), 'memory');
  // So short that a second thread would not pay.
  assert.equal(bound({ gbps: 18, threads: 1, calls: 10_000 }), 'memory');
});

test('shares add up, the largest is named, and changes come by what they save', () => {
  const said = report(profileOf([kernel({ name: 'wide', ms: 60, gbps: 19, gflops: 1 })], { host: 30, dispatch: 10 }), { roof });
  assert.equal(said.bound, 'memory');
  assert.ok(Math.abs(Object.values(said.shares).reduce((a, b) => a + b) - 1) < 1e-9);
  assert.deepEqual([said.shares.memory, said.shares.host, said.shares.dispatch], [0.6, 0.3, 0.1]);
  assert.match(said.text, /^60 % of 100 ms goes to moving values .*wide/);
  assert.equal(said.changes.length, 3);
  for (let i = 1; i < 3; i++) assert.ok(said.changes[i - 1].savesMs >= said.changes[i].savesMs);
  assert.match(said.changes[0].text, /sn\.jit/);
  assert.deepEqual(said.changes[1].options, { precision: 'float16' });
});

test('what waits for one thread, and what is interpreted, is said', () => {
  const serial = report(profileOf([kernel({ name: 'sort', threads: 1, ms: 90 }), kernel({ ms: 10, gflops: 90 })]), { roof });
  assert.equal(serial.bound, 'one thread');
  assert.match(serial.changes[0].text, /all threads.*sort/);
  assert.equal(serial.changes[0].savesMs, 45);
  const slow = report(profileOf([kernel({ engine: 'vm', gflops: 5, ms: 50 })]), { roof });
  assert.deepEqual(slow.changes[0].options, { jit: true });
});

test('a real profile has a report, and speedscope reads its spans', async () => {
  const f = sn.jit((x) => sn.tanh(x.matmul(x)).sum());
  const x = sn.ones([128, 128]);
  const profile = await sn.profile(async () => {
    for (let i = 0; i < 5; i++) await f(x).data();
  });
  const { text, shares } = report(profile);
  assert.ok(text.split('\n').length >= 1 && text.length > 20);
  assert.ok(Math.abs(Object.values(shares).reduce((a, b) => a + b) - 1) < 1e-6);
  const { profiles, shared } = toSpeedscope(profile);
  assert.equal(profiles.length, profile.workers.length);
  const events = profiles.flatMap((each) => each.events);
  assert.equal(events.length, 2 * profile.spans.length);
  for (const { events: list } of profiles)
    for (let i = 0; i < list.length; i++) {
      assert.equal(list[i].type, i % 2 === 0 ? 'O' : 'C');
      assert.ok(i === 0 || list[i].at >= list[i - 1].at - 1e-9);
      assert.ok(shared.frames[list[i].frame].name.length > 0);
    }
  for (const span of profile.spans) assert.ok(Number.isInteger(span.step));
});

test('what is no profile, and options that there are not, are refused', () => {
  const profile = profileOf([kernel({ ms: 1 })]);
  for (const given of [undefined, null, {}, 'x', profile.kernels]) {
    assertThrows(() => report(given), sn.SinterError, { message: /^report: expected a profile, not .*sn\.profile/ });
    assertThrows(() => toSpeedscope(given), sn.SinterError, { message: /^toSpeedscope: expected a profile/ });
  }
  assertThrows(() => report(profile, { rof: roof }), sn.SinterError, { message: /did you mean 'roof'/ });
  assertThrows(() => report(profile, { roof: 5 }), sn.SinterError, { message: /roof is 5/ });
  assertThrows(() => report(profile, { roof: { gflops: 1 } }), sn.SinterError, { message: /undefined, expected a number/ });
});
