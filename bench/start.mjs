// start.mjs [ADDRESS...] - measures how long pages of web/dist are blocked (browsers call tasks above 50 ms long): while they
// start, with their first paint, and while a tab of the playground is opened for the first time. Each is opened several times,
// in turns. The result is the longest task of each by the clock, and by its processor time, which is the same on a busy
// machine. The page is controlled through the browser's protocol, because the driver first injects a script whose task is as
// long as the longest of the page. A page that trains is left alone until it could be started.
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { chromiumOptions } from '../tests/browser/browsers.mjs';
import { main } from '../scripts/lib/proc.mjs';
import { serve } from '../scripts/serve.mjs';

const OPENINGS = 7;
const LONG_MS = 50;
const REST_MS = 500;
const ASK_MS = 100;
const TAB_REST_MS = 2500;
const ADDRESSES = ['', '?example=xor', '#compiler', '#bench', 'docs/', 'docs/tutorials/first-tensor.html', 'docs/reference/elementwise.html'];
export const TABS = ['models', 'fit', 'logic', 'compiler', 'bench'];

const IS_READY = "!['loading', undefined].includes(document.body?.dataset.phase)";

/** The tasks of the main thread of `page` during `what`, as { wall, cpu } in ms, the longest first. */
export const tasksDuring = async (page, what) => {
  const browser = await page.context().browser().newBrowserCDPSession();
  const events = [];
  browser.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  await browser.send('Tracing.start', { traceConfig: { includedCategories: ['toplevel', 'devtools.timeline'] }, transferMode: 'ReportEvents' });
  await what();
  const complete = new Promise((resolve) => { browser.once('Tracing.tracingComplete', resolve); });
  await browser.send('Tracing.end');
  await complete;
  await browser.detach();
  const { origin } = new URL(page.url());
  const ours = new Set(events.filter(({ args }) => JSON.stringify(args).includes(origin)).map(({ pid }) => pid));
  const threads = new Set(events.filter(({ name, pid, args }) => name === 'thread_name' && args.name === 'CrRendererMain' && ours.has(pid))
    .map(({ pid, tid }) => `${pid} ${tid}`));
  return events.filter(({ name, ph, pid, tid }) => ph === 'X' && /RunTask$/.test(name) && threads.has(`${pid} ${tid}`))
    .map(({ dur, tdur }) => ({ wall: dur / 1000, cpu: (tdur ?? dur) / 1000 }))
    .sort((a, b) => b.wall - a.wall);
};

const longest = (tasks, time) => tasks.reduce((most, task) => Math.max(most, task[time]), 0);

const figuresOf = (tasks, paint = NaN) => ({
  paint, wall: longest(tasks, 'wall'), cpu: longest(tasks, 'cpu'), allCpu: tasks.reduce((sum, { cpu }) => sum + cpu, 0), long: tasks.filter(({ wall }) => wall > LONG_MS).length,
});

/** The value of an expression in `page`. */
const valueOf = async (session, expression) => {
  const { result } = await session.send('Runtime.evaluate', { expression, returnByValue: true, userGesture: true });
  return result.value;
};

/** A page of its own in which `what` runs. `what` gets the page, a function to evaluate in it, and one to open it. */
const withPage = async (browser, url, what) => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  try {
    const session = await page.context().newCDPSession(page);
    const evaluate = (expression) => valueOf(session, expression);
    return await what(page, evaluate, async () => {
      await page.goto(url, { waitUntil: 'load' });
      if (!url.includes('/docs/')) while (!(await evaluate(IS_READY))) await sleep(ASK_MS);
      await sleep(REST_MS);
    });
  } finally {
    await page.close();
  }
};

/** { paint, wall, cpu, allCpu, long } of one opening: ms of the first paint, of the longest task and of all tasks, and the
 *  number of long tasks. */
export const openPage = (browser, url) => withPage(browser, url, async (page, evaluate, open) => {
  const tasks = await tasksDuring(page, open);
  return figuresOf(tasks, await evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"));
});

/** The same for a tab that is opened for the first time. */
export const openTab = (browser, url, tab) => withPage(browser, url, async (page, evaluate, open) => {
  await open();
  return figuresOf(await tasksDuring(page, async () => {
    await evaluate(`document.querySelector('#tab-${tab}').click()`);
    await sleep(TAB_REST_MS);
  }));
});

const sorted = (list, name) => list.map((each) => each[name]).sort((a, b) => a - b);
const both = (list) => `${list[list.length >> 1].toFixed(0).padStart(6)} ${list[0].toFixed(0).padStart(6)}`;

await main(import.meta.url, async (args) => {
  const server = await serve({ port: 0 });
  const browser = await chromium.launch(chromiumOptions);
  const pages = (args.length ? args : ADDRESSES).map((address) => ({ title: address || '/', once: () => openPage(browser, `${server.url}${address}`) }));
  const tabs = (args.length ? [] : TABS).map((tab) => ({ title: `tab ${tab}`, once: () => openTab(browser, server.url, tab) }));
  const rows = [...pages, ...tabs].map((row) => ({ ...row, found: [] }));
  try {
    for (let i = 0; i < OPENINGS; i += 1) for (const { once, found } of rows) found.push(await once());
  } finally {
    await browser.close();
    await server.close();
  }
  console.log(`${'page'.padEnd(40)} first paint, ms   longest task, ms    of the processor   tasks above 50 ms`);
  console.log(`${' '.repeat(40)} median   best     median   best     median   best     median`);
  for (const { title, found } of rows) {
    console.log(`${title.padEnd(40)} ${both(sorted(found, 'paint'))}   ${both(sorted(found, 'wall'))}     ${both(sorted(found, 'cpu'))}     ${sorted(found, 'long')[found.length >> 1]}`);
  }
});
