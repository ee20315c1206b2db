// The page and the site for everyone: axe finds no serious fault in any tab and on any kind of page, in the dark and in the
// light; the keyboard reaches everything and shows where it is; nothing moves for those who do not want it; the page works with
// one thread and says what brings the others.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { openChromium, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 60_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Faults that keep somebody out, as 'rule: element'; by all rules, or by some. */
const faultsOf = async (page, rules = null) => {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  return page.evaluate(async (runOnly) => {
    const { violations } = await window.axe.run({ resultTypes: ['violations'], ...(runOnly && { runOnly }) });
    const found = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    return found.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} - ${failureSummary.split('\n').at(-1).trim()}`));
  }, rules);
};

describe('for everyone', () => {
  let server, browser, page, faults;
  /** A page of its own: another fragment alone loads nothing. */
  const open = async (address) => {
    await page.goto('about:blank');
    await page.goto(`${server.url}${address}`);
  };
  const ready = () => page.waitForSelector('[data-testid=start]:not([disabled])', { timeout: PATIENCE_MS });
  const inBoth = async () => {
    assert.deepEqual(await faultsOf(page), []);
    await page.emulateMedia({ colorScheme: 'dark' }); // where colours alone differ
    assert.deepEqual(await faultsOf(page, ['color-contrast']), [], 'in the dark');
    await page.emulateMedia({ colorScheme: 'light' });
  };

  before(async () => {
    server = await serve({ port: 0 });
    browser = await openChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' });
    faults = watch(page, server.url);
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('a planted fault is found', async () => {
    await page.setContent('<title>x</title><html lang="en"><main><h1>x</h1><input><p style="color: #ccc; background: #fff">pale</p></main>');
    const found = await faultsOf(page);
    assert.ok(found.some((each) => each.startsWith('label')) && found.some((each) => each.startsWith('color-contrast')), found.join());
  });

  for (const name of ['index.html', 'tutorials/first-tensor.html', 'reference/linear-algebra.html', 'benchmarks.html']) {
    test(`the page ${name} of the site`, async () => {
      await open(`docs/${name}`);
      await inBoth();
    });
  }

  test('its search', async () => {
    await page.keyboard.press('/');
    await page.waitForSelector('.search[open]');
    await page.fill('.search input', 'softmax');
    await page.waitForFunction(() => document.querySelectorAll('.search li').length > 0);
    await inBoth();
  });

  const TABS = {
    '?example=xor': () => ready(),
    '#fit': () => page.waitForSelector('#fit canvas, #fit svg'),
    '#logic': () => page.waitForSelector('#logic button'),
    '?logic=rules&rules=family#logic': () => page.waitForSelector('#logic table, #logic canvas'),
    '?example=softmax#compiler': () => page.waitForFunction(() => Number(document.querySelector('[data-testid=graph]')?.dataset.boxes) > 0, null, { timeout: PATIENCE_MS }),
    '#bench': () => page.waitForSelector('#bench button'),
    '#models': () => page.waitForSelector('#models button, #models input'),
  };
  for (const [address, isThere] of Object.entries(TABS)) {
    test(`the playground at ${address}`, async () => {
      await open(address);
      await isThere();
      await inBoth();
    });
  }

  test('each view of the Compiler tab', async () => {
    await open('?example=mlp#compiler');
    await TABS['?example=softmax#compiler']();
    for (const view of ['kernels', 'time', 'memory', 'tuning', 'js', 'c']) {
      await page.click(`[data-testid=tab-${view}]`);
      await page.waitForSelector(`#view-${view}:not([hidden])`);
      assert.deepEqual(await faultsOf(page), [], view);
    }
  });

  test('what a tab brings with it changes the look of no other', async () => {
    await open('?example=xor#bench');
    await TABS['#bench']();
    await page.waitForSelector('[data-testid=start]:not([disabled])', { state: 'attached', timeout: PATIENCE_MS });
    await page.evaluate(() => {
      const LOOK = ['appearance', 'background-color', 'border', 'color', 'margin', 'min-height', 'padding', 'accent-color', 'font-size', 'font-weight'];
      const of = (node) => LOOK.map((name) => `${name}: ${getComputedStyle(node)[name]}`).join('; ');
      const state = (node) => `${node.className} ${node.disabled} ${node.getAttribute('aria-pressed')} ${node.dataset.state}`;
      const looks = new Map([...document.querySelectorAll('#training *, #bench *')].map((node) => [node, [state(node), of(node)]]));
      window.changedLooks = () => [...looks].filter(([node, [was, look]]) => node.isConnected && state(node) === was && of(node) !== look)
        .map(([node, [, look]]) => `${node.tagName} ${node.id} ${node.className}: ${look} -> ${of(node)}`);
    });
    for (const address of ['#fit', '#logic', '?example=softmax#compiler', '#models', '#bench']) {
      await page.click(`#tab-${address.split('#')[1]}`);
      await TABS[address]();
    }
    assert.deepEqual(await page.evaluate(() => window.changedLooks()), []);
  });

  test('a program in training, with all that it shows', async () => {
    await open('?example=mlp');
    await ready();
    for (const view of ['layers', 'confusion', 'rewind', 'runs', 'memory']) await page.click(`[data-testid=inside-${view}]`);
    await page.click('[data-testid=start]');
    await page.waitForFunction(() => document.querySelectorAll('[data-testid=op-timings] tbody tr').length > 0, null, { timeout: PATIENCE_MS });
    await page.click('[data-testid=pause]');
    await page.locator('[data-testid=source-editor] .preview').click();
    await page.waitForSelector('[data-testid=source-editor] .cm-content');
    await inBoth();
    await page.click('[data-testid=share] summary');
    await inBoth();
  });

  test('the keyboard goes through the head of the page in its order, and what has the focus is outlined', async () => {
    await open('?example=xor');
    await ready();
    const seen = [];
    for (let i = 0; i < 12; i += 1) {
      await page.keyboard.press('Tab');
      seen.push(await page.evaluate(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        const { top, left, width } = document.activeElement.getBoundingClientRect();
        return { id: document.activeElement.id || document.activeElement.textContent.trim().slice(0, 20), top, left, width, isOutlined: outlineStyle !== 'none' && outlineWidth !== '0px' };
      }));
    }
    assert.equal(seen[0].id, 'tab-training');
    assert.deepEqual(seen.filter(({ isOutlined, width }) => !isOutlined || width === 0), []);
    const order = seen.map(({ top }) => Math.round(top / 60));
    assert.deepEqual(order, [...order].sort((a, b) => a - b), JSON.stringify(seen));
    await page.keyboard.press('Home');
    await open('docs/tutorials/memory.html');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.closest('main') !== null), true);
  });

  test('what a tab and a program are for is said in full, however wide the window is', async () => {
    await open('?example=xor');
    await ready();
    const cut = () => page.evaluate(() => {
      const { purpose, 'place-purpose': place, examples } = Object.fromEntries(['purpose', 'place-purpose', 'examples'].map((id) => [id, document.getElementById(id)]));
      const isCut = (line) => line.scrollHeight > line.clientHeight + 1;
      const shown = purpose.textContent;
      const of = [...examples.querySelectorAll('button')].map(({ title }) => title).filter((title) => {
        purpose.textContent = title;
        return isCut(purpose);
      });
      purpose.textContent = shown;
      return isCut(place) ? [...of, place.textContent] : of;
    });
    for (const width of [1241, 1300, 1400, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      for (const tab of ['training', 'fit', 'compiler']) {
        await page.click(`#tab-${tab}`);
        assert.deepEqual(await cut(), [], `${width} px, ${tab}`);
      }
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  test('nothing moves by itself for those who do not want it', async () => {
    for (const address of ['?example=xor', 'docs/']) {
      await open(address);
      assert.deepEqual(await page.evaluate(() => document.getAnimations().map(({ animationName, transitionProperty }) => animationName ?? transitionProperty)), []);
    }
  });

  test('no errors, no requests to elsewhere', () => assert.deepEqual(faults, []));
});

test('without isolation everything works on one thread, and the page and the site say which two lines bring the others', async () => {
  const server = await serve({ port: 0, isolation: false });
  const browser = await openChromium();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    const faults = watch(page, server.url);
    await page.goto(`${server.url}?example=xor`);
    await page.waitForSelector('[data-testid=start]:not([disabled])', { timeout: PATIENCE_MS });
    await page.click('[data-testid=step]');
    await page.waitForFunction(() => /^\d/.test(document.querySelector('[data-testid=loss]').textContent));
    assert.equal(await page.getAttribute('[data-testid=capabilities]', 'data-threads'), '1');
    await page.click('[data-testid=capabilities] summary');
    const said = await page.textContent('[data-testid=capabilities] .popover');
    assert.match(said, /one thread/i);
    for (const line of ['Cross-Origin-Opener-Policy: same-origin', 'Cross-Origin-Embedder-Policy: require-corp']) assert.ok(said.includes(line), said);
    await screenshot(page, 'access-one-thread');
    await page.goto(`${server.url}docs/`);
    await page.click('#live-start');
    await page.waitForFunction(() => document.getElementById('live-plane').dataset.loss !== undefined, null, { timeout: PATIENCE_MS });
    assert.match(await page.textContent('#live-note'), /one thread.*Cross-Origin-Opener-Policy: same-origin.*Cross-Origin-Embedder-Policy: require-corp/i);
    assert.deepEqual(faults, []);
  } finally {
    await browser.close();
    await server.close();
  }
});
