// gen-ops.mjs [--header OUT.h] [--ts OUT.ts] [--table OUT.ts] [--docs OUT.md] - what others need of src/graph/ops.def,
// the only list of ops: the C enum and prototypes, the JS functions and methods, the table in docs/.
//
// A row is one line MACRO(argument, ...). Only the arguments up to the doc text are read here; the
// expressions behind it are C.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';

const TABLE = new URL('../src/graph/ops.def', import.meta.url);
/** The package's public names. */
const INDEX = new URL('../js/src/index.ts', import.meta.url);

/** Kind of row: where its arguments stand, the dtypes it takes, and its result. */
const NUMBERS = { name: 0, arity: 1, flags: 2, cost: 3, ulp: 6, doc: 7 };
const PLAIN = { name: 0, arity: 1, flags: 2, cost: 3, doc: 4 };
const KINDS = {
  EW_F: { at: NUMBERS, types: ['float32', 'float64'], elementwise: true },
  EW_FI: { at: NUMBERS, types: ['float32', 'float64', 'int32'], elementwise: true },
  EW_FIB: { at: NUMBERS, types: ['float32', 'float64', 'int32', 'bool'], elementwise: true },
  EW_I: { at: PLAIN, types: ['int32'], elementwise: true },
  EW_B: { at: PLAIN, types: ['bool'], elementwise: true },
  CMP_F: { at: PLAIN, types: ['float32', 'float64'], elementwise: true, result: 'bool' },
  CMP_FIB: { at: PLAIN, types: ['float32', 'float64', 'int32', 'bool'], elementwise: true, result: 'bool' },
  REDUCE: { at: { name: 0, flags: 1, cost: 2, doc: 3 }, types: ['float32', 'float64', 'int32'] },
  OP: { at: { name: 0, class: 1, arity: 2, flags: 3, doc: 4 }, types: ['float32', 'float64', 'int32', 'bool'] },
};

/** Splits "a, f(b, c), "d, e"" at its outer commas. */
const splitArguments = (text) => {
  const parts = [];
  let depth = 0;
  let quoted = false;
  let begin = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"' && text[i - 1] !== '\\') quoted = !quoted;
    if (quoted) continue;
    if (c === '(') depth++;
    else if (c === ')') depth--;
    else if (c === ',' && depth === 0) {
      parts.push(text.slice(begin, i).trim());
      begin = i + 1;
    }
  }
  parts.push(text.slice(begin).trim());
  return parts;
};

const parseRow = (line, number) => {
  const match = /^([A-Z_]+)\((.*)\)\s*$/.exec(line);
  const kind = match && KINDS[match[1]];
  if (!kind) return null;
  const args = splitArguments(match[2]);
  const at = (field) => (kind.at[field] === undefined ? undefined : args[kind.at[field]]);
  if (!/^[a-z][a-z0-9_]*$/.test(at('name')) || !/^".*"$/.test(at('doc'))) {
    throw new Error(`ops.def:${number}: cannot read ${line}`);
  }
  return {
    macro: match[1],
    name: at('name'),
    arity: Number(at('arity') ?? 1),
    hidden: at('flags').includes('H'),
    commutative: at('flags').includes('C'),
    elementwise: kind.elementwise ?? at('class') === 'SELECT',
    types: kind.types,
    result: kind.result,
    cost: at('cost'),
    ulp: at('ulp'),
    doc: at('doc').slice(1, -1),
  };
};

const readTable = () => {
  const rows = readFileSync(TABLE, 'utf8').split('\n')
    .map((line, i) => parseRow(line, i + 1)).filter(Boolean);
  const names = new Set(rows.map(({ name }) => name));
  if (!rows.length || names.size !== rows.length) throw new Error('ops.def: no rows, or a name twice');
  return rows;
};

const isPublic = (row) => row.elementwise && !row.hidden;
const camelCase = (name) => name.replace(/_([a-z0-9])/g, (_, c) => c.toUpperCase());

/** Inputs as the doc texts call them. */
const inputs = (row) => (row.name === 'where' ? ['condition', 'x', 'y'] : ['x', 'y', 'z'].slice(0, row.arity));

const cHeader = (rows) => {
  const list = (arity) => rows.filter((row) => isPublic(row) && row.arity === arity)
    .map(({ name }) => ` \\\n  X(${name})`).join('');
  const prototype = (row) => `/* ${row.doc}. ${row.types.join(' ')}${row.result ? ` -> ${row.result}` : ''}` +
    `${row.commutative ? ', commutative' : ''}. [new, m s d] */\n` +
    `SN_API sn_tensor *sn_${row.name}(${inputs(row).map((x) => `sn_tensor *${x}`).join(', ')});`;
  return `/* sinter_ops.h - the ops by number, and the elementwise ones as functions. Generated from
 * src/graph/ops.def by scripts/gen-ops.mjs; included by sinter.h. */
#ifndef SINTER_OPS_H
#define SINTER_OPS_H

/* The order of the table's rows; part of the binary interface between JS and wasm. */
typedef enum sn_op {
${rows.map(({ name }) => `  SN_OP_${name},`).join('\n')}
  SN_OP_COUNT
} sn_op;

${rows.filter(isPublic).map(prototype).join('\n')}

/* The functions above by number of inputs: X(name) for each, in the order of the table. */
#define SN_UNARY_OPS(X)${list(1)}
#define SN_BINARY_OPS(X)${list(2)}
#define SN_TERNARY_OPS(X)${list(3)}

#endif
`;
};

const KIND = ['', 'Unary', 'Binary', 'Ternary'];

/** What js/src/elementwise.ts makes the functions of. */
const tsTable = (rows) => {
  const ops = rows.filter(isPublic);
  const first = rows.indexOf(ops[0]);
  const count = (arity) => ops.filter((row) => row.arity === arity).length;
  ops.forEach((row, i) => {
    if (rows.indexOf(row) !== first + i || (i && row.arity < ops[i - 1].arity)) {
      throw new Error(`ops.def: ${row.name}: public elementwise rows stand together, by number of inputs`);
    }
  });
  return `// The elementwise ops' names and numbers. Generated from src/graph/ops.def by scripts/gen-ops.mjs.

/** In the order of their numbers in the interface to wasm, FIRST and on; unary ones, then binary, then ternary. */
export const NAMES = '${ops.map(({ name }) => name).join(' ')}';
export const FIRST = ${first};
export const UNARY = ${count(1)};
export const BINARY = ${count(2)};
`;
};

const tsModule = (rows) => {
  const ops = rows.filter(isPublic);
  const doc = (row) => `${row.doc}.${row.result ? ` Result: ${row.result}.` : ''} Takes ${row.types.join(', ')}.`;
  const parameters = (names) => names.map((x) => `${x}: TensorLike`).join(', ');
  const fn = (row, i) => `/** ${doc(row)} */
export const ${camelCase(row.name)} = functions[${i}] as ${KIND[row.arity]};`;
  const method = (row) => {
    const [self, ...others] = inputs(row);
    return `  /** ${doc(row)} ${self} is this tensor. */
  ${camelCase(row.name)}(${parameters(others)}): Tensor;`;
  };
  return `// The elementwise ops as functions and methods. Generated from
// src/graph/ops.def by scripts/gen-ops.mjs.

import type { TensorLike } from './apply.js';
import { functions, type Binary, type Ternary, type Unary } from './elementwise.js';
import type { Tensor } from './tensor.js';

${ops.map(fn).join('\n\n')}

/** The same ops as methods of Tensor. */
export interface ElementwiseMethods {
${ops.map(method).join('\n')}
}
`;
};

/** The functions that the package exports by name. */
const exportedNames = () => {
  const braces = [...readFileSync(INDEX, 'utf8').matchAll(/export \{([^}]*)\}/g)].map(([, names]) => names);
  return new Set(braces.join().split(',').map((name) => name.trim().split(' as ').at(-1)));
};

const markdown = (rows) => {
  const exported = exportedNames();
  const doc = (row) => row.doc.replaceAll('|', '\\|');
  const line = (row) => `| \`${camelCase(row.name)}\` | \`sn_${row.name}\` | ${doc(row)} | ${row.types.join(' ')} | ${row.ulp ?? ''} |`;
  const sameName = (row) => (exported.has(camelCase(row.name)) ? `\`${camelCase(row.name)}\`` : '');
  const inner = (row) => `| ${row.name} | ${sameName(row)} | ${doc(row)} | ${row.types.join(' ')} |`;
  const table = (head, lines) => `| ${head.join(' | ')} |\n|${'---|'.repeat(head.length)}\n${lines.join('\n')}`;
  return `# Ops

Generated from \`src/graph/ops.def\` by \`scripts/gen-ops.mjs\`. ULP bounds the float32 error against a float64 reference.

## Elementwise

Inputs broadcast as in NumPy and promote bool < int8, uint8 < int32 < float16, bfloat16 < float32 < float64; int8 and
uint8 meet in int32, float16 and bfloat16 in float32; ops on floats take integers as float32.

int32 wraps around, modulo 2^32, in sums and products too: \`matmul\`, \`dot\`, \`einsum\`, \`outer\` and convolutions of
integers and bools are exact in int32. \`add\`, \`mul\`, \`maximum\`, \`minimum\`, \`max\` and \`min\` of bools are bools (or,
and); all other arithmetic counts them as 0 and 1 in int32.

float16, bfloat16, int8 and uint8 are for storage. Every op takes them: it computes with their values as float32 or int32
and rounds its result once, to the nearest (of two the even) or, integers, modulo 256; sums of int8 and uint8 are int32.
\`astype\` of a float to int8 or uint8 gives the nearest that there is. A product reads \`w.astype('float32')\` as it is
stored and casts while it packs. Gradients have the dtype of their argument and are computed in float32. JavaScript reads
float16 and bfloat16 as a Float32Array and writes their bits from a Uint16Array; \`cSource\` has no 16-bit floats.

In JS each is a function and a method: \`sn.add(x, y)\`, \`x.add(y)\`.

${table(['JS', 'C', 'result', 'dtypes', 'ULP'], rows.filter(isPublic).map(line))}

Compositions of these rows, with the same derivatives, fusion and accuracy:

| JS | C | result |
|---|---|---|
| \`clip(x, lo, hi)\` | \`sn_clip\` | min(max(x, lo), hi); null, or a number that no integer of x can pass: no bound |
| \`pow(x, y)\` |  | of integers exact in int32, but float32 for a number y that is negative or no integer |
| \`floorDivide(x, y)\` |  | largest integer <= x / y; of integers 0 for y = 0 |
| \`remainder(x, y)\` | \`sn_mod\` | mod |
| \`leakyRelu(x, {alpha = 0.01})\` | \`sn_leaky_relu\` | x where x > 0, else alpha x |
| \`elu(x, {alpha = 1})\` | \`sn_elu\` | x where x > 0, else alpha (e^x - 1) |
| \`selu(x)\` | \`sn_selu\` | elu with the parameters that keep mean 0 and variance 1, scaled |
| \`hardswish(x)\` | \`sn_hardswish\` | x min(max(x + 3, 0), 6) / 6 |
| \`gelu(x, {approximate: true})\` | \`sn_gelu_tanh\` | gelu by a tanh, within 5e-4 |

## Functions of windows, indices and more, in JS

| JS | result |
|---|---|
| \`conv1d\` \`conv2d\` \`conv3d\`, \`convTranspose1d\` ... | \`sn_conv\`, \`sn_conv_transpose\`; padding of any size, \`outputPadding\` of the transposed |
| \`maxPool1d\` \`avgPool1d\` ... \`3d\` | largest, mean of each window; \`ceil\` rounds their number up, \`countIncludePad\` counts padding in a mean |
| \`lpPool1d\` \`lpPool2d\` | (sum \|x\|^p)^(1/p) of each window, \`norm\` p = 2 |
| \`pad(x, widths, {mode})\` | constant, edge, reflect, symmetric, as NumPy's |
| \`resize(x, shape, {mode, alignCorners})\` | nearest, linear, cubic; element i of m has its centre at (i + 1/2) n / m - 1/2, with alignCorners at i (n - 1) / (m - 1) |
| \`scatter(x, indices, updates, {axis, mode})\` | x with updates set, added, multiplied, or there if smaller (min) or larger (max); \`at(...)\` has them as methods |
| \`gatherNd(x, indices)\`, \`scatterNd(x, indices, updates, {mode})\` | the same at indices (..., axes) of several axes |
| \`takeAlongAxis(x, indices, {axis})\` | an index for each element of the result; the other axes broadcast |
| \`topk(x, k, {axis})\` | the k largest, NaN first (\`sort\` has it last) |
| \`layerNorm(x, {axis})\`, \`groupNorm(x, groups)\`, \`instanceNorm(x)\` | (x - mean) / sqrt(var + eps) over these axes, each group of channels, each channel |
| \`attention(q, k, v, {causal, past})\` | token i sees sources 0 .. past + i |
| \`rope(x, {cos, sin, interleaved})\` | by tables, and of neighbouring pairs |
| \`quantize(x, {axis, blockSize, bits})\`, \`dequantize\` | int8, or two values of 4 bits in a uint8 (\`packInt4\`, \`unpackInt4\`), with a scale per block |

## Structured and internal

Ops of the compiled graph, as \`inspect\` names them. JS: the function of the same name, where there is one; the others
stand behind functions of other names (\`gather\` behind \`take\`, \`broadcast\` behind \`broadcastTo\`) or are the compiler's.

${table(['op', 'JS', 'result', 'dtypes'], rows.filter((row) => !isPublic(row)).map(inner))}
`;
};

const OUTPUTS = { header: cHeader, ts: tsModule, table: tsTable, docs: markdown };

const { values } = parseArgs({
  options: Object.fromEntries(Object.keys(OUTPUTS).map((name) => [name, { type: 'string' }])),
});
const rows = readTable();
for (const [name, path] of Object.entries(values)) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, OUTPUTS[name](rows));
}
