// The built playground as a visitor uses it, isolated (threads) and not (one thread): it learns, pauses,
// steps, starts over and reads a drawn digit, and the page stays responsive. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { openChromium, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const READY_MS = 60_000;
const LEARN_MS = 90_000;
/** For a machine that has nothing else to do: on a busy one even an idle page answers late. */
const LONGEST_PING_MS = 100;
const TIMES_IDLE = 4;
const PINGS_MS = 3000;

/** Strokes in shares of the pad, and the digit that they write. */
const arc = (cx, cy, rx, ry, from, to) => Array.from({ length: 25 }, (_, i) => {
  const angle = from + ((to - from) * i) / 24;
  return [cx + rx * Math.sin(angle), cy - ry * Math.cos(angle)];
});
const DRAWINGS = [
  { digit: '0', strokes: [arc(0.5, 0.5, 0.22, 0.32, 0, 2 * Math.PI)] },
  { digit: '1', strokes: [[[0.52, 0.15], [0.48, 0.85]]] },
  { digit: '7', strokes: [[[0.27, 0.22], [0.73, 0.22], [0.45, 0.85]]] },
];

const PLACES = [
  { name: 'isolated', isolation: true, viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  { name: 'not-isolated', isolation: false, viewport: { width: 400, height: 800 }, colorScheme: 'dark' },
];

const quantile = (sorted, q) => sorted[Math.floor(q * sorted.length)];

/** Runs in the page: how late a timer and a frame come, as sorted milliseconds. */
const ping = (forMs) => new Promise((resolve) => {
  const late = [];
  const begin = performance.now();
  const next = () => {
    const asked = performance.now();
    if (asked - begin > forMs) return resolve(late.sort((a, b) => a - b));
    return setTimeout(() => requestAnimationFrame(() => {
      late.push(performance.now() - asked);
      next();
    }), 0);
  };
  next();
});

for (const { name, isolation, viewport, colorScheme } of PLACES) {
  describe(`the playground, ${name}`, () => {
    let server, browser, page, faults;
    const get = (id) => page.locator(`[data-testid=${id}]`);
    const text = async (id) => (await get(id).textContent()).trim();
    const data = (id, key) => get(id).getAttribute(`data-${key}`);
    const step = async () => Number(await data('epoch', 'step'));
    const learnUntil = (percent) => page.waitForFunction(
      (least) => Number(document.querySelector('[data-testid=accuracy]').dataset.value) >= least,
      percent, { timeout: LEARN_MS, polling: 50 },
    );
    const pause = async () => {
      await get('pause').click();
      await page.waitForSelector('body[data-phase=paused]');
      await page.waitForTimeout(300); // messages under way
    };

    before(async () => {
      server = await serve({ port: 0, isolation });
      browser = await openChromium();
      page = await browser.newPage({ viewport, colorScheme, acceptDownloads: true });
      faults = watch(page, server.url);
      await page.goto(server.url);
      await page.waitForSelector('[data-testid=start]:not([disabled])', { timeout: READY_MS });
    });
    after(async () => {
      await browser?.close();
      await server?.close();
    });

    test('the badge says what the engine may use, and why not', async () => {
      const badge = await text('capabilities');
      const threads = Number(await data('capabilities', 'threads'));
      const cores = await page.evaluate(() => navigator.hardwareConcurrency);
      assert.equal(threads, isolation ? cores : 1);
      assert.match(badge, new RegExp(`${threads} thread`));
      assert.match(badge, /SIMD/);
      assert.equal(/not isolated/.test(badge), !isolation);
      assert.equal(/Cross-Origin-Opener-Policy: same-origin/.test(badge), !isolation);
      await screenshot(page, `${name}-ready`);
    });

    test('it learns to 90 % while the page answers', async (t) => {
      const idle = quantile(await page.evaluate(ping, PINGS_MS / 2), 0.95);
      await get('start').click();
      await page.waitForFunction(() => Number(document.querySelector('[data-testid=epoch]').dataset.step) > 5);
      const late = await page.evaluate(ping, PINGS_MS);
      const [median, p95] = [0.5, 0.95].map((q) => quantile(late, q));
      await learnUntil(90);
      t.diagnostic(`ping: median ${median.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms (idle ${idle.toFixed(0)} ms); ` +
        `${await text('ms-per-step')} ms per step, accuracy ${await text('accuracy')} at step ${await step()}`);
      assert.ok(p95 < Math.max(LONGEST_PING_MS, TIMES_IDLE * idle), `p95 ${p95} ms of ${late.length}, idle ${idle} ms`);
      assert.ok(Number(await data('loss', 'value')) < 1);
      assert.ok(Number(await data('steps-per-second', 'value')) > 1);
    });

    test('the table of kernels is filled, and the trace can be had', async () => {
      const rows = page.locator('[data-testid=op-timings] tbody tr');
      await rows.first().waitFor();
      const cells = await rows.evaluateAll((list) => list.map((row) => [...row.children].map((cell) => cell.textContent)));
      assert.ok(cells.length >= 5);
      for (const [kernel, kind, engine, calls, ms, share, gbps, gflops] of cells) {
        assert.ok(kernel.length > 0);
        assert.match(kind, /^(map|scalar|reduce|row|contraction|ready)$/);
        assert.match(engine, /^(vm|jit|ready)$/);
        for (const number of [calls, ms, parseFloat(share), gbps, gflops]) assert.ok(Number(number) >= 0, `${kernel}: ${number}`);
      }
      assert.ok(cells.some(([kernel, , , , ms]) => kernel.includes('matmul') && Number(ms) > 0));
      const shares = cells.reduce((sum, row) => sum + parseFloat(row[5]), 0);
      assert.ok(Math.abs(shares - 100) < 2, `shares add up to ${shares}`);
      const [download] = await Promise.all([page.waitForEvent('download'), get('trace').click()]);
      const trace = JSON.parse(await readFile(await download.path(), 'utf8'));
      assert.ok(trace.traceEvents.some((event) => event.ph === 'X' && event.dur > 0));
    });

    test('it reads drawn digits', async () => {
      await learnUntil(94);
      const pad = get('draw-pad');
      await pad.scrollIntoViewIfNeeded();
      for (const { digit, strokes } of DRAWINGS) {
        await get('clear').click();
        const box = await pad.boundingBox();
        for (const [[x, y], ...rest] of strokes) {
          await page.mouse.move(box.x + x * box.width, box.y + y * box.height);
          await page.mouse.down();
          for (const [toX, toY] of rest) {
            await page.mouse.move(box.x + toX * box.width, box.y + toY * box.height, { steps: 4 });
          }
          await page.mouse.up();
        }
        await page.waitForFunction(
          (wanted) => document.querySelector('[data-testid=prediction]').textContent === wanted,
          digit, { timeout: 10_000 },
        ).catch(() => {});
        assert.equal(await text('prediction'), digit);
      }
      const shares = await page.locator('[data-testid=probabilities] .value').allTextContents();
      const total = shares.reduce((sum, share) => sum + parseFloat(share), 0);
      assert.ok(shares.length === 10 && Math.abs(total - 100) < 5, shares.join());
      await page.evaluate(() => scrollTo(0, 0));
      await screenshot(page, `${name}-training`);
    });

    test('training keeps its memory', async () => {
      const [bytes, begin] = [await data('story', 'bytes'), await step()];
      await page.waitForFunction((from) => Number(document.querySelector('[data-testid=epoch]').dataset.step) > from + 150, begin);
      assert.equal(await data('story', 'bytes'), bytes);
    });

    test('pause stands still, step goes one further, start goes on, reset begins anew', async () => {
      await pause();
      const stopped = await step();
      await page.waitForTimeout(500);
      assert.equal(await step(), stopped);
      await get('step').click();
      await page.waitForFunction((from) => Number(document.querySelector('[data-testid=epoch]').dataset.step) !== from, stopped);
      await page.waitForTimeout(300);
      assert.equal(await step(), stopped + 1);
      await get('start').click();
      await page.waitForFunction((from) => Number(document.querySelector('[data-testid=epoch]').dataset.step) > from, stopped + 1);
      await get('reset').click();
      await page.waitForFunction(() => document.querySelector('[data-testid=epoch]').dataset.step === '0');
      await page.waitForTimeout(300);
      assert.equal(await step(), 0);
      assert.equal(await data('loss', 'value'), null);
      assert.equal(await page.getAttribute('body', 'data-phase'), 'paused');
    });

    test('a setting makes a new network; a bad one is refused and training goes on', async () => {
      await get('sizes').fill('32');
      await get('sizes').press('Enter');
      await page.waitForFunction(() => document.querySelector('[data-testid=story]').textContent.includes('784 – 32 – 10'));
      await get('batch').fill('none');
      await get('batch').press('Enter');
      assert.match(await text('notice'), /whole number/);
      await get('start').click();
      await page.waitForFunction(() => Number(document.querySelector('[data-testid=epoch]').dataset.step) > 20);
      await pause();
    });

    test('nothing overflows, no errors, no requests to elsewhere', async () => {
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
      assert.equal(await get('error').isHidden(), true);
      assert.deepEqual(faults, []);
    });
  });
}

test('what keeps the page from starting is said on it', async () => {
  const server = await serve({ port: 0 });
  const browser = await openChromium();
  try {
    const page = await browser.newPage();
    await page.route(/\.wasm$/, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }));
    await page.goto(server.url);
    const error = page.locator('[data-testid=error]');
    await error.waitFor();
    assert.match(await error.textContent(), /SinterError: init: the server returned HTML for .*\.wasm/);
    assert.equal(await page.locator('[data-testid=start]').isDisabled(), true);
    await screenshot(page, 'cannot-start');
  } finally {
    await browser.close();
    await server.close();
  }
});
