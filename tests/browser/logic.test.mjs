// The Logic tab as a visitor uses it: an automaton is trained until its circuit does the task, the circuit is looked at,
// saved and run on a large grid; rules are run, explained and got wrong. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, mainOf, openChromium, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 120_000;

/** In the page: the number that an element with this id has, or null. */
const numberOf = (id) => {
  const { value } = document.querySelector(`[data-testid=${id}]`)?.dataset ?? {};
  return value === undefined ? null : Number(value);
};

/** A program's derived facts in plain JavaScript. */
const closure = (pairs) => {
  const known = new Set(pairs.map(String));
  for (let before_ = -1; before_ !== known.size;) {
    before_ = known.size;
    for (const [x, y] of pairs) for (const each of [...known]) {
      const [a, z] = each.split(',');
      if (Number(a) === y) known.add(`${x},${z}`);
    }
  }
  return known.size;
};

const PAIRS = [[0, 1], [1, 2], [2, 3], [3, 1], [4, 0], [5, 6]];
const PROGRAM = [
  'domain Node = 8.',
  'Edge(Node, Node).',
  PAIRS.map(([a, b]) => `Edge(${a}, ${b}).`).join(' '),
  'Way(x, z) :- Edge(x, z).',
  'Way(x, z) :- Edge(x, y), Way(y, z).',
  '?- Way(4, x).',
].join('\n');

describe('the Logic tab', () => {
  let server, browser, page, faults;
  const get = (id) => page.locator(`[data-testid=${id}]`);
  const waitFor = (f, arg) => page.waitForFunction(f, arg, { timeout: PATIENCE_MS });
  const number = (id) => page.evaluate(numberOf, id);
  const says = (id, part) => waitFor(([name, text]) => document.querySelector(`[data-testid=${name}]`)?.textContent.includes(text), [id, part]);
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  const open = async (address) => {
    await page.goto('about:blank');
    await page.goto(`${server.url}${address}#logic`);
  };
  /** Replaces the editor's text. */
  const write = async (text) => {
    await page.locator('[data-testid=rules-editor] .cm-content').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(text);
  };
  const solved = () => waitFor(() => document.querySelector('[data-testid=circuit-gates]')?.dataset.value !== undefined);
  const saved = async (id) => {
    const [download] = await Promise.all([page.waitForEvent('download'), get(id).click()]);
    return { name: download.suggestedFilename(), text: await readFile(await download.path(), 'utf8') };
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

  test('its code is not loaded before it is opened', async () => {
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(server.url);
    await waitFor(() => document.querySelector('[data-testid=start]')?.disabled === false);
    const before_ = asked.length;
    assert.equal(asked.some((url) => /automaton|rules|grid-/.test(url)), false);
    await get('tab-logic').click();
    await says('automaton-notice', 'Press Start');
    assert.ok(asked.length > before_);
    assert.match(page.url(), /#logic$/);
  });

  test('an automaton is trained, paused, and goes on', async () => {
    await get('automaton-start').click();
    await waitFor(() => Number(document.querySelector('[data-testid=automaton-epoch]').dataset.value) >= 3);
    await screenshot(page, 'logic-training');
    await get('automaton-pause').click();
    await says('automaton-notice', 'Paused');
    await page.waitForTimeout(1000);
    const epoch = await number('automaton-epoch');
    await page.waitForTimeout(300);
    assert.equal(await number('automaton-epoch'), epoch);
    // Another place gets the cores.
    await get('automaton-start').click();
    await says('automaton-notice', 'Training');
    await get('tab-training').click();
    await waitFor(() => document.querySelector('[data-testid=automaton-pause]').disabled);
    await get('tab-logic').click();
    assert.ok((await number('automaton-epoch-ms')) > 0);
    const accuracy = await number('automaton-hard-accuracy');
    assert.ok(accuracy >= 0 && accuracy < 1, `${accuracy}`);
    // A setting that was refused, and then written as it was: what has been learnt stays.
    await get('automaton-rate').fill('0,15');
    await get('automaton-rate').press('Enter');
    await says('automaton-notice', 'expected a number above 0');
    await get('automaton-rate').fill('0.15');
    await get('automaton-rate').press('Enter');
    await says('automaton-notice', 'Learning rate: 0.15, as before');
    assert.ok((await number('automaton-epoch')) >= epoch);
    await get('automaton-start').click();
    await waitFor((last) => Number(document.querySelector('[data-testid=automaton-epoch]').dataset.value) > last, epoch);
    await get('automaton-reset').click();
    await says('automaton-notice', 'A fresh automaton');
    assert.equal(await number('automaton-epoch'), null);
  });

  test('the Game of Life is learnt; its circuit has gates, values on its wires, and files', async (t) => {
    await get('automaton-target').selectOption('life');
    await says('automaton-notice', 'Started over');
    assert.match(page.url(), /target=life#logic$/);
    await get('automaton-start').click();
    await solved();
    const gates = await number('circuit-gates');
    assert.equal(await number('automaton-hard-accuracy'), 1);
    assert.ok(gates > 20 && gates < 400, `${gates} gates`);
    t.diagnostic(`${await number('automaton-epoch')} epochs of ${await number('automaton-epoch-ms')} ms, ${gates} gates`);
    await waitFor((count) => document.querySelectorAll('[data-testid=circuit-drawing] .gate').length === count, gates);
    await screenshot(page, 'logic-circuit');

    // Each cell of the run becomes what Conway's rule says, and the wires say so.
    const cells = get('circuit-cells');
    await cells.scrollIntoViewIfNeeded();
    const box = await cells.boundingBox();
    const seen = new Set();
    for (let i = 0; i < 12; i++) {
      await page.mouse.click(box.x + ((i % 4) + 0.5) * (box.width / 4) + 3, box.y + (Math.floor(i / 4) + 0.5) * (box.height / 3) + 3);
      const { text, inputs, output } = await page.evaluate(() => {
        const on = (kind) => [...document.querySelectorAll(`[data-testid=circuit-drawing] .${kind}`)];
        return {
          text: document.querySelector('[data-testid=circuit-cell]').textContent,
          inputs: on('input').map((each) => [each.querySelector('text').textContent, each.classList.contains('on')]),
          output: on('output').map((each) => each.classList.contains('on')),
        };
      });
      const [, now, next] = /the cell is (\d) and becomes (\d)/.exec(text).map(Number);
      const alive = inputs.filter(([name, isOn]) => isOn && !name.includes('·')).length;
      assert.equal(Object.fromEntries(inputs)['0 ·'], now === 1);
      assert.equal(next, Number(alive === 3 || (now === 1 && alive === 2)), text);
      assert.deepEqual(output, [next === 1]);
      seen.add(`${now} ${next}`);
    }
    assert.ok(seen.size > 1);

    const c = await saved('circuit-save-c');
    assert.equal(c.name, 'circuit.c');
    assert.match(c.text, /#include <stdint.h>/);
    assert.match((await saved('circuit-save-verilog')).text, /^[^]*module /);
    assert.match((await saved('circuit-save-svg')).text, /^<svg/);
    const json = JSON.parse((await saved('circuit-save-json')).text);
    assert.equal(json.format, 'sinter.circuit');
    assert.equal(json.gateCount, gates);
  });

  test('a saved circuit is opened again without training; a file that lies is refused in words', async () => {
    const gates = await number('circuit-gates');
    const { text } = await saved('circuit-save-json');
    const verilog = (await saved('circuit-save-verilog')).text;
    const give = (name, content) => get('circuit-file').setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(content) });
    await get('automaton-reset').click();
    await says('automaton-notice', 'A fresh automaton');
    assert.equal(await number('circuit-gates'), null);
    await give('life.json', text);
    await says('automaton-notice', `life.json has ${gates} gates`);
    assert.equal(await number('circuit-gates'), gates);
    await waitFor((count) => document.querySelectorAll('[data-testid=circuit-drawing] .gate').length === count, gates);
    await waitFor(() => document.querySelector('[data-testid=grid-canvas]').width === 512);
    assert.equal((await saved('circuit-save-verilog')).text, verilog);

    const data = JSON.parse(text);
    // Of a rule that leaves most cells as they are, no cell is said to change for sure.
    await give('some.json', JSON.stringify({ ...data, automaton: { ...data.automaton, fire: 0.25 } }));
    await says('circuit-cell', 'if it is among those that change');
    await give('life.json', text);
    await says('automaton-notice', `life.json has ${gates} gates`);
    const { inputs } = data;
    const lies = [
      ['half.json', text.slice(0, text.length / 2), 'the text is no JSON'],
      ['other.json', '{"format":"other"}', "expected 'sinter.circuit'"],
      ['cycle.json', JSON.stringify({ ...data, gates: data.gates.map(([f, a], i) => [f, a, inputs + i]) }), 'a gate reads signals before its own'],
      ['network.json', JSON.stringify({ ...data, automaton: null }), 'it has no cells for a grid'],
      ['wide.json', JSON.stringify({ ...data, inputs: 18000, gates: [], gateCount: 0, outputs: Array(2000).fill(0), automaton: { ...data.automaton, channels: 2000 } }), 'at most 1024'],
    ];
    for (const [name, content, words] of lies) {
      await give(name, content);
      await says('automaton-notice', words);
    }
    // What was open before stays.
    assert.equal(await number('circuit-gates'), gates);
    assert.equal((await saved('circuit-save-verilog')).text, verilog);
  });

  test('the circuit runs on a large grid: drawn on, damaged, resized', async (t) => {
    const lit = () => page.evaluate(() => {
      const canvas = document.querySelector('[data-testid=grid-canvas]');
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) count += Number(data[i] < 128);
      return { count, side: canvas.width };
    });
    await waitFor(() => document.querySelector('[data-testid=grid-canvas]').width === 512);
    await get('grid-run').click();
    await waitFor(() => Number(document.querySelector('[data-testid=grid-steps]').dataset.value) > 100);
    t.diagnostic(`${(await number('grid-cells-per-second')) / 1e9} 10^9 cells a second`);
    await get('grid-run').click();
    await page.waitForTimeout(300);
    const before_ = await lit();
    assert.equal(before_.side, 512);
    await get('grid-erase').click();
    await get('grid-canvas').evaluate((canvas) => canvas.scrollIntoView());
    const box = await get('grid-canvas').boundingBox();
    await page.evaluate(() => {
      const brush = document.querySelector('[data-testid=grid-brush]');
      brush.value = 20;
    });
    await page.mouse.move(box.x + 0.2 * box.width, box.y + 0.2 * box.height);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.8 * box.width, box.y + 0.3 * box.height, { steps: 6 });
    await page.mouse.up();
    await page.waitForTimeout(500);
    const after_ = await lit();
    assert.ok(after_.count < before_.count, `${after_.count} of ${before_.count}`);
    await screenshot(page, 'logic-large-grid');
    // By keys as well.
    await get('grid-draw').click();
    await get('grid-canvas').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Space');
    await page.waitForTimeout(500);
    assert.ok((await lit()).count > after_.count);
    await get('grid-side').selectOption('256');
    await waitFor(() => document.querySelector('[data-testid=grid-canvas]').width === 256);
    await get('grid-step').click();
    await waitFor(() => Number(document.querySelector('[data-testid=grid-steps]').dataset.value) === 1);
    assert.equal(await overflow(), 0);
  });

  test('an address restores target, seed and settings; a damaged one is said to be', async () => {
    await open('?target=checkerboard-small&seed=7&rate=0.05&batch=3&cells=some');
    await says('automaton-notice', 'Press Start');
    const shown = await page.evaluate(() => ['target', 'seed', 'rate', 'batch', 'cells'].map((name) => document.querySelector(`[data-testid=automaton-${name}]`).value));
    assert.deepEqual(shown, ['checkerboard-small', '7', '0.05', '3', 'some']);
    await open('?target=nonsense&seed=-3&picture=zz');
    await says('automaton-notice', 'The address has no usable target, seed, picture');
    await get('automaton-seed').fill('many');
    await get('automaton-seed').blur();
    await says('automaton-notice', 'Seed: expected a whole number');
    await get('automaton-seed').fill('12');
    await get('automaton-seed').blur();
    await says('automaton-notice', 'Started over');
    assert.match(page.url(), /seed=12/);
  });

  test('a picture is drawn by keys and pointer, and is in the address; without one there is nothing to learn', async () => {
    await open('?target=picture&seed=2');
    await says('automaton-notice', 'Press Start');
    await get('automaton-clear').click();
    await says('automaton-notice', 'There is nothing to learn yet');
    await get('automaton-start').click();
    await says('automaton-notice', 'There is nothing to learn yet');
    assert.equal(await get('automaton-take').isDisabled(), true);
    await get('automaton-wanted').focus();
    await page.keyboard.press('Space');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Space');
    await says('automaton-notice', 'Started over');
    const picture = new URL(page.url()).searchParams.get('picture');
    assert.match(picture, /^[0-9a-f]{36}$/);
    await screenshot(page, 'logic-picture');
    await open(`?target=picture&picture=${picture}`);
    await says('automaton-notice', 'Press Start');
    assert.equal(new URL(page.url()).searchParams.get('picture'), picture);
    await get('automaton-glyph-smile').click();
    await says('automaton-notice', 'Started over');
  });

  test('what is drawn last is what is learnt, and pictures to choose from stay as they are', async () => {
    await open('?target=picture');
    await says('automaton-notice', 'Press Start');
    const picture = () => new URL(page.url()).searchParams.get('picture');
    const box = await get('automaton-wanted').boundingBox();
    const draw = (x) => page.mouse.click(box.x + ((x + 0.5) * box.width) / 12, box.y + box.height / 24);
    await get('automaton-glyph-heart').click();
    await says('automaton-notice', 'Started over');
    const heart = picture();
    await open('?target=picture');
    await says('automaton-notice', 'Press Start');
    await draw(0);
    await says('automaton-notice', 'Started over');
    assert.notEqual(picture(), heart);
    await get('automaton-glyph-heart').click();
    await page.waitForFunction((wanted) => location.search.includes(wanted), heart);
    // Start and Circuit at once after a stroke.
    await draw(1);
    await get('automaton-start').click();
    await waitFor(() => Number(document.querySelector('[data-testid=automaton-epoch]').dataset.value) > 0);
    assert.equal(picture(), heart.replace(/^./, '4'));
    await draw(2);
    await get('automaton-take').click();
    await solved();
    assert.equal(picture(), heart.replace(/^./, '6'));
    assert.equal(await number('automaton-epoch'), null);
  });

  test('to go back changes the tab; the address says what the page shows', async () => {
    await open('?target=life');
    await says('automaton-notice', 'Press Start');
    await get('tab-bench').click();
    await get('tab-logic').click();
    await get('automaton-target').selectOption('picture');
    const { search } = new URL(page.url());
    assert.match(search, /target=picture/);
    await page.goBack();
    await page.waitForURL(/#bench$/);
    await page.goBack();
    await page.waitForURL(/#logic$/);
    await waitFor((wanted) => location.search === wanted, search);
    assert.equal(await get('automaton-target').inputValue(), 'picture');
  });

  test('rules derive what a plain program derives, with rounds, answers and proofs', async (t) => {
    await open('?logic=rules');
    await says('rules-problem', 'facts derived');
    await write(PROGRAM);
    await says('rules-problem', 'Press Run');
    await get('rules-run').click();
    await says('rules-problem', 'facts derived');
    assert.equal(await number('rules-count'), closure(PAIRS));
    const ms = await number('rules-ms');
    assert.ok(ms > 0);
    t.diagnostic(`${ms} ms`);
    await says('rules-answers', 'Way(4, x)');
    await says('rules-answers', '4 answers');
    await get('rules-answers').locator('button').last().click();
    await says('rules-why', 'rule 2 in line 5');
    await says('rules-joins', 'Edge[x,y] Way[y,z] -> [x,z]');
    await get('rules-query').fill('Way(x, x)');
    await get('rules-query').press('Enter');
    await says('rules-answers', '3 answers');
    await get('rules-query').fill('Away(x)');
    await get('rules-query').press('Enter');
    await says('rules-asked', 'there is no relation Away');
    assert.equal(await get('rules-query').getAttribute('aria-invalid'), 'true');
    assert.match(await get('rules-problem').textContent(), /facts derived/, 'the program is as right as before');
    await get('rules-query').fill('Way(x, x)');
    await get('rules-query').press('Enter');
    await waitFor(() => document.querySelector('[data-testid=rules-asked]').hidden);
    const program = () => new URL(page.url()).searchParams.get('program');
    assert.equal(program(), PROGRAM);
    const long = `${PROGRAM}${'% a remark of a long program\n'.repeat(200)}`;
    await write(long);
    await says('rules-problem', 'Press Run');
    assert.equal(program(), 'too-long');
    await page.reload();
    await says('rules-problem', 'facts derived');
    assert.equal(await number('rules-count'), closure(PAIRS));
    assert.equal(await get('rules-example').inputValue(), 'own');
    // One that does not fit is not taken for the one before.
    await page.evaluate(() => (Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }));
    await write(`${long}% and longer`);
    await says('rules-problem', 'Press Run');
    await page.reload();
    await says('error', 'the address has no usable program of rules');
  });

  test('every answer is explained, whatever its query and its names look like', async () => {
    await open('?logic=rules');
    await says('rules-problem', 'derived');
    await write(`domain C = {'a, b', "it's"}.\nR(C, C).\nR('a, b', "it's").\nS(x, y) :- R(x, y).\n?- S(_, x).\n?- S(_, _).`);
    await says('rules-problem', 'Press Run');
    await get('rules-run').click();
    await says('rules-answers', 'S(_, _) yes');
    const explained = async (button) => {
      await page.evaluate(() => document.querySelector('[data-testid=rules-why]').replaceChildren());
      await button.click();
      await says('rules-why', `S('a, b', "it's") rule 1 in line 4`);
    };
    for (const button of await get('rules-answers').locator('button').all()) await explained(button);
    for (const query of ['S(x, "it\'s")', '?- S(_, x).  % and so on']) {
      await get('rules-query').fill(query);
      await get('rules-query').press('Enter');
      await says('rules-answers', `${query} 1 answer`);
      await explained(get('rules-answers').locator('button').first());
    }
    await page.evaluate(() => document.querySelector('[data-testid=rules-why]').replaceChildren());
    const matrix = page.locator('[data-relation=S] canvas');
    const { width, height } = await matrix.boundingBox();
    await matrix.click({ position: { x: 0.75 * width, y: 0.25 * height } });
    await says('rules-why', `S('a, b', "it's") rule 1`);
  });

  test('a run leaves nothing of the last one behind', async () => {
    await open('?logic=rules&rules=generations');
    await says('rules-problem', 'derived');
    const session = await page.context().newCDPSession(page);
    const kept = async () => {
      await session.send('HeapProfiler.collectGarbage');
      return (await session.send('Runtime.getHeapUsage')).backingStorageSize;
    };
    const run = async () => {
      await get('rules-run').click();
      await waitFor(() => document.querySelector('[data-testid=rules-problem]').textContent.includes('derived'));
    };
    await run();
    const first = await kept();
    for (let i = 0; i < 4; i++) await run();
    const last = await kept();
    assert.ok(last < first + 2e7, `${first} bytes, then ${last}`); // a run has 16 MB of rounds
  });

  test('each example runs; facts light up round by round', async () => {
    await open('?logic=rules&rules=graph');
    await says('rules-problem', 'facts derived');
    for (const name of ['family', 'access', 'grammar', 'links', 'generations', 'graph']) {
      await get('rules-example').selectOption(name);
      await waitFor((wanted) => new URL(location.href).searchParams.get('rules') === wanted && /facts? derived/.test(document.querySelector('[data-testid=rules-problem]').textContent), name);
      assert.match(page.url(), new RegExp(`rules=${name}`));
    }
    await says('rules-problem', 'facts derived');
    await page.evaluate(() => {
      const round = document.querySelector('[data-testid=rules-round]');
      round.value = 0;
      round.dispatchEvent(new Event('input'));
    });
    const way = page.locator('[data-relation=Way] .about');
    assert.equal(await way.textContent(), '0 facts');
    await page.evaluate(() => {
      const round = document.querySelector('[data-testid=rules-round]');
      round.value = round.max;
      round.dispatchEvent(new Event('input'));
    });
    assert.match(await way.textContent(), /^\d\d facts$/);
    await screenshot(page, 'logic-rules');
  });

  test('the lessons of docs/logic.md lead into the page', async () => {
    const lessons = await readFile(new URL('../../docs/logic.md', import.meta.url), 'utf8');
    const addresses = [...lessons.matchAll(/\]\(http:\/\/localhost:5173\/(\?[^)]*)#logic\)/g)].map(([, address]) => address);
    assert.ok(addresses.length > 8, `${addresses.length} lessons`);
    for (const address of mainOf(addresses, 3)) {
      await open(address);
      const isRules = address.includes('logic=rules');
      const wanted = !isRules ? /^Press Start\.$/ : address.includes('Win') ? /a cycle through negation/ : /facts? derived/;
      await waitFor(([id, source]) => new RegExp(source).test(document.querySelector(`[data-testid=${id}]`)?.textContent), [isRules ? 'rules-problem' : 'automaton-notice', wanted.source]);
    }
  });

  test('temperature 0 deduces, above it goes by analogy', async () => {
    await open('?logic=rules&rules=links');
    await says('rules-problem', 'derived');
    const heat = async (value) => {
      await page.evaluate((to) => {
        const input = document.querySelector('[data-testid=rules-temperature]');
        input.value = to;
        input.dispatchEvent(new Event('input'));
      }, value);
      await waitFor(() => document.querySelector('[data-testid=rules-problem]').textContent.includes('derived'));
    };
    await heat(0);
    await waitFor(() => document.querySelector('[data-testid=rules-count]').dataset.value === '1');
    await heat(0.75);
    await waitFor(() => Number(document.querySelector('[data-testid=rules-count]').dataset.value) > 1);
    assert.match(page.url(), /temperature=0.75/);
    await get('rules-semantics').selectOption('goedel');
    await waitFor(() => /semantics=goedel/.test(location.href) && !/temperature/.test(location.href));
  });

  test('errors are underlined at their place and told in words; the page goes on', async () => {
    await open('?logic=rules&rules=family');
    await says('rules-problem', 'derived');
    await write('domain D = 3.\nE(D, D).\nW(x, z) :- E(x, y).');
    await says('rules-problem', 'line 3, column');
    await page.locator('.cm-lintRange-error').first().waitFor();
    await screenshot(page, 'logic-error');
    await write('domain D = 3.\nP(D). P(0).\nN[x] = P[x] + 2 N[x].');
    await get('rules-run').click();
    await says('rules-problem', 'the rules still derive something after');
    await write('domain D = 100000.\nR(D, D).\nS(x, y) :- R(x, y).');
    await says('rules-problem', 'entries');
    await write(PROGRAM);
    await get('rules-run').click();
    await says('rules-problem', `${closure(PAIRS)} facts derived`);
  });

  test('a library that cannot be loaded is said, and can be loaded later', async () => {
    const other = await browser.newPage();
    let broken = true;
    await other.route(/sinter.*\.wasm/, (route) => (broken ? route.fulfill({ status: 404, body: 'Not found' }) : route.continue()));
    await other.goto(`${server.url}?target=life#logic`);
    await other.waitForFunction(() => /the server answered 404/.test(document.querySelector('[data-testid=automaton-notice]')?.textContent ?? ''), null, { timeout: PATIENCE_MS });
    broken = false;
    await other.click('[data-testid=automaton-start]');
    await other.waitForFunction(() => Number(document.querySelector('[data-testid=automaton-epoch]').dataset.value) > 0, null, { timeout: PATIENCE_MS });
    await other.close();
  });

  test('nothing overflows at any width; no errors, no requests to elsewhere', async () => {
    for (const address of ['?target=life', '?target=picture', '?logic=rules&rules=graph']) {
      await open(address);
      if (address.includes('rules')) await says('rules-problem', 'derived');
      else await says('automaton-notice', 'Press Start');
      for (const width of [390, 820, 1440, 2560]) {
        await page.setViewportSize({ width, height: 900 });
        await page.waitForTimeout(100);
        assert.equal(await overflow(), 0, `${address} at ${width}`);
      }
    }
    assert.equal(await get('error').isHidden(), true);
    assert.deepEqual(faults, []);
  });

  test('on a phone in the dark: solved, and rules', async () => {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, reducedMotion: 'reduce', colorScheme: 'dark' });
    const first = page;
    page = await context.newPage();
    try {
      await open('?target=life&seed=3');
      await says('automaton-notice', 'Press Start');
      await get('automaton-start').click();
      await solved();
      await page.locator('[data-testid=circuit-drawing] .gate').first().waitFor({ timeout: PATIENCE_MS });
      await waitFor(() => document.querySelector('[data-testid=grid-canvas]').width === 512);
      await screenshot(page, 'logic-phone');
      assert.equal(await overflow(), 0);
      await get('logic-rules').click();
      await says('rules-problem', 'derived');
      await screenshot(page, 'logic-phone-rules');
      assert.equal(await overflow(), 0);
    } finally {
      page = first;
      await context.close();
    }
  });
});

for (const { name, open, skip } of BROWSERS.slice(1)) describe(`the Logic tab in ${name}`, { skip }, () => {
  let server, browser;
  before(async () => {
    server = await serve({ port: 0 });
    browser = await open();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('an automaton learns the Game of Life, and rules are run', async () => {
    const page = await browser.newPage();
    const waitFor = (f, ...args) => page.waitForFunction(f, { timeout: PATIENCE_MS }, ...args);
    await page.goto(`${server.url}?target=life#logic`);
    await waitFor(() => document.querySelector('[data-testid=automaton-notice]')?.textContent.includes('Press Start'));
    await page.click('[data-testid=automaton-start]');
    await waitFor(() => document.querySelector('[data-testid=circuit-gates]')?.dataset.value !== undefined);
    assert.equal(await page.evaluate(numberOf, 'automaton-hard-accuracy'), 1);
    await page.click('[data-testid=logic-rules]');
    await waitFor(() => document.querySelector('[data-testid=rules-count]')?.dataset.value !== undefined);
    assert.equal(await page.evaluate(numberOf, 'rules-count'), 28);
    await page.close();
  });
});
