// The main ways through the playground and the site, in Firefox, at two widths: a program trains and is looked into, is taken
// apart and profiled, goes from hand to hand by its address and as a file; the documentation is searched, and its programs
// open in the playground. Everything else is tested in Chromium, file by file. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { mainOf, noFirefox, openFirefox, watch } from './browsers.mjs';
import { root } from '../../scripts/lib/proc.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 90_000;
const PICTURES = join(root, 'build/screenshots');
const by = (id) => `[data-testid=${id}]`;

for (const [name, viewport] of mainOf([['desk', { width: 1440, height: 900 }], ['phone', { width: 390, height: 844 }]]))
  describe(`Firefox, ${name}`, { skip: noFirefox }, () => {
    let server, browser, page, faults, folder;
    const wait = (f, ...args) => page.waitForFunction(f, { timeout: PATIENCE_MS }, ...args);
    const open = async (address) => {
      await page.goto('about:blank'); // another fragment alone loads nothing
      await page.goto(`${server.url}${address}`);
    };
    const ready = () => page.waitForSelector(`body[data-phase=paused] ${by('start')}:not([disabled])`, { timeout: PATIENCE_MS });
    const text = (id) => page.$eval(by(id), (node) => node.textContent.trim());
    const step = () => page.$eval(by('epoch'), (node) => Number(node.dataset.step));
    const reached = (least) => wait((n) => Number(document.querySelector('[data-testid=epoch]').dataset.step) >= n, least);
    /** A click where nothing has to be scrolled into sight by hand. */
    const click = (selector) => page.locator(selector).setTimeout(PATIENCE_MS).click();
    const picture = async (what) => {
      mkdirSync(PICTURES, { recursive: true });
      await page.screenshot({ path: join(PICTURES, `firefox-${what}-${name}.png`) });
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} is wider than the page`);
    };

    before(async () => {
      server = await serve({ port: 0 });
      browser = await openFirefox();
      page = await browser.newPage();
      await page.setViewport(viewport);
      faults = watch(page, server.url);
      folder = mkdtempSync(join(tmpdir(), 'sinter-firefox-'));
    });
    after(async () => {
      await browser?.close();
      await server?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    test('a program trains, pauses, and is looked into', async () => {
      await open('?example=xor');
      await ready();
      await click(by('inside-layers'));
      await click(by('start'));
      await reached(60);
      await click(by('pause'));
      await ready();
      assert.ok(Number(await page.$eval(by('loss'), (node) => node.dataset.last)) < 0.7);
      await page.waitForSelector(`${by('inside-layer-rows')} li`, { timeout: PATIENCE_MS });
      await picture('training');
    });

    test('it is taken apart: the graph, kernels that light their lines, a profile', async () => {
      await click(by('tab-compiler'));
      await wait(() => Number(document.querySelector('[data-testid=graph]')?.dataset.boxes) > 0);
      assert.match(await text('compile-summary'), /\d+ nodes? · \d+ kernels?/);
      await click(by('tab-kernels'));
      await click(`${by('kernels')} tbody tr th`);
      await wait(() => document.querySelectorAll('[data-testid=kernels] tr.lit').length === 1);
      await wait(() => document.querySelector('#program-editor .lit-line') !== null);
      await click(by('tab-time'));
      await click(by('time-run'));
      await wait(() => !document.querySelector('[data-testid=time-found]').hidden);
      await picture('compiler');
    });

    test('what is wrong in a program is said at its line, and an endless loop is ended', async () => {
      await open('?example=throw');
      await ready();
      await click(by('source-editor'));
      await page.waitForSelector(`${by('source-editor')} .cm-content`, { timeout: PATIENCE_MS });
      await click(`${by('source-editor')} .cm-content`);
      await page.keyboard.down('Control');
      await page.keyboard.press('Home');
      await page.keyboard.up('Control');
      await page.keyboard.type('for (;;);\n');
      await wait(() => /^Line 1: ProgramError: a loop or function has not come to an end/.test(document.querySelector('[data-testid=source-problem]').textContent));
      await click(by('revert'));
      await ready();
    });

    test('a changed program is in its address', async () => {
      await open('?example=xor&set=seed:7');
      await ready();
      await click(`${by('share')} summary`);
      await wait(() => document.querySelector('[data-testid=share-link]').value !== '');
      assert.match(await page.$eval(by('share-link'), (field) => field.value), /\?example=xor&set=seed(:|%3A)7$/);
    });

    test('as one HTML file it trains without a server, in a worker', async () => {
      // What is copied is taken on its way to the clipboard, which no test has to itself.
      await page.evaluate(() => {
        navigator.clipboard.writeText = async (copied) => void (window.copied = copied);
      });
      await click(by('share-html'));
      await wait(() => window.copied !== undefined);
      const path = join(folder, 'xor.html');
      writeFileSync(path, await page.evaluate(() => window.copied));
      const alone = await browser.newPage();
      const wrong = watch(alone, 'file://');
      await alone.setViewport(viewport);
      await alone.goto(pathToFileURL(path).href);
      await alone.waitForSelector('#run:not([disabled])', { timeout: PATIENCE_MS });
      await alone.click('#run');
      await alone.waitForFunction(() => Number(document.querySelector('#said').dataset.step) >= 40, { timeout: PATIENCE_MS });
      assert.equal(await alone.$eval('#threads', (box) => box.dataset.place), 'worker');
      assert.deepEqual(wrong, []);
      await alone.close();
    });

    test('the other tabs open', async () => {
      for (const [tab, there] of [['models', '#models button'], ['fit', '#fit canvas, #fit svg'], ['logic', '#logic canvas'], ['bench', '#bench button']]) {
        await open(`#${tab}`);
        await page.waitForSelector(there, { timeout: PATIENCE_MS });
        await picture(tab);
      }
    });

    test('the site: its landing page trains, its search finds, a program opens in the playground and prints', async () => {
      await open('docs/');
      await click('#live-start');
      await wait(() => Number(document.getElementById('live-plane').dataset.loss) < 0.6);
      await picture('landing');
      await open('docs/tutorials/first-tensor.html');
      await page.keyboard.press('/');
      await page.waitForSelector('.search[open]');
      await page.type('.search input', 'trainStep');
      await wait(() => document.querySelector('.search li strong')?.textContent === 'trainStep');
      await page.keyboard.press('Escape');
      await (await page.$$('.open')).at(-1).click();
      await wait(() => /has run to its end/.test(document.querySelector('[data-testid=notice]')?.textContent ?? ''));
      assert.ok((await text('printed')).length > 0);
      await picture('program');
    });

    test('no errors, no requests to elsewhere', () => assert.deepEqual(faults, []));
  });
