// The Compiler tab with the graphics processor switched on, here a driver in software: shaders beside WebAssembly, and what is
// said where there is no such processor. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openChromium, openWithWebgpu, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 60_000;
const get = (page, id) => page.locator(`[data-testid=${id}]`);
const said = (page, words) => page.waitForFunction(
  (source) => new RegExp(source).test(document.querySelector('[data-testid=program-problem]')?.textContent ?? ''),
  words, { timeout: PATIENCE_MS },
);
const flip = (page) => page.evaluate(() => document.querySelector('[data-testid=switch-device]').click());
const engines = (page) => page.locator('[data-testid=kernels] tbody .engine').allTextContents();
const code = (page, words) => page.waitForFunction(
  (source) => new RegExp(source).test(document.querySelector('[data-testid=kernel-code] .cm-content').textContent),
  words, { timeout: PATIENCE_MS },
);

let server;
before(async () => (server = await serve({ port: 0 })));
after(() => server?.close());

describe('the Compiler tab with WebGPU', () => {
  let browser, page, faults;
  const asked = [];

  before(async () => {
    browser = await openWithWebgpu();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    faults = watch(page, server.url);
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(`${server.url}?example=dense#compiler`);
    await said(page, '^Compiled in');
    await get(page, 'tab-kernels').click();
  });
  after(() => browser?.close());

  test('it is off, and nothing of it is loaded', async () => {
    assert.equal(await get(page, 'switch-device').isChecked(), false);
    assert.equal(await get(page, 'kernel-wgsl').isHidden(), true);
    assert.ok((await engines(page)).every((engine) => engine !== 'wgsl'));
    assert.deepEqual(asked.filter((url) => /gpu/.test(url)), []);
  });

  test('switched on, kernels are shaders, to be read beside WebAssembly', async () => {
    await flip(page);
    await said(page, '^Compiled for google swiftshader in');
    assert.ok((await engines(page)).includes('wgsl'));
    assert.match(await get(page, 'compile-summary').textContent(), /\d+ dispatch/);
    await get(page, 'kernel-wgsl').click();
    await code(page, '@group.*var<storage');
    await screenshot(page, 'shaders-desk');
    await get(page, 'kernel-wat').click();
    await code(page, 'graphics processor');
    await get(page, 'kernel-wgsl').click();
  });

  test('what it is worth is measured', async () => {
    await get(page, 'measure').click();
    await page.waitForFunction(() => Number(document.querySelector('[data-testid=effect-device]').dataset.value) > 0, null, { timeout: PATIENCE_MS });
    await get(page, 'measure').click();
  });

  test('another program is compiled for it, too, and the other views go on', async () => {
    await page.evaluate(() => {
      const select = document.querySelector('[data-testid=example]');
      select.value = 'mlp';
      select.dispatchEvent(new Event('change'));
    });
    await page.waitForFunction(() => document.querySelectorAll('[data-testid=kernels] tbody tr').length > 5, null, { timeout: PATIENCE_MS });
    await said(page, '^Compiled for google swiftshader in');
    await code(page, '@group.*var<storage');
    for (const tab of ['memory', 'js', 'c', 'time', 'stages', 'kernels']) await get(page, `tab-${tab}`).click();
    assert.equal(await get(page, 'time-run').isDisabled(), true);
  });

  test('switched off, all is as it was; nothing overflows, no errors, no requests to elsewhere', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth) <= 0);
    const cut = await page.evaluate(() => {
      const all = document.querySelector('[data-testid=kernel-wgsl]').parentElement;
      return all.scrollWidth - all.clientWidth;
    });
    assert.equal(cut, 0, 'all buttons are in sight');
    await screenshot(page, 'shaders-phone');
    await flip(page);
    await said(page, '^Compiled in');
    assert.equal(await get(page, 'kernel-wgsl').isHidden(), true);
    assert.equal(await get(page, 'kernel-loops').getAttribute('aria-pressed'), 'true');
    assert.ok((await engines(page)).every((engine) => engine !== 'wgsl'));
    assert.deepEqual(faults, []);
  });
});

test('without an adapter the switch goes back, and why is said; programs are compiled for the CPU', async (t) => {
  const browser = await openChromium();
  t.after(() => browser.close());
  const page = await browser.newPage();
  await page.goto(`${server.url}?example=dense#compiler`);
  await said(page, '^Compiled in');
  await flip(page);
  await page.waitForFunction(() => document.querySelector('[data-testid=switch-device]').disabled, null, { timeout: PATIENCE_MS });
  assert.equal(await get(page, 'switch-device').isChecked(), false);
  assert.match(await page.locator('tr', { has: get(page, 'switch-device') }).textContent(), /no adapter|no WebGPU/);
  await said(page, '^Compiled in');
});
