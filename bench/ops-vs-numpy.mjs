// ops-vs-numpy.mjs - every elementwise op and reduction of the table against NumPy, by size.
//
//   --only NAME       ops whose name contains NAME (may be given again)
//   --sizes A,B       default 100,1000,10000,100000,1000000
//   --variants A,B    of: native wasm page; default all three        --rounds N    default 3
//   --json PATH       default build/ops-vs-numpy.json
//
// A figure is Sinter's median over NumPy's, for calls of a compiled function in turns with NumPy's. In
// WebAssembly below CALLED elements it is the kernels' own time, which includes two readings of the clock
// (about a microsecond in Chromium). Figures above LIMIT are marked with *. Ops for which NumPy has no
// function are listed in milliseconds, with a dash. The ops come from the core's table.
import { mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { Stop, main, root } from '../scripts/lib/proc.mjs';
import { median, table } from './report.mjs';
import { closeVariants, openVariants } from './variants.mjs';

const LIMIT = 2;
const CALLED = 10_000;
const PROFILED_CALLS = 2000;
const ROUND_MS = 8;
const REFERENCE = 'numpy';

/** The milliseconds per call, or of its kernels alone; one sample or more. */
const sample = async (variant, text, size) => {
  if (variant.limit === 'fma' || size >= CALLED) return (await variant.ask(`time ${ROUND_MS} ${text}`)).ms;
  const { kernels } = await variant.ask(`profile ${PROFILED_CALLS} ${text}`);
  return [kernels.reduce((ms, kernel) => ms + kernel.ms, 0) / PROFILED_CALLS];
};

const measure = async (variants, op, size, rounds) => {
  const text = ['op', op.number, size, op.name, op.arity, op.dtype, op.lo, op.hi].join(' ');
  const samples = Object.fromEntries(variants.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const variant of variants) samples[variant.name].push(...await sample(variant, text, size));
  }
  return Object.fromEntries(Object.entries(samples).map(([name, ms]) =>
    [name, ms.length ? { medianMs: median(ms), minMs: Math.min(...ms) } : null]));
};

const cell = (times, name) => {
  const reference = times[REFERENCE];
  if (!reference) return `${times[name].medianMs.toPrecision(2)} ms -`;
  const ratio = times[name].medianMs / reference.medianMs;
  return `${ratio.toFixed(2)}${ratio > LIMIT ? '*' : ''}`;
};

const slower = (rows, name) => rows.flatMap(({ op, sizes }) => sizes
  .filter(({ times }) => times[REFERENCE] && times[name].medianMs > LIMIT * times[REFERENCE].medianMs)
  .map(({ size, times }) => `${op} ${size}: ${(times[name].medianMs / times[REFERENCE].medianMs).toFixed(2)} ` +
    `(minima ${(times[name].minMs / times[REFERENCE].minMs).toFixed(2)})`));

const show = ({ name, title }, rows, sizes) => {
  console.log(`\n${title}: times of NumPy's`);
  console.log(table([['op', ...sizes.map(String)], ...rows.map((row) =>
    [row.op, ...row.sizes.map(({ times }) => cell(times, name))])]));
  const found = slower(rows, name);
  const compared = rows.flatMap((row) => row.sizes).filter(({ times }) => times[REFERENCE]).length;
  console.log(`${found.length} of ${compared} take more than ${LIMIT}x${found.map((line) => `\n  ${line}`).join('')}`);
};

const parse = (args) => parseArgs({ args, options: {
  only: { type: 'string', multiple: true, default: [''] },
  sizes: { type: 'string', default: '100,1000,10000,100000,1000000' },
  variants: { type: 'string', default: 'native,wasm,page' },
  rounds: { type: 'string', default: '3' },
  json: { type: 'string', default: join(root, 'build/ops-vs-numpy.json') },
} }).values;

await main(import.meta.url, async (args) => {
  const { only, json, ...given } = parse(args);
  const sizes = given.sizes.split(',').map(Number);
  const chosen = given.variants.split(',');
  const variants = await openVariants([...new Set(['native', ...chosen, REFERENCE])], {});
  try {
    const [native] = variants;
    const ops = (await native.ask('ops')).ops.filter(({ name }) => only.some((part) => name.includes(part)));
    if (!ops.length) throw new Stop('ops-vs-numpy: no op is named so');
    const timed = variants.filter(({ name }) => name === REFERENCE || chosen.includes(name));
    console.log(`load ${loadavg()[0].toFixed(1)}; ${timed.map(({ title, isa }) => `${title}: ${isa}`).join('; ')}`);
    const rows = [];
    for (const op of ops) {
      const row = { op: op.name, sizes: [] };
      for (const size of sizes) row.sizes.push({ size, times: await measure(timed, op, size, Number(given.rounds)) });
      rows.push(row);
    }
    for (const variant of timed.filter(({ name }) => name !== REFERENCE)) show(variant, rows, sizes);
    mkdirSync(dirname(json), { recursive: true });
    writeFileSync(json, `${JSON.stringify(rows, null, 1)}\n`);
    console.log(`\nfigures: ${json}`);
  } finally {
    await closeVariants(variants);
  }
});
