// Workers of a page ended at random moments, with asynchronous and synchronous calls mixed.
// `npm test -- kills` ends more.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInPage } from '../kills/browser.mjs';
import { summary } from '../kills/campaign.mjs';
import { hasFirefox, openChromium, openFirefox } from './browsers.mjs';

for (const { name, open, there, kills } of [
  { name: 'Chromium', open: openChromium, there: true, kills: 5 },
  { name: 'Firefox', open: openFirefox, there: hasFirefox, kills: 15 },
]) {
  test(`${name}: everything settles, nothing is wrong`, { skip: there ? false : 'not in this machine' }, async (t) => {
    const browser = await open();
    try {
      const found = await runInPage(browser, { kills, seed: 1 });
      t.diagnostic(summary(found));
      assert.deepEqual([found.wrong, found.hung, found.raw], [[], [], []]);
    } finally {
      await browser.close();
    }
  });
}
