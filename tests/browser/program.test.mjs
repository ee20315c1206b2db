// The program of the playground: it is written in one place, trained in one tab and taken apart in another; whatever it does
// wrong is said where it is, and the page goes on. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openChromium, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 60_000;

/** A line through points: what a program has at the least. */
const LINE = `import * as sn from 'sinter';
import type { Program } from 'playground';

export const settings = { learningRate: 0.1 };

const x = sn.linspace(-1, 1, 32);
const y = x.mul(3).add(1);

export default ({ learningRate }: typeof settings): Program => ({
  about: 'A line',
  model: () => ({ a: sn.zeros([]), b: sn.zeros([]) }),
  loss: ({ a, b }, at, wanted) => at.mul(a).add(b).sub(wanted).square().mean(),
  data: () => [x, y],
  optimizer: sn.optim.adam({ lr: learningRate }),
  metrics: { slope: ({ a }) => a },
});
`;

describe('the program of the playground', () => {
  let server, browser, page, faults;
  const get = (id) => page.locator(`[data-testid=${id}]`);
  const text = async (id) => (await get(id).textContent()).trim();
  const ready = () => page.waitForSelector('[data-testid=start]:not([disabled])', { timeout: PATIENCE_MS });
  const failed = () => page.waitForSelector('body[data-phase=failed]', { timeout: PATIENCE_MS });
  const stepped = (from) => page.waitForFunction((n) => Number(document.querySelector('[data-testid=epoch]').dataset.step) > n, from, { timeout: PATIENCE_MS });
  const says = (id, pattern) => page.waitForFunction(([name, source]) => new RegExp(source).test(document.querySelector(`[data-testid=${name}]`)?.textContent ?? ''),
    [id, pattern.source], { timeout: PATIENCE_MS }).catch(async () => assert.match(await text(id), pattern));
  const write = async (source, editor = 'source-editor') => {
    await page.locator(`[data-testid=${editor}]`).click();
    await page.click(`[data-testid=${editor}] .cm-content`);
    await page.keyboard.press('Control+a');
    await page.keyboard.press('Delete');
    await page.evaluate((all) => document.execCommand('insertText', false, all), source);
  };

  before(async () => {
    server = await serve({ port: 0 });
    browser = await openChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    faults = watch(page, server.url);
    await page.goto(`${server.url}?example=xor`);
    await ready();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('undo brings back what was written here, not the text of another program', async () => {
    const written = () => page.locator('[data-testid=source-editor] .cm-content').innerText();
    const undo = async () => {
      await page.click('[data-testid=source-editor] .cm-content');
      await page.keyboard.press('Control+z');
    };
    await page.locator('[data-testid=source-editor]').click();
    await undo();
    assert.match(await written(), /^\/\/ Four corners/, 'the first text cannot be undone');
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('// Mine.');
    await get('revert').click();
    await page.waitForFunction(() => !/Mine/.test(document.querySelector('[data-testid=source-editor] .cm-content').textContent));
    await undo();
    assert.match(await written(), /^\/\/ Mine/);
    await page.locator('#examples button').nth(1).click();
    await page.waitForURL(/example=spirals/);
    const spirals = await written();
    await undo();
    assert.equal(await written(), spirals);
    await page.locator('#examples button').nth(0).click();
    await page.waitForURL(/example=xor/);
    assert.match(await written(), /^\/\/ Mine/, 'the edits of a program are kept');
    await get('revert').click();
    await ready();
  });

  test('what is written is trained, with its own settings and figures', async () => {
    await write(LINE);
    await says('story', /^A line: 2 weights/);
    await ready();
    assert.equal(await get('learning-rate').inputValue(), '0.1');
    assert.equal(await get('sizes').isVisible(), false);
    await get('start').click();
    await says('loss', /^0\.000/);
    await get('pause').click();
    await page.waitForSelector('body[data-phase=paused]');
    await says('figures', /^slope (2\.9|3\.0)/);
    await screenshot(page, 'program-own');
  });

  test('another program that takes over while one is trained is trained at once, and the page says so', async () => {
    await get('start').click();
    await write(LINE.replace('slope:', 'incline:'));
    await says('figures', /^incline/);
    await page.waitForSelector('body[data-phase=running]', { timeout: PATIENCE_MS });
    await says('notice', /^Training/);
    await get('pause').click();
    await write(LINE);
    await says('figures', /^slope/);
    await ready();
  });

  test('the Compiler tab takes the same program apart, and an edit there is trained here', async () => {
    await get('tab-compiler').click();
    await says('program-problem', /^Compiled/);
    assert.match(await page.textContent('[data-testid=program-editor] .cm-content'), /A line/);
    await write(LINE.replace('A line', 'Another line'), 'program-editor');
    await says('program-problem', /^Compiled/);
    await get('tab-training').click();
    await says('story', /^Another line/);
    assert.equal(await get('source-changed').isVisible(), true);
  });

  test('settings of fields are those of the Compiler tab as well', async () => {
    await get('example-spirals').click();
    await says('story', /^A network 2 – 32 – 32 – 1/);
    await ready();
    await get('sizes').fill('24');
    await get('sizes').press('Enter');
    await says('story', /^A network 2 – 24 – 1/);
    await get('tab-compiler').click();
    await page.waitForFunction(() => [...document.querySelectorAll('[data-testid=kernels] tbody tr')].length > 0);
    await get('tab-kernels').click();
    await page.waitForFunction(() => /\b24\b/.test(document.querySelector('[data-testid=kernel-code]').textContent), null, { timeout: PATIENCE_MS });
    await get('tab-training').click();
    await get('example-xor').click();
    await says('story', /^Another line/); // as it was left
    await get('revert').click();
    await says('story', /^A network 2 – 4 – 1/);
    await ready();
  });

  test('what is no program, and what is wrong in one, is said at its line', async () => {
    const wrong = [
      [LINE.replace('at.mul(a)', 'at..mul(a)'), /^Line 12: SyntaxError/],
      [LINE.replace('sn.zeros([]), b', 'sn.zeros([5]), b'), /^Line 12: ShapeError/],
      [LINE.replace('loss:', 'los:'), /loss must be a function of the parameters and a batch; it is missing/],
      ['export default {};', /the default export must be a function that .*; it is an object/],
      [LINE.replace('data: () => [x, y]', 'data: () => 7'), /a batch must be an array of tensors; it is a number/],
      [LINE.replace("from 'sinter'", "from 'sinterr'"), /there is no 'sinterr' here/],
      ['const x = 1;\n', /nothing to train here/],
    ];
    for (const [source, expected] of wrong) {
      await write(source);
      await says('source-problem', expected);
      await failed();
      assert.equal(await get('start').isDisabled(), true);
      if (expected.source.startsWith('^Line')) await page.locator('[data-testid=source-editor] .cm-lintRange-error').first().waitFor({ state: 'attached' });
    }
    await write(LINE);
    await says('story', /^A line/);
    await ready();
    assert.equal(await get('source-problem').isVisible(), false);
    assert.equal(await get('error').isVisible(), false);
  });

  test('a loop or a call that never ends is ended, and said at its line', async () => {
    await write(LINE.replace('export default', 'let n = 0;\nfor (;;) n++;\nexport default'));
    await says('source-problem', /^Line 10: ProgramError: a loop or function has not come to an end for 5 s/);
    await write(LINE.replace('data: () => [x, y]', 'data: () => {\n    do ; while (true);\n  }'));
    await says('source-problem', /^Line 14: ProgramError: a loop/);
    await write(LINE.replace('export default', 'const all = Array.from({ length: 1e9 }, (_, i) => i);\nexport default'));
    await says('source-problem', /^Line 9: ProgramError: a loop or function/);
  });

  test('a program that does not answer is told of, ended, and the page goes on', async () => {
    await write(LINE.replace('export default', 'const endless: any = /^(a+)+$/.test("a".repeat(60) + "b");\nexport default'));
    await says('notice', /has not answered for \d+ s/);
    await get('end').click();
    await says('notice', /was ended/);
    assert.equal(await get('end').isVisible(), false);
    await write(LINE);
    await says('story', /^A line/);
    await ready();
    const before = Number(await get('epoch').getAttribute('data-step'));
    await get('start').click();
    await stepped(before + 10);
    await get('pause').click();
  });

  test('a million lines are a few of them and a number', async () => {
    await write(LINE.replace('export default', 'for (let i = 0; i < 1e6; i++) console.log("line", i);\nexport default'));
    await says('printed', /line 0/);
    await ready();
    const shown = await get('printed').locator('p').count();
    assert.ok(shown <= 300, `${shown} lines`);
    assert.match(await get('printed').getAttribute('data-more'), /… 99\d,\d{3} more lines/);
    await screenshot(page, 'program-printed');
  });

  test('a program that takes memory without end gets an error, and the page goes on', async () => {
    await write(LINE.replace('export default', 'const all = [];\nfor (;;) {\n  const more = sn.ones([1 << 25]).mul(all.length + 1.5);\n  sn.eval(more);\n  all.push(more);\n}\nexport default'));
    await says('source-problem', /^Line 1\d: OutOfMemoryError/);
    await write(LINE);
    await ready();
  });

  test('nonsense that is a program is trained, and said to be none', async () => {
    await write(LINE.replace('.square().mean()', '.square().mean().log().mul(NaN)'));
    await says('story', /^A line/);
    await ready();
    await get('start').click();
    await says('notice', /no longer a number/);
    await get('pause').click();
  });

  test('Revert brings back the program of the list', async () => {
    await get('revert').click();
    await says('story', /^A network 2 – 4 – 1/);
    await ready();
    assert.equal(await get('source-changed').isVisible(), false);
  });

  test('a plane follows the page from light to dark while training rests', async () => {
    await page.goto(`${server.url}?example=spirals`);
    await ready();
    await get('step').click();
    await page.waitForFunction(() => Number(document.querySelector('[data-testid=views]').dataset.drawn) > 0);
    /** How light the plane is on average. */
    const light = () => page.evaluate(() => {
      const canvas = document.querySelector('[data-testid=views] canvas');
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
      return data.reduce((sum, value) => sum + value, 0) / data.length;
    });
    /** The same once it is as wanted, or as it is after a few seconds: a busy machine draws late. */
    const lightThat = async (isWanted) => {
      for (let patience = 50; patience > 0 && !isWanted(await light()); patience -= 1) await page.waitForTimeout(100);
      return light();
    };
    const before = await light();
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await lightThat((now) => now < before - 30);
    assert.ok(dark < before - 30, `${before}, in the dark ${dark}`);
    await page.emulateMedia({ colorScheme: 'light' });
    assert.equal(await lightThat((now) => now === before), before);
  });

  test('no errors, no requests to elsewhere, nothing overflows on a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.waitForTimeout(200);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
    await screenshot(page, 'program-phone');
    assert.deepEqual(faults, []);
  });
});
