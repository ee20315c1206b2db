// accuracy.mjs [step] [--functions a,b] - measures Sinter's functions with build/native's math_table and
// math_table_fused and writes docs/accuracy.md. step 1, the default, measures every float32 argument, which
// takes minutes per function and core. A function's line is kept in build/accuracy/ and not measured again;
// remove it to measure anew. The document shows the finest measurement of each function.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { root } from './lib/proc.mjs';

const run = promisify(execFile);
const store = join(root, 'build/accuracy');

/** The two sets of bits (expand_f32.inc), and where the lines of their measurements are kept. */
const SETS = [
  { tool: join(root, 'build/native/tests/native/math_table'), folder: 'plain' },
  { tool: join(root, 'build/native/tests/native/math_table_fused'), folder: 'fused' },
];

const { values, positionals } = parseArgs({ allowPositionals: true, options: { functions: { type: 'string' } } });
const step = Number(positionals[0] ?? 1);
const names = (await run(SETS[0].tool, ['--names'])).stdout.trim().split('\n');
const lineOf = (folder, s, name) => join(store, folder, String(s), `${name}.md`);

const measure = async ({ tool, folder }, name) => {
  const file = lineOf(folder, step, name);
  if (existsSync(file)) return;
  const { stdout } = await run(tool, [String(step), name]);
  mkdirSync(join(store, folder, String(step)), { recursive: true });
  writeFileSync(file, stdout);
  process.stderr.write(stdout);
};

const queue = SETS.flatMap((set) => (values.functions?.split(',') ?? names).map((name) => [set, name]));
await Promise.all(Array.from({ length: availableParallelism() }, async () => {
  while (queue.length) await measure(...queue.shift());
}));

const table = (folder, s, chosen) => `${s === 1 ? 'All 2^32 arguments' : `Every ${s}th argument`} of float32 (as many pairs for
functions of two arguments), samples of float64:

| function | bound | float32: max error, ULP | correctly rounded | worst at | float64: max error on samples |
|---|---|---|---|---|---|
${chosen.map((name) => readFileSync(lineOf(folder, s, name), 'utf8')).join('')}`;

const tables = ({ folder }) => {
  const steps = readdirSync(join(store, folder)).map(Number).sort((a, b) => a - b);
  const finest = (name) => steps.find((s) => existsSync(lineOf(folder, s, name)));
  return steps.map((s) => [s, names.filter((name) => finest(name) === s)])
    .filter(([, chosen]) => chosen.length)
    .map(([s, chosen]) => table(folder, s, chosen)).join('\n');
};

writeFileSync(join(root, 'docs/accuracy.md'), `# Accuracy of Sinter's own functions

The functions are written once ([expand_f32.inc](../src/math/expand_f32.inc), [expand_f64.inc](../src/math/expand_f64.inc))
and have two sets of bits. Plain: no multiply is fused with an add; \`deterministic\` programs have these bits, and all of
machines without such an instruction. Fused: the expansions' multiply-adds of float32 round once; all other programs have
these bits, natively with AVX2 or NEON and in WebAssembly where its relaxed SIMD fuses, in emitted and compiled code, the strip
VM and constants alike. A set is the same in scalar C, with every SIMD width and in
WebAssembly. Both sets have the special values of C99 Annex F.

float32 is measured against libm in float64; float64 against libm in long double, on 2^21 arguments of all sizes. An
error of at most 0.5 ULP means a correctly rounded result; the bound is the \`ulp\` column of
[ops.def](../src/graph/ops.def).

## Sums

A sum, mean, product of matrices or convolution of K terms is off by at most (8 + log2 K) u sum |terms|, u = 2^-24 for
float32 and 2^-53 for float64. A NaN or an infinity of a convolution's input reaches the results whose windows it is
in, and no others.

Convolutions of 3 x 3 compiled with \`winograd: true\` (in C the switch "winograd") add elements of the input before they
weigh them. So an error is bounded by the largest terms around a result, not by its own. In multiples of the bound
above, 8 x 8 64->64 in float32: 0.11 of normal numbers (the direct way: 0.15), 2.05 of lognormal ones, sigma 3 (0.66), 85
of normal numbers by a filter that leaves them as they are (exact). An infinity makes NaN of the results that it
reaches and of those up to one place beyond; numbers above a quarter of the largest may overflow.

## Plain

${tables(SETS[0])}
## Fused

${tables(SETS[1])}
Exact remainders (mod) need |x / y| < 2^44, in float64 2^51.

Made by \`node scripts/accuracy.mjs\`. In each run of the tests, \`tests/native/test_math.c\` checks every 256th argument
(of the fused set, samples) and this file's figures against the bounds.
`);
