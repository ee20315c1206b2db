// The workers of a page are ended at random moments, during asynchronous and synchronous calls.
// `npm test -- kills` ends more of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inPageOfWorkers, runInPage } from '../kills/browser.mjs';
import { summary } from '../kills/campaign.mjs';
import { BROWSERS } from './browsers.mjs';

/** Ends a worker, and its replacement as soon as that is started; workers seen until all are back. */
const endWhileLoading = async () => {
  const { sn, alive } = window;
  await sn.init({ threads: 3 });
  const wait = (ms) => new Promise((wake) => setTimeout(wake, ms));
  const worker = [...alive][1];
  const before = new Set(alive);
  worker.terminate();
  let replacement;
  while (!(replacement = [...alive].find((worker) => !before.has(worker)))) await wait(1);
  replacement.terminate();
  const seen = new Set();
  const deadline = performance.now() + 60_000;
  do {
    seen.add(sn.info().threads);
    await wait(50);
  } while (sn.info().threads < 3 && performance.now() < deadline);
  return { seen: [...seen], threads: sn.info().threads, sum: (await sn.ones([300, 300]).sum().data())[0] };
};

const KILLS = { Chromium: 5, Firefox: 15 };

for (const { name, open, skip } of BROWSERS) {
  const inBrowser = async (f) => {
    const browser = await open();
    try {
      return await f(browser);
    } finally {
      await browser.close();
    }
  };

  test(`${name}: everything settles, nothing is wrong`, { skip }, async (t) => {
    const found = await inBrowser((browser) => runInPage(browser, { kills: KILLS[name], seed: 1 }));
    t.diagnostic(summary(found));
    assert.deepEqual([found.wrong, found.hung, found.raw], [[], [], []]);
  });

  test(`${name}: a worker that ends while it loads is replaced, and not counted`, { skip }, async () => {
    const found = await inBrowser((browser) => inPageOfWorkers(browser, (page) => page.evaluate(endWhileLoading)));
    assert.deepEqual(found, { seen: [2], threads: 3, sum: 90000 });
  });
}
