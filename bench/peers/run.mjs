// run.mjs [--only TEXT] - Sinter against other libraries in Chromium: one page, one worker, 2 threads each,
// interleaved. The ratio is the best other median over Sinter's; build/peers.json holds everything.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../../scripts/lib/proc.mjs';
import { openChromium } from '../../tests/browser/browsers.mjs';
import { CASES } from './cases.mjs';
import { serve } from './serve.mjs';

const here = join(root, 'bench/peers');
const LIBRARIES = ['sinter', 'tfjs', 'ort', 'jax'];

const bundle = async () => {
  if (!existsSync(join(here, 'node_modules/esbuild'))) {
    execFileSync('npm', ['install', '--no-audit', '--no-fund'], { cwd: here, stdio: 'inherit' });
  }
  const { build } = await import('esbuild');
  await build({
    entryPoints: [join(here, 'worker.mjs')],
    outfile: join(root, 'build/peers/worker.js'),
    bundle: true,
    format: 'esm',
    external: ['*/js/dist/index.js'],
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
      worker.onmessage = ({ data }) => (data.done ? resolve() : window.tell(data));
      worker.onerror = (event) => reject(new Error(event.message));
      worker.postMessage({ cases: list });
    }), cases);
  } finally {
    await browser.close();
    server.close();
  }
};

const ms = (time) => (time ? time.median.toFixed(time.median < 1 ? 4 : 2) : '-').padStart(10);

const { values: { only = '' } } = parseArgs({ options: { only: { type: 'string' } } });
await bundle();
const results = [];
console.log(`${'ms, median'.padEnd(28)}${LIBRARIES.map((name) => name.padStart(10)).join('')}     ratio  asked`);
await measure(CASES.filter(({ name }) => name.includes(only)), (result) => {
  if (result.library) return console.log(`${result.library}: ${result.info}`);
  const { times } = result;
  const others = Object.entries(times).filter(([name]) => name !== 'sinter').map(([, { median }]) => median);
  result.ratio = times.sinter ? Math.min(...others) / times.sinter.median : 0;
  results.push(result);
  const marks = [...result.wrong.map((name) => `${name} is wrong`), ...Object.keys(result.failed).map((name) => `${name} failed`)];
  console.log(result.case.padEnd(28) + LIBRARIES.map((name) => ms(times[name])).join('') +
    `${result.ratio.toFixed(2)}x`.padStart(10) + `${result.asked ?? ''}`.padStart(7) + `  ${marks.join(', ')}`);
  return undefined;
});
mkdirSync(join(root, 'build'), { recursive: true });
writeFileSync(join(root, 'build/peers.json'), JSON.stringify(results, null, 1));
