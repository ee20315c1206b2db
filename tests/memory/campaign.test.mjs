// 30,000 steps of a training loop that disposes of nothing, with 12 GB of batches: they complete with less than 400 MB
// in use at any time, in Node, Chromium and Firefox, however the loop gives the event loop its turns.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as sn from '../../js/dist/index.js';
import { BOTH } from '../browser/browsers.mjs';
import { host } from '../browser/host.mjs';
import { trainInPage, trainWithoutDisposing } from './loop.mjs';

const STEPS = 30_000;
const MOST_BYTES = 400e6;
const PAUSES = ['data', 'now and then', 'timer'];

const check = (t, { steps, mostBytes, loss }, ms) => {
  t.diagnostic(`${(mostBytes / 1e6).toFixed(0)} MB in use at most, ${(ms / steps).toFixed(2)} ms a step`);
  assert.equal(steps, STEPS);
  assert.ok(Number.isFinite(loss));
  assert.ok(mostBytes < MOST_BYTES, `${mostBytes} bytes`);
};

describe('Node', () => {
  for (const pause of PAUSES) {
    test(pause, async (t) => {
      const [begin, progress] = [performance.now(), {}];
      await trainWithoutDisposing(sn, { steps: STEPS, pause }, progress);
      check(t, progress, performance.now() - begin);
    });
  }
});

for (const { name, open, skip } of BOTH) {
  describe(name, { skip }, () => {
    let [browser, server] = [];
    before(async () => {
      [browser, server] = await Promise.all([open(), host()]);
    });
    after(async () => {
      await browser?.close();
      await server?.close();
    });
    for (const pause of PAUSES) {
      test(pause, async (t) => {
        const page = await browser.newPage();
        await page.goto(server.url);
        await page.waitForFunction(() => 'sn' in window);
        const begin = performance.now();
        check(t, await trainInPage(page, { steps: STEPS, pause }), performance.now() - begin);
        await page.close();
      });
    }
  });
}
