// The other examples of the playground and its Bench tab, as a visitor uses them: a convolutional network and a
// transformer learn, show where their time goes, and read or write; a measurement runs and can be stopped. Pictures:
// build/screenshots.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openChromium, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const READY_MS = 60_000;
/** More than the Compiler tab gives a program that does not wait for anything. */
const SLOW_MS = 12_000;
const LEARN_MS = 90_000;

describe('the examples of the playground', () => {
  let server, browser, page, faults;
  const get = (id) => page.locator(`[data-testid=${id}]`);
  const number = async (id, key = 'value') => Number(await get(id).getAttribute(`data-${key}`));
  /** Until the value of an element is at least, or below, a bound. */
  const until = (id, bound, { below = false, key = 'value' } = {}) => page.waitForFunction((asked) => {
    const text = document.querySelector(`[data-testid=${asked.id}]`).dataset[asked.key];
    return text !== undefined && (asked.below ? Number(text) < asked.bound : Number(text) >= asked.bound);
  }, { id, bound, below, key }, { timeout: LEARN_MS, polling: 50 });
  const ready = () => page.waitForSelector('[data-testid=start]:not([disabled])', { timeout: READY_MS });
  const kernels = async () => {
    const rows = page.locator('[data-testid=op-timings] tbody tr');
    await rows.first().waitFor();
    return rows.evaluateAll((list) => list.map((row) => {
      const [name, kind, , , ms] = [...row.children].map((cell) => cell.textContent);
      return { name, kind, ms: Number(ms) };
    }));
  };

  before(async () => {
    server = await serve({ port: 0, isolation: true });
    browser = await openChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    faults = watch(page, server.url);
    await page.goto(`${server.url}?example=text`);
    await ready();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('a transformer learns letters and writes', async (t) => {
    assert.equal(await get('example-text').getAttribute('aria-pressed'), 'true');
    assert.equal(await get('draw-pad').isHidden(), true);
    await get('start').click();
    await until('epoch', 3, { key: 'step' });
    const first = await number('loss');
    await until('accuracy', 20);
    await until('loss', 2.7, { below: true });
    t.diagnostic(`loss ${first} -> ${await number('loss')}, ${await get('accuracy').textContent()} of letters ` +
      `at step ${await number('epoch', 'step')}, ${await get('ms-per-step').textContent()} ms per step`);
    assert.ok(first > 2.7);
    const found = await kernels();
    assert.ok(found.some(({ kind, ms }) => kind === 'chain' && ms > 0), 'attention is a kernel');
    assert.ok(found.some(({ kind, ms }) => kind === 'contraction' && ms > 0));
    assert.ok(await number('gflops') > 0);
    await page.waitForFunction(() => document.querySelector('#written').textContent.length > 60, null, { timeout: LEARN_MS });
    await screenshot(page, 'transformer');
  });

  test('another example starts anew, with the data it needs and its own panels', async (t) => {
    await get('example-cnn').click();
    await page.waitForFunction(() => document.querySelector('[data-testid=story]').textContent.includes('convolution'),
      null, { timeout: READY_MS });
    await ready();
    assert.equal(await number('epoch', 'step'), 0);
    assert.equal(await get('writing').isHidden(), true);
    assert.equal(await get('sizes').inputValue(), '16, 32');
    await get('start').click();
    await until('accuracy', 85);
    t.diagnostic(`accuracy ${await get('accuracy').textContent()} at step ${await number('epoch', 'step')}, ` +
      `${await get('ms-per-step').textContent()} ms per step`);
    assert.ok(await number('loss') < 1);
    const found = await kernels();
    assert.ok(found.filter(({ kind, ms }) => kind === 'contraction' && ms > 0).length >= 3);
    assert.equal(await page.locator('[data-testid=digits] li:not(.blank)').count(), 48);
    await screenshot(page, 'cnn');
  });

  test('sizes that do not fit are refused in the words of the example', async () => {
    await get('pause').click();
    await page.waitForSelector('body[data-phase=paused]');
    await get('sizes').fill('16, 32, 64, 64, 64');
    await get('sizes').press('Enter');
    await page.waitForFunction(() => /Channels: 1 to 4 layers.*Kept: 16, 32/.test(document.querySelector('#notice').textContent));
    assert.equal(await get('sizes').inputValue(), '16, 32, 64, 64, 64', 'what was written stays, to be mended');
    await get('sizes').press('Escape');
    assert.equal(await get('sizes').inputValue(), '16, 32');
    assert.equal(await get('sizes').getAttribute('aria-invalid'), null);
    assert.equal(await page.textContent('#notice'), 'Channels: 16, 32, as before.');
    await get('example-mlp').click();
    await page.waitForFunction(() => document.querySelector('[data-testid=story]').textContent.includes('784 – 256 – 128 – 10'));
    assert.equal(await get('sizes').inputValue(), '256, 128');
  });

  test('the Bench tab measures, and stops when asked to', async (t) => {
    await get('tab-compiler').click(); // its styles are for it alone
    await page.locator('[data-testid=effects] tbody tr').first().waitFor();
    await get('tab-bench').click();
    const rows = page.locator('[data-testid=bench-figures] tbody tr');
    await rows.first().waitFor();
    const tops = await rows.first().locator('> *').evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().top));
    assert.equal(new Set(tops).size, 1, `cells at ${tops}`);
    await get('bench-run').click();
    const gflops = rows.first().locator('.gflops[data-value]');
    await gflops.waitFor({ timeout: LEARN_MS });
    const [reached, peak] = [Number(await gflops.getAttribute('data-value')), await number('bench-machine', 'peak')];
    t.diagnostic(`${await rows.first().textContent()}; peak ${peak}`);
    assert.ok(reached > 0.1 && reached < 1.2 * peak, `${reached} of ${peak}`);
    await get('bench-run').click();
    assert.equal(await get('bench-note').textContent(), 'Stopped.');
    await page.waitForTimeout(500);
    assert.equal(await get('bench-run').textContent(), 'Measure');
    assert.equal(await rows.last().locator('[data-value]').count(), 0);
    await screenshot(page, 'bench');
  });

  test('nothing overflows on a phone, no errors, no requests to elsewhere', async () => {
    await page.setViewportSize({ width: 375, height: 800 });
    for (const place of ['tab-bench', 'tab-training']) {
      await get(place).click();
      await page.waitForTimeout(100);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, place);
    }
    assert.equal(await get('error').isHidden(), true);
    assert.deepEqual(faults, []);
  });
});

test('an example whose data cannot be had says so, and another one can be chosen', async () => {
  const server = await serve({ port: 0 });
  const browser = await openChromium();
  try {
    const page = await browser.newPage();
    await page.route(/train-images/, (route) => route.fulfill({ status: 404, body: 'Not found' }));
    await page.goto(server.url);
    const error = page.locator('[data-testid=error]');
    await error.waitFor();
    assert.match(await error.textContent(), /train-images.bin: the server answered 404/);
    assert.equal(await page.locator('[data-testid=start]').isDisabled(), true);
    await page.click('[data-testid=example-text]');
    await page.waitForSelector('[data-testid=start]:not([disabled])', { timeout: READY_MS });
    assert.match(await page.locator('[data-testid=story]').textContent(), /^A transformer of 2 blocks/);
  } finally {
    await browser.close();
    await server.close();
  }
});

test('what cannot be loaded late is said, and works once there is a network', async () => {
  const server = await serve({ port: 0 });
  const browser = await openChromium();
  try {
    const page = await browser.newPage();
    const broken = [];
    page.on('pageerror', ({ message }) => broken.push(message));
    await page.goto(`${server.url}?example=xor`);
    await page.waitForSelector('[data-testid=start]:not([disabled])', { timeout: READY_MS });
    const LATE = /uPlot|\/editor-|\/spirals-/;
    await page.route(LATE, (route) => route.abort());
    const error = page.locator('[data-testid=error]');
    const act = [
      () => page.click('[data-testid=example-spirals]'),
      () => page.click('#source-preview'),
      () => page.click('[data-testid=start]'),
    ];
    for (const [i, what] of [/spirals/, /editor/, /uPlot/].entries()) {
      await act[i]();
      await page.waitForFunction((part) => new RegExp(part).test(document.querySelector('[data-testid=error]').textContent), what.source);
      assert.match(await error.textContent(), /could not be loaded/);
    }
    await page.unroute(LATE);
    await page.waitForSelector('#loss-chart canvas', { timeout: READY_MS });
    await page.click('#source-preview');
    await page.waitForSelector('[data-testid=source-editor] .cm-content');
    await page.click('[data-testid=example-spirals]');
    await page.waitForSelector('[data-testid=example-spirals][aria-pressed=true]');
    assert.deepEqual(broken, []);
  } finally {
    await browser.close();
    await server.close();
  }
});

test('a slow line is no endless loop: the Compiler tab waits for the data of its program, and says so', async () => {
  const server = await serve({ port: 0 });
  const browser = await openChromium();
  try {
    const page = await browser.newPage();
    await page.route(/train-images/, async (route) => {
      await new Promise((wake) => setTimeout(wake, SLOW_MS));
      await route.continue();
    });
    await page.goto(`${server.url}?example=mlp#compiler`);
    await page.waitForFunction(() => document.querySelector('[data-testid=program-problem]')?.textContent.startsWith('Loading data'));
    const problem = page.locator('[data-testid=program-problem]');
    await page.waitForFunction(() => document.querySelector('[data-testid=compile-summary]').textContent !== 'starting…', null, { timeout: READY_MS });
    assert.match(await page.locator('[data-testid=compile-summary]').textContent(), /\d+ kernels/);
    assert.match(await problem.textContent(), /^Compiled/);
  } finally {
    await browser.close();
    await server.close();
  }
});
