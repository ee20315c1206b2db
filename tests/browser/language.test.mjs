// TypeScript in the playground's editor: loaded with the first focus, it proposes names with what they mean, describes what is
// under the pointer, and underlines mistakes before anything runs. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openChromium, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 60_000;
/** Bytes, gzipped, of the page itself before it is touched: without the package, the trainer and data. */
const MOST_OWN = 40_000;
describe('the language of the editor', () => {
  let server, browser, page, faults;
  const asked = [];
  const editor = (rest) => `[data-testid=source-editor] ${rest}`;
  const typed = async (text) => {
    await page.keyboard.press('Control+End');
    await page.keyboard.type(text, { delay: 20 });
  };

  before(async () => {
    server = await serve({ port: 0 });
    browser = await openChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    faults = watch(page, server.url);
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${server.url}?example=spirals`);
    await page.waitForSelector('[data-testid=start]:not([disabled])', { timeout: PATIENCE_MS });
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('what is not asked for is not loaded: editor, language, charts', async (t) => {
    assert.deepEqual(asked.filter((path) => /\/(editor|language|highlight|strip|uPlot\.esm)-/.test(path)), []);
    const own = [...new Set(asked)].filter((path) => !/\.bin$|\.wasm$|\/worker-/.test(path));
    const sizes = await Promise.all(own.map(async (path) => gzipSync(Buffer.from(await (await fetch(new URL(path, server.url))).arrayBuffer())).length));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    t.diagnostic(`${own.join(' ')}: ${total} bytes`);
    assert.ok(total < MOST_OWN, `${total} bytes`);
  });

  test('a name is completed, with its declaration and its description', async () => {
    await page.click(editor('.preview'));
    await page.click(editor('.cm-content'));
    await typed('\nsn.layerN');
    const option = page.locator('.cm-tooltip-autocomplete li', { hasText: 'layerNorm' }).first();
    await option.waitFor({ timeout: PATIENCE_MS });
    await page.waitForFunction(() => /function layerNorm\(x/.test(document.querySelector('.cm-completionInfo')?.textContent ?? ''), null, { timeout: PATIENCE_MS });
    assert.match(await page.locator('.cm-completionInfo p').textContent(), /last axis|mean 0/i);
    await screenshot(page, 'language-completion');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('[data-testid=source-editor] .cm-content').textContent.endsWith('sn.layerNorm'));
  });

  test('a mistake is underlined in the words of TypeScript', async () => {
    await typed('({ shape: 1 });');
    await page.locator(editor('.cm-lintRange-error')).first().waitFor({ state: 'attached', timeout: PATIENCE_MS });
    const isSaid = () => page.waitForFunction(() => /not assignable|does not exist|Argument of type/.test(document.querySelector('.cm-tooltip-lint')?.textContent ?? ''), null, { timeout: 5000 }).then(() => true, () => false);
    // As below: what moves in the meantime ends the question.
    for (let end = Date.now() + PATIENCE_MS; ; ) {
      await page.locator(editor('.cm-lintRange-error')).last().hover();
      if (await isSaid()) break;
      assert.ok(Date.now() < end, 'nothing is said');
      await page.mouse.move(5, 5);
    }
    await screenshot(page, 'language-mistake');
  });

  test('what is under the pointer is described', async () => {
    await page.keyboard.press('Control+Home');
    const name = page.locator(editor('.cm-line span'), { hasText: /^linspace$/ }).first();
    const isDescribed = () => page.waitForFunction(() => /^linspace\(start: number.*Tensor/s.test(document.querySelector('.cm-tooltip-hover .language-note')?.textContent ?? ''), null, { timeout: 5000 }).then(() => true, () => false);
    // The editor asks once for each rest of the pointer; what moves in the meantime ends the question.
    for (let end = Date.now() + PATIENCE_MS; ; ) {
      await name.hover();
      if (await isDescribed()) break;
      assert.ok(Date.now() < end, 'nothing is described');
      await page.mouse.move(5, 5);
    }
  });

  test('programs of the gallery have no mistakes', async () => {
    await page.mouse.move(5, 5);
    for (const name of ['xor', 'cnn', 'physics', 'automaton']) {
      await page.click(`[data-testid=example-${name}]`);
      await page.waitForFunction((wanted) => document.querySelector('[data-testid=lesson]').dataset.program === wanted, name, { timeout: PATIENCE_MS });
      await page.waitForSelector('[data-testid=source-editor] .cm-editor[data-mistakes]', { timeout: PATIENCE_MS });
      const marked = await page.locator(editor('.cm-lintRange-error')).allTextContents();
      assert.deepEqual(marked, [], name);
    }
  });

  test('no errors, no requests to elsewhere', () => assert.deepEqual(faults, []));
});
