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

  /** Writes a program in the place of the one that is there, and waits until it is compiled. */
  const write = async (source) => {
    const turn = await page.evaluate(() => document.querySelector('[data-testid=compile-summary]').dataset.turn);
    await page.click(`${by('program-editor')} .cm-content`);
    await page.keyboard.press('Control+a');
    await page.keyboard.press('Delete');
    await page.evaluate((text) => document.execCommand('insertText', false, text), source);
    await wait((was) => document.querySelector('[data-testid=compile-summary]').dataset.turn !== was, turn);
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
    await page.locator(`${by('kernels')} tbody tr`, { hasText: /exp(?!m1)/ }).first().click();
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

  test('what a view says of its choice goes with another choice', async () => {
    const details = () => page.textContent(by('node-details'));
    const hint = /^Choose a box/;
    await example('dense');
    await page.click(by('show-nodes'));
    await page.focus(by('graph'));
    await page.keyboard.press('n');
    assert.doesNotMatch(await details(), hint);
    const first = page.locator(`${by('program-editor')} .cm-line`).first();
    const last = page.locator(`${by('program-editor')} .cm-line`, { hasText: 'return sn.relu' });
    await last.click();
    assert.match(await details(), hint);
    assert.ok((await lit()).boxes >= 3);
    // As a text the stage has no boxes; the picture follows when it is back.
    await page.click(by('show-text'));
    await first.click();
    await page.click(by('show-graph'));
    assert.equal((await lit()).boxes, 0);
    assert.match(await details(), hint);

    await example('mlp');
    await page.click(by('tab-time'));
    await page.click(by('time-run'));
    await page.waitForSelector(`${by('time-found')}:not([hidden])`, { timeout: PATIENCE_MS });
    await page.focus(by('timeline'));
    await page.keyboard.press('n');
    const said = await page.textContent('#time-details');
    assert.match(said, /^k\d+ /);
    // A press that is drawn downwards, out of the timeline, chooses nothing.
    const { x, y, width } = await page.locator(by('timeline')).boundingBox();
    await page.mouse.move(x + width / 2, y + 40);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + 300, { steps: 5 });
    await page.mouse.up();
    assert.equal(await page.textContent('#time-details'), said);
    assert.equal((await lit()).kernels.length, 1);
    const [label, top] = await page.evaluate(() => [document.querySelector('#roofline text.axis[text-anchor=end]:nth-last-of-type(2)'), document.querySelector('#roofline svg')].map((each) => each.getBoundingClientRect().top));
    assert.ok(label >= top, `the label of the roof begins ${top - label} px above its picture`);

    await page.click(by('tab-memory'));
    await page.waitForSelector(`${by('memory')} rect`);
    await page.locator(`${by('memory')} rect`).nth(2).focus();
    await page.keyboard.press('Enter');
    assert.equal((await lit()).blocks, 1, 'the keyboard chooses a block, however low it is');
    assert.equal(await page.textContent('#time-details'), '');
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
    await write(source);
    await wait(() => Number([...document.querySelectorAll('[data-testid=stage]')].at(0)?.dataset.nodes) > 2000);
    await page.click(`${by('stage')}[data-name=trace]`);
    await wait(() => Number(document.querySelector('[data-testid=graph]').dataset.boxes) > 1500);
    await page.locator(`${by('program-editor')} .cm-line`, { hasText: 'return sn.sin' }).click();
    assert.equal((await lit()).boxes, 1);
    await page.locator(`${by('program-editor')} .cm-line`, { hasText: 'y.mul' }).click();
    assert.ok((await lit()).boxes >= 2000);
  });

  test('a pass is a text diff, and its rewrites are gone through one by one', async () => {
    await example('layer-norm');
    await page.click(`${by('stage')}[data-name=simplify]`);
    await page.waitForSelector(`${by('rewrites')}:not([hidden])`);
    assert.match(await page.textContent(by('rewrite-text')), /^2 rewrites: over power of two × 2/);
    await wait(() => / kernels? if compiling ended here/.test(document.querySelector('[data-testid=stage-note]').textContent));
    await page.click(by('rewrite-on'));
    assert.match(await page.textContent(by('rewrite-text')), /1 of 2 over power of two %\d+ div → %\d+ mul · x \/ 2\^k/);
    await wait(() => document.querySelector('[data-testid=graph]').dataset.lit === '1');
    await screenshot(page, 'views-rewrite');
    await page.click(by('show-diff'));
    await page.waitForSelector(`${by('stage-diff')} .cm-deletedChunk`);
    assert.ok(await page.locator(`${by('stage-diff')} .cm-changedLine`).count() > 0);
    await screenshot(page, 'views-diff');
    await page.click(by('show-graph'));
  });

  test('a profile has lanes, says what bounds the program, and is linked and saved', async () => {
    await example('cnn'); // mlp has the text of a test above
    await page.click(by('tab-time'));
    await page.click(by('time-run'));
    await page.waitForSelector(`${by('time-found')}:not([hidden])`, { timeout: PATIENCE_MS });
    const seen = await page.evaluate(() => ({ ...document.querySelector('[data-testid=timeline]').dataset, bound: document.querySelector('[data-testid=time-report]').dataset.bound }));
    assert.ok(Number(seen.slices) >= 20 * 10, seen.slices);
    assert.ok(['memory', 'arithmetic', 'packing', 'one thread', 'dispatch', 'compile', 'host'].includes(seen.bound), seen.bound);
    // One run is looked at; the keyboard goes through its slices.
    await page.selectOption(by('time-step'), '2');
    const look = () => page.evaluate(() => {
      const { from, to } = document.querySelector('[data-testid=timeline]').dataset;
      return Number(to) - Number(from);
    });
    const span = await look();
    assert.ok(span < Number(seen.to) - Number(seen.from));
    await page.focus(by('timeline'));
    await page.keyboard.press('+');
    assert.ok(await look() < span);
    // Kernels side by side begin in any order, and one that is quicker than the clock has no place below the roof.
    const dots = () => page.locator(`${by('roofline')} circle.lit`).count();
    for (let i = 0; i < 10 && (await dots()) === 0; i++) await page.keyboard.press('n');
    assert.match(await page.textContent(by('time-details')), /µs/);
    await wait(() => document.querySelectorAll('[data-testid=kernels] tr.lit').length === 1);
    assert.equal(await dots(), 1, `${await page.textContent(by('time-details'))}; ${await page.locator(`${by('roofline')} circle`).count()} dots`);
    await screenshot(page, 'views-time');
    for (const [id, name] of [['time-chrome', 'sinter-trace.json'], ['time-speedscope', 'sinter.speedscope.json']]) {
      const [file] = await Promise.all([page.waitForEvent('download'), page.click(by(id))]);
      assert.equal(file.suggestedFilename(), name);
      const chunks = [];
      for await (const chunk of await file.createReadStream()) chunks.push(chunk);
      assert.ok(Object.keys(JSON.parse(Buffer.concat(chunks).toString())).length > 1);
    }
    // The run that is shown, as tracks of the browser's own tools: within the time since the page began.
    const tracks = await page.evaluate(() => new Promise((resolve) => {
      new PerformanceObserver((list) => resolve(list.getEntriesByType('measure').map(({ startTime, duration, detail }) => ({ startTime, duration, ...detail.devtools }))))
        .observe({ type: 'measure' });
      document.querySelector('[data-testid=time-devtools]').click();
    }));
    assert.ok(tracks.length >= 10, String(tracks.length));
    assert.ok(tracks.every(({ dataType, trackGroup, track }) => dataType === 'track-entry' && trackGroup === 'Sinter' && /^Thread \d+$/.test(track)));
    const now = await page.evaluate(() => performance.now());
    assert.ok(tracks.every(({ startTime, duration }) => startTime > 0 && startTime + duration < now));
    assert.equal(await page.evaluate(() => performance.getEntriesByType('measure').length), 0);
  });

  test('the memory is planned again within a budget while a slider moves', async () => {
    await write(`const { nn, optim, random } = sn;
const net = nn.sequential(nn.linear(784, 256), nn.relu(), nn.linear(256, 128), nn.relu(), nn.linear(128, 10));
const loss = (params, x, y) => sn.mean(sn.softmaxCrossEntropy(net.apply(params, x), y));
const program = sn.trainStep(loss, optim.adam({ lr: 1e-3 }));
const inputs = [program.init(net.init(random.key(0))), random.normal(random.key(1), [128, 784]), sn.zeros([128], { dtype: 'int32' })];
`);
    await page.click(by('tab-memory'));
    await page.waitForSelector(`${by('memory')} .live`);
    // What is written on a block lies within it, and what stands below a step within the picture.
    const outside = await page.evaluate(() => {
      const picture = document.querySelector('[data-testid=memory] svg');
      const right = picture.getBoundingClientRect().right;
      const texts = [...picture.querySelectorAll('text.label, text.axis')];
      return texts.filter((text) => {
        const block = text.previousElementSibling;
        return text.getBoundingClientRect().right > (block.tagName === 'rect' ? block.getBoundingClientRect().right : right) + 0.5;
      }).map(({ textContent }) => textContent);
    });
    assert.deepEqual(outside, []);
    const arena = () => page.evaluate(() => Number(document.querySelector('[data-testid=memory]').dataset.arena));
    const whole = await arena();
    await page.locator(by('memory-budget')).evaluate((slider) => {
      slider.value = '85';
      slider.dispatchEvent(new Event('input'));
    });
    await wait((was) => Number(document.querySelector('[data-testid=memory]').dataset.arena) < was, whole);
    assert.ok(await arena() <= 0.85 * whole);
    assert.match(await page.textContent(by('memory-note')), /run again/);
    await screenshot(page, 'views-memory');
    await page.click(by('tab-stages'));
  });

  test('a value that is not finite is named at its line', async () => {
    await write(`function program(x) {
  const y = x.sub(1);
  return sn.log(y);
}
const inputs = [sn.tensor([1, 2, 3])];
`);
    await wait(() => document.querySelector('[data-testid=program-problem]').textContent.startsWith('Compiled'));
    await page.locator(by('check-numerics')).evaluate((box) => box.click());
    await wait(() => /^Line 3: NumericsError: .*log makes 1 infinite in float32\(3\)/.test(document.querySelector('[data-testid=program-problem]').textContent));
    await page.locator(by('check-numerics')).evaluate((box) => box.click());
    await wait(() => document.querySelector('[data-testid=program-problem]').textContent.startsWith('Compiled'));
  });

  test('a program is tuned: what was tried with its times, and the form that was found is the one shown, on the next visit too', async () => {
    await example('softmax');
    await page.click(by('tab-tuning'));
    assert.match(await page.textContent(by('tuning-note')), /^Finds out/);
    await page.click(by('tuning-run'));
    await wait(() => document.querySelectorAll('[data-testid=trials] tbody tr').length > 0);
    await page.click(by('tab-training'));
    await page.waitForTimeout(500); // a moment under way
    const rested = await page.textContent(by('tuning-note'));
    await page.waitForTimeout(1000);
    assert.equal(await page.textContent(by('tuning-note')), rested, 'it rests while another tab is shown');
    await page.click(by('tab-compiler'));
    await wait(() => document.querySelector('[data-testid=tuning-note]').dataset.done === 'true');
    const told = () => page.evaluate(() => ({
      note: document.querySelector('[data-testid=tuning-note]').textContent,
      kept: [...document.querySelectorAll('[data-testid=trials] tr[data-outcome=kept] code')].map((cell) => cell.textContent),
      lost: [...document.querySelectorAll('[data-testid=trials] tr[data-outcome=lost]')].map((line) => [...line.querySelectorAll('.number')].map((cell) => Number(cell.textContent.replace(',', '')))),
      isDisabled: document.querySelector('[data-testid=tuning-run]').disabled,
    }));
    const { note, kept, lost, isDisabled } = await told();
    assert.match(note, kept.length > 0 ? /^Kept: / : /^Nothing is kept: of \d+ choices/);
    assert.ok(lost.length > 0 && lost.every(([ms]) => ms > 0), JSON.stringify(lost));
    assert.equal(isDisabled, true);
    await screenshot(page, 'views-tuning');
    // Its times stay in this visit; what was kept, in the browser.
    await page.click(by('tab-time'));
    await page.click(by('time-run'));
    await page.waitForSelector(`${by('time-found')}:not([hidden])`, { timeout: PATIENCE_MS });
    await page.reload();
    await wait(() => Number(document.querySelector('[data-testid=graph]')?.dataset.boxes) > 0);
    await example('softmax');
    await page.click(by('tab-tuning'));
    await wait(() => document.querySelector('[data-testid=tuning-note]').dataset.done === 'true');
    const later = await told();
    assert.deepEqual(later.kept, kept);
    assert.deepEqual(later.lost, []);
  });

  for (const width of [390, 820, 2560])
    test(`nothing is wider than a page of ${width} pixels`, async () => {
      await page.setViewportSize({ width, height: 900 });
      await example('mlp');
      for (const tab of ['stages', 'kernels', 'time', 'memory', 'tuning']) {
        await page.click(by(`tab-${tab}`));
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), tab);
        await screenshot(page, `views-${tab}-${width}`);
      }
      await page.click(by('tab-stages'));
    });

  test('what became of a program stays in sight beside the last of its switches', async () => {
    await page.locator('.effects tbody tr:last-child').evaluate((row) => row.scrollIntoView({ block: 'end' }));
    const { top, bottom } = await page.locator('#compiler .result').evaluate((card) => card.getBoundingClientRect());
    assert.ok(top >= 0 && bottom >= 0.9 * 900, `from ${top} to ${bottom} of 900 px`);
    await page.evaluate(() => scrollTo(0, 0));
  });

  test('the page did nothing that it should not', () => {
    assert.deepEqual(faults, []);
  });
});
