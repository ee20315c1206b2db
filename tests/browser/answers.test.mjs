// How soon the playground answers, and what it downloads before it is touched (bench/answers.mjs). By the processor's time of the
// page's longest task, in the best of some rounds: that is the clock's on a machine that does nothing else.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { downloads, interactWhileTraining, lightLine } from '../../bench/answers.mjs';
import { swiftLayout } from '../../web/src/compiler/workers/swift-layout.ts';
import { openChromium } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const by = (id) => `[data-testid=${id}]`;
const MOST_INTERACTION_MS = 100;
const MOST_LIGHT_MS = 50;
const MOST_LAYOUT_MS = 1500;
/** The aim is 350,000; of what there is, two thirds are the module with threads. */
const MOST_BYTES = 387_700;
const ROUNDS = 3;

/** Ops of a program, each of which reads one of the last few and one of before. */
const longGraph = (count) => {
  const edges = [];
  for (let node = 2; node < count; node += 1) edges.push(node - 1 - (node % 3 === 0 ? 1 : 0), node, (node * 7919) % (node - 1), node);
  return { widths: new Float32Array(count).fill(90), heights: new Float32Array(count).fill(30), edges: Uint32Array.from(edges) };
};

test('a graph of 5,000 nodes is laid out', (t) => {
  const request = longGraph(5000);
  const begin = process.cpuUsage();
  const { centres, width, height } = swiftLayout(request);
  const ms = process.cpuUsage(begin).user / 1000;
  t.diagnostic(`${ms.toFixed(0)} ms of the processor; ${width.toFixed(0)} x ${height.toFixed(0)}`);
  assert.ok(centres.every(Number.isFinite));
  assert.ok(ms <= MOST_LAYOUT_MS, `${ms} ms`);
});

describe('the playground answers', () => {
  let server, browser;
  before(async () => {
    server = await serve({ port: 0 });
    browser = await openChromium();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('while a network is trained with all views open', async (t) => {
    const found = [];
    while (found.length < ROUNDS && !found.some(({ cpu }) => cpu <= MOST_INTERACTION_MS)) found.push(await interactWhileTraining(browser, server.url, 150));
    t.diagnostic(JSON.stringify(found));
    assert.ok(Math.min(...found.map(({ cpu }) => cpu)) > 1, 'tasks were seen');
    assert.ok(Math.min(...found.map(({ cpu }) => cpu)) <= MOST_INTERACTION_MS, JSON.stringify(found));
  });

  test('training rests while somebody presses keys', async () => {
    const page = await browser.newPage();
    try {
      await page.goto(`${server.url}?example=mlp`);
      await page.click(`${by('start')}:not([disabled])`, { timeout: 120_000 });
      const stepOf = () => page.evaluate((epoch) => Number(document.querySelector(epoch).dataset.step), by('epoch'));
      await page.waitForFunction((epoch) => Number(document.querySelector(epoch).dataset.step) > 60, by('epoch'), { timeout: 120_000 });
      /** Steps that are shown to have been done in a second and a half of it. */
      const steps = async (pressed) => {
        const before = await stepOf();
        await page.evaluate((isPressed) => new Promise((resolve) => {
          const timer = setInterval(() => isPressed && document.body.dispatchEvent(new KeyboardEvent('keydown', { bubbles: true, key: 'Shift' })), 10);
          setTimeout(() => resolve(clearInterval(timer)), 1500);
        }), pressed);
        return (await stepOf()) - before;
      };
      const [free, pressed] = [await steps(false), await steps(true)];
      assert.ok(free > 4 && pressed < free / 3, `${pressed} steps, ${free} otherwise`);
    } finally {
      await page.close();
    }
  });

  test('a line of a program of 2,000 nodes is lit in the other views', async (t) => {
    const { nodes, ms, cpu } = await lightLine(browser, server.url);
    t.diagnostic(`${nodes} nodes: ${ms.toFixed(1)} ms by the clock, ${cpu.toFixed(1)} ms of the processor`);
    assert.ok(nodes >= 1500, `${nodes} nodes`);
    assert.ok(cpu <= MOST_LIGHT_MS, `${cpu} ms`);
  });

  test('what is downloaded before the page is touched, the package and its worker among it', async (t) => {
    const { code } = await downloads(browser, server.url, '?example=xor');
    const total = code.reduce((sum, { bytes }) => sum + bytes, 0);
    t.diagnostic(`${total} bytes: ${code.map(({ path, bytes }) => `${path} ${bytes}`).join(', ')}`);
    assert.ok(code.some(({ path }) => path.endsWith('.wasm')) && code.some(({ path }) => /worker-/.test(path)), 'all of it is seen');
    assert.ok(total <= MOST_BYTES, `${total} bytes`);
  });
});
