// record.mjs [--render | --quick] - the last step of npm run bench -- --write: puts the figures of build/bench.json and
// build/peers.json, with the machine and the date, into bench/bench.json, which is committed. From it, it writes docs/bench.md,
// docs/bench.svg and the chart in the README. --render: only writes these again. --quick: marks the runs as smoke runs.
// tests/metrics compares these files with what the committed figures yield.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { Stop, main, root } from '../scripts/lib/proc.mjs';
import { chartOf } from './record-chart.mjs';
import { pageOf } from './record-page.mjs';

export const FIGURES = 'bench/bench.json';
const OURS = ['native', 'native-cc', 'wasm', 'page', 'wasm1'];
const FOREIGN = ['numpy', 'torch'];
const DIGITS = 4;
const CHART = '![How many times as long other libraries take: in a page the best of TensorFlow.js, onnxruntime-web and jax-js, natively PyTorch](docs/bench.svg)\n';

const rounded = (x) => (Number.isFinite(x) ? Number(x.toPrecision(DIGITS)) : null);
const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));

/** The version that a command reports; null if it is not installed. */
const versionOf = (command, ...args) => {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim().split('\n')[0];
  } catch {
    return null;
  }
};

const machine = () => ({
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: availableParallelism(),
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  system: `Linux ${release()}`,
  node: process.version,
  chromium: versionOf('chromium', '--version'),
  compiler: versionOf('cc', '--version'),
  torch: versionOf('/usr/bin/python3', '-c', 'import torch; print(torch.__version__)'),
  numpy: versionOf('/usr/bin/python3', '-c', 'import numpy; print(numpy.__version__)'),
});

/** The times of a workload: of each variant of Sinter, and of each foreign one as a multiple of the best native build. */
const nativeRow = ({ name, flops = 0, bytes = 0, results }) => {
  const there = [...OURS, ...FOREIGN].filter((variant) => results[variant]);
  const best = Math.min(...['native', 'native-cc'].filter((variant) => results[variant]).map((variant) => results[variant].medianMs));
  return {
    name, flops, bytes,
    ms: Object.fromEntries(there.map((variant) => [variant, rounded(results[variant].medianMs)])),
    minMs: Object.fromEntries(there.map((variant) => [variant, rounded(results[variant].minMs)])),
    ratios: Object.fromEntries(FOREIGN.filter((variant) => results[variant]).map((variant) => [variant, rounded(results[variant].medianMs / best)])),
    /** WebAssembly in a page, relative to the same. */
    page: results.page ? rounded(results.page.medianMs / best) : null,
  };
};

const pageRow = ({ case: name, times, ratio, ratioOfMinima, asked = null, askedMs = null, wrong, failed }) => ({
  name,
  ms: Object.fromEntries(Object.entries(times).map(([library, { median }]) => [library, rounded(median)])),
  ratio: rounded(ratio), ratioOfMinima: rounded(ratioOfMinima), asked, askedMs, wrong, failed: Object.keys(failed),
});

/** The figures of the last runs, in the form that is committed. */
const collected = (quick) => {
  for (const path of ['build/bench.json', 'build/peers.json']) if (!existsSync(join(root, path))) throw new Stop(`${path} is missing: npm run bench -- --write makes it`);
  const { variants, peaks, rows, firstResultMs } = read('build/bench.json');
  const { peak, page } = read('build/peers.json');
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: machine(),
    load: rounded(loadavg()[2]),
    quick,
    variants,
    peaks: Object.fromEntries(Object.entries(peaks).map(([threads, of]) => [threads, Object.fromEntries(Object.entries(of).map(([name, rate]) => [name, rounded(rate)]))])),
    firstResultMs: firstResultMs.map(rounded),
    workloads: rows.map(nativeRow),
    page: { peak: rounded(peak), cases: page.map(pageRow) },
  };
};

/** The README with the chart between its marks; without the chart if the figures are of a smoke run. */
const readmeWith = ({ quick }) => readFileSync(join(root, 'README.md'), 'utf8').replace(/(<!-- times -->\n)[^]*(<!-- \/times -->)/, (_, begin, end) => `${begin}${quick ? '' : CHART}${end}`);

/** The files that the committed figures yield, by path. */
export const rendered = async () => {
  const figures = read(FIGURES);
  return { 'docs/bench.md': pageOf(figures), 'docs/bench.svg': await chartOf(figures), 'README.md': readmeWith(figures) };
};

await main(import.meta.url, async (args) => {
  if (!args.includes('--render')) writeFileSync(join(root, FIGURES), `${JSON.stringify(collected(args.includes('--quick')), null, 1)}\n`);
  for (const [path, text] of Object.entries(await rendered())) {
    writeFileSync(join(root, path), text);
    console.log(path);
  }
});
