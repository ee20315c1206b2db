// coverage.mjs - npm test -- coverage: runs the native tests, counted by gcov, and the package's tests, counted by V8. Writes
// build/coverage/coverage.md, and uncovered.txt beside it. Fails below the goals.
//
// The package is measured before its modules are bundled (build/js), on the newer Node, whose module hooks load build/js in
// place of js/dist.
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { newerNode, root, run } from './lib/proc.mjs';
import { readCoverage } from './lib/v8-coverage.mjs';

const native = join(root, 'build/coverage');
const reports = join(root, 'build/coverage-js');
const unbundled = join(root, 'build/js');
const TIMEOUT_MS = 20 * 60_000;

/** Files that are part of the native build, but that only WebAssembly runs. */
const WASM_ONLY = ['src/jit/emit_gemm.c', 'src/jit/jit.c', 'src/jit/modules.c'];

/** Files that only pages run; the browser suite covers them. */
const PAGE_ONLY = ['js/src/runtime/script.js'];

/** The least coverage in per cent. build/coverage/uncovered.txt lists what is missing. */
const GOALS = { c: { lines: 95, branches: 90 }, javascript: { lines: 95, branches: 90 } };

const removeCounts = () => {
  for (const name of readdirSync(native, { recursive: true })) {
    if (name.endsWith('.gcda')) rmSync(join(native, name));
  }
};

/** What gcovr found for each file of src/, in the form of readCoverage. */
const nativeCoverage = async () => {
  removeCounts();
  const tests = await run('ctest', ['--preset', 'coverage'], { timeoutMs: TIMEOUT_MS });
  const file = join(native, 'gcovr.json');
  const counted = await run('gcovr', ['--root', root, '--filter', 'src/', '--object-directory', native,
    '--exclude-throw-branches', '--exclude-unreachable-branches', ...WASM_ONLY.flatMap((name) => ['--exclude', name]),
    '--json', file, native], { timeoutMs: TIMEOUT_MS });
  if (counted.code) return { files: new Map(), ...counted };
  const files = JSON.parse(readFileSync(file, 'utf8')).files.map(({ file: name, lines }) => {
    const seen = lines.filter((line) => !line['gcovr/noncode']);
    const branches = seen.flatMap(({ line_number: line, branches: list }) => list.map(({ count }) => ({ line, count })));
    return [name, {
      lines: { total: seen.length, missed: seen.filter(({ count }) => !count).map((line) => line.line_number) },
      branches: { total: branches.length, missed: branches.filter(({ count }) => !count).map(({ line }) => line) },
    }];
  });
  return { files: new Map(files), ...tests };
};

/** Copies the files that js/dist has beside its modules to where build/js looks for them. */
const placeNeighbours = () => {
  copyFileSync(join(root, 'build/wasm/sinter.wasm'), join(unbundled, 'runtime/sinter.wasm'));
  copyFileSync(join(root, 'build/wasm-mt/sinter-mt.wasm'), join(unbundled, 'runtime/sinter-mt.wasm'));
  writeFileSync(join(unbundled, 'runtime/worker.js'), "import '../worker.js';\n");
};

const javascriptCoverage = async () => {
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  placeNeighbours();
  const tests = readdirSync(join(root, 'js/test')).filter((name) => name.endsWith('.test.mjs'));
  const env = {
    NODE_V8_COVERAGE: reports,
    NODE_OPTIONS: `--import=${new URL('lib/unbundled.mjs', import.meta.url).href}`,
  };
  const ran = await run(newerNode(), ['--test', ...tests.map((name) => join('js/test', name))],
    { timeoutMs: TIMEOUT_MS, env });
  const files = [...readCoverage(reports, unbundled)]
    .map(([file, counts]) => [join('js/src', relative(unbundled, file)), counts])
    .filter(([file]) => !PAGE_ONLY.includes(file));
  return { files: new Map(files), ...ran };
};

const add = (a, b) => ({ total: a.total + b.total, missed: a.missed + b.missed.length });
const percent = ({ total, missed }) => (total ? (100 * (total - missed)) / total : 100);
const NONE = { total: 0, missed: 0 };

/** The rows of the folders, and then the row of their sum. */
const byFolder = (files) => {
  const rows = new Map();
  for (const [file, { lines, branches }] of files) {
    for (const folder of [dirname(file), 'all']) {
      const row = rows.get(folder) ?? { lines: NONE, branches: NONE };
      rows.set(folder, { lines: add(row.lines, lines), branches: add(row.branches, branches) });
    }
  }
  return [...rows].sort(([a], [b]) => (a === 'all') - (b === 'all') || (a < b ? -1 : 1));
};

const table = (rows) => `| folder | lines | covered | branches | covered |
|---|---|---|---|---|
${rows.map(([folder, { lines, branches }]) =>
    `| ${folder} | ${lines.total} | ${percent(lines).toFixed(1)} % | ${branches.total} | ${percent(branches).toFixed(1)} % |\n`).join('')}`;

const document = (c, javascript) => `# What the tests run

The lines and branches that ran in some test. \`npm test -- coverage\` writes this file, lists the others in
\`build/coverage/uncovered.txt\`, and fails below ${GOALS.c.lines} % of lines and ${GOALS.c.branches} % of branches.

## The core

By gcov, in the native tests alone, on x86-64, with fewer cases of the random ones. What only WebAssembly runs is tested
by other suites and not counted: files that are compiled for it alone, and ${WASM_ONLY.join(', ')}.

${table(c)}
## The package

By V8, in js/test on Node, for the modules before they are joined, without ${PAGE_ONLY.join(', ')},
which only pages run.

${table(javascript)}`;

const uncovered = (files) => [...files].flatMap(([file, { lines, branches }]) => {
  const numbers = (list) => [...new Set(list)].join(' ') || '-';
  return lines.missed.length + branches.missed.length
    ? [`${file}\n  lines    ${numbers(lines.missed)}\n  branches ${numbers(branches.missed)}\n`] : [];
}).join('');

/** Resolves to { passed, failed, output }, like the run of a suite. */
export const coverage = async () => {
  const c = await nativeCoverage();
  const javascript = await javascriptCoverage();
  const rows = { c: byFolder(c.files), javascript: byFolder(javascript.files) };
  writeFileSync(join(native, 'coverage.md'), document(rows.c, rows.javascript));
  writeFileSync(join(native, 'uncovered.txt'), uncovered(c.files) + uncovered(javascript.files));
  const short = Object.entries(GOALS).flatMap(([language, goal]) => {
    const [, all] = rows[language].at(-1) ?? ['all', { lines: NONE, branches: NONE }];
    return Object.entries(goal).filter(([what, least]) => !all[what].total || percent(all[what]) < least)
      .map(([what, least]) => `${language}: ${percent(all[what]).toFixed(1)} % of ${what}, the goal is ${least} %`);
  });
  const failed = short.length + (c.code ? 1 : 0) + (javascript.code ? 1 : 0);
  const outputs = [c, javascript].filter(({ code }) => code).map(({ output }) => output);
  return { passed: 6 - failed, failed, output: [...outputs, ...short].join('\n') };
};
