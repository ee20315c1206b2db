// The Compiler tab's views as one instrument: what is selected in one is lit in the others. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openChromium, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 60_000;

describe('the views of the compiler', () => {
  let server, browser, page, faults;
  const by = (id) => `[data-testid=${id}]`;
  const wait = (f, argument) => page.waitForFunction(f, argument, { timeout: PATIENCE_MS });

  /** Opens an example and waits until its picture is there. */
  const example = async (id) => {
    const turn = await page.evaluate((name) => {
      const select = document.querySelector('[data-testid=example]');
      const { turn: before } = document.querySelector('[data-testid=compile-summary]').dataset;
      select.value = name;
      select.dispatchEvent(new Event('change'));
      return before ?? '';
    }, id);
    await wait((was) => (document.querySelector('[data-testid=compile-summary]').dataset.turn ?? '') !== was, turn);
    await wait(() => Number(document.querySelector('[data-testid=graph]').dataset.boxes) > 0);
  };

  /** In the page: what is lit where. */
  const lit = () => page.evaluate(() => ({
    lines: [...document.querySelectorAll('#program-editor .lit-line:not(.around)')].map((line) => line.textContent.trim()),
    boxes: Number(document.querySelector('[data-testid=graph]').dataset.lit ?? 0),
    kernels: [...document.querySelectorAll('[data-testid=kernels] tr.lit th')].map((cell) => cell.textContent),
    blocks: document.querySelectorAll('[data-testid=memory] rect.lit').length,
  }));

  before(async () => {
    server = await serve({ port: 0 });
    browser = await openChromium();
    page = await browser.newPage();
    await page.setViewportSize({ width: 1440, height: 900 });
    faults = watch(page, server.url);
    await page.goto(`${server.url}#compiler`);
    await page.waitForSelector(`${by('program-editor')} .cm-line`);
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('a line of the program lights its nodes, its kernels and their blocks; a kernel lights its lines', async () => {
    await example('dense');
    await page.click(by('show-nodes'));
    await page.locator(`${by('program-editor')} .cm-line`, { hasText: 'return sn.relu' }).click();
    await wait(() => Number(document.querySelector('[data-testid=graph]').dataset.lit) > 0);
    const { boxes, kernels } = await lit();
    assert.equal(kernels.length, 1);
    assert.ok(boxes >= 3, `${boxes} boxes for matmul, add and relu`);
    await screenshot(page, 'views-line');

    await example('mlp');
    assert.deepEqual(await lit(), { lines: [], boxes: 0, kernels: [], blocks: 0 });
    await page.click(by('tab-kernels'));
    await page.locator(`${by('kernels')} tbody tr`, { hasText: 'equal' }).first().click();
    await wait(() => document.querySelector('#program-editor .lit-line') !== null);
    const chosen = await lit();
    assert.equal(chosen.kernels.length, 1);
    assert.ok(chosen.lines.some((line) => line.includes('softmaxCrossEntropy')), chosen.lines.join());
    await page.click(by('tab-memory'));
    await wait(() => document.querySelector('[data-testid=memory] rect.lit') !== null);
    await page.locator(`${by('memory')} rect`).first().click();
    const block = await lit();
    assert.equal(block.blocks, 1);
    assert.equal(block.kernels.length, 1);
    await screenshot(page, 'views-block');
    await page.click(by('tab-stages'));
  });

  test('a selection among 4,000 nodes is lit, and drawn', async () => {
    const source = `function program(x) {
  let y = x;
  for (let i = 0; i < 1000; i++)
    y = y.mul(x).sub(i);
  return sn.sin(y);
}
const inputs = [sn.ones([64])];
`;
    await page.click(by('tab-stages'));
    await page.click(`${by('program-editor')} .cm-content`);
    await page.keyboard.press('Control+a');
    await page.keyboard.press('Delete');
    await page.evaluate((text) => document.execCommand('insertText', false, text), source);
    await wait(() => Number([...document.querySelectorAll('[data-testid=stage]')].at(0)?.dataset.nodes) > 2000);
    await page.click(`${by('stage')}[data-name=trace]`);
    await wait(() => Number(document.querySelector('[data-testid=graph]').dataset.boxes) > 1500);
    await page.locator(`${by('program-editor')} .cm-line`, { hasText: 'return sn.sin' }).click();
    assert.equal((await lit()).boxes, 1);
    await page.locator(`${by('program-editor')} .cm-line`, { hasText: 'y.mul' }).click();
    assert.ok((await lit()).boxes >= 2000);
  });

  test('the page did nothing that it should not', () => {
    assert.deepEqual(faults, []);
  });
});
