// test.mjs [NAME...] - npm test: set up, build, and run every suite, or those whose names contain a NAME.
//
//   layers         the include direction of src/
//   native         ctest, release                    js          package tests, the system's Node
//   asan           ctest, ASan + UBSan, SINTER_TEST  js-newer    the same on the npm package `node`
//   tsan           ctest, TSan, SINTER_TEST          cross       equal results natively and in wasm
//   readme         the programs of all documents     browser     playground, site, package in browsers
//   metrics        bench/metrics.csv                 differential   random programs on every engine
//   jit            emitted modules against the VM     webgpu    programs on a graphics processor in software
//   onnx           ONNX's own cases, damaged files
//
// Some suites run only by their full names, since they take long, or need a compiler for another machine or tools
// that nothing else needs:
//
//   neon           ctest for 64-bit ARM under qemu-user: the kernels and the C core of AArch64
//   mpi            sinter-train as several processes under mpirun
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
// All builds start at once, in the order in which the suites need them; a suite waits only for its own. Suites run
// one after another. A suite prints one line, and its output if something failed.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { Stop, main, newerNode, root, run, systemNode, which } from './lib/proc.mjs';
import { build } from './build.mjs';
import { coverage } from './coverage.mjs';
import { setup } from './setup.mjs';

const SUITE_TIMEOUT_MS = 20 * 60_000;
const TEST_TIMEOUT_MS = 3 * 60_000;
const MILLION_TIMEOUT_MS = 120 * 60_000;

/** Runs a suite's command; count(output, code) reads its totals. Resolves to { passed, failed, output }. */
const exec = async (command, args, count, env = {}) => {
  const { code, output } = await run(command, args, { timeoutMs: SUITE_TIMEOUT_MS, env });
  const { passed, failed } = count(output, code);
  // A run that ends badly without naming a failed test (a crash, a time-out) is one failure.
  return { passed, failed: code !== 0 && failed === 0 ? 1 : failed, output };
};

const number = (output, pattern) => Number(pattern.exec(output)?.[1] ?? 0);

const countNodeTests = (output) => ({
  passed: number(output, /ℹ pass (\d+)/),
  failed: number(output, /ℹ fail (\d+)/) + number(output, /ℹ cancelled (\d+)/),
});

const layers = () => exec(systemNode(), ['--test', '--test-reporter=spec', 'tests/check_layers.mjs'], countNodeTests);

const ctest = (preset, wrapper = []) => {
  const [command, ...args] = [...wrapper, 'ctest', '--preset', preset];
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

const nodeTests = (node, folder, ...options) => nodeTestsIn({}, node, folder, ...options);

const nodeTestsIn = (env, node, folder, ...options) => {
  const files = testFiles(folder);
  if (!files.length) throw new Stop(`${folder}: no *.test.mjs`);
  return nodeTestsOf(files, env, node, ...options);
};

/** Files at once, where a suite says nothing else: one on each core. Node itself leaves a core free, which on two is half. */
const AT_ONCE = `--test-concurrency=${availableParallelism()}`;

const nodeTestsOf = (files, env, node, ...options) => {
  const args = ['--test', '--test-reporter=spec', `--test-timeout=${TEST_TIMEOUT_MS}`, AT_ONCE, ...options];
  return exec(node, [...args, ...files], countNodeTests, env);
};

/** Files of tests/browser that time something, or need all cores for long: nothing else runs beside them. */
const TIMED = ['answers', 'firefox', 'fit', 'llm', 'logic', 'package', 'playground', 'program', 'race', 'slots', 'start', 'states', 'trained-on', 'training', 'turns', 'views', 'webgpu'];

/** The others wait for pages most of the time: two at once. */
const browserTests = async () => {
  const isTimed = (file) => TIMED.includes(basename(file, '.test.mjs'));
  const files = testFiles('tests/browser');
  const node = newerNode();
  const parts = [
    await nodeTestsOf(files.filter((file) => !isTimed(file)), {}, node, '--test-concurrency=2'),
    await nodeTestsOf(files.filter(isTimed), {}, node, '--test-concurrency=1'),
  ];
  return {
    passed: parts.reduce((sum, { passed }) => sum + passed, 0),
    failed: parts.reduce((sum, { failed }) => sum + failed, 0),
    output: parts.map(({ output }) => output).join('\n'),
  };
};

/** Vulkan in software: the loader and the driver that Debian's chromium brings. */
const CHROMIUM = '/usr/lib/chromium';
const softwareGpu = () => {
  if (!existsSync(`${CHROMIUM}/vk_swiftshader_icd.json`)) throw new Stop(`${CHROMIUM}: no driver vk_swiftshader_icd.json`);
  const folder = join(root, 'build/xdg');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return { LD_LIBRARY_PATH: CHROMIUM, VK_ICD_FILENAMES: `${CHROMIUM}/vk_swiftshader_icd.json`, XDG_RUNTIME_DIR: folder };
};

/** The ThreadSanitizer of older compilers stops where the kernel randomises addresses widely. */
const withoutAddressRandomisation = async () => {
  const setarch = which('setarch');
  if (!setarch) return [];
  const works = await run(setarch, ['-R', 'true']);
  return works.code === 0 ? [setarch, '-R'] : [];
};

/** A million random programs before the judge, an equal share on each core. */
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

/** A million damaged programs. */
const saved = async () => {
  const { code, output } = await run(join(root, 'build/native/tests/native/test_saved'), [], {
    env: { SINTER_TEST_DAMAGES: '1000000' },
    timeoutMs: SUITE_TIMEOUT_MS,
  });
  return { passed: Number(code === 0), failed: Number(code !== 0), output };
};

const SUITES = [
  { name: 'layers', needs: [], parts: [], run: layers },
  { name: 'native', needs: ['native'], parts: ['native'], run: () => ctest('native') },
  { name: 'asan', needs: ['asan'], parts: ['native'], run: () => ctest('asan') },
  { name: 'tsan', needs: ['tsan'], parts: ['native'],
    run: async () => ctest('tsan', await withoutAddressRandomisation()) },
  { name: 'js', needs: ['js'], parts: ['wasm'], run: () => nodeTests(systemNode(), 'js/test') },
  { name: 'js-newer', needs: ['js'], parts: ['wasm'], run: () => nodeTests(newerNode(), 'js/test') },
  { name: 'metrics', needs: ['js'], parts: ['wasm'], run: () => nodeTests(systemNode(), 'tests/metrics') },
  { name: 'jit', needs: ['native'], parts: ['native'], run: () => nodeTests(newerNode(), 'tests/jit') },
  { name: 'cross', needs: ['native', 'js'], parts: ['native', 'wasm'],
    run: () => nodeTests(newerNode(), 'tests/cross') },
  { name: 'differential', needs: ['js'], parts: ['wasm'],
    run: () => nodeTests(newerNode(), 'tests/differential') },
  { name: 'onnx', needs: ['js'], parts: ['wasm', 'onnx'], run: () => nodeTests(newerNode(), 'tests/onnx') },
  { name: 'webgpu', needs: ['js'], parts: ['wasm', 'browsers'],
    run: () => nodeTestsIn(softwareGpu(), newerNode(), 'tests/webgpu', '--test-concurrency=1') },
  { name: 'device-graphs', needs: ['js'], parts: ['wasm', 'browsers'], byNameOnly: true,
    run: () => exec(newerNode(), ['--test', '--test-reporter=spec', 'tests/webgpu/graphs.test.mjs'], countNodeTests,
      { SINTER_TEST_PROGRAMS: '5000', ...softwareGpu() }) },
  { name: 'readme', needs: ['native', 'js'], parts: ['native', 'wasm'],
    run: () => nodeTests(systemNode(), 'tests/readme') },
  { name: 'browser', needs: ['docs'], parts: ['wasm', 'browsers'],
    run: browserTests },
  { name: 'bundlers', needs: ['js'], parts: ['wasm', 'browsers'], byNameOnly: true,
    run: () => nodeTests(newerNode(), 'tests/bundlers', '--test-concurrency=1') },
  { name: 'fuzz', needs: ['js'], parts: ['wasm'], byNameOnly: true,
    run: () => nodeTests(newerNode(), 'js/test/fuzz', '--test-timeout=1200000') },
  { name: 'onnx-files', needs: ['js'], parts: ['wasm', 'onnx'], byNameOnly: true,
    run: () => nodeTests(newerNode(), 'tests/onnx/fuzz', '--test-timeout=1200000') },
  { name: 'memory', needs: ['js'], parts: ['wasm', 'browsers'], byNameOnly: true,
    run: () => nodeTests(newerNode(), 'tests/memory', '--test-timeout=900000') },
  { name: 'mpi', needs: ['native', 'native-mpi', 'js'], parts: ['native', 'mpi', 'wasm'], byNameOnly: true,
    run: () => nodeTests(newerNode(), 'tests/mpi', '--test-concurrency=1') },
  { name: 'neon', needs: ['neon'], parts: ['neon'], byNameOnly: true, run: () => ctest('neon') },
  { name: 'kills', needs: ['js'], parts: ['wasm', 'browsers'], byNameOnly: true,
    run: () => nodeTests(newerNode(), 'tests/kills', '--test-concurrency=1') },
  { name: 'million', needs: ['native'], parts: ['native'], byNameOnly: true, run: million },
  { name: 'saved', needs: ['native'], parts: ['native'], byNameOnly: true, run: saved },
  { name: 'valgrind', needs: ['valgrind'], parts: ['valgrind'], byNameOnly: true, run: () => ctest('valgrind') },
  { name: 'planted', needs: [], parts: ['native'], byNameOnly: true,
    run: () => nodeTests(systemNode(), 'tests/planted', '--test-timeout=1200000') },
  { name: 'coverage', needs: ['coverage', 'js'], parts: ['coverage', 'wasm'], byNameOnly: true, run: coverage },
];

const runSuite = async (suite) => {
  try {
    await build(suite.needs);
    return await suite.run();
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
  console.log(`${name.padEnd(12)} ${failed ? 'FAILED' : 'ok    '} ${String(passed).padStart(5)} passed ` +
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

await main(import.meta.url, async (args) => {
  const suites = chosenSuites(parseArgs({ args, allowPositionals: true }).positionals);
  await setup(suites.flatMap(({ parts }) => parts));
  // The suites that wait for a build meet its failure again, and report it.
  for (const { needs } of suites) build(needs).catch(() => {});

  const total = { passed: 0, failed: 0 };
  for (const suite of suites) {
    const begin = performance.now();
    const result = await runSuite(suite);
    report(suite, result, (performance.now() - begin) / 1000);
    total.passed += result.passed;
    total.failed += result.failed;
  }
  console.log(`${total.passed} passed, ${total.failed} failed`);
  process.exit(total.failed ? 1 : 0);
});
