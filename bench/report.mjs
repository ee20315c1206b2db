// report.mjs - the figures of a run as tables.

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/** 3 or more significant digits, no exponent. */
const short = (x) => {
  if (!Number.isFinite(x)) return '-';
  const digits = x >= 100 ? 0 : x >= 10 ? 1 : x >= 1 ? 2 : x >= 0.1 ? 3 : 4;
  return x.toFixed(digits);
};

const percent = (x) => (Number.isFinite(x) ? `${Math.round(100 * x)}%` : '-');

/** Rows of cells as text; the first column is aligned left, the others right. */
export const table = (rows) => {
  const widths = [];
  for (const row of rows) row.forEach((cell, i) => { widths[i] = Math.max(widths[i] ?? 0, cell.length); });
  return rows.map((row) => row.map((cell, i) => (i ? cell.padStart(widths[i]) : cell.padEnd(widths[i])))
    .join('  ').trimEnd()).join('\n');
};

/** The peak that limits a variant, on one core or on all. */
const limits = (variant, peaks) => peaks[variant.threads > 1 ? 'all' : 'one'];

/** The figures of one workload on one variant. */
export const figures = (workload, variant, samples, peaks) => {
  if (!samples.length) return null;
  const medianMs = median(samples);
  const limit = limits(variant, peaks);
  const rate = (workload.flops || workload.bytes) / medianMs / 1e6;
  return {
    medianMs,
    minMs: Math.min(...samples),
    samples: samples.length,
    ...(workload.flops ? { gflops: rate } : { gbps: rate }),
    ofPeak: rate / (workload.flops ? limit[variant.limit] : limit.copy),
  };
};

/** The table: median, minimum, rate and share of the peak per variant; then the times of wasm over native. */
export const mainTable = (variants, rows) => {
  const compared = variants.some(({ name }) => name === 'native')
    ? variants.filter(({ name }) => name !== 'native') : [];
  const head = [
    ['', '', ...variants.flatMap(({ title }) => [title, '', '', '']),
      ...compared.map((_, i) => (i ? '' : 'times native'))],
    ['workload', 'rate', ...variants.flatMap(() => ['median ms', 'min', 'rate', 'peak']),
      ...compared.map(({ name }) => name)],
  ];
  const body = rows.map(({ name, flops, results }) => [
    name, flops ? 'GFLOP/s' : 'GB/s',
    ...variants.flatMap((variant) => {
      const f = results[variant.name];
      return f ? [short(f.medianMs), short(f.minMs), short(f.gflops ?? f.gbps), percent(f.ofPeak)]
        : ['-', '', '', ''];
    }),
    ...compared.map((variant) => short(results[variant.name]?.medianMs / results.native?.medianMs)),
  ]);
  return table([...head, ...body]);
};

/** The kernels of one workload side by side, matched by name; milliseconds per call. */
export const profileTable = (variants, profiles, calls) => {
  const names = [...new Set(profiles.flatMap((kernels) => kernels.map(({ name }) => name)))];
  const rowOf = (name) => profiles.map((kernels) => kernels.find((kernel) => kernel.name === name));
  const longest = ({ of }) => Math.max(...of.map((kernel) => kernel?.ms ?? 0));
  const rows = names.map((name) => ({ name, of: rowOf(name) })).sort((a, b) => longest(b) - longest(a));
  const total = profiles.map((kernels) => kernels.reduce((ms, kernel) => ms + kernel.ms, 0));
  return table([
    ['kernel', 'kind', 'calls',
      ...variants.flatMap(({ title }) => [title, 'GFLOP/s', 'GB/s', 'share', 'threads'])],
    ...rows.map(({ name, of }) => [
      name, of.find(Boolean).kind, String(of.find(Boolean).calls / calls),
      ...of.flatMap((kernel, i) => (kernel ? [
        short(kernel.ms / calls), short(kernel.flops / kernel.ms / 1e6),
        short(kernel.bytes / kernel.ms / 1e6), percent(kernel.ms / total[i]), String(kernel.threads),
      ] : ['-', '', '', '', ''])),
    ]),
    ['all', '', '', ...total.flatMap((ms) => [short(ms / calls), '', '', '', ''])],
  ]);
};
