// run.mjs - npm run bench: the same workloads natively and in WebAssembly, side by side.
//
//   --only TEXT       workloads whose name contains TEXT (may be given again)
//   --variants A,B    of: native wasm page wasm1, numpy            --rounds N    default 5
//   --profile         also the kernels of each workload, with their times
//   --quick           a smoke run: one short round
//   --json PATH       default build/bench.json
//
// First, in deterministic mode, every variant computes every workload; a result that is not bit for bit
// that of the others ends the run with exit code 1. Then the variants take turns, round by round, so that
// whatever else the machine does meets all of them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { Stop, main, root } from '../scripts/lib/proc.mjs';
import { figures, mainTable, median, profileTable } from './report.mjs';
import { closeVariants, firstResults, openVariants, usualVariants, variantNames } from './variants.mjs';
import { workloads } from './workloads.mjs';

const ROUND_MS = 60;
const QUICK_MS = 5;
const PROFILED_CALLS = 50;
const FIRST_RESULTS = 5;

const withVariants = async (names, options, body) => {
  const variants = await openVariants(names, options);
  try {
    return await body(variants);
  } finally {
    await closeVariants(variants);
  }
};

/** Checksums of every workload on every variant; the names of workloads where they differ. */
const crossCheck = (names, chosen) => withVariants(names, { deterministic: true }, async (variants) => {
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

/** Samples per workload and variant, in turns; and the machine's peaks, measured between them. */
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
  console.log(`peak: FMA ${line('fma', 'GFLOP/s')}; 128-bit multiply and add ${line('muladd128', 'GFLOP/s')}; ` +
    `copy of 4 MB ${line('copy', 'GB/s')}`);
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
  if (unknown !== undefined) throw new Stop(`bench: no variant ${unknown}; there are ${variantNames.join(' ')}`);
  if (!chosen.length) throw new Stop(`bench: no workload is named so; there are\n  ${workloads.map((w) => w.name).join('\n  ')}`);
  const pace = values.quick ? { rounds: 1, ms: QUICK_MS } : { rounds: Number(values.rounds), ms: ROUND_MS };
  return { ...values, chosen, names, pace };
};

await main(import.meta.url, async (args) => {
  const { chosen, names, pace, profile, quick, json } = parse(args);
  const ours = names.filter((name) => name !== 'numpy');

  const { rows: checks, different } = await crossCheck(ours, chosen);
  console.log(`results in deterministic mode: ${chosen.length - different.length} of ${chosen.length} workloads ` +
    `have the same bits on ${ours.join(', ')}`);
  for (const line of different) console.log(`  DIFFERENT ${line}`);

  const result = await withVariants(names, {}, async (variants) => {
    const { peaks, samples } = await measure(variants, chosen, pace);
    const rows = chosen.map((workload) => ({ ...workload, results: Object.fromEntries(variants.map((variant) =>
      [variant.name, figures(workload, variant, samples.get(workload)[variant.name], peaks)])) }));
    for (const { title, isa, threads } of variants) console.log(`${title}: ${isa}, ${threads} threads`);
    showPeaks(peaks);
    console.log(`\n${mainTable(variants, rows)}`);
    const profiles = profile
      ? await showProfiles(variants.filter(({ name }) => name !== 'numpy'), chosen, PROFILED_CALLS) : [];
    return { variants: variants.map(({ name, title, isa, threads }) => ({ name, title, isa, threads })), peaks, rows, profiles };
  });

  const firstMs = names.includes('page') ? await firstResults(quick ? 1 : FIRST_RESULTS) : [];
  if (firstMs.length) console.log(`\nfirst result on a fresh page: ${median(firstMs).toFixed(0)} ms after init (median of ${firstMs.length})`);

  mkdirSync(dirname(json), { recursive: true });
  const machine = { cpu: cpus()[0]?.model, cores: availableParallelism() };
  writeFileSync(json, `${JSON.stringify({ machine, ...result, checks, firstResultMs: firstMs }, null, 1)}\n`);
  console.log(`figures: ${json}`);
  if (different.length) throw new Stop(`bench: ${different.length} workloads differ between native and wasm`);
});
