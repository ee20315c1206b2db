// accuracy.mjs [step] [--functions a,b] - measures Sinter's functions with build/native's math_table and
// writes docs/accuracy.md. step 1, the default, is every float32 argument: minutes per function and core.
// A function's line is kept in build/accuracy/<step>/ and not measured again; remove it to do so. The
// document shows the finest measurement of each.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { root } from './lib/proc.mjs';

const run = promisify(execFile);
const tool = join(root, 'build/native/tests/native/math_table');
const store = join(root, 'build/accuracy');

const { values, positionals } = parseArgs({ allowPositionals: true, options: { functions: { type: 'string' } } });
const step = Number(positionals[0] ?? 1);
const names = (await run(tool, ['--names'])).stdout.trim().split('\n');

const measure = async (name) => {
  const file = join(store, String(step), `${name}.md`);
  if (existsSync(file)) return;
  const { stdout } = await run(tool, [String(step), name]);
  mkdirSync(join(store, String(step)), { recursive: true });
  writeFileSync(file, stdout);
  process.stderr.write(stdout);
};

const queue = values.functions?.split(',') ?? [...names];
await Promise.all(Array.from({ length: availableParallelism() }, async () => {
  while (queue.length) await measure(queue.shift());
}));

const steps = readdirSync(store).map(Number).sort((a, b) => a - b);
const finest = (name) => steps.find((s) => existsSync(join(store, String(s), `${name}.md`)));
const table = (s, chosen) => `${s === 1 ? 'All 2^32 arguments' : `Every ${s}th argument`} of float32 (of two arguments as
many pairs), samples of float64:

| function | bound | float32: max error, ULP | correctly rounded | worst at | float64: max error on samples |
|---|---|---|---|---|---|
${chosen.map((name) => readFileSync(join(store, String(s), `${name}.md`), 'utf8')).join('')}`;

writeFileSync(join(root, 'docs/accuracy.md'), `# Accuracy of Sinter's own functions

The functions are written once ([expand_f32.inc](../src/graph/expand_f32.inc), [expand_f64.inc](../src/graph/expand_f64.inc))
and compute the same bits as scalar C, with every SIMD width and in WebAssembly; special values are those of C99 Annex F.
float32 is measured against float64 libm, float64 against long double libm on 2^21 arguments of all sizes. An error of
0.5 ULP is a correctly rounded result; the bound is the \`ulp\` column of [ops.def](../src/graph/ops.def).

${steps.map((s) => [s, names.filter((name) => finest(name) === s)]).filter(([, chosen]) => chosen.length)
  .map(([s, chosen]) => table(s, chosen)).join('\n')}
Exact remainders (mod) need |x / y| < 2^44, in float64 2^51; sin, cos and tan of float64 need |x| <= 2^30.

Made by \`node scripts/accuracy.mjs\`. \`tests/native/test_math.c\` holds every 256th argument against the bounds in each
run of the tests, and this file's figures too.
`);
