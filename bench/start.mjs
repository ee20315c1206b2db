// start.mjs [ADDRESS...] - how pages of web/dist begin: the first paint, and the longest that the page was blocked while it
// started (tasks above 50 ms are what browsers call long). The median and the best of some openings of each, in turns. A page
// that trains is left alone until it could be started.
import { chromium } from 'playwright-core';
import { chromiumOptions } from '../tests/browser/browsers.mjs';
import { main } from '../scripts/lib/proc.mjs';
import { serve } from '../scripts/serve.mjs';

const OPENINGS = 7;
const REST_MS = 500;
const ADDRESSES = ['', '?example=xor', '#compiler', '#bench', 'docs/', 'docs/tutorials/first-tensor.html', 'docs/reference/elementwise.html'];

/** In the page, before anything else. */
const observe = () => {
  window.longest = 0;
  window.long = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      window.longest = Math.max(window.longest, duration);
      window.long += 1;
    }
  }).observe({ type: 'longtask', buffered: true });
};

const openOnce = async (browser, url) => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.addInitScript(observe);
  await page.goto(url, { waitUntil: 'load' });
  if (!url.includes('/docs/')) await page.waitForFunction(() => document.body.dataset.phase !== undefined && document.body.dataset.phase !== 'loading');
  await page.waitForTimeout(REST_MS);
  const figures = await page.evaluate(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
    longest: window.longest,
    long: window.long,
  }));
  await page.close();
  return figures;
};

const sorted = (list, name) => list.map((each) => each[name]).sort((a, b) => a - b);
const both = (list) => `${list[list.length >> 1].toFixed(0).padStart(6)} ${list[0].toFixed(0).padStart(6)}`;

await main(import.meta.url, async (args) => {
  const server = await serve({ port: 0 });
  const browser = await chromium.launch(chromiumOptions);
  const addresses = args.length ? args : ADDRESSES;
  const found = new Map(addresses.map((address) => [address, []]));
  try {
    for (let i = 0; i < OPENINGS; i += 1) {
      for (const address of addresses) found.get(address).push(await openOnce(browser, `${server.url}${address}`));
    }
  } finally {
    await browser.close();
    await server.close();
  }
  console.log(`${'page'.padEnd(40)} first paint, ms   longest task, ms   tasks above 50 ms`);
  console.log(`${' '.repeat(40)} median   best   median   best     median`);
  for (const [address, list] of found) console.log(`${(address || '/').padEnd(40)} ${both(sorted(list, 'paint'))}   ${both(sorted(list, 'longest'))}     ${sorted(list, 'long')[list.length >> 1]}`);
});
