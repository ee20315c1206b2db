// test.mjs [NAME...] - npm test: set up, build, and run every suite, or those whose names contain a NAME.
//
//   native         ctest, release                       js             package tests, the npm package `node`
//   asan           ctest, ASan + UBSan, SINTER_TEST     differential   random programs on every engine
//   jit            emitted modules against the VM       onnx           ONNX's own cases, damaged files
//   cross          equal results natively and in wasm   webgpu         programs on a graphics processor in software
//   readme         the programs of all documents        browser        playground, site, package in browsers
//   metrics        bench/metrics.csv                    browser-timed  the same, what compares times
//   layers         the include direction of src/
//
// Some suites run only by their full names, since they take long, or need a compiler for another machine or tools
// that nothing else needs:
//
//   tsan           ctest of threads, TSan, SINTER_TEST
//   js-older       package tests in the system's Node, which has no relaxed SIMD
//   neon           ctest for 64-bit ARM under qemu-user: the kernels and the C core of AArch64
//   mpi            sinter-train as several processes under mpirun
//   pages          the files of browser and browser-timed that have more to try: Firefox, other widths, all programs
//   bundlers       the package with every bundler, in every place outside pages, under old TypeScript
//   kills          500 workers ended at random moments in Node, in Chromium and in Firefox
//   fuzz           200,000 calls of public functions with hostile arguments, two million damaged files
//   onnx-files     a million damaged ONNX files
//   million        tests/native/test_judge.c on a million programs from SINTER_TEST_SEED, or 1, on
//   saved          a million damaged programs: tests/native/test_saved.c
//   memory         30,000 training steps that dispose of nothing, in Node and browsers
//   valgrind       some of the native tests under memcheck: reads of memory that nobody wrote
//   planted        a copy of the tree with a new op of each kind is built: how many files each takes
//   device-graphs  5,000 of the random programs that suite webgpu runs some of
//   coverage       lines and branches that the tests run: build/coverage/coverage.md
//
// All builds start at once, in the order in which the suites need them; a suite waits only for its own. Two suites run
// at a time and share the cores, so that none is idle at the end of a suite or while a page is waited for; then run,
// one by one, those that nothing may disturb. A suite prints one line, and its output if something failed.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { Stop, main, newerNode, root, run, systemNode, which } from './lib/proc.mjs';
import { build } from './build.mjs';
import { coverage } from './coverage.mjs';
import { setup } from './setup.mjs';

const SUITE_TIMEOUT_MS = 30 * 60_000;
const TEST_TIMEOUT_MS = 3 * 60_000;
const MILLION_TIMEOUT_MS = 120 * 60_000;
/** The number of suites at a time. If one leaves a core idle, at its end or while it waits for a page, the other uses it. */
const LANES = 2;

/** Runs a suite's command; count(output, code) reads its totals. Resolves to { passed, failed, output }. */
const exec = async (command, args, count, env = {}) => {
  const { code, output } = await run(command, args, { timeoutMs: SUITE_TIMEOUT_MS, env });
  const { passed, failed } = count(output, code);
  // A run that fails without naming a failed test (a crash, a time-out) counts as one failure.
  return { passed, failed: code !== 0 && failed === 0 ? 1 : failed, output };
};

const number = (output, pattern) => Number(pattern.exec(output)?.[1] ?? 0);

const countNodeTests = (output) => ({
  passed: number(output, /ℹ pass (\d+)/),
  failed: number(output, /ℹ fail (\d+)/) + number(output, /ℹ cancelled (\d+)/),
});

const layers = () => exec(systemNode(), ['--test', '--test-reporter=spec', 'tests/check_layers.mjs'], countNodeTests);

const ctest = (preset, atOnce, wrapper = []) => {
  const [command, ...args] = [...wrapper, 'ctest', '--preset', preset, '--parallel', String(atOnce)];
  return exec(command, args, (output) => {
    const failed = number(output, /(\d+) tests? failed out of \d+/);
    return { passed: number(output, /tests? failed out of (\d+)/) - failed, failed };
  });
};

const testFiles = (folder) => {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder)).filter((name) => name.endsWith('.test.mjs')).sort()
    .map((name) => join(folder, name));
};

/** Runs the test files of a folder, or those that choose() selects, `atOnce` at a time. */
const nodeTests = (node, folder, atOnce, { choose = () => true, timeoutMs = TEST_TIMEOUT_MS, env = {} } = {}) => {
  const files = testFiles(folder).filter((file) => choose(basename(file, '.test.mjs')));
  if (!files.length) throw new Stop(`${folder}: no *.test.mjs`);
  const options = ['--test-reporter=spec', `--test-timeout=${timeoutMs}`, `--test-concurrency=${atOnce}`];
  return exec(node, ['--test', ...options, ...files], countNodeTests, env);
};

/** The files of tests/browser that compare times, or ask how soon a page answers: nothing else runs beside them. */
const TIMED = ['answers', 'compiler', 'package', 'playground'];
const isTimed = (name) => TIMED.includes(name);
/** Whether a file of tests/browser has more cases than it runs in the suites `browser` and `browser-timed`: browsers.mjs. */
const hasMore = (name) => /\b(BROWSERS|mainOf)\b/.test(readFileSync(join(root, `tests/browser/${name}.test.mjs`), 'utf8'));
const MAIN_PAGES = { SINTER_TEST_PAGES: 'main' };

/** A Vulkan implementation in software: the loader and the driver that Debian's chromium contains. */
const CHROMIUM = '/usr/lib/chromium';
const softwareGpu = () => {
  if (!existsSync(`${CHROMIUM}/vk_swiftshader_icd.json`)) throw new Stop(`${CHROMIUM}: no driver vk_swiftshader_icd.json`);
  const folder = join(root, 'build/xdg');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return { LD_LIBRARY_PATH: CHROMIUM, VK_ICD_FILENAMES: `${CHROMIUM}/vk_swiftshader_icd.json`, XDG_RUNTIME_DIR: folder };
};

/** Runs a command without address space randomisation: the ThreadSanitizer of older compilers fails if it is wide. */
const withoutAddressRandomisation = async () => {
  const setarch = which('setarch');
  if (!setarch) return [];
  const works = await run(setarch, ['-R', 'true']);
  return works.code === 0 ? [setarch, '-R'] : [];
};

/** Runs a million random programs through the judge, an equal share on each core. */
const million = async () => {
  const cores = availableParallelism();
  const each = Math.ceil(Number(process.env.SINTER_TEST_PROGRAMS ?? 1e6) / cores);
  const first = Number(process.env.SINTER_TEST_SEED ?? 1);
  const shares = await Promise.all(Array.from({ length: cores }, (_, i) =>
    run(join(root, 'build/native/tests/native/test_judge'), [], {
      env: { SINTER_TEST_SEED: `${first + i * each}`, SINTER_TEST_PROGRAMS: `${each}` },
      timeoutMs: MILLION_TIMEOUT_MS,
    })));
  const failed = shares.filter(({ code }) => code !== 0).length;
  return { passed: cores - failed, failed, output: shares.map(({ output }) => output).join('\n') };
};

/** Runs a million damaged programs. */
const saved = async () => {
  const { code, output } = await run(join(root, 'build/native/tests/native/test_saved'), [], {
    env: { SINTER_TEST_DAMAGES: '1000000' },
    timeoutMs: SUITE_TIMEOUT_MS,
  });
  return { passed: Number(code === 0), failed: Number(code !== 0), output };
};

const FUZZ_TIMEOUT_MS = 20 * 60_000;
const MEMORY_TIMEOUT_MS = 15 * 60_000;

/** Suites that share the machine, in the order in which they start; then those that are `alone`, and those that run by name
 *  only, one after another. run(n) runs n files, or programs, at once. */
const SUITES = [
  { name: 'native', needs: ['native'], parts: ['native'], run: (n) => ctest('native', n) },
  { name: 'js', needs: ['js'], parts: ['wasm'], run: (n) => nodeTests(newerNode(), 'js/test', n) },
  { name: 'browser', needs: ['docs'], parts: ['wasm', 'browsers'],
    run: (n) => nodeTests(newerNode(), 'tests/browser', n + 1, // they wait for pages
      { choose: (name) => !isTimed(name), env: MAIN_PAGES }) },
  { name: 'asan', needs: ['asan'], parts: ['native'], run: (n) => ctest('asan', n) },
  { name: 'differential', needs: ['js'], parts: ['wasm'], run: (n) => nodeTests(newerNode(), 'tests/differential', n) },
  { name: 'onnx', needs: ['js'], parts: ['wasm', 'onnx'], run: (n) => nodeTests(newerNode(), 'tests/onnx', n) },
  { name: 'webgpu', needs: ['js'], parts: ['wasm', 'browsers'],
    run: () => nodeTests(newerNode(), 'tests/webgpu', 1, { env: softwareGpu() }) },
  { name: 'cross', needs: ['native', 'js'], parts: ['native', 'wasm'], run: (n) => nodeTests(newerNode(), 'tests/cross', n) },
  { name: 'jit', needs: ['native'], parts: ['native'], run: (n) => nodeTests(newerNode(), 'tests/jit', n) },
  { name: 'readme', needs: ['native', 'js'], parts: ['native', 'wasm'],
    run: (n) => nodeTests(systemNode(), 'tests/readme', n) },
  { name: 'metrics', needs: ['js'], parts: ['wasm'], run: (n) => nodeTests(systemNode(), 'tests/metrics', n) },
  { name: 'layers', needs: [], parts: [], run: layers },
  { name: 'browser-timed', needs: ['docs'], parts: ['wasm', 'browsers'], alone: true,
    run: () => nodeTests(newerNode(), 'tests/browser', 1, { choose: isTimed, env: MAIN_PAGES }) },
  { name: 'device-graphs', needs: ['js'], parts: ['wasm', 'browsers'], byNameOnly: true,
    run: () => exec(newerNode(), ['--test', '--test-reporter=spec', 'tests/webgpu/graphs.test.mjs'], countNodeTests,
      { SINTER_TEST_PROGRAMS: '5000', ...softwareGpu() }) },
  { name: 'tsan', needs: ['tsan'], parts: ['native'], byNameOnly: true,
    run: async (n) => ctest('tsan', n, await withoutAddressRandomisation()) },
  { name: 'js-older', needs: ['js'], parts: ['wasm'], byNameOnly: true,
    run: (n) => nodeTests(systemNode(), 'js/test', n) },
  { name: 'pages', needs: ['docs'], parts: ['wasm', 'browsers'], byNameOnly: true,
    run: () => nodeTests(newerNode(), 'tests/browser', 1, { choose: hasMore }) },
  { name: 'bundlers', needs: ['js'], parts: ['wasm', 'browsers'], byNameOnly: true,
    run: () => nodeTests(newerNode(), 'tests/bundlers', 1) },
  { name: 'fuzz', needs: ['js'], parts: ['wasm'], byNameOnly: true,
    run: (n) => nodeTests(newerNode(), 'js/test/fuzz', n, { timeoutMs: FUZZ_TIMEOUT_MS }) },
  { name: 'onnx-files', needs: ['js'], parts: ['wasm', 'onnx'], byNameOnly: true,
    run: (n) => nodeTests(newerNode(), 'tests/onnx/fuzz', n, { timeoutMs: FUZZ_TIMEOUT_MS }) },
  { name: 'memory', needs: ['js'], parts: ['wasm', 'browsers'], byNameOnly: true,
    run: (n) => nodeTests(newerNode(), 'tests/memory', n, { timeoutMs: MEMORY_TIMEOUT_MS }) },
  { name: 'mpi', needs: ['native', 'native-mpi', 'js'], parts: ['native', 'mpi', 'wasm'], byNameOnly: true,
    run: () => nodeTests(newerNode(), 'tests/mpi', 1) },
  { name: 'neon', needs: ['neon'], parts: ['neon'], byNameOnly: true, run: (n) => ctest('neon', n) },
  { name: 'kills', needs: ['js'], parts: ['wasm', 'browsers'], byNameOnly: true,
    run: () => nodeTests(newerNode(), 'tests/kills', 1) },
  { name: 'million', needs: ['native'], parts: ['native'], byNameOnly: true, run: million },
  { name: 'saved', needs: ['native'], parts: ['native'], byNameOnly: true, run: saved },
  { name: 'valgrind', needs: ['valgrind'], parts: ['valgrind'], byNameOnly: true,
    run: (n) => ctest('valgrind', n) },
  { name: 'planted', needs: [], parts: ['native'], byNameOnly: true,
    run: (n) => nodeTests(systemNode(), 'tests/planted', n, { timeoutMs: FUZZ_TIMEOUT_MS }) },
  { name: 'coverage', needs: ['coverage', 'js'], parts: ['coverage', 'wasm'], byNameOnly: true, run: coverage },
];

const runSuite = async (suite, atOnce) => {
  try {
    await build(suite.needs);
    return await suite.run(atOnce);
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    return { passed: 0, failed: 1, output: error.message };
  }
};

const report = ({ name }, { passed, failed, output }, seconds) => {
  const log = join(root, 'build/logs', `${name}.log`);
  mkdirSync(join(root, 'build/logs'), { recursive: true });
  writeFileSync(log, output);
  if (failed) console.log(output);
  console.log(`${name.padEnd(13)} ${failed ? 'FAILED' : 'ok    '} ${String(passed).padStart(5)} passed ` +
    `${String(failed).padStart(3)} failed ${seconds.toFixed(1).padStart(7)} s`);
};

const chosenSuites = (names) => {
  const chosen = SUITES.filter(({ name, byNameOnly }) =>
    byNameOnly ? names.includes(name) : !names.length || names.some((part) => name.includes(part)));
  if (!chosen.length) {
    throw new Stop(`no suite is named so; there are: ${SUITES.map(({ name }) => name).join(' ')}`);
  }
  return chosen;
};

/** Runs suites, `lanes` of them at a time; the running suites share the cores. */
const runSuites = async (suites, lanes, total) => {
  const left = [...suites];
  const atOnce = Math.ceil(availableParallelism() / lanes);
  const lane = async () => {
    for (let suite = left.shift(); suite; suite = left.shift()) {
      const begin = performance.now();
      const result = await runSuite(suite, atOnce);
      report(suite, result, (performance.now() - begin) / 1000);
      total.passed += result.passed;
      total.failed += result.failed;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
};

await main(import.meta.url, async (args) => {
  const suites = chosenSuites(parseArgs({ args, allowPositionals: true }).positionals);
  await setup(suites.flatMap(({ parts }) => parts));
  // The suites that wait for a build meet its failure again, and report it.
  for (const { needs } of suites) build(needs).catch(() => {});

  const total = { passed: 0, failed: 0 };
  const isAlone = ({ alone, byNameOnly }) => alone || byNameOnly;
  const together = suites.filter((suite) => !isAlone(suite));
  await runSuites(together, Math.min(LANES, together.length), total);
  await runSuites(suites.filter(isAlone), 1, total);
  console.log(`${total.passed} passed, ${total.failed} failed`);
  process.exit(total.failed ? 1 : 0);
});
