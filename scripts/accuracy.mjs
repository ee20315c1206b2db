// accuracy.mjs [step] [--functions a,b] - measures Sinter's functions with build/native's math_table and math_table_fused, and
// writes docs/accuracy.md. Step 1, the default, measures every float32 argument, which takes minutes per function and core. The
// result of a function is kept in build/accuracy/ and not measured again; remove it to measure anew. The document shows the
// finest measurement of each function.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { root } from './lib/proc.mjs';

const run = promisify(execFile);
const store = join(root, 'build/accuracy');

/** The two variants of the functions, whose results differ in bits (expand_f32.inc), and the folders that keep their
 *  measurements. */
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

Functions such as \`exp\` are written once ([expand_f32.inc](../src/math/expand_f32.inc),
[expand_f64.inc](../src/math/expand_f64.inc)) and have two sets of results, which differ in some bits:

| set | multiply-adds of float32 in a function | who has these bits |
|---|---|---|
| plain | round twice: no multiply is fused with an add | \`deterministic\` programs, and all programs on machines without fused multiply-adds |
| fused | round once | all other programs: natively with AVX2 or NEON, and in WebAssembly where its relaxed SIMD fuses |

Within a set the bits are the same in scalar C, with every SIMD width, and in WebAssembly; in emitted code, compiled code, the
interpreter and folded constants. Both sets have the special values of C99 Annex F.

float32 is measured against libm in float64; float64 against libm in long double, on 2^21 arguments of all sizes. Errors are
in ULP, units in the last place: at most 0.5 ULP means a correctly rounded result. The bound is the \`ulp\` column of
[ops.def](../src/graph/ops.def).

## Sums

The error of a sum, mean, matrix product or convolution of K terms is at most (8 + log2 K) u sum |terms|, with u = 2^-24 for
float32 and 2^-53 for float64. A NaN or an infinity in the input of a convolution reaches only the results whose windows
contain it.

Convolutions of 3 x 3 that are compiled with \`winograd: true\` (in C the switch "winograd") add elements of the input before
they multiply them by the filter. So the bound of an error depends on the largest terms near a result, not on the terms of this
result. Errors of 8 x 8 64->64 in float32, in multiples of the bound above:

| input | winograd | direct |
|---|---|---|
| normal numbers | 0.11 | 0.15 |
| lognormal numbers, sigma 3 | 2.05 | 0.66 |
| normal numbers, with a filter that leaves them as they are | 85 | exact |

An infinity turns the results that it reaches, and those up to one place beyond, into NaN. Numbers above a quarter of the
largest float may overflow.

## Plain

${tables(SETS[0])}
## Fused

${tables(SETS[1])}
Remainders (mod) are exact if |x / y| < 2^44, in float64 2^51.

This file is made by \`node scripts/accuracy.mjs\`. Each run of the tests checks every 256th argument (of the fused set, samples)
and the figures of this file against the bounds (\`tests/native/test_math.c\`).
`);
