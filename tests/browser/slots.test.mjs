// Slots in a page's private file system: the state saved last is there after a reload, and after the page was closed
// while it saved the old one or the new one. With workers the bytes are copied by one of them.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, mainOf, watch } from './browsers.mjs';
import { host } from './host.mjs';

const ROUNDS = 8;

/** Saves states without an end, in slots where the state with this number is the last. */
const saveOn = async (last) => {
  const { sn } = window;
  await sn.init();
  const slots = await sn.io.openSlots('a/run');
  for (let n = last + 1; ; n++) {
    await slots.save({ a: sn.full([200_000], n), n });
    window.saved = n;
  }
};

/** The number of the state in the slots, 0 where there is none; of tensors that do not go with it an error. */
const loadLast = async () => {
  const { sn } = window;
  await sn.init();
  const state = await (await sn.io.openSlots('a/run')).load();
  if (!state) return 0;
  if (state.a.toArray().some((x) => x !== state.n)) throw new Error('a mix of states');
  return state.n;
};

/** What is a state's snapshot here, beside saveState; and the longest that this thread was away for it. */
const snap = async () => {
  const { sn } = window;
  await sn.init();
  const state = { big: sn.iota([6_000_000], 0), key: sn.random.key(3), n: 1 };
  sn.eval(state);
  let [longest, last, on] = [0, performance.now(), true];
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
    if (on) port2.postMessage(null);
  };
  port2.postMessage(null);
  const begin = performance.now();
  const bytes = await sn.io.snapshot(state);
  const ms = performance.now() - begin;
  on = false;
  const other = sn.io.saveState(state);
  return { isEqual: bytes.length === other.length && bytes.every((byte, i) => byte === other[i]), longest, ms, threads: sn.info().threads };
};

for (const { name, open, skip } of BROWSERS) {
  describe(name, { skip }, () => {
    let browser;
    before(async () => (browser = await open()));
    after(() => browser?.close());

    for (const isolation of mainOf([true, false])) {
      const where = isolation ? 'with workers' : 'on the page alone';

      test(`a snapshot ${where}`, async (t) => {
        const server = await host({ isolation });
        const page = await browser.newPage();
        const faults = watch(page, server.url);
        await page.goto(server.url);
        await page.waitForFunction(() => 'sn' in window);
        const { isEqual, longest, ms, threads } = await page.evaluate(snap);
        t.diagnostic(`${threads} threads; 24 MB in ${ms.toFixed(0)} ms, the page was away for ${longest.toFixed(1)} ms at most`);
        assert.ok(isEqual);
        assert.deepEqual(faults, []);
        await page.close();
        await server.close();
      });

      test(`a page closed while it saves, ${where}`, async () => {
        const server = await host({ isolation });
        // Of one context: a new one of some drivers has a file system of its own.
        const context = browser.newContext ? await browser.newContext() : browser;
        let last = 0;
        const visit = async (f) => {
          const page = await context.newPage();
          await page.goto(server.url);
          await page.waitForFunction(() => 'sn' in window);
          try {
            return await f(page);
          } finally {
            await page.close();
          }
        };
        for (let round = 0; round < ROUNDS; round++) {
          const first = last;
          await visit(async (page) => {
            page.evaluate(saveOn, first).catch(() => {}); // ends with the page
            await page.waitForFunction(() => 'saved' in window);
            await new Promise((resolve) => setTimeout(resolve, 5 * round));
          });
          last = await visit((page) => page.evaluate(loadLast));
          assert.ok(last >= first, `${last} after ${first}`);
        }
        assert.ok(last > 0);
        await server.close();
      });
    }
  });
}
