// What goes on inside of the training: layers over time, answers, kept states, two runs, memory. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { mainOf, openChromium, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 60_000;
const VIEWS = ['layers', 'confusion', 'rewind', 'runs', 'memory'];
const by = (id) => `[data-testid=${id}]`;

/** Half of the units of a layer are dead from the beginning, by their bias; the others live. */
const HALF_DEAD = `import * as sn from 'sinter';
import type { Program } from 'playground';
const { losses, nn, optim, random } = sn;
export const settings = { learningRate: 0.01, seed: 0 };
export default ({ learningRate }: typeof settings): Program => {
  const first = nn.linear(2, 8), last = nn.linear(8, 3);
  const x = random.normal(random.key(1), [60, 2]);
  const y = sn.arange(0, 60).mod(3).astype('int32');
  const dead = sn.tensor([-100, -100, -100, -100, 0, 0, 0, 0]);
  return {
    model: (key) => ({ first: first.init(key), last: last.init(key) }),
    predict: (params, rows) => last.apply(params.last, sn.relu(first.apply(params.first, rows).add(dead))),
    loss: (params, rows, classes) =>
      losses.softmaxCrossEntropy(last.apply(params.last, first.apply(params.first, rows).add(dead).relu()), classes),
    data: () => [x, y],
    optimizer: optim.sgd({ lr: learningRate }),
    pace: 100,
  };
};
`;

for (const [name, viewport, colorScheme] of mainOf([
  ['desk', { width: 1440, height: 900 }, 'light'],
  ['phone', { width: 390, height: 844 }, 'dark'],
]))
  describe(`inside of the training, ${name}`, () => {
    let server, browser, page, faults;
    const wait = (f, argument) => page.waitForFunction(f, argument, { timeout: PATIENCE_MS });
    const data = (id) => page.locator(by(id)).evaluate((node) => ({ ...node.dataset }));
    const step = () => page.evaluate(() => Number(document.querySelector('[data-testid=epoch]').dataset.step));
    const reached = (least) => wait((n) => Number(document.querySelector('[data-testid=epoch]').dataset.step) >= n, least);
    const ready = () => page.waitForSelector(`body[data-phase=paused] ${by('start')}:not([disabled])`, { timeout: PATIENCE_MS });
    const train = async (steps) => {
      const target = (await step()) + steps;
      await page.click(by('start'));
      await reached(target);
      await page.click(by('pause'));
      await ready();
      // The page says at once that it pauses; the trainer is a message behind.
      for (let before = -1; before !== (await step()); await page.waitForTimeout(300)) before = await step();
    };
    const toggle = (view) => page.click(by(`inside-${view}`));

    before(async () => {
      server = await serve({ port: 0 });
      browser = await openChromium();
      page = await browser.newPage({ viewport, colorScheme });
      faults = watch(page, server.url);
    });
    after(async () => {
      await browser?.close();
      await server?.close();
    });

    test('views are loaded when they are opened, and measured while they are', async () => {
      const asked = [];
      page.on('request', (request) => asked.push(request.url()));
      await page.goto(`${server.url}?example=mlp`);
      await ready();
      assert.deepEqual(asked.filter((url) => /\/(card|inside)-/.test(url)), []);
      for (const view of VIEWS) await toggle(view);
      await page.waitForSelector(`${by('inside-layer-rows')} li`, { timeout: PATIENCE_MS });
      assert.ok(asked.some((url) => /\/inside-/.test(url)));
      assert.deepEqual(
        await page.locator(`${by('inside-layer-rows')} li`).evaluateAll((rows) => rows.map((row) => row.dataset.name)),
        ['1 linear', '3 linear', '5 linear'],
      );
      await train(120);
      const values = page.locator(`${by('inside-activation-rows')} li`);
      assert.deepEqual(await values.evaluateAll((rows) => rows.map((row) => row.dataset.name)), ['1 linear', '2 relu', '3 linear', '4 relu', '5 linear']);
      // The picture has a column for each look.
      const painted = await page.locator('img.heat').evaluateAll((all) => Promise.all(all.map(async (picture) => {
        await picture.decode();
        const { naturalWidth: width, naturalHeight: height } = picture;
        const context = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d');
        context.drawImage(picture, 0, 0);
        const { data: pixels } = context.getImageData(0, 0, width, height);
        const columns = Array.from({ length: width }, (_, x) => x);
        return columns.filter((x) => Array.from({ length: height }, (_, y) => pixels[4 * (y * width + x) + 3]).some((a) => a > 0)).length;
      })));
      assert.equal(painted.length, 11);
      assert.ok(painted.every((columns) => columns >= 2), painted.join());
      assert.match(await page.textContent(by('memory-words')), /MB in \d+ tensors/);
    });

    test('each cell of the answers opens its examples', async () => {
      const cells = await page.locator(`${by('confusion')} tbody button`).evaluateAll((all) =>
        all.map((cell) => ({ truth: cell.dataset.truth, answer: cell.dataset.answer, count: Number(cell.textContent) })));
      assert.equal(cells.reduce((sum, { count }) => sum + count, 0), 1000);
      const wrong = cells.filter(({ truth, answer }) => truth !== answer).sort((a, b) => b.count - a.count)[0];
      await page.click(`${by('confusion')} button[data-truth="${wrong.truth}"][data-answer="${wrong.answer}"]`);
      assert.equal(await page.locator(`${by('confusion-examples')} img`).count(), Math.min(60, wrong.count));
      await screenshot(page, `inside-${name}`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    });

    test('training goes back to a kept state, and the same way once more to equal bits', async () => {
      await train(40);
      const until = await step();
      const loss = await page.locator(by('loss')).getAttribute('data-last');
      const { states, bytes } = await data('rewind-memory');
      assert.ok(Number(states) >= 2);
      assert.ok(Number(bytes) > 0);
      await page.locator(by('rewind-slider')).evaluate((slider) => {
        slider.value = '0';
        slider.dispatchEvent(new Event('input'));
      });
      await page.click(by('rewind-back'));
      await wait(() => Number(document.querySelector('[data-testid=epoch]').dataset.step) === 0);
      // A single step leaves the future where it is, as it is the same one.
      await page.click(by('step'));
      await reached(1);
      await page.click(by('rewind-replay'));
      await wait(() => document.querySelector('[data-testid=rewind-verdict]').dataset.ended === 'true');
      await ready();
      assert.equal(await step(), until);
      const verdict = await data('rewind-verdict');
      assert.equal(verdict.differ, '0');
      assert.equal(Number(verdict.losses), until - 1);
      assert.ok(Number(verdict.states) >= 1);
      assert.equal(await page.locator(by('loss')).getAttribute('data-last'), loss);
      assert.match(await page.textContent(by('rewind-verdict')), /have the same bits as before/);
      await screenshot(page, `inside-rewind-${name}`);
    });

    test('two runs are drawn on the same axes, and what differs is named', async () => {
      await page.fill(by('batch'), '64');
      await page.keyboard.press('Enter');
      await ready();
      await wait(() => document.querySelector('[data-testid=runs-words]').dataset.differences === '1');
      assert.match(await page.textContent(by('runs-words')), /batch size: 128 → 64/);
      await page.fill(by('learning-rate'), '0.0005');
      await page.keyboard.press('Enter');
      await wait(() => document.querySelector('[data-testid=runs-words]').dataset.differences === '2');
      assert.match(await page.textContent(by('runs-words')), /learning rate: 0\.001 → 0\.0005; batch size: 128 → 64/);
      await train(60);
      await page.locator(by('inside-view-runs')).screenshot({ path: `build/screenshots/inside-runs-${name}.png` });
    });

    test('two runs learn at once, and rest together', async () => {
      const beside = async () => Number((await data('runs-words')).beside);
      await page.click(by('runs-both'));
      const from = await step();
      await page.click(by('start'));
      await reached(from + 20);
      await wait(() => Number(document.querySelector('[data-testid=runs-words]').dataset.beside) > 20);
      assert.match(await page.textContent(by('runs-words')), /^Trained beside this one: .*batch size: 128 → 64/);
      await page.click(by('pause'));
      await ready();
      for (let before = -1; before !== (await beside()); await page.waitForTimeout(300)) before = await beside();
      const rested = await beside();
      await page.click(by('step'));
      await page.waitForTimeout(500);
      assert.equal(await beside(), rested);
      await page.locator(by('inside-view-runs')).screenshot({ path: `build/screenshots/inside-both-${name}.png` });
      await page.click(by('runs-both'));
      assert.match(await page.textContent(by('runs-words')), new RegExp(`^Kept: .*, ${rested.toLocaleString('en')} step`));
    });

    test('dead units are named with their share, and classes of any program are counted', async () => {
      await page.click(`${by('source-editor')}`);
      await page.waitForSelector(`${by('source-editor')} .cm-content`);
      await page.click(`${by('source-editor')} .cm-content`);
      await page.keyboard.press('Control+a');
      await page.evaluate((text) => document.execCommand('insertText', false, text), HALF_DEAD);
      await wait(() => /50 % of 8 units are 0 for every example of the batch/.test(document.querySelector('[data-testid=inside-findings]').textContent));
      const names = await page.locator(`${by('inside-layer-rows')} li`).evaluateAll((rows) => rows.map((row) => row.dataset.name));
      assert.deepEqual(names, ['first', 'last']);
      await wait(() => [...document.querySelectorAll('[data-testid=confusion] tbody button')].reduce((sum, cell) => sum + Number(cell.textContent), 0) === 60);
      await page.locator(`${by('confusion')} tbody button`).first().click();
      assert.match(await page.locator(`${by('confusion-examples')} code`).first().textContent(), /^-?\d/);
    });

    test('a program that gives way to another leaves no tensors behind', async () => {
      const tensors = async (program) => {
        await page.click(by(`example-${program}`));
        await page.waitForFunction((name) => document.body.dataset.example === name && document.body.dataset.phase === 'paused', program);
        await train(20);
        const words = await page.textContent(by('memory-words'));
        return Number(/in ([\d,]+) tensors/.exec(words)[1].replaceAll(',', ''));
      };
      await tensors('xor');
      await tensors('spirals');
      const first = await tensors('xor');
      await tensors('spirals');
      const second = await tensors('xor');
      assert.ok(second <= first + 50, `${first} tensors, and ${second} after another program`);
    });

    test('the page did nothing that it should not', () => {
      assert.deepEqual(faults, []);
    });
  });
