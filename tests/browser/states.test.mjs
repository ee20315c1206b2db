// The playground's training as a whole: what is drawn of each step, and its state as a file - saved, loaded after a
// reload, kept in the browser, refused where it is not one; and the same training in several precisions. Training goes on
// from a state with the same bits.
// Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { openChromium, screenshot, watch } from './browsers.mjs';
import * as sn from '../../js/dist/index.js';
import { serve } from '../../scripts/serve.mjs';

const READY_MS = 60_000;
const PROGRAMS = new URL('../../web/src/program/gallery/', import.meta.url);

describe('training in the playground', () => {
  let server, browser, context, page, faults;
  const get = (id) => page.locator(`[data-testid=${id}]`);
  const value = async (id, key = 'value') => Number(await get(id).getAttribute(`data-${key}`));
  const done = () => value('epoch', 'step');
  const ready = () => page.waitForSelector('[data-testid=start]:not([disabled])', { timeout: READY_MS });
  const at = (step) => page.waitForFunction((n) => document.querySelector('[data-testid=epoch]').dataset.step === String(n), step);
  const notice = (pattern) => page.waitForFunction((text) => new RegExp(text).test(document.querySelector('#notice').textContent), pattern.source);
  /** What a step finds out, exactly. */
  const readings = async () => ({ loss: await value('loss', 'last'), norm: await value('norm'), rate: await value('rate') });
  /** So many steps, one by one. */
  const steps = async (count) => {
    const found = [];
    for (let i = 0; i < count; i++) {
      const next = (await done()) + 1;
      await get('step').click();
      await at(next);
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      found.push(await readings());
    }
    return found;
  };
  const trainTo = async (step) => {
    await get('start').click();
    await page.waitForFunction((n) => Number(document.querySelector('[data-testid=epoch]').dataset.step) >= n, step, { timeout: READY_MS });
    await get('pause').click();
    await page.waitForSelector('body[data-phase=paused]');
    await page.waitForTimeout(300); // messages under way
  };
  const save = async () => {
    const [download] = await Promise.all([page.waitForEvent('download'), get('save').click()]);
    await notice(/^Saved step/);
    return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
  };
  const load = (name, bytes) => get('load-file').setInputFiles({ name, mimeType: 'application/octet-stream', buffer: bytes });
  const drop = (name, bytes) => page.evaluate((given) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([Uint8Array.from(given.bytes)], given.name));
    document.querySelector('#start').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  }, { name, bytes: [...bytes] });
  const open = async (example) => {
    await page.goto(`${server.url}?example=${example}`);
    await ready();
  };

  before(async () => {
    await sn.init({ threads: 1 });
    server = await serve({ port: 0 });
    browser = await openChromium();
    context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true });
    page = await context.newPage();
    faults = watch(page, server.url);
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('gradient norm, learning rate and time of each step are drawn below the loss', async () => {
    await open('text');
    const found = await steps(3);
    for (const { loss, norm, rate } of found) for (const number of [loss, norm, rate]) assert.ok(number > 0 && Number.isFinite(number));
    const [first, second, third] = found.map(({ rate }) => rate);
    assert.ok(first < second && second < third && third < 0.003, `warm-up: ${first}, ${second}, ${third}`);
    assert.ok(Math.abs(second - first - (third - second)) < 1e-6, 'evenly');
    await get('learning-rate').fill('0.03');
    await get('learning-rate').press('Enter');
    const [{ rate }] = await steps(1);
    assert.ok(Math.abs(rate / (2 * third - second) - 10) < 0.01, `ten times the rate: ${rate} after ${third}`);
    await trainTo(30);
    assert.ok(await value('step-ms') > 0);
    const painted = await page.evaluate(() => ['loss', 'norm', 'rate', 'ms'].map((name) => {
      const canvas = document.querySelector(`#${name}-chart canvas`);
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return { name, dots: data.reduce((sum, x, i) => sum + (i % 4 === 3 && x > 128 ? 1 : 0), 0), left: canvas.getBoundingClientRect().left };
    }));
    for (const { name, dots, left } of painted) {
      assert.ok(dots > 200, `${name}: ${dots} dots`);
      assert.equal(left, painted[0].left, 'one axis');
    }
    await screenshot(page, 'course');
  });

  for (const example of ['cnn', 'text']) {
    test(`${example}: saved, reloaded and loaded, it goes on with the same bits; and where it was left`, async () => {
      await open(example);
      await trainTo(5);
      const from = await done();
      const { name, bytes } = await save();
      assert.equal(name, `sinter-${example}-${from}.safetensors`);
      const expected = await steps(3);

      await open('mlp');
      await steps(1);
      await (example === 'cnn' ? drop : load)(name, bytes);
      await notice(/^Loaded: /);
      assert.equal(await done(), from);
      assert.equal(await get(`example-${example}`).getAttribute('aria-pressed'), 'true');
      assert.ok(await value('accuracy') >= 0);
      assert.deepEqual(await steps(3), expected);

      await open('mlp');
      await get('go-on').waitFor();
      await get('go-on').click();
      await notice(/^Loaded: /);
      assert.equal(await done(), from);
      assert.deepEqual(await steps(3), expected);
    });
  }

  test('what is no state of the playground is refused with a sentence, and training goes on', async () => {
    await open('mlp');
    await trainTo(3);
    const { bytes } = await save();
    const settings = { example: 'mlp', seed: 0, learningRate: 0.001, sizes: [256, 128], batch: 128 };
    const state = { params: [{ weight: sn.zeros([784, 8]) }] };
    const other = (changes) => Buffer.from(sn.io.saveState({ settings: { ...settings, ...changes }, steps: 3, state }));
    const damaged = Buffer.from(bytes);
    damaged[damaged.length - 5] ^= 1;
    const refused = [
      ['a text', Buffer.from('no tensors at all'), /damaged/],
      ['cut short', bytes.subarray(0, bytes.length - 10), /loadState/],
      ['a bit of another value', damaged, /the checksum is that of other bytes/],
      ['another network', other({}), /float32 \(784, 8\), expected float32 \(784, 256\)/],
      ['no network', other({ sizes: [1e6] }), /Hidden sizes: at most 6 layers/],
      ['no example', other({ example: 'toString' }), /no settings of an example/],
    ];
    await get('start').click();
    for (const [name, wrong, expected] of refused) {
      const before = await done();
      await load(`${name}.safetensors`, wrong);
      await get('error').waitFor();
      assert.match(await get('error').textContent(), expected, name);
      assert.match(await get('notice').textContent(), /not loaded/);
      await page.waitForFunction((n) => Number(document.querySelector('[data-testid=epoch]').dataset.step) > n + 5, before);
      await get('error').locator('button').click();
    }
    await get('pause').click();
  });

  test('the same training in each precision: losses over each other, memory and time beside each other', async (t) => {
    await open('mlp');
    await get('start').click();
    await get('compare').click();
    await page.waitForFunction(() => document.querySelector('#compare').textContent === 'Stop');
    assert.equal(await page.getAttribute('body', 'data-phase'), 'paused');
    await page.waitForFunction(() => document.querySelector('#compare').textContent === 'Compare', null, { timeout: READY_MS });
    assert.equal(await value('compare', 'step'), 120);
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    const rows = await get('precision').locator('tbody tr').evaluateAll((list) => list.map((row) => ({
      precision: row.className,
      ...Object.fromEntries(['memory', 'ms'].map((name) => [name, Number(row.querySelector(`[data-figure=${name}] .value`).dataset.value)])),
      loss: Number(row.querySelector('.loss').dataset.value),
    })));
    t.diagnostic(JSON.stringify(rows));
    assert.deepEqual(rows.map(({ precision }) => precision), ['float32', 'float16', 'bfloat16']);
    const [first] = rows;
    for (const { precision, memory, ms, loss } of rows) {
      assert.ok(memory > 1e6 && ms > 0, precision);
      assert.ok(Math.abs(loss / first.loss - 1) < 0.05, `${precision}: ${loss}, float32: ${first.loss}`);
    }
    assert.notEqual(rows[1].memory, first.memory);
    assert.notEqual(rows[1].loss, first.loss);
    await screenshot(page, 'precision');

    await get('compare').click();
    await page.waitForFunction(() => Number(document.querySelector('#compare').dataset.step) < 120);
    const before = await done();
    await get('start').click(); // which ends it
    await page.waitForFunction(() => document.querySelector('#compare').textContent === 'Compare');
    await page.waitForFunction((n) => Number(document.querySelector('[data-testid=epoch]').dataset.step) > n, before);
    await get('pause').click();
  });

  test('the program shown is the one that runs', async () => {
    await open('mlp');
    for (const example of ['mlp', 'cnn', 'text']) {
      await get(`example-${example}`).click();
      const source = await readFile(new URL(`${example}.ts`, PROGRAMS), 'utf8');
      await page.waitForFunction((text) => document.querySelector('#source-preview').textContent === text, source);
    }
  });

  test('no errors, no requests to elsewhere', () => assert.deepEqual(faults, []));
});
