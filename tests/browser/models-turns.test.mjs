// Odd orders in the Models tab: what is pressed, or opened, while the worker is still at something else.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, beforeEach, describe, test } from 'node:test';
import { openChromium, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';
import * as file from '../onnx/write.mjs';

const PATIENCE_MS = 90_000;

const classifier = readFileSync(new URL('../onnx/classifier.onnx', import.meta.url));

/** In the page: what its workers are asked, and how many questions of a kind wait at most for their answers at a time. */
const recordQuestions = () => {
  const seen = { asked: {}, most: {}, onAsk: null };
  const open = new Map();
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (message, ...rest) {
    if (message?.method === undefined) return postMessage.call(this, message, ...rest);
    const { id, method } = message;
    const key = (own) => `${this.number} ${own}`;
    if (this.number === undefined) {
      this.number = open.size + Math.random();
      this.addEventListener('message', ({ data }) => open.delete(key(data.id)));
    }
    postMessage.call(this, message, ...rest);
    open.set(key(id), method);
    seen.asked[method] = (seen.asked[method] ?? 0) + 1;
    seen.most[method] = Math.max(seen.most[method] ?? 0, [...open.values()].filter((each) => each === method).length);
    seen.onAsk?.(method);
  };
  window.questions = seen;
};

const weights = (n, scale) => Array.from({ length: n }, (_, i) => Math.sin(7 * i + 1) * scale);
const net = file.model({
  nodes: [file.node('Gemm', ['x', 'w', 'b'], ['h']), file.node('Relu', ['h'], ['r']), file.node('Gemm', ['r', 'w2', 'b2'], ['y'])],
  initializers: [file.tensor('w', 1, [4, 8], weights(32, 1)), file.tensor('b', 1, [8], weights(8, 0.1)), file.tensor('w2', 1, [8, 3], weights(24, 1)), file.tensor('b2', 1, [3], weights(3, 0.1))],
  inputs: [file.value('x', 1, ['n', 4])],
  outputs: [file.value('y', 1, ['n', 3])],
});
const LINES = Array.from({ length: 60 }, (_, i) => [Math.sin(i), Math.cos(3 * i), (i % 3) - 1, Math.sin(i * i), i % 3].join()).join('\n');

describe('odd orders in the Models tab', () => {
  let server, browser, page, faults;
  const get = (id) => page.locator(`[data-testid=${id}]`);
  const said = (id) => get(id).textContent();
  const until = async (look, what) => {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const seen = await look();
      if (seen) return seen;
      if (performance.now() > deadline) return assert.fail(`never ${what}: ${await said('models-notice')} | ${await said('finetune-note')}`);
      await page.waitForTimeout(50);
    }
  };
  const open = async (name, bytes) => {
    await get('models-file').setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(bytes) });
    await until(async () => (await said('models-notice')).startsWith(`${name} is open`), `opened ${name}`);
  };
  const steps = async () => Number(await get('finetune-steps').getAttribute('data-value'));
  const train = async () => {
    await open('net.onnx', net);
    await get('finetune-csv').fill(LINES);
    await get('finetune-start').click();
    await until(async () => (await steps()) > 0, 'trained');
  };
  /** Presses buttons one after the other, before anything is answered. */
  const press = (...ids) => page.evaluate((list) => {
    for (const id of list) document.querySelector(`[data-testid=${id}]`).click();
  }, ids);
  const questions = () => page.evaluate(() => window.questions);

  before(async () => {
    server = await serve({ port: 0 });
    browser = await openChromium();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });
  beforeEach(async () => {
    await page?.close();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    faults = watch(page, server.url);
    await page.addInitScript(recordQuestions);
    await page.goto(`${server.url}#models`);
    await get('models-drop').waitFor();
  });

  test('training that begins anew while a slice is under way shows nothing of the one before', async () => {
    await train();
    await until(async () => (await steps()) > 20, 'trained more');
    await page.evaluate(() => {
      window.seen = [];
      const [output, pause, start] = ['steps', 'pause', 'start'].map((id) => document.querySelector(`[data-testid=finetune-${id}]`));
      new MutationObserver(() => window.seen.push(Number(output.dataset.value ?? 0))).observe(output, { attributes: true });
      pause.click();
      start.click(); // in the same turn: nothing of the one before comes between
    });
    await until(async () => (await steps()) > 20, 'trained again');
    const seen = await page.evaluate(() => window.seen);
    assert.deepEqual(seen, seen.toSorted((a, b) => a - b));
    assert.deepEqual(faults, []);
  });

  test('a pause that ends at once goes on as one training', async () => {
    await train();
    for (let i = 0; i < 3; i++) await press('finetune-pause', 'finetune-pause');
    const before_ = await steps();
    await page.evaluate(() => (window.questions.most = {}));
    await until(async () => (await steps()) > before_ + 5, 'went on');
    await page.waitForTimeout(1000);
    assert.ok((await questions()).most.tuneOn <= 2, 'one that is under way, and the next one');
    await get('finetune-pause').click();
    await page.waitForTimeout(600);
    const paused = await steps();
    await page.waitForTimeout(600);
    assert.equal(await steps(), paused);
  });

  test('another file ends training that went on after a pause, without a complaint', async () => {
    await train();
    await get('finetune-pause').click();
    await page.waitForTimeout(600);
    await get('finetune-pause').click();
    await open('other.onnx', net);
    await page.waitForTimeout(600);
    assert.equal(await said('finetune-note'), '');
    assert.equal(await get('finetune-start').isDisabled(), false);
    assert.deepEqual(faults, []);
  });

  test('a model that is asked for, and again after another one, is made once', async () => {
    await press('models-digits', 'models-writer', 'models-digits');
    await until(async () => /digits.onnx is open/.test(await said('models-notice')), 'made it');
    await page.waitForTimeout(600);
    assert.equal((await questions()).asked.take, 1);
    assert.match(await said('models-notice'), /digits.onnx is open/);
    assert.deepEqual(faults, []);
  });

  test('what is asked of a model while another one loads is not shown with that one', async () => {
    const choose = (name, bytes, ids) => page.evaluate(([file, content, list]) => {
      const by = (id) => document.querySelector(`[data-testid=${id}]`);
      const transfer = new DataTransfer();
      transfer.items.add(new File([Uint8Array.from(content)], file));
      by('models-file').files = transfer.files;
      by('models-file').dispatchEvent(new Event('change'));
      for (const id of list) by(id).click();
    }, [name, [...bytes], ids]);
    const strange = file.model({ nodes: [file.node('Strange', ['x'], ['y'])], inputs: [file.value('x', 1, [4])], outputs: [file.value('y', 1, [4])] });
    for (const [name, bytes, runs] of [['other.onnx', net, true], ['strange.onnx', strange, false]]) {
      await open('classifier.onnx', classifier);
      await choose(name, bytes, ['models-measure', 'models-run']);
      await until(async () => (await said('models-notice')).startsWith(`${name} is open`), `opened ${name}`);
      await page.waitForTimeout(1000);
      assert.equal(await said('models-ops-foot'), '');
      assert.equal(await said('models-run-note'), '');
      assert.equal(await page.locator('.model-output').count(), 0);
      assert.equal(await get('models-measure').isEnabled(), runs);
    }
    assert.deepEqual(faults, []);
  });

  test('a file that is opened while the model of the page is taken is the one that is open', async () => {
    await page.evaluate((bytes) => {
      window.questions.onAsk = (method) => {
        if (method !== 'take') return;
        window.questions.onAsk = null;
        const input = document.querySelector('[data-testid=models-file]');
        const transfer = new DataTransfer();
        transfer.items.add(new File([Uint8Array.from(bytes)], 'classifier.onnx'));
        input.files = transfer.files;
        input.dispatchEvent(new Event('change'));
      };
    }, [...classifier]);
    await get('models-digits').click();
    await until(async () => /step [1-9]/.test(await said('models-notice')), 'learnt');
    await get('models-take').click();
    await until(async () => /classifier.onnx is open/.test(await said('models-notice')), 'opened it');
    await page.waitForTimeout(600);
    assert.equal(await page.locator('#models-name').textContent(), 'classifier.onnx');
    await get('models-run').click();
    await until(async () => /ms a run/.test(await said('models-run-note')), 'ran');
    assert.deepEqual(faults, []);
  });
});
