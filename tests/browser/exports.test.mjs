// What leaves the playground as a file: a program as one HTML file, weights, curves, pictures. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { openChromium, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 60_000;
const by = (id) => `[data-testid=${id}]`;

/** The tensors of a file in the format safetensors, read by its own rules. */
const tensorsOf = (bytes) => {
  const size = Number(bytes.readBigUInt64LE(0));
  const { __metadata__: metadata, ...tensors } = JSON.parse(bytes.subarray(8, 8 + size).toString());
  return { metadata, tensors };
};

describe('files of the playground', () => {
  let server, browser, page, faults, folder;
  const wait = (f, argument) => page.waitForFunction(f, argument, { timeout: PATIENCE_MS });
  const ready = () => page.waitForSelector(`body[data-phase=paused] ${by('start')}:not([disabled])`, { timeout: PATIENCE_MS });
  const open = async (name) => {
    await page.goto(`${server.url}?example=${name}`);
    await ready();
    await page.click(`${by('share')} summary`);
  };
  /** What a click saves. */
  const saved = async (id) => {
    const [file] = await Promise.all([page.waitForEvent('download', { timeout: PATIENCE_MS }), page.click(by(id))]);
    const path = join(folder, file.suggestedFilename());
    await file.saveAs(path);
    return path;
  };
  /** Opens a file without a network, and trains in it. */
  const trainsOffline = async (path, viewport, colorScheme, picture) => {
    const context = await browser.newContext({ viewport, colorScheme, offline: true });
    const alone = await context.newPage();
    const wrong = watch(alone, 'file://');
    await alone.goto(pathToFileURL(path).href);
    await alone.waitForSelector('#run:not([disabled])', { timeout: PATIENCE_MS });
    await alone.click('#run');
    await alone.waitForFunction(() => Number(document.querySelector('#said').dataset.step) >= 40, null, { timeout: PATIENCE_MS });
    await alone.click('#run');
    const text = await alone.textContent('#said');
    await screenshot(alone, picture);
    assert.ok(await alone.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    const [threads, place] = [await alone.textContent('#threads'), await alone.getAttribute('#threads', 'data-place')];
    const drawn = await alone.evaluate(() => Number(document.querySelector('#own').dataset.drawn ?? 0));
    await context.close();
    assert.deepEqual(wrong, []);
    return { loss: Number(/loss ([\d.e-]+)/.exec(text)[1]), threads, place, drawn };
  };

  before(async () => {
    server = await serve({ port: 0 });
    browser = await openChromium();
    page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    faults = watch(page, server.url);
    folder = mkdtempSync(join(tmpdir(), 'sinter-exports-'));
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('a program is one HTML file that trains without a network, and says what one thread costs', async () => {
    await open('xor');
    await screenshot(page, 'exports-share');
    const path = await saved('share-file');
    assert.match(await page.textContent(by('share-note')), /One file of .* without a network/);
    const { loss, threads, place, drawn } = await trainsOffline(path, { width: 1440, height: 900 }, 'light', 'exports-offline-desk');
    assert.ok(loss < 0.69, String(loss));
    assert.ok(drawn > 0);
    assert.equal(place, 'worker');
    assert.match(threads, /one thread/);
    assert.match(threads, /Cross-Origin-Opener-Policy: same-origin\nCross-Origin-Embedder-Policy: require-corp/);
  });

  test('where the browser makes no worker of a file, it trains in the page', async () => {
    const path = join(folder, 'alone.html');
    writeFileSync(path, readFileSync(join(folder, 'sinter-xor.html'), 'utf8').replace('<head>', '<head><script>delete globalThis.Worker;</script>'));
    const { loss, place } = await trainsOffline(path, { width: 820, height: 900 }, 'dark', 'exports-offline-page');
    assert.equal(place, 'page');
    assert.ok(loss < 0.69, String(loss));
  });

  test('a program without an end blocks no file: Reset ends it', async () => {
    await page.goto(`${server.url}?example=xor`);
    await ready();
    const html = readFileSync(join(folder, 'sinter-xor.html'), 'utf8');
    const path = join(folder, 'endless.html');
    writeFileSync(path, html.replace('"code":"', '"code":"if (!globalThis.document) for (;;);'));
    const context = await browser.newContext({ offline: true });
    const alone = await context.newPage();
    await alone.goto(pathToFileURL(path).href);
    await alone.waitForFunction(() => document.querySelector('#threads').dataset.place === 'worker');
    await alone.click('#again'); // which the page answers
    assert.equal(await alone.textContent('#said'), 'Loading…');
    await context.close();
  });

  test('digits and sonnets that a program asks for are in its file', async () => {
    for (const [name, colorScheme, start] of [['mlp', 'dark', 2.2], ['text', 'light', 4.2]]) {
      await open(name);
      const { loss } = await trainsOffline(await saved('share-file'), { width: 390, height: 844 }, colorScheme, `exports-offline-${name}-phone`);
      assert.ok(loss < start, `${name}: ${loss}`);
    }
  });

  test('a program that is only looked at has no page of its own', async () => {
    await page.goto(`${server.url}?example=softmax`);
    await page.waitForSelector('body[data-phase=failed]', { timeout: PATIENCE_MS });
    await page.click(`${by('share')} summary`);
    for (const id of ['share-file', 'share-html']) {
      await page.click(by(id));
      await wait(() => /^Softmax is a program to look at/.test(document.querySelector('[data-testid=share-note]').textContent));
    }
    await page.keyboard.press('Escape');
  });

  test('the settings and the text of the editor go along', async () => {
    await page.goto(`${server.url}?example=xor&set=seed:7`);
    await ready();
    await page.click(`${by('share')} summary`);
    const html = readFileSync(await saved('share-file'), 'utf8');
    const { settings, text, code } = JSON.parse(/id="contents">(.*?)<\/script>/.exec(html)[1]);
    assert.equal(settings.seed, 7);
    assert.match(text, /import type/);
    assert.doesNotMatch(code, /import type/);
  });

  test('weights are a file by their places, curves are CSV and JSON', async () => {
    await open('mlp');
    await page.keyboard.press('Escape');
    await page.click(by('start'));
    await wait(() => Number(document.querySelector('[data-testid=epoch]').dataset.step) >= 30);
    await page.click(by('pause'));
    await ready();
    await page.waitForTimeout(500);
    await page.click(`${by('share')} summary`);
    const { tensors, metadata } = tensorsOf(readFileSync(await saved('share-weights')));
    assert.deepEqual(Object.keys(tensors).sort(), ['0.bias', '0.weight', '2.bias', '2.weight', '4.bias', '4.weight']);
    assert.deepEqual(tensors['0.weight'].shape, [784, 256]);
    assert.equal(metadata.step, await page.getAttribute(by('epoch'), 'data-step'));
    const lines = readFileSync(await saved('share-csv'), 'utf8').trim().split('\r\n');
    assert.equal(lines[0], 'step,loss,running mean of the loss,gradient norm,learning rate,milliseconds of a step');
    assert.equal(lines.length - 1, Number(metadata.step));
    const { columns, settings } = JSON.parse(readFileSync(await saved('share-json'), 'utf8'));
    assert.equal(String(columns.loss.at(-1)), await page.getAttribute(by('loss'), 'data-last'));
    assert.equal(columns.loss.at(-1), Number(lines.at(-1).split(',')[1]));
    assert.equal(settings.batch, 128);
  });

  test('a view of any tab is a picture, as PNG and as SVG', async () => {
    await page.goto(`${server.url}?example=xor`);
    await ready();
    const size = (bytes) => [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
    for (const [place, title] of [['training', 'Loss'], ['bench', 'Figures'], ['compiler', 'Switches']]) {
      await page.click(by(`tab-${place}`));
      await page.waitForTimeout(1000);
      await page.click(`${by('pictures')} summary`);
      // The list is that of the tab.
      await wait((view) => [...document.querySelectorAll('[data-testid=picture-view] option')].some(({ textContent }) => textContent === view), title);
      await page.selectOption(by('picture-view'), title);
      const png = readFileSync(await saved('picture-png'));
      assert.equal(png.subarray(1, 4).toString(), 'PNG');
      assert.ok(size(png).every((pixels) => pixels > 100), size(png).join());
      const path = await saved('picture-svg');
      const svg = readFileSync(path, 'utf8');
      assert.match(svg, /^<svg /);
      assert.ok(svg.includes(title));
      assert.ok(svg.includes('scrollbar-width: none'), 'no scroll bar over what it shows');
      const width = await page.evaluate(async (text) => {
        const image = new Image();
        image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
        await image.decode();
        return image.naturalWidth;
      }, svg);
      assert.ok(width > 100, String(width));
      await page.keyboard.press('Escape');
    }
  });

  test('the page did nothing that it should not', () => {
    assert.deepEqual(faults, []);
  });
});
