// Random programs on every engine in WebAssembly against the reference interpreter, bit for bit; the native engines
// run the same recipes in tests/native/test_fuzz_graph.c. Then programs as users write them: values and gradients
// against the judge of tests/native/judge.h, which test_judge.c does natively, and those with control flow of
// test_nested.c.
//
//   SINTER_TEST_GRAPHS=100000 SINTER_TEST_PROGRAMS=50000 SINTER_TEST_SEED=7 npm test -- differential
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { ENGINES, bits, instantiate } from './engine.mjs';
import { evaluate } from './evaluate.mjs';

const file = new URL('../../build/wasm/tests/differential/differential.wasm', import.meta.url);
const module = new WebAssembly.Module(readFileSync(file));
const graphs = Number(process.env.SINTER_TEST_GRAPHS ?? 20000);
const programs = Number(process.env.SINTER_TEST_PROGRAMS ?? 5000);
const nested = Number(process.env.SINTER_TEST_PROGRAMS ?? 1000);
const firstSeed = Number(process.env.SINTER_TEST_SEED ?? 1);

const share = (first, count, kind) =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('engine.mjs', import.meta.url), {
      workerData: { module, first, count, kind },
    });
    worker.once('message', resolve);
    worker.once('error', reject);
  });

/** count seeds on all cores; none may fail. */
const onAllCores = async (count, kind) => {
  const workers = Math.max(1, availableParallelism());
  const each = Math.ceil(count / workers);
  const shares = await Promise.all(
    Array.from({ length: workers }, (_, i) =>
      share(firstSeed + i * each, Math.min(each, count - i * each), kind)),
  );
  const failures = shares.flatMap((result) => result.failures);
  assert.equal(failures.length, 0, failures.map(({ engine, text }) => `${engine}: ${text}`).join('\n\n'));
  assert.equal(shares.reduce((sum, result) => sum + result.graphs, 0), count);
};

test('a fault planted into programs is found on every engine', () => {
  const { exports } = instantiate(module);
  ENGINES.forEach((name, engine) => {
    assert.ok(exports.differential_open(engine), name);
    assert.ok(exports.differential_planted(engine), name);
  });
});

test("every engine's micro-kernels keep their contract", () => {
  const { exports, text } = instantiate(module);
  ENGINES.forEach((name, engine) => {
    assert.ok(exports.differential_open(engine), name);
    assert.ok(exports.differential_kernels(engine), `${name}: ${text(exports.differential_text())}`);
  });
});

/** Lines of tests/bits that have no counterpart here, or other bits. A new op's case has no line yet. */
const changed = (kind, lines) => {
  const known = readFileSync(new URL(`../bits/${kind}.txt`, import.meta.url), 'utf8').trim().split('\n');
  assert.ok(known.length >= 200);
  const here = new Set(lines);
  return known.filter((line) => !here.has(line));
};

test('the computations of tests/bits have the bits that its files say', () => {
  ENGINES.forEach((name, engine) => {
    const kind = name.includes('relaxed') ? 'fused' : 'plain';
    assert.deepEqual(changed(kind, bits(module, engine)), [], name);
  });
});

test('emitted modules are valid to another validator', async () => {
  const wabt = await (await import('wabt')).default();
  let modules = 0;
  const { exports } = instantiate(module, (bytes) => {
    const read = wabt.readWasm(bytes, { simd: true, relaxed_simd: true, check: true });
    read.validate();
    read.destroy();
    modules += 1;
  });
  [1, 2].forEach((engine) => exports.differential_open(engine));
  for (let seed = firstSeed; seed < firstSeed + 300; seed += 1) {
    [1, 2].forEach((engine) => assert.ok(exports.differential_run(engine, seed), `seed ${seed}`));
  }
  assert.ok(modules > 300, `${modules} modules`);
});

test(`${graphs} random programs agree with the reference on ${ENGINES.join(', ')}`, () => onAllCores(graphs, 'run'));

test(`${programs} written programs are right on ${ENGINES.join(', ')}`, () => onAllCores(programs, 'written'));

test(`${nested} programs with control flow in control flow are right on ${ENGINES.join(', ')}`, () => onAllCores(nested, 'nested'));

/** Where two float64 evaluations of a program differ by more than roundings, or ''. */
const difference = (program) => {
  const values = evaluate(program);
  for (const [id, elements] of program.results) {
    const at = elements.findIndex((want, i) =>
      want !== null && !(Math.abs(values[id][i] - want) <= 1e-7 * Math.max(1, Math.abs(want))));
    if (at >= 0) return `%${id}[${at}]: ${values[id][at]} in JS, ${elements[at]} by the reference`;
  }
  return '';
};

test("the judge's float64 values are those of the ops written down in JS", () => {
  const { exports, text } = instantiate(module);
  exports.differential_open(0);
  let judged = 0;
  for (let seed = firstSeed; seed < firstSeed + 1000; seed += 1) {
    const json = text(exports.differential_shown(0, seed));
    if (!json) continue; // too long
    assert.equal(difference(JSON.parse(json)), '', `written ${seed}`);
    judged += 1;
  }
  assert.ok(judged > 950, `${judged} programs`);
});
