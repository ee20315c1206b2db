// That the page starts, and first opens a tab, in many tasks: which part of the processor's time the longest one takes. That
// is the same on a slow machine and on a busy one; how long it takes, bench/start.mjs tells.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { TABS, openPage, openTab } from '../../bench/start.mjs';
import { mainOf, openChromium } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const OPENINGS = 3;
/** Of all that the start does, and of the little that a tab does: of this the first frame is a larger part. */
const MOST = { start: 1 / 5, tab: 2 / 5 };

describe('no task has most of the work', () => {
  let server, browser;
  before(async () => {
    server = await serve({ port: 0 });
    browser = await openChromium();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  const isShort = async (most, once) => {
    const found = [];
    while (found.length < OPENINGS && !found.some((share) => share <= most)) {
      const { cpu, allCpu } = await once();
      assert.ok(cpu > 1, 'tasks were seen');
      found.push(cpu / allCpu);
    }
    assert.ok(Math.min(...found) <= most, `${found.map((share) => share.toFixed(2))} of the time`);
  };

  test('while it starts', () => isShort(MOST.start, () => openPage(browser, server.url)));
  for (const tab of mainOf(TABS)) test(`while the tab ${tab} opens`, () => isShort(MOST.tab, () => openTab(browser, server.url, tab)));
});
