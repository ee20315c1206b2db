// The documentation beside the playground: every link leads somewhere, the search finds, the landing page trains, programs open
// in the playground and print there what stands beside them. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openChromium, screenshot, watch } from './browsers.mjs';
import { root } from '../../scripts/lib/proc.mjs';
import { serve } from '../../scripts/serve.mjs';
import { blocksOf, isAsSaid, programsOf, saidBy } from '../../site/blocks.mjs';

const PATIENCE_MS = 60_000;
const SITE = join(root, 'web/dist/docs');
const pages = readdirSync(SITE, { recursive: true }).filter((name) => name.endsWith('.html'));

const idsIn = new Map();
const idsOf = (file) => {
  if (!idsIn.has(file)) idsIn.set(file, new Set([...readFileSync(file, 'utf8').matchAll(/ id="([^"]*)"/g)].map((match) => match[1])));
  return idsIn.get(file);
};

/** Why a relative address of a page leads nowhere; null: it leads somewhere. */
const faultOf = (page, address) => {
  const [path, anchor] = address.split('#');
  const [name, query = ''] = path.split('?');
  const file = normalize(join(SITE, name === '' ? page : join(dirname(page), name)));
  const [, program] = /^doc=([\w-]+)$/.exec(query) ?? [];
  if (program) return existsSync(join(SITE, 'programs', `${program}.js`)) ? null : `${page}: no program ${program}`;
  if (!existsSync(file)) return `${page}: ${address}`;
  return !file.endsWith('.html') || !anchor || idsOf(file).has(anchor) ? null : `${page}: ${address}`;
};

test('every link and every picture of every page leads somewhere, by a relative address', () => {
  assert.ok(pages.length > 40, `${pages.length} pages`);
  const faults = pages.flatMap((page) => {
    const addresses = [...readFileSync(join(SITE, page), 'utf8').matchAll(/ (?:href|src)="([^"]*)"/g)].map((match) => match[1].replaceAll('&amp;', '&'));
    return addresses.filter((address) => !/^(data|https):/.test(address)).map((address) => faultOf(page, address)).filter(Boolean);
  });
  assert.deepEqual(faults, []);
  assert.match(faultOf('index.html', 'nothing.html'), /nothing/);
  assert.match(faultOf('index.html', 'ops.html#nothing'), /nothing/);
});

describe('the site', () => {
  let server, browser, page, faults;
  const open = (address) => page.goto(`${server.url}${address}`);
  const found = () => page.$$eval('.search li strong', (all) => all.map((each) => each.textContent));
  const search = async (text) => {
    await page.fill('.search input', text);
    await page.waitForFunction((asked) => document.querySelector('.search input').value === asked && document.querySelector('.found-note').textContent !== '', text);
    await page.waitForFunction(() => document.querySelectorAll('.search li').length > 0);
  };

  before(async () => {
    server = await serve({ port: 0 });
    browser = await openChromium();
    page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    faults = watch(page, server.url);
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('the landing page trains what it shows', async () => {
    await open('docs/');
    await page.click('#live-start');
    await page.waitForFunction(() => Number(document.getElementById('live-plane').dataset.loss) < 0.2, null, { timeout: PATIENCE_MS });
    await page.click('#live-start');
    assert.match(await page.textContent('#live-figures'), /^step \d+, loss 0\.\d+$/);
    assert.match(await page.textContent('#live-note'), /^On \d+ threads?/);
    await screenshot(page, 'site-landing');
  });

  test('the search finds functions, their parts, and tutorials; by keyboard alone', async () => {
    await open('docs/tutorials/memory.html');
    await page.keyboard.press('/');
    await page.waitForSelector('.search[open]');
    await search('trainStep');
    assert.equal((await found())[0], 'trainStep');
    await search('cross entropy');
    assert.ok((await found()).some((title) => /crossentropy/i.test(title)), (await found()).join());
    await search('logsumepx'); // a slip of the pen
    assert.equal((await found())[0], 'logsumexp');
    await screenshot(page, 'site-search');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/reference\/reductions\.html#logsumexp$/);
    await page.keyboard.press('Control+k');
    await page.waitForSelector('.search[open]');
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('.search[open]').count(), 0);
  });

  const squeezed = (lines) => lines.join('').replaceAll(/[\s'"]/g, '');
  const cases = ['first-tensor', 'numerics', 'coming-from', 'loops'];
  for (const name of cases) {
    test(`the last program of ${name} opens in the playground, and prints there what stands below it`, async () => {
      await open(`docs/tutorials/${name}.html`);
      await page.locator('.open').last().click();
      await page.waitForFunction(() => /has run to its end/.test(document.querySelector('[data-testid=notice]').textContent), null, { timeout: PATIENCE_MS });
      const source = `docs/tutorials/${name}.md`;
      const said = programsOf(blocksOf(readFileSync(join(root, source), 'utf8'), source)).at(-1).flatMap(saidBy);
      const printed = await page.$$eval('[data-testid=printed] p', (all) => all.map((line) => line.textContent));
      if (!isAsSaid([squeezed(printed)], [squeezed(said)])) assert.deepEqual(printed, said);
      if (name === cases[0]) await screenshot(page, 'site-program');
    });
  }

  test('one that imports an entry point runs there, too', async () => {
    await open('docs/tutorials/performance.html');
    await page.locator('.open').first().click();
    await page.waitForFunction(() => /goes to .*\d ms/.test(document.querySelector('[data-testid=printed]').textContent), null, { timeout: PATIENCE_MS });
  });

  test('an example of the reference opens there, too; what is not there is said, and the page goes on', async () => {
    await open('docs/reference/linear-algebra.html');
    await page.locator('.open').first().click();
    await page.waitForFunction(() => /Float32Array\(2\) \[ 3, 7 \]/.test(document.querySelector('[data-testid=printed]').textContent), null, { timeout: PATIENCE_MS });
    for (const [wrong, expected] of [['nothing-1', /no program nothing-1 in the documentation/], ['..%2Fpage', /damaged/]]) {
      await page.goto('about:blank');
      const before = faults.length;
      await open(`?doc=${wrong}`);
      await page.waitForSelector('[data-testid=error]:not([hidden])');
      assert.match(await page.textContent('[data-testid=error]'), expected);
      await page.waitForSelector('[data-testid=start]:not([disabled])', { timeout: PATIENCE_MS });
      faults.splice(before, faults.length, ...faults.slice(before).filter((fault) => !/404/.test(fault)));
    }
  });

  test('on a phone: nothing is wider than the screen, and the menu opens', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    for (const name of ['index.html', 'tutorials/coming-from.html', 'reference/creation.html', 'benchmarks.html', 'package.html', 'platforms.html', 'tutorials/native-c.html']) {
      await open(`docs/${name}`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, name);
    }
    await page.setViewportSize({ width: 320, height: 640 });
    for (const name of ['index.html', 'core.html', 'scale.html', 'glossary.html', 'contributing.html']) {
      await open(`docs/${name}`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, `${name} at 320`);
    }
    await page.setViewportSize({ width: 390, height: 844 });
    await open('docs/ops.html');
    const broken = await page.locator('td > code').evaluateAll((all) => all.filter((code) => /^\w+$/.test(code.textContent) && code.getClientRects().length > 1).map((code) => code.textContent));
    assert.deepEqual(broken, [], 'names stay whole');
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, 'ops.html');
    assert.equal(await page.locator('#menu').isVisible(), false);
    await page.click('#menu-button');
    assert.equal(await page.locator('#menu').isVisible(), true);
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('#menu').isVisible(), false);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  test('no errors, no requests to elsewhere', () => assert.deepEqual(faults, []));
});
