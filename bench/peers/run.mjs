// run.mjs - Sinter against other libraries in Chromium: one page, one worker, 2 threads each, interleaved.
//
//   --only TEXT    cases whose name contains TEXT (may be given again)
//   --optional     without the other libraries say so, and succeed
//
// The ratio is the best median of those others whose result is right over Sinter's; the figures asked for
// stand beside it. build/peers.json holds everything. Sinter's result wrong: exit code 1.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Stop, main, root, run } from '../../scripts/lib/proc.mjs';
import { openChromium } from '../../tests/browser/browsers.mjs';
import { CASES } from './cases.mjs';
import { serve } from './serve.mjs';

const here = join(root, 'bench/peers');
const LIBRARIES = ['sinter', 'tfjs', 'ort', 'jax'];

/** The package is not bundled: the page loads it as a bare page would. */
const withoutSinter = {
  name: 'without-sinter',
  setup: (build) => build.onResolve({ filter: /^sinter$/ }, () => ({ path: '/js/dist/index.js', external: true })),
};

/** The other libraries are large, so only this comparison brings them. */
const install = async () => {
  if (existsSync(join(here, 'node_modules/esbuild'))) return;
  const { code, output } = await run('npm', ['install', '--prefix', here, '--no-package-lock']);
  if (code) throw new Stop(`peers: the other libraries cannot be installed:\n${output}`);
};

const bundle = async () => {
  const { build } = await import('esbuild');
  await build({
    entryPoints: [join(here, 'worker.mjs')],
    outfile: join(root, 'build/peers/worker.js'),
    bundle: true,
    format: 'esm',
    plugins: [withoutSinter],
    logLevel: 'error',
  });
};

const measure = async (cases, onMessage) => {
  const server = await serve();
  const browser = await openChromium();
  try {
    const page = await browser.newPage();
    await page.exposeFunction('tell', onMessage);
    await page.goto(`${server.url}/bench/peers/page.html`);
    await page.evaluate((list) => new Promise((resolve, reject) => {
      const worker = new Worker('/build/peers/worker.js', { type: 'module' });
      worker.onmessage = ({ data }) => {
        if (data.done) resolve();
        else if (data.broken) reject(new Error(data.broken));
        else window.tell(data);
      };
      worker.onerror = (event) => reject(new Error(event.message));
      worker.postMessage({ cases: list });
    }), cases);
  } finally {
    await browser.close();
    server.close();
  }
};

const ms = (time) => (time ? time.median.toFixed(time.median < 1 ? 4 : 2) : '-').padStart(10);
const times = (ratio) => (Number.isFinite(ratio) ? `${ratio.toFixed(2)}x` : '-').padStart(10);
const wanted = ({ asked, askedMs }) => (askedMs ? `${askedMs} ms` : asked ? `${asked}x` : '').padStart(9);

/** Best of the others whose result is right, over Sinter. */
const ratioOf = ({ times: all, wrong }, figure) => {
  const right = Object.entries(all).filter(([name]) => name !== 'sinter' && !wrong.includes(name));
  return Math.min(...right.map(([, time]) => time[figure])) / all.sinter?.[figure];
};

const isMissed = ({ asked, askedMs, ratio, times: all }) =>
  !(askedMs ? all.sinter?.median <= askedMs : ratio >= (asked ?? 0));

const line = (result) => {
  const notes = [
    ...(isMissed(result) ? ['missed'] : []),
    ...result.wrong.map((name) => `${name} is wrong`),
    ...Object.entries(result.failed).map(([name, why]) => `${name} failed: ${why.slice(0, 60)}`),
  ];
  return result.case.padEnd(34) + LIBRARIES.map((name) => ms(result.times[name])).join('') +
    times(result.ratio) + times(result.ratioOfMinima) + wanted(result) + (notes.length ? `  ${notes.join(', ')}` : '');
};

const head = ['ratio', 'of minima'].map((text) => text.padStart(10)).join('') + 'asked'.padStart(9);

const compareOnPage = async (cases) => {
  await bundle();
  const results = [];
  console.log(`load ${loadavg()[0].toFixed(1)}`);
  console.log(`${'ms, median'.padEnd(34)}${LIBRARIES.map((name) => name.padStart(10)).join('')}${head}`);
  await measure(cases, (message) => {
    if (message.library) return console.log(`${message.library}: ${message.info}`);
    results.push({ ...message, ratio: ratioOf(message, 'median'), ratioOfMinima: ratioOf(message, 'min') });
    return console.log(line(results.at(-1)));
  });
  return results;
};

await main(import.meta.url, async (args) => {
  const { only, optional } = parseArgs({ args, options: {
    only: { type: 'string', multiple: true, default: [''] },
    optional: { type: 'boolean', default: false },
  } }).values;
  const cases = CASES.filter(({ name }) => only.some((part) => name.includes(part)));
  if (!cases.length) throw new Stop(`peers: no case is named so; there are\n  ${CASES.map(({ name }) => name).join('\n  ')}`);
  try {
    await install();
  } catch (error) {
    if (!optional) throw error;
    console.log('no comparison with other libraries: they cannot be installed');
    return;
  }
  const page = await compareOnPage(cases);
  mkdirSync(join(root, 'build'), { recursive: true });
  writeFileSync(join(root, 'build/peers.json'), `${JSON.stringify({ page }, null, 1)}\n`);
  const wrong = page.filter((result) => result.wrong.includes('sinter') || !result.times.sinter);
  if (wrong.length) throw new Stop(`peers: Sinter is wrong or fails: ${wrong.map((result) => result.case).join(', ')}`);
});
