// A training loop in a page that disposes of nothing: 400 MB of batches pass through 64 MB of memory. The whole
// campaign is tests/memory.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { trainInPage } from '../memory/loop.mjs';
import { BROWSERS } from './browsers.mjs';
import { host } from './host.mjs';

const STEPS = 1000;

for (const { name, open, skip } of BROWSERS) {
  describe(name, { skip }, () => {
    for (const isolation of [true, false]) {
      test(isolation ? 'isolated' : 'not isolated', async () => {
        const [browser, server] = await Promise.all([open(), host({ isolation })]);
        try {
          const page = await browser.newPage();
          await page.goto(server.url);
          await page.waitForFunction(() => 'sn' in window);
          const { steps } = await trainInPage(page, { steps: STEPS, pause: 'data', maxMemory: 64 * 2 ** 20 });
          assert.equal(steps, STEPS);
        } finally {
          await browser.close();
          await server.close();
        }
      });
    }
  });
}
