// figures.mjs - pages and figures made of bench/metrics.csv, which the tests compare with what the compiler does.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../scripts/lib/proc.mjs';

const SOURCE = 'bench/metrics.csv';

/** Figures by subject: { 'mlp-forward': { nodes: 18, ... } }. */
export const readMetrics = () => {
  const [, ...lines] = readFileSync(join(root, SOURCE), 'utf8').trimEnd().split('\n');
  const subjects = {};
  for (const line of lines) {
    const [subject, figure, value] = line.split(',');
    (subjects[subject] ??= {})[figure] = Number(value);
  }
  return subjects;
};

/** When the file was last changed; '' outside of a repository. */
const dateOfMetrics = () => {
  try {
    return execFileSync('git', ['log', '-1', '--format=%cs', '--', SOURCE], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return '';
  }
};

const count = (value) => value.toLocaleString('en');
export const bytes = (value) => (value === 0 ? '0' : value < 1e6 ? `${(value / 1e3).toPrecision(3)} kB` : `${(value / 1e6).toPrecision(3)} MB`);
const flops = (value) => (value < 1e6 ? count(value) : value < 1e9 ? `${(value / 1e6).toPrecision(3)} M` : `${(value / 1e9).toPrecision(3)} G`);

const table = (head, rows) => `| ${head.join(' | ')} |\n|---|${'---:|'.repeat(head.length - 1)}\n${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}`;

const programs = (metrics) => Object.entries(metrics).filter(([, { kernels }]) => kernels !== undefined);

/** How many times less memory a plan takes; where nothing is left in between, all of it. */
const lessBy = ({ naiveBytes, arenaBytes }) => (arenaBytes === 0 ? 'all' : `${(naiveBytes / arenaBytes).toFixed(1)} x`);

/** The page of the figures, as Markdown. */
const benchmarks = () => {
  const metrics = readMetrics();
  const date = dateOfMetrics();
  const rows = programs(metrics).map(([name, m]) => [name, count(m.nodes), count(m.kernels), bytes(m.arenaBytes), bytes(m.naiveBytes), lessBy(m), flops(m.flops)]);
  const files = Object.entries(metrics).filter(([, { gzipBytes }]) => gzipBytes !== undefined).map(([name, m]) => [`\`${name}\``, bytes(m.bytes), bytes(m.gzipBytes)]);
  return `# Benchmarks

Two kinds of figures tell how good a compiler is. What it makes of a program - kernels, memory, work - is the same on every
machine, so it is committed, in \`${SOURCE}\`${date && ` (of ${date})`}, and every test run compares it. What a clock says
depends on the machine: [times](bench.md) are of the one that they name, and are measured anew where it matters, on yours.

## What the compiler makes of programs

Nodes are the ops of the program after its passes, kernels the loops that run. The arena is the one block of memory that all
intermediate results share; without a plan each would have its own. Where one kernel does everything, nothing is in between.

${table(['program', 'nodes', 'kernels', 'arena', 'without a plan', 'less by', 'flops'], rows)}

## What a page downloads

${table(['file', 'bytes', 'gzipped'], files)}

\`index.js\` and one of the two modules are all that a page needs; the other entry points are loaded by those who import them.

## Times, on your machine

- The [Bench tab of the playground](http://localhost:5173/#bench) measures this browser: products, convolution, attention and
  the step of a network, beside the peak that the machine reaches.
- Its [Compiler tab](http://localhost:5173/#compiler) measures what each pass, fusion, generated code and each thread is worth.
- \`npm run bench\` compares native code with WebAssembly; \`npm run bench -- --peers\` compares with TensorFlow.js,
  onnxruntime-web and jax-js, in one page and in turns.
`;
};

/** Pages without a file of their own. */
export const figurePages = () => [{ source: 'docs/benchmarks.md', file: 'benchmarks.html', text: benchmarks(), title: 'Benchmarks' }];
