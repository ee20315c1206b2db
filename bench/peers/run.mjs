// run.mjs - Sinter against other libraries in Chromium: one page, one worker, 2 threads each, interleaved.
//
//   --webgpu       Sinter and jax-js, both on WebGPU: on Chromium's driver in software, so that only ratios count
//   --only TEXT    cases whose name contains TEXT (may be given again)
//   --optional     if the other libraries are missing, say so and succeed
//   --quick        a smoke run: nothing is warm, one short round
//
// The ratio is the best median of the other libraries with right results over Sinter's; the goal stands beside it. For
// products there are also Sinter's GFLOP/s, by medians, and their share of what fused 128-bit multiply-adds reach on
// 2 threads in the same page. build/peers.json holds everything. Exit code 1: Sinter's result is wrong.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Stop, main, root, run } from '../../scripts/lib/proc.mjs';
import { chromium } from 'playwright-core';
import { chromiumOptions, openChromium } from '../../tests/browser/browsers.mjs';
import { CASES, TRANSFORMERS } from './cases.mjs';
import { serve } from './serve.mjs';

const here = join(root, 'bench/peers');
const THREADS = 2;
const PEAK_MS = 500;
let LIBRARIES = ['sinter', 'tfjs', 'ort', 'jax'];
/** The cases that are compared on WebGPU, where the goal is at least the speed of jax-js. */
const ON_WEBGPU = ['sum', 'tanh 1M', 'softmax', 'layernorm', 'matmul', 'conv', 'attention 8', 'training step'];
const WEBGPU_ARGS = ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--enable-features=Vulkan'];

/** The package is not bundled: the page loads it as a bare page would. */
const withoutSinter = {
  name: 'without-sinter',
  setup: (build) => build.onResolve({ filter: /^sinter(\/webgpu)?$/ }, ({ path }) =>
    ({ path: `/js/dist/${path === 'sinter' ? 'index' : 'webgpu'}.js`, external: true })),
};

/** The other libraries are large, so only this comparison installs them. */
const install = async () => {
  if (existsSync(join(here, 'node_modules/esbuild'))) return;
  const { code, output } = await run('npm', ['install', '--prefix', here, '--no-package-lock']);
  if (code) throw new Stop(`peers: the other libraries cannot be installed:\n${output}`);
};

const bundle = async () => {
  const { build } = await import('esbuild');
  await build({
    entryPoints: ['worker', 'peak'].map((name) => join(here, `${name}.mjs`)),
    outdir: join(root, 'build/peers'),
    bundle: true,
    format: 'esm',
    plugins: [withoutSinter],
    logLevel: 'error',
  });
};

/** Runs in the page; returns the GFLOP/s of all threads together. */
const peakOf = (page) => page.evaluate(async ({ threads, ms: forMs }) => {
  const rates = Array.from({ length: threads }, () => new Promise((resolve) => {
    const worker = new Worker('/build/peers/peak.js', { type: 'module' });
    worker.onmessage = ({ data }) => {
      resolve(data);
      worker.terminate();
    };
    worker.postMessage(forMs);
  }));
  return (await Promise.all(rates)).reduce((sum, rate) => sum + rate, 0);
}, { threads: THREADS, ms: PEAK_MS });

/** Chromium as the tests start it, with WebGPU if requested. */
const openBrowser = (onWebGpu) => (onWebGpu
  ? chromium.launch({ ...chromiumOptions, args: [...chromiumOptions.args.filter((arg) => arg !== '--disable-gpu'), ...WEBGPU_ARGS] })
  : openChromium());

const measure = async (cases, { onWebGpu, quick }, onMessage) => {
  const server = await serve();
  const browser = await openBrowser(onWebGpu);
  try {
    const page = await browser.newPage();
    await page.exposeFunction('tell', onMessage);
    await page.goto(`${server.url}/bench/peers/page.html`);
    onMessage({ peak: await peakOf(page) });
    await page.evaluate((given) => new Promise((resolve, reject) => {
      const worker = new Worker('/build/peers/worker.js', { type: 'module' });
      worker.onmessage = ({ data }) => {
        if (data.done) resolve();
        else if (data.broken) reject(new Error(data.broken));
        else window.tell(data);
      };
      worker.onerror = (event) => reject(new Error(event.message));
      worker.postMessage(given);
    }), { cases, libraries: LIBRARIES, onWebGpu, quick });
    onMessage({ peak: await peakOf(page) });
  } finally {
    await browser.close();
    server.close();
  }
};

const ms = (time) => (time ? time.median.toFixed(time.median < 1 ? 4 : 2) : '-').padStart(10);
const times = (ratio) => (Number.isFinite(ratio) ? `${ratio.toFixed(2)}x` : '-').padStart(10);
const wanted = ({ asked, askedMs }) => (askedMs ? `${askedMs} ms` : asked ? `${asked}x` : '').padStart(9);

/** The best median of the other libraries with right results, over Sinter's. */
const ratioOf = ({ times: all, wrong }, figure) => {
  const right = Object.entries(all).filter(([name]) => name !== 'sinter' && !wrong.includes(name));
  return Math.min(...right.map(([, time]) => time[figure])) / all.sinter?.[figure];
};

const isMissed = ({ asked, askedMs, ratio, times: all }) =>
  !(askedMs ? all.sinter?.median <= askedMs : ratio >= (asked ?? 0));

const line = (result, peak) => {
  const notes = [
    ...(isMissed(result) ? ['missed'] : []),
    ...result.wrong.map((name) => `${name} is wrong`),
    ...Object.entries(result.failed).map(([name, why]) => `${name} failed: ${why.slice(0, 60)}`),
  ];
  return result.case.padEnd(34) + LIBRARIES.map((name) => ms(result.times[name])).join('') +
    times(result.ratio) + times(result.ratioOfMinima) + wanted(result) + rate(result, peak) + (notes.length ? `  ${notes.join(', ')}` : '');
};

/** Sinter's rate by its median; its share of the peak by its minimum too, as the peak is a best time. */
const rate = ({ flops, times: { sinter } }, peak) => {
  if (!flops || !sinter) return ''.padStart(21);
  const share = (ms) => `${Math.round((100 * flops) / ms / 1e6 / peak)}%`.padStart(6);
  return (flops / sinter.median / 1e6).toFixed(1).padStart(9) + share(sinter.median) + share(sinter.min);
};

const head = ['ratio', 'of minima'].map((text) => text.padStart(10)).join('') + 'asked'.padStart(9) +
  'GFLOP/s'.padStart(9) + 'peak'.padStart(6) + 'best'.padStart(6);

const compareOnPage = async (cases, options) => {
  await bundle();
  const results = [];
  let peak = 0;
  console.log(`load ${loadavg()[0].toFixed(1)}`);
  console.log(`${'ms, median'.padEnd(34)}${LIBRARIES.map((name) => name.padStart(10)).join('')}${head}`);
  await measure(cases, options, (message) => {
    if (message.peak) {
      peak = Math.max(peak, message.peak);
      return console.log(`peak: ${message.peak.toFixed(0)} GFLOP/s, ${THREADS} threads`);
    }
    if (message.library) return console.log(`${message.library}: ${message.info}`);
    results.push({ ...message, ratio: ratioOf(message, 'median'), ratioOfMinima: ratioOf(message, 'min') });
    return console.log(line(results.at(-1), peak));
  });
  return { peak, results };
};

await main(import.meta.url, async (args) => {
  const { only, optional, webgpu, quick } = parseArgs({ args, options: {
    webgpu: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [''] },
    optional: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  } }).values;
  if (webgpu) LIBRARIES = ['sinter', 'jax'];
  const asked = webgpu
    ? [...CASES.filter(({ name }) => ON_WEBGPU.some((part) => name.startsWith(part))), TRANSFORMERS[0]].map((each) => ({ ...each, asked: 1 }))
    : CASES;
  const cases = asked.filter(({ name }) => only.some((part) => name.includes(part)));
  if (!cases.length) throw new Stop(`peers: no case is named so; there are\n  ${CASES.map(({ name }) => name).join('\n  ')}`);
  try {
    await install();
  } catch (error) {
    if (!optional) throw error;
    console.log('no comparison with other libraries: they cannot be installed');
    return;
  }
  const { peak, results: page } = await compareOnPage(cases, { onWebGpu: webgpu, quick });
  mkdirSync(join(root, 'build'), { recursive: true });
  writeFileSync(join(root, webgpu ? 'build/peers-webgpu.json' : 'build/peers.json'), `${JSON.stringify({ peak, page }, null, 1)}\n`);
  const wrong = page.filter((result) => result.wrong.includes('sinter') || !result.times.sinter);
  if (wrong.length) throw new Stop(`peers: Sinter is wrong or fails: ${wrong.map((result) => result.case).join(', ')}`);
});
