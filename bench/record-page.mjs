// record-page.mjs - writes the committed figures of bench/bench.json as a page: docs/bench.md.

const LIBRARIES = { sinter: 'Sinter', tfjs: 'TensorFlow.js', ort: 'onnxruntime-web', jax: 'jax-js' };
const BUILDS = { native: 'native', 'native-cc': 'compiled', page: 'Chromium', wasm: 'Node', wasm1: 'one thread', torch: 'PyTorch', numpy: 'NumPy' };

const digits = (x) => (x >= 100 ? 0 : x >= 10 ? 1 : x >= 1 ? 2 : x >= 0.1 ? 3 : 4);
const ms = (x) => (x === undefined || x === null ? '-' : x.toFixed(digits(x)));
const times = (x) => (x === undefined || x === null ? '-' : `${x.toFixed(x >= 100 ? 0 : x >= 10 ? 1 : 2)}x`);

const table = (head, rows) => [`| ${head.join(' | ')} |`, `|---|${'---:|'.repeat(head.length - 1)}`, ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n');

const goalOf = ({ asked, askedMs }) => (askedMs !== null ? `${askedMs} ms` : asked !== null ? `${asked}x` : '');
const isMissed = ({ asked, askedMs, ratio, ms: of }) => (askedMs !== null ? !(of.sinter <= askedMs) : asked !== null && !(ratio >= asked));

const noteOf = (row) => [
  ...(isMissed(row) ? ['missed'] : []),
  ...row.wrong.map((name) => `${LIBRARIES[name]} is wrong`),
  ...row.failed.map((name) => `${LIBRARIES[name]} fails`),
].join(', ');

const machineOf = ({ machine, date, load, quick, variants, peaks }) => {
  const facts = [
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB`, machine.system, `Node ${machine.node}`, machine.chromium, machine.compiler,
    machine.torch && `PyTorch ${machine.torch}`, machine.numpy && `NumPy ${machine.numpy}`,
  ];
  const smoke = quick ? ' **A smoke run of a few samples: it shows that all of this can be measured, and compares nothing.**' : '';
  const busy = load > machine.cores / 2 ? ` Other programs ran meanwhile (${load} at a time, on average): compare ratios, not times.` : '';
  const peak = peaks.all?.fma ? ` Peak of all cores: ${peaks.all.fma} GFLOP/s of fused multiply-adds, ${peaks.all.copy} GB/s of copying 4 MB.` : '';
  const isas = variants.filter(({ isa }) => isa).map(({ name, isa, threads }) => `${BUILDS[name] ?? name}: ${isa}, ${threads === 1 ? 'one thread' : `${threads} threads`}`).join('; ');
  return `Taken on ${date}: ${facts.filter(Boolean).join('; ')}.${smoke}${busy}${peak}\n\n${isas}.`;
};

const nativeTable = (workloads) => {
  const builds = Object.keys(BUILDS).filter((build) => workloads.some((row) => row.ms[build] !== undefined));
  return table(['ms, median', ...builds.map((build) => BUILDS[build]), ...['torch', 'numpy'].filter((build) => builds.includes(build)).map((build) => `${BUILDS[build]} / native`), 'Chromium / native'],
    workloads.map((row) => [row.name, ...builds.map((build) => ms(row.ms[build])), ...['torch', 'numpy'].filter((build) => builds.includes(build)).map((build) => times(row.ratios[build])), times(row.page)]));
};

const medianOf = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** docs/bench.md. */
export const pageOf = (figures) => {
  const { workloads, page, firstResultMs } = figures;
  const goals = page.cases.filter(({ asked, askedMs }) => asked !== null || askedMs !== null);
  const reached = goals.filter((row) => !isMissed(row)).length;
  const compared = workloads.filter(({ ratios }) => ratios.torch !== undefined);
  const first = firstResultMs.length ? `\nA first result on a fresh page takes ${ms(medianOf(firstResultMs))} ms after \`init\`.\n` : '';
  return `# Times

\`npm run bench -- --write\` makes this page from \`bench/bench.json\`; do not edit it by hand. A time is the median over rounds
in which all libraries take turns. A ratio says how many times as long another library takes: above 1, Sinter is faster.
[bench/README.md](../bench/README.md) says how times are measured.

${machineOf(figures)}

![How many times as long other libraries take as Sinter, in a page and natively, for each kind of work](bench.svg)

## In a page

All libraries run in one page of Chromium, in one worker, with two threads each. The column "ratio" compares with the best other
library whose result is right, "of minima" compares the minima instead of the medians. "goal" is the ratio, or the time, that Sinter
aims at: ${reached} of ${goals.length} goals are reached.

${table(['ms, median', ...Object.values(LIBRARIES), 'ratio', 'of minima', 'goal', 'note'],
    page.cases.map((row) => [row.name, ...Object.keys(LIBRARIES).map((name) => ms(row.ms[name])), times(row.ratio), times(row.ratioOfMinima), goalOf(row), noteOf(row)]))}

## Natively, and in WebAssembly

| column | what runs |
|---|---|
| native | native code whose kernels are interpreted |
| compiled | native code whose kernels the machine's C compiler compiled ([how](native.md)) |
| Chromium, Node | WebAssembly with threads |
| one thread | WebAssembly with one thread |

In the ratios, "native" is the better of the two native builds. PyTorch takes longer in
${compared.filter(({ ratios }) => ratios.torch >= 1).length} of ${compared.length} workloads.
${first}
${nativeTable(workloads)}
`;
};
