// Every program of the gallery learns what its lesson promises: each check of its cards passes. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { mainOf, openChromium, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 60_000;
/** Those of large networks take minutes to their last card; here they go to the first. */
const LONG = ['mlp', 'cnn', 'text', 'vae'];
const GALLERY = new URL('../../web/src/program/gallery/', import.meta.url);

describe('the gallery', async () => {
  const files = (await readdir(GALLERY)).filter((file) => file.endsWith('.ts'));
  const sources = await Promise.all(files.map((file) => readFile(new URL(file, GALLERY), 'utf8')));
  const names = files.filter((_, i) => /^export default/m.test(sources[i])).map((file) => file.slice(0, -3));
  let server, browser, page, faults;
  const get = (id) => page.locator(`[data-testid=${id}]`);

  before(async () => {
    server = await serve({ port: 0 });
    browser = await openChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    faults = watch(page, server.url);
    await page.goto(`${server.url}?example=${names[0]}`);
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('all programs that learn are in the row', async () => {
    const shown = await page.locator('#examples button').evaluateAll((list) => list.map(({ dataset }) => dataset.testid.slice('example-'.length)));
    assert.deepEqual(shown.toSorted(), names.toSorted());
  });

  for (const name of mainOf(names, 4)) {
    test(`${name} learns what its lesson says`, async (t) => {
      await get(`example-${name}`).click();
      await page.waitForFunction((wanted) => document.querySelector('[data-testid=lesson]').dataset.program === wanted, name, { timeout: PATIENCE_MS });
      await page.waitForSelector('[data-testid=start]:not([disabled])', { timeout: PATIENCE_MS });
      assert.equal(await get('lesson').getAttribute('data-passed'), '0');
      const checks = Number(await get('lesson').getAttribute('data-checks'));
      assert.ok(checks >= 1);
      await get('start').click();
      await page.waitForFunction((wanted) => Number(document.querySelector('[data-testid=lesson]').dataset.passed) >= wanted,
        LONG.includes(name) ? 1 : checks, { timeout: 2 * PATIENCE_MS });
      t.diagnostic(`${checks} checks, step ${await get('epoch').getAttribute('data-step')}`);
      if (await get('views').isVisible()) {
        const painted = await page.locator('#drawings canvas').first().evaluate((canvas) => {
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          return new Set(new Uint32Array(data.buffer)).size;
        });
        assert.ok(painted > 2, `${painted} colours`);
      }
      await screenshot(page, `gallery-${name}`);
      await get('pause').click();
    });
  }

  test('a lesson is gone through card by card', async () => {
    await get('example-xor').click();
    await page.waitForFunction(() => document.querySelector('[data-testid=lesson]').dataset.program === 'xor');
    const [first] = [await get('lesson-text').textContent()];
    assert.equal(await get('lesson-back').isDisabled(), true);
    await get('lesson-next').click();
    assert.notEqual(await get('lesson-text').textContent(), first);
    await get('lesson-back').click();
    assert.equal(await get('lesson-text').textContent(), first);
  });

  test('no errors, no requests to elsewhere', () => assert.deepEqual(faults, []));
});
