// The playground on a graphics processor, here a driver in software: the same training as on the CPU, what is said of it, and
// what becomes of it where there is none. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { mainOf, openChromium, openWithWebgpu, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 60_000;
const STEPS = 4;
const PLACES = [
  { name: 'desk', isolation: true, viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  { name: 'phone', isolation: false, viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
];

const get = (page, id) => page.locator(`[data-testid=${id}]`);
const ready = (page) => page.waitForSelector('body[data-phase=paused] [data-testid=start]:not([disabled])', { timeout: PATIENCE_MS });
const note = async (page) => (await get(page, 'device-note').textContent()).trim();
const noted = (page, words) => page.waitForFunction(
  (source) => new RegExp(source, 'i').test(document.querySelector('[data-testid=device-note]').textContent),
  words, { timeout: PATIENCE_MS },
);
const reached = (page, step) => page.waitForFunction(
  (least) => Number(document.querySelector('[data-testid=epoch]').dataset.step) >= least, step, { timeout: PATIENCE_MS });

/** The mean loss after each of the first steps. */
const firstLosses = async (page) => {
  const losses = [];
  for (let i = 1; i <= STEPS; i++) {
    await get(page, 'step').click();
    await reached(page, i);
    losses.push(Number(await get(page, 'loss').getAttribute('data-value')));
  }
  return losses;
};

const choose = async (page, device) => {
  await get(page, `device-${device}`).click();
  await page.waitForSelector('body[data-phase=loading]');
  await ready(page);
};

for (const { name, isolation, viewport, colorScheme } of mainOf(PLACES)) {
  describe(`the playground with WebGPU, ${name}`, () => {
    let server, browser, page, faults, onCpu;
    const asked = [];

    before(async () => {
      server = await serve({ port: 0, isolation });
      browser = await openWithWebgpu();
      page = await browser.newPage({ viewport, colorScheme });
      faults = watch(page, server.url);
      page.on('request', (request) => asked.push(request.url()));
      await page.goto(`${server.url}?example=spirals`);
      await ready(page);
    });
    after(async () => {
      await browser?.close();
      await server?.close();
    });

    test('nothing of it is loaded before it is asked for', async () => {
      onCpu = await firstLosses(page);
      assert.equal(await note(page), '');
      assert.deepEqual(asked.filter((url) => /gpu/.test(url)), []);
    });

    test('the processor learns as the CPU does', async () => {
      await choose(page, 'webgpu');
      await noted(page, 'runs on the graphics processor: .*swiftshader');
      const losses = await firstLosses(page);
      losses.forEach((loss, i) => assert.ok(Math.abs(loss - onCpu[i]) < 1e-3 * onCpu[i], `${losses} and ${onCpu}`));
      await get(page, 'start').click();
      await page.locator('[data-testid=op-timings] th', { hasText: 'all shaders' }).waitFor({ timeout: PATIENCE_MS });
      await reached(page, 150);
      await get(page, 'pause').click();
      await page.waitForSelector('body[data-phase=paused]');
      assert.ok(Number(await get(page, 'loss').getAttribute('data-value')) < losses[0]);
      assert.ok(Number(await get(page, 'accuracy').getAttribute('data-value')) > 0);
      assert.ok(asked.some((url) => /gpu.*\.wasm$/.test(url)));
      await screenshot(page, `gpu-${name}`);
    });

    test('a setting changes on the processor, too, and a state is saved', async () => {
      await get(page, 'seed').fill('7');
      await get(page, 'seed').press('Enter');
      await page.waitForFunction(() => document.querySelector('[data-testid=epoch]').dataset.step === '0');
      await ready(page);
      await firstLosses(page);
      const [file] = await Promise.all([page.waitForEvent('download'), get(page, 'save').click()]);
      await get(page, 'load-file').setInputFiles(await file.path());
      await page.waitForFunction(() => document.querySelector('[data-testid=notice]').textContent.startsWith('Loaded'));
      await get(page, 'step').click();
      await reached(page, STEPS + 1);
    });

    test('auto says which is faster', async () => {
      await choose(page, 'auto');
      assert.match(await note(page), /^Runs on .* ms\), which is faster than .* ms\)\.$/);
      await firstLosses(page);
      await screenshot(page, `auto-${name}`);
      await choose(page, 'cpu');
      assert.equal(await note(page), '');
    });

    test('nothing overflows, no errors, no requests to elsewhere', async () => {
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
      assert.equal(await get(page, 'error').isHidden(), true);
      assert.deepEqual(faults, []);
    });
  });
}

describe('the playground without a graphics processor', () => {
  let server, browser;
  before(async () => {
    server = await serve({ port: 0 });
    browser = await openChromium();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('without an adapter the CPU goes on, and why is said', async () => {
    const page = await browser.newPage();
    await page.goto(`${server.url}?example=xor`);
    await ready(page);
    await choose(page, 'webgpu');
    assert.match(await note(page), /^Runs on the CPU: (WebGPU found no adapter|there is no WebGPU here)/);
    await firstLosses(page);
    assert.equal(await get(page, 'error').isHidden(), true);
  });

  test('without WebGPU there is no choice, and why is said', async () => {
    const page = await browser.newPage({ viewport: { width: 390, height: 844 } });
    await page.addInitScript(() => Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined }));
    await page.goto(`${server.url}?example=xor`);
    await ready(page);
    for (const device of ['webgpu', 'auto']) assert.equal(await get(page, `device-${device}`).isDisabled(), true);
    assert.match(await note(page), /no WebGPU/);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
  });
});
