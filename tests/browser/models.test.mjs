// The Models tab as a visitor uses it: files are opened, looked at, run, measured; broken ones are refused in words; models that
// the page makes run and write without any file. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import * as sn from '../../js/dist/index.js';
import * as onnx from '../../js/dist/onnx.js';
import { MODELS, fileOf, makeModel } from '../../js/test/llmcases.mjs';
import { chromium } from 'playwright-core';
import { chromiumOptions, openChromium, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';
import * as file from '../onnx/write.mjs';

const PATIENCE_MS = 90_000;

const classifier = () => readFileSync(new URL('../onnx/classifier.onnx', import.meta.url));

/** A chain of nodes with names of scopes: /stage.i/block.k/Relu. */
const deep = (stages, blocks) => {
  const nodes = [];
  let last = 'x';
  for (let i = 0; i < stages; i++) for (let k = 0; k < blocks; k++) {
    const next = `v${i}_${k}`;
    nodes.push(file.node(k % 2 ? 'Relu' : 'Neg', [last], [next], file.field(3, `/stage.${i}/block.${k >> 1}/op.${k}`)));
    last = next;
  }
  return file.model({ nodes, inputs: [file.value('x', 1, [4])], outputs: [file.value(last, 1, [4])] });
};

describe('the Models tab', () => {
  let server, browser, page, faults, made;
  const get = (id) => page.locator(`[data-testid=${id}]`);
  const said = (id) => get(id).textContent();

  /** Asks until the page shows what is expected. */
  const until = async (look, what) => {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const seen = await look();
      if (seen) return seen;
      if (performance.now() > deadline) return assert.fail(`never ${what}: ${await said('models-notice')} | ${await page.locator('#models .problem').allTextContents()}`);
      await page.waitForTimeout(50);
    }
  };
  const open = async (name, bytes) => {
    await get('models-file').setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(bytes) });
    return until(async () => (await said('models-notice')).match(/is open|could not be opened.*/)?.[0], `opened ${name}`);
  };
  const run = async () => {
    await get('models-run').click();
    return until(async () => (await said('models-run-note')).match(/ms a run|.*(?:onnx|input).*/)?.[0], 'ran');
  };

  before(async () => {
    await sn.init({ threads: 1 });
    server = await serve({ port: 0 });
    browser = await openChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    faults = watch(page, server.url);
    await page.goto(`${server.url}#models`);
    await get('models-drop').waitFor();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('its address opens it, and it says that nothing leaves the page', async () => {
    assert.equal(await get('tab-models').getAttribute('aria-selected'), 'true');
    assert.match(await get('models-drop').innerText(), /Nothing leaves this page/);
    assert.equal(await get('models-summary').isVisible(), false);
    assert.match(await get('models-to-come').innerText(), /See what it is[^]*Run it[^]*Train it[^]*Chat/);
    const kinds = await get('models-to-come').locator('.kinds').allTextContents();
    assert.deepEqual(kinds, ['ONNX, GGUF', 'ONNX', 'ONNX', 'GGUF'], 'a GGUF file has neither inputs to run nor blocks to train here');
  });

  test('an ONNX file is told in words, drawn, and runs to the values of Node', async () => {
    assert.equal(await open('classifier.onnx', classifier()), 'is open');
    assert.equal(await get('models-to-come').isVisible(), false, 'what a model will open gives way to it');
    const words = await get('models-summary').innerText();
    const parameters = onnx.read(classifier()).weights.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
    assert.match(words, new RegExp(`convolutional network with ${parameters} parameters`));
    assert.match(words, /pytorch/);
    assert.match(words, /x: batch × 1 × 8 × 8/);
    await until(async () => Number(await get('models-graph').getAttribute('data-shown')) > 3, 'drew the graph');
    const numbers = Array.from({ length: 64 }, (_, i) => i / 64);
    await get('models-way').selectOption('numbers');
    await get('models-numbers').fill(numbers.join(', '));
    assert.equal(await run(), 'ms a run');
    const model = onnx.load(classifier());
    const want = model.run({ x: sn.tensor(Float32Array.from(numbers), { shape: [1, 1, 8, 8] }) }).logits.toArray()[0];
    const got = (await page.locator('.model-output').getAttribute('data-values')).split(' ').map(Number);
    got.forEach((value, i) => assert.ok(Math.abs(value - want[i]) < 1e-5, `${value}, expected ${want[i]}`));
    assert.equal(Number(await page.locator('.model-output ul').getAttribute('data-best')), want.indexOf(Math.max(...want)));
    await get('models-numbers').fill(`[[[${JSON.stringify(numbers.slice(0, 32))}, ${JSON.stringify(numbers.slice(32))}]]]`);
    assert.equal(await run(), 'ms a run');
  });

  test('each operator has its count, and after a run op by op its time', async () => {
    await get('models-measure').click();
    await until(async () => /Op by op/.test(await said('models-ops-foot')), 'measured');
    const rows = await page.locator('#models-ops tbody tr').evaluateAll((list) => list.map((row) => [row.dataset.op, row.querySelector('.calls').textContent, Number(row.querySelector('.ms').dataset.value)]));
    const counts = new Map();
    for (const { op } of onnx.read(classifier()).nodes) counts.set(op, (counts.get(op) ?? 0) + 1);
    assert.deepEqual(new Map(rows.map(([op, count]) => [op, Number(count)])), new Map([...counts].sort((a, b) => rows.findIndex(([op]) => op === a[0]) - rows.findIndex(([op]) => op === b[0]))));
    for (const [op, , ms] of rows) assert.ok(ms >= 0, op);
    await screenshot(page, 'models-onnx');
  });

  test('what is wrong with an input is said at the input, and the page goes on', async () => {
    const note = () => page.locator('.model-input .problem').textContent();
    for (const [text, message] of [['1, 2, 3', /There are 3 numbers, and 1 × 1 × 8 × 8 is 64/], ['1, two', /"two" is no number/], ['[1, ', /This is no JSON/], ['', /There are 0 numbers/]]) {
      await get('models-numbers').fill(text);
      await get('models-run').click();
      assert.match(await until(note, 'said'), message);
      assert.match(await said('models-run-note'), /An input is not as it should be/);
      assert.equal(await page.locator('.model-output').count(), 0, 'an output of another input');
    }
    await get('models-numbers').fill(Array(64).fill('1e999').join(' '));
    assert.equal(await run(), 'ms a run');
    assert.match(await page.locator('.model-output').innerText(), /Not all of the scores are finite/);
    await get('models-way').selectOption('chance');
    assert.equal(await run(), 'ms a run');
  });

  test('a picture is cut to the size of the input', async () => {
    await get('models-way').selectOption('picture');
    await get('models-run').click();
    assert.match(await page.locator('.model-input .problem').textContent(), /no picture yet/);
    await get('models-picture').setInputFiles({ name: 'no.png', mimeType: 'image/png', buffer: Buffer.from('no picture') });
    await until(async () => /no.png is no picture/.test(await page.locator('.model-input').textContent()), 'refused it');
    const png = await page.evaluate(async () => {
      const canvas = new OffscreenCanvas(20, 10);
      const context = canvas.getContext('2d');
      context.fillStyle = '#fff';
      context.fillRect(0, 0, 10, 10);
      return [...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())];
    });
    await get('models-picture').setInputFiles({ name: 'half.png', mimeType: 'image/png', buffer: Buffer.from(png) });
    await until(async () => /half.png, 20 × 10/.test(await page.locator('.model-input').textContent()), 'took it');
    assert.equal(await run(), 'ms a run');
  });

  test('broken and hostile files are refused in a sentence; a file that only does not run is shown', async () => {
    const gguf = fileOf(makeModel({ ...MODELS.llama, isAscii: true }));
    assert.equal(await open('classifier.onnx', classifier()), 'is open');
    for (const [name, bytes] of [
      ['empty.onnx', []],
      ['page.onnx', Buffer.from('<html>not found</html>')],
      ['half.onnx', classifier().subarray(0, 900)],
      ['half.gguf', gguf.subarray(0, 3000)],
      ['tiny.gguf', gguf.subarray(0, 6)],
      ['many.gguf', Buffer.concat([gguf.subarray(0, 8), Buffer.alloc(16, 255)])],
    ]) {
      assert.match(await open(name, bytes), /could not be opened: .*\. classifier\.onnx is still open\.$/, name);
      assert.equal(await page.locator('#models-name').textContent(), 'classifier.onnx');
    }
    assert.equal(await run(), 'ms a run', 'the model that was open is there');
    const odd = file.model({ nodes: [file.node('Sing', ['x'], ['y'])], inputs: [file.value('x', 1, [2])], outputs: [file.value('y', 1, [2])] });
    assert.equal(await open('odd.onnx', odd), 'is open');
    assert.match(await page.locator('#models-problem').textContent(), /not run: .*Sing/);
    assert.equal(await get('models-run').isVisible(), false);
    assert.equal(await open('cut.gguf', gguf.subarray(0, gguf.length - 100)), 'is open');
    assert.match(await page.locator('#models-problem').textContent(), /not run: ./);
    assert.equal(await open('classifier.onnx', classifier()), 'is open');
  });

  test('a name of hundreds of letters stays within the page', async () => {
    const name = `${'a_name_without_a_gap'.repeat(12)}.onnx`;
    assert.equal(await open(name, classifier()), 'is open');
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
  });

  test('a graph of thousands of nodes is closed by its scopes, and opens by keyboard', async () => {
    assert.equal(await open('deep.onnx', deep(50, 60)), 'is open');
    const shown = async () => Number(await get('models-graph').getAttribute('data-shown'));
    await until(async () => (await shown()) === 50, 'drew 50 stages');
    await get('models-graph').focus();
    await page.keyboard.press('n');
    assert.match(await page.locator('#models-box').textContent(), /stage\.0: 60 nodes/);
    await page.keyboard.press('Enter');
    await until(async () => (await shown()) === 49 + 30, 'opened a stage');
    await page.keyboard.press('n');
    await page.locator('#models-close-box').click();
    await until(async () => (await shown()) === 50, 'closed it');
    await get('models-open-all').click();
    await until(async () => (await shown()) === 3000, 'opened all');
    await get('models-close-all').click();
    await until(async () => (await shown()) === 50, 'closed all');
  });

  test('more boxes than can be drawn are said, and the parts are closed', async () => {
    assert.equal(await open('wide.onnx', deep(40, 160)), 'is open');
    const shown = async () => Number(await get('models-graph').getAttribute('data-shown'));
    await until(async () => (await shown()) === 40, 'drew 40 stages');
    await get('models-open-all').click();
    await until(async () => /^6,400 boxes are more than can be drawn: all parts were closed. 40 boxes/.test(await page.locator('#models-box').textContent()), 'refused');
    assert.equal(await shown(), 40);
  });

  test('the note on a box stays within the graph, and goes with the box', async () => {
    const nodes = Array.from({ length: 120 }, (_, i) => file.node('Neg', [i ? `v${i - 1}` : 'x'], [`v${i}`], file.field(3, `/a_part_with_quite_a_long_name.${Math.floor(i / 3)}/op`)));
    assert.equal(await open('names.onnx', file.model({ nodes, inputs: [file.value('x', 1, [4])], outputs: [file.value('v119', 1, [4])] })), 'is open');
    const canvas = get('models-graph');
    const shown = async () => Number(await canvas.getAttribute('data-shown'));
    const tip = page.locator('#models-graph-tip');
    await page.setViewportSize({ width: 390, height: 844 });
    try {
      await until(async () => (await shown()) === 40, 'drew 40 parts');
      await canvas.scrollIntoViewIfNeeded();
      await page.waitForTimeout(300);
      const frame = await canvas.boundingBox();
      await page.mouse.move(frame.x + frame.width / 2 + 20, frame.y + 0.12 * frame.height);
      await tip.waitFor();
      assert.match(await tip.textContent(), /a_part_with_quite_a_long_name\.0: 3 nodes/);
      const box = await tip.boundingBox();
      assert.ok(box.x >= frame.x && box.x + box.width <= frame.x + frame.width, `${JSON.stringify(box)} in ${JSON.stringify(frame)}`);
      await page.mouse.dblclick(frame.x + frame.width / 2 + 20, frame.y + 0.12 * frame.height);
      await until(async () => (await shown()) === 42, 'opened a part');
      assert.equal(await tip.isVisible(), false);
    } finally {
      await page.setViewportSize({ width: 1280, height: 900 });
    }
  });

  test('a large picture is drawn in all its colours', async () => {
    const shape = [1, 3, 600, 600];
    assert.equal(await open('picture.onnx', file.model({ nodes: [file.node('Neg', ['x'], ['y'])], inputs: [file.value('x', 1, shape)], outputs: [file.value('y', 1, shape)] })), 'is open');
    await get('models-way').selectOption('chance');
    assert.equal(await run(), 'ms a run');
    const means = await page.locator('canvas.models-picture').evaluate((canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return [0, 1, 2].map((channel) => {
        let sum = 0;
        for (let i = channel; i < data.length; i += 4) sum += data[i];
        return (4 * sum) / data.length;
      });
    });
    for (const mean of means) assert.ok(Math.abs(mean - 127.5) < 2, `${means}`);
  });

  test('a network that the page makes runs, and its file is saved', async () => {
    await get('models-digits').click();
    await until(async () => /digits.onnx is open/.test(await said('models-notice')), 'made it');
    assert.match(page.url(), /model=digits#models$/);
    assert.equal(await run(), 'ms a run');
    const [saved] = await Promise.all([page.waitForEvent('download'), get('models-save').click()]);
    made = await saved.path();
    const model = onnx.load(readFileSync(made));
    assert.deepEqual(model.run({ image: sn.zeros([1, 1, 28, 28]) }).scores.shape, [1, 10]);
    assert.equal(faults.join('\n'), '');
  });

  test('the last blocks learn digits that stand upside down; the same file comes back with new weights', async (t) => {
    const before = onnx.load(readFileSync(made));
    await get('finetune-blocks').selectOption('2');
    await get('finetune-turned').click();
    await until(async () => /250 digits/.test(await said('finetune-note')), 'had examples');
    await get('finetune-rate').fill('nothing');
    await get('finetune-start').click();
    assert.match(await said('finetune-note'), /learning rate is between/);
    await get('finetune-rate').fill('0.003');
    await get('finetune-start').click();
    const figure = async (id) => Number((await get(id).getAttribute('data-value')) ?? NaN);
    await until(async () => (await figure('finetune-after')) >= 0.75, 'learnt them');
    assert.ok((await figure('finetune-before')) < 0.6, 'before, it could not');
    assert.ok((await figure('finetune-loss')) < 1);
    await screenshot(page, 'models-tune');
    const [saved] = await Promise.all([page.waitForEvent('download'), get('finetune-download').click()]);
    assert.equal(saved.suggestedFilename(), 'digits-tuned.onnx');
    const [was, now] = [readFileSync(made), readFileSync(await saved.path())];
    assert.equal(now.length, was.length);
    const after = onnx.load(now);
    const changed = Object.keys(before.params).filter((name) => before.params[name].sub(after.params[name]).abs().max().item() > 0);
    assert.ok(changed.length > 0 && changed.length < Object.keys(before.params).length, `${changed}`);
    t.diagnostic(`${await said('finetune-before')} before, ${await said('finetune-after')} after ${await said('finetune-steps')} steps`);
    const steps = await figure('finetune-steps');
    assert.match(await open('page.onnx', Buffer.from('<html>')), /digits\.onnx is still open/);
    await get('finetune-pause').click();
    await until(async () => (await figure('finetune-steps')) > steps, 'went on with what it has learnt');
    await get('finetune-pause').click();
    assert.equal(await get('finetune-pause').textContent(), 'Go on');
  });

  test('lines of numbers with their classes teach a model; what is wrong with them is said', async () => {
    const rows = Array.from({ length: 60 }, (_, i) => [Math.sin(i), Math.cos(3 * i), i % 3 - 1, Math.sin(i * i)]);
    const lines = rows.map((row) => `${row.join(', ')}, ${['low', 'middle', 'high'][row[2] + 1]}`);
    const weights = (n, scale) => Array.from({ length: n }, (_, i) => Math.sin(7 * i + 1) * scale);
    const net = file.model({
      nodes: [file.node('Gemm', ['x', 'w', 'b'], ['h']), file.node('Relu', ['h'], ['r']), file.node('Gemm', ['r', 'w2', 'b2'], ['z']), file.node('Softmax', ['z'], ['y'])],
      initializers: [file.tensor('w', 1, [4, 8], weights(32, 1)), file.tensor('b', 1, [8], weights(8, 0.1)), file.tensor('w2', 1, [8, 3], weights(24, 1)), file.tensor('b2', 1, [3], weights(3, 0.1))],
      inputs: [file.value('x', 1, ['n', 4])],
      outputs: [file.value('y', 1, ['n', 3])],
    });
    assert.equal(await open('table.onnx', net), 'is open');
    for (const [text, message] of [
      ['', /There are no lines/],
      ['1,2,3,4,a\n1,2,3,b', /Line 2 has 4 columns/],
      ['1,2,x,4,a\n1,2,3,4,b', /"x" is no number|two classes/],
      ['a,b,c,d,class\n\n1,2,3,4,a\n1,2,x,4,b', /Line 4: "x" is no number/],
      ['1,2,3,4,\n1,2,3,4,1', /Line 1 has no class/],
      ['1,2,3,a\n1,2,3,b', /A line has 3 numbers and a class, and the model takes 4/],
      ['1,2,3,4,a\n1,2,3,4,a', /examples of two classes/],
      ['1,2,3,4,a\n1,2,3,4,b', /Each class needs two examples/],
    ]) {
      await get('finetune-csv').fill(text);
      await get('finetune-start').click();
      await until(async () => message.test(await said('finetune-note')), `said ${message}`);
    }
    await get('finetune-csv').fill(lines.join('\n'));
    await get('finetune-rate').fill('0.02');
    await get('finetune-start').click();
    await until(async () => Number(await get('finetune-after').getAttribute('data-value')) === 1, 'learnt them');
    await get('finetune-pause').click();
    // For another number of classes a plain last layer is replaced.
    const four = lines.map((line, i) => (i % 4 ? line : `${rows[i].map((value) => value + 9).join(', ')}, far`));
    await get('finetune-csv').fill(four.join('\n'));
    await get('finetune-start').click();
    await until(async () => /4 outputs in the place of 3/.test(await said('finetune-note')), 'replaced it');
    await until(async () => Number(await get('finetune-after').getAttribute('data-value')) > 0.9, 'learnt them');
    const [saved] = await Promise.all([page.waitForEvent('download'), get('finetune-download').click()]);
    const tuned = onnx.load(readFileSync(await saved.path()));
    assert.deepEqual(tuned.outputs, [{ name: 'y', dtype: 'float', shape: ['n', 4] }]);
    const [far] = tuned.run({ x: sn.tensor([rows[0].map((value) => value + 9)]) }).y.argmax({ axis: 1 }).toArray();
    assert.equal(far, 0, 'the class that came first');
    await get('models-way').selectOption('numbers');
    await get('models-numbers').fill(rows[0].map((value) => value + 9).join(' '));
    assert.equal(await run(), 'ms a run');
    assert.equal(await page.locator('.model-output .best .name').textContent(), 'far');
    const odd = file.model({
      nodes: [file.node('MatMul', ['x', 'w'], ['h']), file.node('Relu', ['h'], ['y'])],
      initializers: [file.tensor('w', 1, [4, 3], weights(12, 1))], inputs: [file.value('x', 1, ['n', 4])], outputs: [file.value('y', 1, ['n', 3])],
    });
    assert.equal(await open('odd.onnx', odd), 'is open');
    await get('finetune-csv').fill(four.join('\n'));
    await get('finetune-start').click();
    await until(async () => /has 3 outputs.*there are 4.*no plain product/.test(await said('finetune-note')), 'refused it');
  });

  test('a language model that the page makes writes; it stops, and tells where time goes', async (t) => {
    await get('models-writer').click();
    await until(async () => /step [1-9]\d/.test(await said('models-notice')), 'learnt');
    // Another tab gets the cores.
    await get('tab-training').click();
    await page.waitForTimeout(800); // a slice under way
    const rested = await said('models-notice');
    await page.waitForTimeout(600);
    assert.equal(await said('models-notice'), rested);
    await get('tab-models').click();
    await until(async () => (await said('models-notice')) !== rested, 'went on');
    await get('models-take').click();
    await until(async () => /sonnets.gguf is open/.test(await said('models-notice')), 'made it');
    await get('chat-most').fill('60');
    await get('chat-seed').fill('7');
    const write = async (text) => {
      await page.locator('#chat-clear').click();
      await get('chat-prompt').fill(text);
      await get('chat-prompt').press('Enter');
      await until(async () => /as many tokens/i.test(await said('chat-note')), 'wrote');
      return said('chat-output');
    };
    const first = await write('Shall I');
    assert.ok(first.length > 20);
    assert.equal(await write('Shall I'), first, 'the same seed writes the same');
    const figure = async (id) => Number(await get(id).getAttribute('data-value'));
    assert.ok((await figure('chat-tokens-per-second')) > 0);
    t.diagnostic(`${await said('chat-tokens-per-second')} tokens a second, the first after ${await said('chat-first')}`);
    await get('chat-measure').click();
    await until(async () => (await get('chat-parts').locator('li').count()) > 3, 'measured');
    assert.match(await get('chat-parts').innerText(), /Attention[^]*Feed-forward|Feed-forward[^]*Attention/);
    await screenshot(page, 'models-chat');
    await get('chat-temperature').fill('warm');
    await get('chat-prompt').fill('x');
    await get('chat-send').click();
    assert.equal(await said('chat-note'), 'Temperature is a number from 0 to 100.');
    await get('chat-temperature').fill('0.5');
    const long = 'How long is '.repeat(2000);
    await get('chat-prompt').fill(long);
    await get('chat-send').click();
    await until(async () => /tokens, and the context has/.test(await said('chat-note')), 'refused it');
    assert.equal(await get('chat-prompt').inputValue(), long, 'a text that is refused is still there');
    assert.doesNotMatch(await said('chat-output'), /How long/);
    await get('chat-prompt').fill('x');
    await get('chat-most').fill('100000');
    // In the page itself: the model may be quicker than this test.
    await page.evaluate(() => {
      document.querySelector('[data-testid=chat-send]').click();
      document.querySelector('[data-testid=chat-stop]').click();
    });
    await until(async () => /Stopped/.test(await said('chat-note')), 'stopped');
    await page.evaluate(() => {
      document.querySelector('[data-testid=chat-prompt]').value = 'x';
      document.querySelector('[data-testid=chat-send]').click();
      document.querySelector('[data-testid=chat-clear]').click();
    });
    await until(async () => !(await get('chat-send').isDisabled()), 'ended what was cleared');
    assert.equal(await said('chat-output'), '');
    const [saved] = await Promise.all([page.waitForEvent('download'), get('models-save').click()]);
    assert.equal(readFileSync(await saved.path()).subarray(0, 4).toString(), 'GGUF');
  });

  test('what runs can be ended, and the file is there again', async () => {
    const loop = file.model({
      nodes: Array.from({ length: 40 }, (_, i) => file.node('MatMul', [i ? `v${i - 1}` : 'x', 'x'], [`v${i}`])),
      inputs: [file.value('x', 1, [2048, 2048])],
      outputs: [file.value('v39', 1, [2048, 2048])],
    });
    assert.equal(await open('long.onnx', loop), 'is open');
    await get('models-run').click();
    await until(async () => /running/.test(await said('models-run-note')), 'ran');
    await get('models-kill').click();
    await until(async () => /long.onnx is open/.test(await said('models-notice')), 'was open again');
    assert.equal(await open('classifier.onnx', classifier()), 'is open');
    assert.equal(await run(), 'ms a run');
  });

  test('an address asks for a model that the page makes', async () => {
    const first = page;
    page = await browser.newPage();
    try {
      await page.goto(`${server.url}?model=digits#models`);
      await until(async () => /digits.onnx is open/.test(await said('models-notice')), 'made it');
      await open('classifier.onnx', classifier());
      assert.doesNotMatch(page.url(), /model=/, 'a file of the visitor is not in the address');
    } finally {
      await page.close();
      page = first;
    }
  });

  test('a file is dropped on the tab, a picture on its field', async () => {
    await open('classifier.onnx', classifier());
    await get('models-way').selectOption('picture');
    const drop = (target, name, bytes) => page.evaluate(async ([selector, own, list]) => {
      const transfer = new DataTransfer();
      const png = new Blob([await (await new OffscreenCanvas(9, 9).getContext('2d').canvas.convertToBlob()).arrayBuffer()]);
      transfer.items.add(new File([list ? Uint8Array.from(list) : png], own));
      for (const type of ['dragover', 'drop']) document.querySelector(selector).dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }, [target, name, bytes]);
    await drop('.picture-drop', 'nine.png', null);
    await until(async () => /nine.png, 9 × 9/.test(await page.locator('.model-input').textContent()), 'took the picture');
    assert.match(await said('models-notice'), /classifier.onnx is open/);
    await drop('#models-summary', 'other.onnx', [...deep(2, 4)]);
    await until(async () => /other.onnx is open/.test(await said('models-notice')), 'opened the file');
    assert.equal(await page.locator('#models.dropping').count(), 0);
    // What falls beside the tab would else be opened by the browser, in the place of the page.
    const kept = (selector) => page.evaluate((own) => ['dragover', 'drop'].map((type) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(['x'], 'x.onnx'));
      return !document.querySelector(own).dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    }), selector);
    assert.deepEqual(await kept('.top'), [true, true]);
    assert.match(await said('models-notice'), /other.onnx is open/);
  });

  test('the camera gives a picture to run, and pictures to learn from', async () => {
    const args = [...chromiumOptions.args, '--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];
    const [first, own] = [page, await chromium.launch({ ...chromiumOptions, args })];
    try {
      page = await own.newPage();
      await page.goto(`${server.url}#models`);
      await open('classifier.onnx', classifier());
      await get('models-way').selectOption('picture');
      const press = (name, within) => page.locator(within).getByRole('button', { name }).click();
      // Pressed twice at once, it is on once; and what is not seen any more is off.
      await page.evaluate(() => {
        const { mediaDevices } = navigator;
        const ask = mediaDevices.getUserMedia.bind(mediaDevices);
        window.tracks = [];
        mediaDevices.getUserMedia = async (wanted) => {
          const stream = await ask(wanted);
          window.tracks.push(...stream.getTracks());
          return stream;
        };
        const button = [...document.querySelectorAll('#models-inputs button')].find(({ textContent }) => textContent === 'Camera');
        button.click();
        button.click();
      });
      const live = () => page.evaluate(() => window.tracks.filter(({ readyState }) => readyState === 'live').length);
      await page.locator('#models-inputs').getByRole('button', { name: 'Take it' }).waitFor();
      await until(async () => (await page.evaluate(() => window.tracks.length)) === 2 && (await live()) === 1, 'was on once');
      await get('models-way').selectOption('chance');
      await get('models-way').selectOption('picture');
      assert.equal(await live(), 0);
      await press('Camera', '#models-inputs');
      await press('Take it', '#models-inputs');
      await until(async () => (await page.locator('.seen[width]').count()) === 1, 'took a picture');
      assert.equal(await run(), 'ms a run');
      for (const row of ['.example-row >> nth=0', '.example-row >> nth=1']) {
        await press('Camera', row);
        await until(async () => /[3-9] pictures/.test(await page.locator(row).textContent()), 'took pictures');
        await press('Stop', row);
      }
      await get('finetune-start').click();
      await until(async () => /held out/.test(await said('finetune-note')), 'learnt');
      assert.match(await said('finetune-note'), /2 outputs in the place of 3/);
    } finally {
      page = first;
      await own.close();
    }
  });

  test('it fits a phone, dark and light', async () => {
    for (const [scheme, name] of [['light', 'models-phone'], ['dark', 'models-phone-dark']]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width: 390, height: 844 });
      await page.waitForTimeout(200);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 390, `${wide}`);
      const tabs = await page.locator('#places [role=tab]').evaluateAll((list) => list.map((tab) => tab.getBoundingClientRect().right));
      assert.ok(Math.max(...tabs) <= 380, `the last tab ends at ${Math.max(...tabs)}`);
      await screenshot(page, name);
    }
    assert.equal(faults.join('\n'), '');
  });
});
