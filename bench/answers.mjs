// answers.mjs [--rounds N] - measures how soon the playground responds: the longest interaction (INP, from the browser's own
// Event Timing) while a network is trained with all views open; the time from a click on a line in a program of 2,000 nodes
// until it is lit in the other views; and what the page downloads before it is used. Times are by the clock in the best of
// several rounds, and by the processor time of the page's longest task, which is the same on a busy machine.
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { openChromium } from '../tests/browser/browsers.mjs';
import { main } from '../scripts/lib/proc.mjs';
import { serve } from '../scripts/serve.mjs';
import { tasksDuring } from './start.mjs';

const PATIENCE_MS = 120_000;
const VIEWS = ['layers', 'confusion', 'rewind', 'runs', 'memory'];
const by = (id) => `[data-testid=${id}]`;

/** A program with a loop of 1,000 ops that is unrolled, and as many numbers: each of its lines has hundreds of nodes. */
const LONG_PROGRAM = `function program(x) {
  let y = x;
  for (let i = 0; i < 500; i++)
    y = y.mul(x).sub(i);
  return sn.sin(y);
}
const inputs = [sn.ones([64])];
`;

const longest = (tasks) => tasks.reduce((most, { cpu }) => Math.max(most, cpu), 0);

/** Observes interactions from now on; call the result for the longest one, in ms. */
const observeInteractions = async (page) => {
  await page.evaluate(() => {
    window.interactions = [];
    new PerformanceObserver((list) => {
      for (const { interactionId, duration, name } of list.getEntries()) if (interactionId > 0) window.interactions.push({ name, duration });
    }).observe({ type: 'event', durationThreshold: 16 });
  });
  return () => page.evaluate(() => window.interactions.splice(0).reduce((most, each) => (each.duration > most.duration ? each : most), { name: 'none above 16 ms', duration: 0 }));
};

/** All interactions of a user while a network learns, with `pauseMs` after each. */
const interactions = (page, pauseMs) => [
  ...VIEWS.map((view) => async () => page.click(by(`inside-${view}`))), // closed
  ...VIEWS.map((view) => async () => page.click(by(`inside-${view}`))), // and open again
  async () => page.click(by('lesson-next')),
  async () => page.click('#show-wrong'),
  async () => page.click(by('pause')),
  async () => page.click(by('start')),
  async () => page.click(`${by('source-editor')} .cm-content`),
  async () => page.keyboard.type('// a'),
].map((act) => async () => {
  await act();
  await page.waitForTimeout(pauseMs);
});

/** { ms, name, cpu }: the longest interaction while the MLP is trained with all views open, and the longest task. */
export const interactWhileTraining = async (browser, url, pauseMs = 300) => {
  const page = await browser.newPage({ viewport: { width: 1440, height: 2400 } });
  try {
    await page.goto(`${url}?example=mlp`);
    await page.waitForSelector(`${by('start')}:not([disabled])`, { timeout: PATIENCE_MS });
    for (const view of VIEWS) await page.click(by(`inside-${view}`));
    await page.click(`${by('source-editor')} .preview`);
    await page.waitForSelector(`${by('source-editor')} .cm-content`, { timeout: PATIENCE_MS });
    await page.click(by('start'));
    await page.waitForFunction(() => Number(document.querySelector('[data-testid=epoch]').dataset.step) > 60, null, { timeout: PATIENCE_MS });
    const worst = await observeInteractions(page);
    const tasks = await tasksDuring(page, async () => {
      for (const act of interactions(page, pauseMs)) await act();
    });
    const { name, duration } = await worst();
    return { ms: duration, name, cpu: longest(tasks) };
  } finally {
    await page.close();
  }
};

/** Opens the Compiler tab on the long program. */
const openLong = async (page, url) => {
  await page.goto(`${url}#compiler`);
  await page.waitForSelector(`${by('program-editor')} .cm-line`, { timeout: PATIENCE_MS });
  const turn = () => page.evaluate(() => document.querySelector('[data-testid=compile-summary]').dataset.turn ?? '');
  await page.waitForFunction(() => document.querySelector('[data-testid=compile-summary]').dataset.turn, null, { timeout: PATIENCE_MS });
  const before = await turn();
  await page.click(`${by('program-editor')} .cm-content`);
  await page.keyboard.press('Control+a');
  await page.evaluate((text) => document.execCommand('insertText', false, text), LONG_PROGRAM);
  await page.waitForFunction((was) => document.querySelector('[data-testid=compile-summary]').dataset.turn !== was, before, { timeout: PATIENCE_MS });
  await page.click(`${by('stage')}[data-name=trace]`);
  await page.waitForFunction(() => Number(document.querySelector('[data-testid=graph]').dataset.boxes) > 1000, null, { timeout: PATIENCE_MS });
};

/** { nodes, ms, cpu }: the time from a click on a line until the frame in which everything that belongs to it is lit, the
 *  best of `rounds`. */
export const lightLine = async (browser, url, rounds = 5) => {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  try {
    await openLong(page, url);
    const nodes = await page.evaluate(() => Number(document.querySelector('[data-testid=stage][data-name=trace]').dataset.nodes));
    const line = (text) => page.locator(`${by('program-editor')} .cm-line`, { hasText: text });
    const found = [];
    for (let i = 0; i < rounds; i += 1) {
      await line('return sn.sin').click();
      await page.waitForFunction(() => document.querySelector('[data-testid=graph]').dataset.lit === '1');
      await page.evaluate(() => {
        window.litAfter = new Promise((resolve) => {
          document.addEventListener('pointerdown', ({ timeStamp }) => {
            const look = () => {
              if (Number(document.querySelector('[data-testid=graph]').dataset.lit) < 100) requestAnimationFrame(look);
              else requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - timeStamp)));
            };
            look();
          }, { once: true, capture: true });
        });
      });
      let ms;
      const tasks = await tasksDuring(page, async () => {
        await line('y.mul').click();
        ms = await page.evaluate(() => window.litAfter);
      });
      found.push({ ms, cpu: longest(tasks) });
    }
    return { nodes, ms: Math.min(...found.map(({ ms }) => ms)), cpu: Math.min(...found.map(({ cpu }) => cpu)) };
  } finally {
    await page.close();
  }
};

/** The gzipped bytes of everything that the page has requested when it becomes usable, by file; training data are counted
 *  separately. */
export const downloads = async (browser, url, address) => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const asked = new Set();
  // Requests of nested workers are not reported by the page.
  page.context().on('request', (request) => asked.add(request.url()));
  try {
    await page.goto(`${url}${address}`);
    await page.waitForSelector(`${by('start')}:not([disabled])`, { timeout: PATIENCE_MS });
    const sized = await Promise.all([...asked].filter((each) => each.startsWith(url)).map(async (each) => ({
      path: new URL(each).pathname, bytes: gzipSync(Buffer.from(await (await fetch(each)).arrayBuffer()), { level: 9 }).length,
    })));
    const isData = ({ path }) => /\.(bin|txt)$/.test(path);
    return { code: sized.filter((each) => !isData(each)), data: sized.filter(isData) };
  } finally {
    await page.close();
  }
};

const sum = (files) => files.reduce((all, { bytes }) => all + bytes, 0);

await main(import.meta.url, async (args) => {
  const { rounds } = parseArgs({ args, options: { rounds: { type: 'string', default: '3' } } }).values;
  const server = await serve({ port: 0 });
  const browser = await openChromium();
  try {
    for (const address of ['', '?example=xor']) {
      const { code, data } = await downloads(browser, server.url, address);
      console.log(`${address || '/'}: ${sum(code)} bytes of code, gzipped, before it is touched; ${sum(data)} of data`);
      for (const { path, bytes } of code) console.log(`  ${String(bytes).padStart(8)} ${path}`);
    }
    const found = [];
    for (let i = 0; i < Number(rounds); i += 1) found.push(await interactWhileTraining(browser, server.url));
    found.sort((a, b) => a.ms - b.ms);
    console.log(`longest interaction while training with all views: ${found[0].ms} ms (${found[0].name}), longest task ${Math.min(...found.map(({ cpu }) => cpu)).toFixed(0)} ms of the processor`);
    const { nodes, ms, cpu } = await lightLine(browser, server.url, 2 * Number(rounds));
    console.log(`a line of a program of ${nodes} nodes is lit in ${ms.toFixed(0)} ms, longest task ${cpu.toFixed(0)} ms of the processor`);
  } finally {
    await browser.close();
    await server.close();
  }
});
