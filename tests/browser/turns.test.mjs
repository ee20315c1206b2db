// A page that awaits goes on: frames and timers come, with one thread as well as with several.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, watch } from './browsers.mjs';
import { host } from './host.mjs';

/** Counts frames and ticks of a timer in the page while it awaits short steps, then one long program. */
const countTurns = async () => {
  const { sn } = window;
  await sn.init();
  const n = 300;
  const x = sn.random.normal(sn.random.key(1), [n, n]).mul(0.05);
  await x.data();
  const counted = async (work) => {
    let [frames, ticks, on] = [0, 0, true];
    const frame = () => {
      frames++;
      if (on) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    const timer = setInterval(() => ticks++, 4);
    const value = await work();
    clearInterval(timer);
    on = false;
    return { frames, ticks, value };
  };
  const step = sn.jit((v) => v.matmul(x).tanh());
  const steps = await counted(async () => {
    let v = sn.ones([n, n]);
    for (let i = 0; i < 400; i++) {
      v = sn.tidy(() => step(v));
      await v.data();
    }
  });
  const program = () => sn.tidy(() => {
    let y = x;
    for (let i = 0; i < 300; i++) y = y.matmul(x).tanh();
    return y.sum(0);
  });
  const long = await counted(async () => [...(await program().data())]);
  return { steps, long, now: [...program().dataSync()], threads: sn.info().threads };
};

for (const { name, open, skip } of BROWSERS) {
  describe(name, { skip }, () => {
    let browser;
    before(async () => (browser = await open()));
    after(() => browser?.close());

    for (const isolation of [false, true]) {
      test(isolation ? 'with workers' : 'on the page alone', async (t) => {
        const server = await host({ isolation });
        const page = await browser.newPage();
        const faults = watch(page, server.url);
        try {
          await page.goto(server.url);
          await page.waitForFunction(() => 'sn' in window);
          const { steps, long, now, threads } = await page.evaluate(countTurns);
          t.diagnostic(`${threads} threads; 400 steps: ${steps.frames} frames, ${steps.ticks} ticks; long program: ${long.frames}, ${long.ticks}`);
          assert.ok(steps.frames > 3 && steps.ticks > 5, 'among the steps');
          assert.ok(long.frames > 3 && long.ticks > 5, 'in the long program');
          assert.deepEqual(long.value, now);
          assert.deepEqual(faults, []);
        } finally {
          await page.close();
          await server.close();
        }
      });
    }
  });
}
