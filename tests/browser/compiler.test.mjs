// The Compiler tab as a visitor uses it, in both browsers: programs become stages, kernels and a memory
// plan; switches change them; mistakes are shown and mended. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 60_000;

const DENSE = `function program(x, w) {
  return sn.relu(sn.matmul(x, w).add(1));
}
const inputs = [sn.ones([4, 8]), sn.ones([8, 3])];
`;

const CHECKPOINTED = `const f = sn.checkpoint((x, w) => sn.tanh(sn.tanh(x.matmul(w)).matmul(w)));
const program = sn.valueAndGrad((w, x) => sn.square(f(f(x, w), w)).sum());
const inputs = [sn.ones([8, 8]), sn.ones([4, 8])];
`;

/** In the page: what the tab shows, as data. */
const read = () => {
  const by = (id) => document.querySelector(`[data-testid=${id}]`);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const canvas = by('graph');
  return {
    stages: all('[data-testid=stage]').map((stage) => ({
      name: stage.dataset.name,
      nodes: Number(stage.dataset.nodes),
      current: stage.getAttribute('aria-current') === 'true',
    })),
    kernels: all('[data-testid=kernels] tbody tr').map((row) => ({
      name: row.querySelector('th').textContent,
      kind: row.querySelector('.kind').textContent,
    })),
    boxes: Number(canvas?.dataset.boxes ?? 0),
    marked: Number(canvas?.dataset.marked ?? 0),
    regions: Number(canvas?.dataset.regions ?? 0),
    problem: by('program-problem')?.classList.contains('problem') ? by('program-problem').textContent : '',
    said: by('program-problem')?.textContent ?? '',
    compiled: by('program-problem')?.textContent.startsWith('Compiled') ?? false,
    summary: by('compile-summary')?.textContent ?? '',
    turn: Number(by('compile-summary')?.dataset.turn ?? 0),
    blocks: all('[data-testid=memory] rect').length,
    note: by('measure-note')?.textContent ?? '',
    effect: Number(by('effect-fuse')?.dataset.value ?? NaN),
    overflow: document.documentElement.scrollWidth - innerWidth,
  };
};

/** In the page: the text of a view of code, of which only the lines in sight exist. */
const readCode = (id) => document.querySelector(`[data-testid=${id}] .cm-content`).textContent;

/** In the page: how many pixels of the graph are painted. */
const painted = () => {
  const canvas = document.querySelector('[data-testid=graph]');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 3; i < data.length; i += 4) if (data[i] > 0) count++;
  return count;
};

const chooseExample = (id) => {
  const select = document.querySelector('[data-testid=example]');
  select.value = id;
  select.dispatchEvent(new Event('change'));
};

for (const { name, open, skip } of BROWSERS) {
  describe(`the Compiler tab in ${name}`, { skip }, () => {
    let server, browser, page, faults;
    const get = (id) => `[data-testid=${id}]`;

    /** Asks the page until it shows what is expected. */
    const until = async (wanted, what, limitMs = PATIENCE_MS) => {
      const deadline = performance.now() + limitMs;
      let seen;
      do {
        seen = await page.evaluate(read);
        if (wanted(seen)) return seen;
        await new Promise((wake) => setTimeout(wake, 50));
      } while (performance.now() < deadline);
      return assert.fail(`never ${what}: ${JSON.stringify(seen)}`);
    };
    const compiled = (state) => state.compiled && state.problem === '' && state.stages.length > 0;
    const example = async (id) => {
      const { turn } = await page.evaluate(read);
      await page.evaluate(chooseExample, id);
      return until((state) => compiled(state) && state.turn > turn, `compiled ${id}`);
    };
    const write = async (source) => {
      await page.click(`${get('program-editor')} .cm-content`);
      await page.keyboard.down('Control');
      await page.keyboard.press('a');
      await page.keyboard.up('Control');
      // Typed line by line, as an editor that indents would otherwise indent twice.
      await page.keyboard.press('Delete');
      await page.evaluate((text) => navigator.clipboard === undefined || document.execCommand('insertText', false, text), source);
    };
    const nodes = ({ stages }) => stages.at(-1).nodes;

    before(async () => {
      server = await serve({ port: 0 });
      browser = await open();
      page = await browser.newPage();
      await (page.setViewportSize ?? page.setViewport).call(page, { width: 1280, height: 800 });
      faults = watch(page, server.url);
    });
    after(async () => {
      await browser?.close();
      await server?.close();
    });

    test('the training page loads without it; the tab opens it, and the address keeps it', async () => {
      const asked = [];
      page.on('request', (request) => asked.push(new URL(request.url()).pathname));
      await page.goto(server.url);
      await page.waitForSelector(get('tab-compiler'));
      await page.waitForSelector(`${get('start')}:not([disabled])`);
      assert.deepEqual(asked.filter((path) => /\/(tab|lab|layout)-/.test(path)), []);
      await page.click(get('tab-compiler'));
      await until(compiled, 'compiled');
      assert.ok(asked.some((path) => /\/tab-/.test(path)));
      assert.match(page.url(), /#compiler$/);
    });

    test('every example compiles: stages, fewer nodes at the end than at the most, kernels', async (t) => {
      const ids = await page.evaluate(() => [...document.querySelector('[data-testid=example]').options].map(({ value }) => value));
      assert.ok(ids.length >= 6, ids.join());
      for (const id of [...ids.slice(1), ids[0]]) {
        const state = await example(id);
        const counts = state.stages.map((stage) => stage.nodes);
        assert.equal(state.stages[0].name, 'trace');
        assert.equal(state.stages.at(-1).name, 'groups');
        // Expansions and moved layouts add nodes, whose number later passes reduce again.
        assert.ok(counts.at(-1) <= counts[0] || counts.at(-1) < Math.max(...counts), `${id}: ${counts}`);
        assert.ok(state.kernels.length >= 1 && state.kernels.length < counts.at(-1), `${id}: ${state.kernels.length} kernels`);
        for (const { name: kernel, kind } of state.kernels) {
          assert.ok(kernel.length > 0);
          assert.match(kind, /^(map|scalar|reduce|row|contraction|chain|call|control)$/);
        }
        t.diagnostic(`${id}: ${state.summary}`);
      }
      const mlp = await example('mlp');
      assert.ok(nodes(mlp) < mlp.stages[0].nodes, 'the passes have something to do in a training step');
    });

    test('the graph of a stage is drawn, before and after', async () => {
      await example('dense');
      await until(({ boxes }) => boxes > 0, 'a graph was drawn');
      assert.ok(await page.evaluate(painted) > 1000);
      await example('mlp');
      await page.click('[data-testid=stage][data-name=simplify]');
      const after_ = await until(({ stages, boxes }) => boxes > 50 && stages.some(({ name: stage, current }) => stage === 'simplify' && current), 'drew the stage');
      await page.click(get('show-before'));
      const before_ = await until(({ boxes }) => boxes > after_.boxes, 'drew what the pass was given');
      assert.ok(before_.marked > 0, 'what the pass removes is marked');
      if (name === 'Chromium') await screenshot(page, 'compiler-simplify');
      await page.click(get('show-after'));
      await page.click('[data-testid=stage][data-name=groups]');
    });

    test('a box can be chosen with the keyboard, and says what it is', async () => {
      await example('softmax');
      await until(({ boxes, stages }) => boxes > 0 && boxes <= nodes({ stages }), 'drew softmax');
      await page.focus(get('graph'));
      await page.keyboard.press('n');
      assert.match(await page.evaluate(() => document.querySelector('[data-testid=node-details]').textContent), /float32/);
      await page.keyboard.press('Escape');
    });

    test('a loop and its adjoint are drawn with what they do in a round inside', async () => {
      await example('loop');
      const { boxes, stages } = await until(({ regions }) => regions === 2, 'drew both loops');
      // Numbers are written into the boxes that read them.
      assert.ok(boxes > 40 && boxes <= nodes({ stages }), `${boxes} boxes`);
      const details = () => page.evaluate(() => document.querySelector('[data-testid=node-details]').textContent);
      await page.focus(get('graph'));
      await page.keyboard.press('p');
      assert.match(await details(), /a result of the region/);
      for (let i = 0; !/given by/.test(await details()); i++) {
        assert.ok(i < boxes, 'an argument of the body says what gives it');
        await page.keyboard.press('p');
      }
      if (name === 'Chromium') await screenshot(page, 'compiler-loop');
      await page.keyboard.press('Escape');
    });

    test('the program and its derivative as JavaScript, whose writer loads when it is asked for', async () => {
      const asked = [];
      page.on('request', (request) => asked.push(new URL(request.url()).pathname));
      await example('loop');
      assert.deepEqual(asked.filter((path) => /\/source-/.test(path)), []);
      await page.click(get('tab-js'));
      const text = async (wanted) => {
        const deadline = performance.now() + PATIENCE_MS;
        let code;
        do code = await page.evaluate(readCode, 'js-code');
        while (!wanted.test(code) && performance.now() < deadline);
        assert.match(code, wanted);
        return code;
      };
      const code = await text(/sn\.scan\(/);
      assert.match(code, /export function program\(angle, friction\)/);
      assert.match(code, /reverse: true/);
      assert.equal(asked.filter((path) => /\/source-/.test(path)).length, 1);
      if (name === 'Chromium') await screenshot(page, 'compiler-js');
      await example('softmax');
      await text(/function program\(x\)/);
      await page.click(get('tab-stages'));
    });

    test('a pass that is switched off changes the graph, and fusion the kernels', async () => {
      const all = await example('mlp');
      const last = ({ stages }) => stages.findLast(({ name: stage }) => stage === 'dce').nodes;
      const flip = async (pass, wanted, what) => {
        const { turn } = await page.evaluate(read);
        await page.evaluate((id) => document.querySelector(`[data-testid=${id}]`).click(), `switch-${pass}`);
        return until((state) => compiled(state) && state.turn > turn && wanted(state), what);
      };
      await flip('simplify', (state) => last(state) > last(all), 'more nodes without simplify');
      await flip('simplify', (state) => last(state) === last(all), 'as many nodes as before');
      await flip('fuse', ({ kernels }) => kernels.length > 2 * all.kernels.length, 'more kernels without fusion');
      await flip('fuse', ({ kernels }) => kernels.length === all.kernels.length, 'as many kernels as before');
    });

    test('the tabs go by arrow keys: kernels, their code, memory, C', async () => {
      await page.focus(get('tab-stages'));
      await page.keyboard.press('ArrowRight');
      const chosen = await page.evaluate(() => [document.activeElement.dataset.testid, document.activeElement.getAttribute('aria-selected'), document.getElementById('view-stages').hidden, document.getElementById('view-kernels').hidden]);
      assert.deepEqual(chosen, ['tab-kernels', 'true', true, false]);
      assert.match(await page.evaluate(readCode, 'kernel-code'), /matmul/);
      // A kernel that has code of its own, where this version makes any.
      const jit = await page.evaluate(() => {
        const rows = [...document.querySelectorAll('[data-testid=kernels] tbody tr')];
        const found = rows.find((row) => row.querySelector('.engine').textContent === 'jit');
        found?.click();
        return found !== undefined;
      });
      await page.click(get('kernel-wat'));
      const wat = jit ? /\(module/ : /no code was made/;
      const deadline = performance.now() + PATIENCE_MS;
      let text;
      do text = await page.evaluate(readCode, 'kernel-code');
      while (!wat.test(text) && performance.now() < deadline);
      assert.match(text, wat);
      if (name === 'Chromium') await screenshot(page, 'compiler-kernels');
      await page.click(get('kernel-loops'));
      await page.click(get('tab-memory'));
      await until(({ blocks }) => blocks >= 5, 'showed the blocks of the arena');
      if (name === 'Chromium') await screenshot(page, 'compiler-memory');
      await page.click(get('tab-stages'));
    });

    test('a mistake is shown where it is, and goes when it is mended', async () => {
      await example('dense');
      await write(DENSE);
      const good = await until((state) => compiled(state) && state.stages[0].nodes < 12, 'compiled what was written');
      await write(DENSE.replace('sn.relu(', 'sn.relu(('));
      const broken = await until(({ problem }) => /^Line \d+: SyntaxError/.test(problem), 'said what is wrong');
      assert.equal(broken.kernels.length, good.kernels.length, 'what was shown last stays');
      await write(DENSE.replace('[8, 3]', '[7, 3]'));
      const { problem } = await until((state) => /matmul/.test(state.problem), 'said which op');
      assert.match(problem, /^Line 2: ShapeError: matmul: inner dimensions differ/);
      await write(DENSE.replace('const inputs', 'const imputs'));
      await until((state) => /no array called inputs/.test(state.problem), 'said what is missing');
      await write(DENSE);
      await until((state) => compiled(state) && nodes(state) === nodes(good), 'recovered');
    });

    test('what a checkpoint has made again is said, and its price', async () => {
      await write(CHECKPOINTED);
      await until((state) => compiled(state) && state.stages[0].nodes > 20, 'compiled it');
      const said = () => page.evaluate(() => [document.getElementById('memory-note').textContent,
        [...document.querySelectorAll('[data-testid=kernels] tbody tr')].map((row) => (row.click(), document.querySelector('[data-testid=kernel-title]').textContent))]);
      const [note, titles] = await said();
      assert.match(note, /Derivatives make again what they do not keep: 1 value \(128 B\) kept, .* dropped, .*FLOP, \d+ % of the work\.$/);
      assert.ok(titles.some((title) => /made again for a derivative/.test(title)), titles.join('\n'));
      await write(DENSE);
      await until((state) => compiled(state) && state.stages[0].nodes < 12, 'compiled what was there before');
      assert.doesNotMatch((await said())[0], /again/);
    });

    test('what is computed of nothing is 0 FLOP, and a hint is given once', async () => {
      await write('const program = (x) => x;\nconst inputs = [sn.ones([4])];\n');
      assert.match((await until((state) => compiled(state) && nodes(state) === 1, 'compiled')).summary, /0 kernels · 0 FLOP · /);
      await write(DENSE.replace('[4, 8]', '[200000, 200000]'));
      const { problem } = await until((state) => state.problem !== '', 'was refused');
      assert.equal(problem.match(/maxMemory/g).length, 1, problem);
    });

    test('a program that never ends is stopped, and the next one compiles', async () => {
      await write(DENSE.replace('return', 'for (;;); return'));
      await until(({ said }) => said === 'Compiling…', 'said what it does');
      await until(({ problem }) => /^Stopped: no answer/.test(problem), 'was stopped');
      await write(DENSE);
      await until(compiled, 'compiled the next one');
    });

    test('what takes long to be compiled, not to be traced, has the time for it', async () => {
      // The limit of a trace, made shorter than a compile, and longer than a trace on a busy machine.
      await page.evaluate(() => {
        const { setTimeout: plain } = window;
        window.setTimeout = (act, ms, ...rest) => plain(act, ms === 10_000 ? 4000 : ms, ...rest);
        window.unhurried = () => { window.setTimeout = plain; };
      });
      await write('const program = (x) => {\n  let y = x;\n  for (let i = 0; i < 15000; i++) y = y.mul(1.01).add(x);\n  return y;\n};\nconst inputs = [sn.ones([64])];\n');
      const { problem } = await until((state) => (compiled(state) && nodes(state) > 30_000) || state.problem !== '', 'compiled it');
      assert.equal(problem, '');
      await page.evaluate(() => window.unhurried());
    });

    test('the effect of each switch is measured, while the tab is shown', async (t) => {
      // One kernel, or eleven.
      await example('layer-norm');
      await page.click(get('measure'));
      await until(({ note }) => /Measuring/.test(note), 'measured');
      await page.click(get('tab-training'));
      await new Promise((wake) => setTimeout(wake, 1500)); // a sample under way
      const rested = (await page.evaluate(read)).note;
      await new Promise((wake) => setTimeout(wake, 1500));
      assert.equal((await page.evaluate(read)).note, rested);
      await page.click(get('tab-compiler'));
      const { effect, note } = await until((state) => /Medians of \d+ rounds/.test(state.note), 'measured', 2 * PATIENCE_MS);
      assert.ok(effect > 1.2, `without fusion the time of a run is × ${effect}`);
      t.diagnostic(`fusion: × ${effect}; ${note}`);
      if (name === 'Chromium') await screenshot(page, 'compiler-measured');
    });

    test('nothing overflows, on a phone neither; no errors, no requests to elsewhere', async () => {
      assert.ok((await page.evaluate(read)).overflow <= 0);
      await (page.setViewportSize ?? page.setViewport).call(page, { width: 390, height: 844 });
      for (const tab of ['kernels', 'memory', 'js', 'c', 'stages']) {
        await page.click(get(`tab-${tab}`));
        assert.ok((await page.evaluate(read)).overflow <= 0, tab);
      }
      if (name === 'Chromium') await screenshot(page, 'compiler-phone');
      assert.deepEqual(faults, []);
    });
  });
}
