// run.mjs - npm run bench: the same workloads natively and in WebAssembly, side by side.
//
//   --only TEXT       workloads whose name contains TEXT (may be given again)
//   --variants A,B    of: native native-cc wasm page wasm1, numpy torch      --rounds N    default 5
//   --profile         also the kernels of each workload, with their times
//   --quick           a smoke run: one short round
//   --json PATH       default build/bench.json
//
// First, in deterministic mode, every variant computes every workload; a result whose bits differ from the
// others' ends the run with exit code 1. Then the variants take turns, round by round, so that whatever else
// the machine does affects all of them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { Stop, main, root } from '../scripts/lib/proc.mjs';
import { figures, mainTable, median, profileTable } from './report.mjs';
import {
  closeVariants, firstResults, isOurs, openVariants, usualVariants, variantNames,
} from './variants.mjs';
import { workloads } from './workloads.mjs';

const ROUND_MS = 60;
const QUICK_MS = 5;
const PROFILED_CALLS = 50;
const FIRST_RESULTS = 5;
const BUSY_LOAD = 1.5;

const withVariants = async (names, options, body) => {
  const variants = await openVariants(names, options);
  try {
    return await body(variants);
  } finally {
    await closeVariants(variants);
  }
};

/** Computes the checksums of every workload on every variant; returns the names of workloads where they differ. */
export const crossCheck = (names, chosen) => withVariants(names, { deterministic: true }, async (variants) => {
  const different = [];
  const rows = [];
  for (const { name, text } of chosen) {
    const sums = {};
    for (const variant of variants) sums[variant.name] = (await variant.ask(`check ${text}`)).checksum;
    rows.push({ name, checksums: sums });
    if (new Set(Object.values(sums)).size > 1) {
      different.push(`${name}: ${Object.entries(sums).map(([v, sum]) => `${v} ${sum}`).join(', ')}`);
    }
  }
  return { rows, different };
});

const keepBest = (best, found) => {
  for (const [name, rate] of Object.entries(found)) best[name] = Math.max(best[name] ?? 0, rate);
};

/** Takes samples per workload and variant, in turns, and measures the machine's peaks between them. */
const measure = async (variants, chosen, { rounds, ms }) => {
  const peaks = { one: {}, all: {} };
  const native = variants.find(({ name }) => name === 'native');
  const samples = new Map();
  for (const workload of chosen) {
    const of = Object.fromEntries(variants.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const variant of variants) {
        of[variant.name].push(...(await variant.ask(`time ${ms} ${workload.text}`)).ms);
      }
    }
    if (native) {
      keepBest(peaks.one, await native.ask('peak 1'));
      keepBest(peaks.all, await native.ask(`peak ${availableParallelism()}`));
    }
    samples.set(workload, of);
  }
  return { peaks, samples };
};

const showPeaks = ({ one, all }) => {
  if (!one.fma) return;
  const line = (name, unit) => `${one[name].toFixed(1)} ${unit} a core, ${all[name].toFixed(1)} all`;
  console.log(`peak: FMA ${line('fma', 'GFLOP/s')}; 128-bit multiply and add ` +
    `${line('muladd128', 'GFLOP/s')}; copy of 4 MB ${line('copy', 'GB/s')}`);
};

const showProfiles = async (variants, chosen, calls) => {
  const profiles = [];
  for (const { name, text } of chosen) {
    const kernels = [];
    for (const variant of variants) kernels.push((await variant.ask(`profile ${calls} ${text}`)).kernels);
    console.log(`\n${name}: ms of one call\n${profileTable(variants, kernels, calls)}`);
    profiles.push({ name, kernels: Object.fromEntries(variants.map((v, i) => [v.name, kernels[i]])) });
  }
  return profiles;
};

const parse = (args) => {
  const { values } = parseArgs({ args, options: {
    only: { type: 'string', multiple: true, default: [''] },
    variants: { type: 'string', default: usualVariants.join() },
    rounds: { type: 'string', default: '5' },
    profile: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    json: { type: 'string', default: join(root, 'build/bench.json') },
  } });
  const chosen = workloads.filter(({ name }) => values.only.some((part) => name.includes(part)));
  const names = values.variants.split(',');
  const unknown = names.find((name) => !variantNames.includes(name));
  if (unknown !== undefined) throw new Stop(`bench: no variant ${unknown}; ${variantNames.join(' ')}`);
  if (!chosen.length) {
    const all = workloads.map(({ name }) => name).join('\n  ');
    throw new Stop(`bench: no workload is named so; there are\n  ${all}`);
  }
  const pace = values.quick ? { rounds: 1, ms: QUICK_MS } : { rounds: Number(values.rounds), ms: ROUND_MS };
  return { ...values, chosen, names, pace };
};

const showChecks = ({ rows, different }, names) => {
  console.log(`results in deterministic mode: ${rows.length - different.length} of ${rows.length} ` +
    `workloads have the same bits on ${names.join(', ')}`);
  for (const line of different) console.log(`  DIFFERENT ${line}`);
};

/** Rows with the figures of every variant. */
const withFigures = (variants, chosen, { peaks, samples }) => chosen.map((workload) => {
  const of = samples.get(workload);
  const results = Object.fromEntries(variants.map((variant) =>
    [variant.name, figures(workload, variant, of[variant.name], peaks)]));
  return { ...workload, results };
});

/** Prints the average number of running processes in the last minute, as the system counts them. */
const showLoad = () => {
  const [load] = loadavg();
  if (load > BUSY_LOAD) console.log(`the machine is busy (load ${load.toFixed(1)}): compare the minima`);
};

const measureAndShow = (names, { chosen, pace, profile }) => withVariants(names, {}, async (variants) => {
  const measured = await measure(variants, chosen, pace);
  const rows = withFigures(variants, chosen, measured);
  for (const { title, isa, threads } of variants) console.log(`${title}: ${isa}, ${threads} threads`);
  showPeaks(measured.peaks);
  console.log(`\n${mainTable(variants, rows)}`);
  const ours = variants.filter(({ name }) => isOurs(name));
  const profiles = profile ? await showProfiles(ours, chosen, PROFILED_CALLS) : [];
  const facts = variants.map(({ name, title, isa, threads }) => ({ name, title, isa, threads }));
  return { variants: facts, peaks: measured.peaks, rows, profiles };
});

const showFirstResults = async (count) => {
  const ms = await firstResults(count);
  console.log(`\nfirst result on a fresh page: ${median(ms).toFixed(0)} ms after init (median of ${count})`);
  return ms;
};

await main(import.meta.url, async (args) => {
  const options = parse(args);
  const { names, chosen, quick, json } = options;
  const ours = names.filter(isOurs);
  showLoad();
  const checked = await crossCheck(ours, chosen);
  showChecks(checked, ours);
  const result = await measureAndShow(names, options);
  const firstResultMs = names.includes('page') ? await showFirstResults(quick ? 1 : FIRST_RESULTS) : [];

  mkdirSync(dirname(json), { recursive: true });
  const machine = { cpu: cpus()[0]?.model, cores: availableParallelism() };
  const all = { machine, ...result, checks: checked.rows, firstResultMs };
  writeFileSync(json, `${JSON.stringify(all, null, 1)}\n`);
  console.log(`figures: ${json}`);
  const failed = checked.different.length;
  if (failed) throw new Stop(`bench: ${failed} workloads differ between native and wasm`);
});
