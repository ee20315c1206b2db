// views.mjs [NAME...] - measures the cost of the views inside of training: the playground trains a program of its gallery, and
// all views are opened and closed, in turns. A step is timed by the clock of the page, and by the processor time of the
// workers, which is the same on a busy machine. The ratios are medians over pairs of neighbours.
import { readFileSync, readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openChromium } from '../tests/browser/browsers.mjs';
import { main } from '../scripts/lib/proc.mjs';
import { serve } from '../scripts/serve.mjs';
import { median } from './report.mjs';

const NAMES = ['mlp', 'cnn', 'text'];
const VIEWS = ['layers', 'confusion', 'rewind', 'runs', 'memory'];
const PATIENCE_MS = 120_000;
/** The time after which the effects of opening or closing views - a measurement of all that is open, which is compiled first
 *  - are over. */
const SETTLE_MS = 3000;
const TICKS_PER_MS = 0.1;

/** The milliseconds of processor time that the workers of a browser's pages have used so far (/proc counts in ticks of 10
 *  ms). */
const workersMs = (processes) => processes.flatMap((pid) => readdirSync(`/proc/${pid}/task`).map((task) => readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8')))
  .filter((stat) => /\(DedicatedWorker/.test(stat))
  .reduce((ms, stat) => {
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ms + (Number(fields[11]) + Number(fields[12])) / TICKS_PER_MS;
  }, 0);

const rendererPids = async (browser) => {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  return processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
};

const stepOf = (page) => page.locator('[data-testid=epoch]').evaluate((node) => [Number(node.dataset.step), performance.now()]);

/** One phase: { wall, cpu }, in ms per step. */
const phase = async (page, pids, ms) => {
  await page.waitForTimeout(SETTLE_MS);
  const [[from, begin], used] = [await stepOf(page), workersMs(pids)];
  await page.waitForTimeout(ms);
  const [[to, end], usedAfter] = [await stepOf(page), workersMs(pids)];
  return { wall: (end - begin) / (to - from), cpu: (usedAfter - used) / (to - from) };
};

const measure = async (browser, url, name, { pairs, ms }) => {
  const page = await browser.newPage({ viewport: { width: 1440, height: 2400 } });
  await page.goto(`${url}?example=${name}`);
  await page.waitForSelector('[data-testid=start]:not([disabled])', { timeout: PATIENCE_MS });
  const toggle = async () => {
    for (const view of VIEWS) await page.click(`[data-testid=inside-${view}]`);
  };
  await toggle(); // loads the views and compiles their programs
  await page.click('[data-testid=start]');
  await page.waitForFunction(() => Number(document.querySelector('[data-testid=epoch]').dataset.step) > 30, null, { timeout: PATIENCE_MS });
  await page.waitForTimeout(ms);
  await toggle();
  const pids = await rendererPids(browser);
  const found = [];
  for (let i = 0; i < pairs; i += 1) {
    const closed = await phase(page, pids, ms);
    await toggle();
    const open = await phase(page, pids, ms);
    await toggle();
    found.push({ closed, open });
  }
  await page.close();
  return found;
};

await main(import.meta.url, async (args) => {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { pairs: { type: 'string', default: '9' }, ms: { type: 'string', default: '2500' } } });
  const options = { pairs: Number(values.pairs), ms: Number(values.ms) };
  const server = await serve({ port: 0 });
  const browser = await openChromium();
  try {
    console.log('program    ms a step, views closed    open    ratio by the clock    by the processor');
    for (const name of positionals.length ? positionals : NAMES) {
      const pairs = await measure(browser, server.url, name, options);
      const of = (each) => median(pairs.map(each));
      const cells = [of(({ closed }) => closed.wall), of(({ open }) => open.wall), of(({ open, closed }) => open.wall / closed.wall), of(({ open, closed }) => open.cpu / closed.cpu)];
      console.log(`${name.padEnd(10)} ${cells.map((x, i) => x.toFixed(3).padStart([26, 8, 21, 20][i])).join('')}`);
    }
  } finally {
    await browser.close();
    await server.close();
  }
});
