// The long campaigns: `npm test -- kills`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BOTH } from '../browser/browsers.mjs';
import { runInPage } from './browser.mjs';
import { summary } from './campaign.mjs';
import { runInNode } from './node.mjs';

const KILLS = 500;
const PAGES = 5;

const check = (t, found) => {
  t.diagnostic(summary(found));
  assert.deepEqual([found.wrong, found.hung, found.raw], [[], [], []]);
};

test('Node', { timeout: 600_000 }, async (t) => check(t, await runInNode({ kills: KILLS, seed: 7 })));

/** The campaigns run side by side, since Chromium takes two seconds to end a worker. */
const inPages = async (open) => {
  const browser = await open();
  try {
    return await Promise.all(Array.from({ length: PAGES }, (_, i) => runInPage(browser, { kills: KILLS / PAGES, seed: i + 1 })));
  } finally {
    await browser.close();
  }
};

for (const { name, open, skip } of BOTH) {
  test(name, { timeout: 900_000, skip }, async (t) => {
    for (const found of await inPages(open)) check(t, found);
  });
}
