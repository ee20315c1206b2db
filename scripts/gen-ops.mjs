// gen-ops.mjs [--header OUT.h] [--dtypes OUT.ts] [--docs OUT.md] - writes what is generated from src/graph/ops.def and
// dtypes.def, the only lists of ops and dtypes: the C enum, the names and array types of dtypes, and the table in docs/.
// scripts/gen-api.mjs generates the functions of the elementwise rows.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { readFunctions } from './lib/function-table.mjs';
import { camelCase, isPublic, readTable } from './lib/op-table.mjs';

const cHeader = (rows) => {
  const list = (arity) => rows.filter((row) => isPublic(row) && row.arity === arity)
    .map(({ name }) => ` \\\n  X(${name})`).join('');
  return `/* sinter_ops.h - the ops by number. Generated from src/graph/ops.def by scripts/gen-ops.mjs;
 * included by sinter.h. */
#ifndef SINTER_OPS_H
#define SINTER_OPS_H

/* The order of the table's rows; part of the binary interface between JS and wasm. */
typedef enum sn_op {
${rows.map(({ name }) => `  SN_OP_${name},`).join('\n')}
  SN_OP_COUNT
} sn_op;

/* The elementwise functions by number of inputs: X(name) for each, in the order of the table. */
#define SN_UNARY_OPS(X)${list(1)}
#define SN_BINARY_OPS(X)${list(2)}
#define SN_TERNARY_OPS(X)${list(3)}

#endif
`;
};

/** The generated table for js/src/dtype.ts: the names and array types of dtypes, in the order of their numbers. */
const dtypeTable = () => {
  const table = readFileSync(new URL('../src/graph/dtypes.def', import.meta.url), 'utf8');
  const rows = [...table.matchAll(/^DTYPE\((.*)\)$/gm)].map(([, row]) => row.split(',').map((cell) => cell.trim()));
  const quoted = (cells) => cells.map((cell) => `'${cell}'`).join(', ');
  return `// Dtypes in the order of their numbers. Generated from src/graph/dtypes.def by scripts/gen-ops.mjs.

export const DTYPES = [${quoted(rows.map(([, name]) => name))}] as const;
export const SHORT = [${quoted(rows.map(([, , short]) => short))}] as const;
/** The arrays of their elements in memory. */
export const ARRAYS = [${rows.map((row) => row.at(-1)).join(', ')}];
/** Floats of 16 bits: not every JavaScript engine has an array for them. */
export const HALVES: readonly string[] = [${quoted(rows.filter((row) => row[4] === 'HALF').map(([, name]) => name))}];
`;
};

/** The name of a function of functions.def in C. */
const inC = (fn) => (fn.instead ? '' : `\`${fn.cName}\``);
const firstSentence = (text) => /^.*?[.:](?= [A-Z]|$)/.exec(text)?.[0].slice(0, -1) ?? text;

const functionTable = (list) => {
  const line = (fn) => `| ${fn.names.map((name) => `\`${name}\``).join(' ')} | ${inC(fn)} | ${firstSentence(fn.doc).replaceAll('|', '\\|')} |`;
  return ['| JS | C | result |', '|---|---|---|', ...list.map(line)].join('\n');
};

const markdown = (rows) => {
  const { functions } = readFunctions();
  const exported = new Set(functions.flatMap(({ names }) => names));
  const ops = new Set(rows.map(({ name }) => camelCase(name)));
  const doc = (row) => row.doc.replaceAll('|', '\\|');
  const line = (row) => `| \`${camelCase(row.name)}\` | \`sn_${row.name}\` | ${doc(row)} | ${row.types.join(' ')}${row.result ? ` -> ${row.result}` : ''} | ${row.ulp ?? ''} |`;
  const sameName = (row) => (exported.has(camelCase(row.name)) ? `\`${camelCase(row.name)}\`` : '');
  const many = ['PERMUTATION', 'PER_AXIS', 'STEP_PER_AXIS', 'PER_SPATIAL'];
  const attributes = (row) => row.attributes.map(([kind, name]) => (many.includes(kind) ? `${name}...` : name)).join(', ');
  const dtypes = (row) => `${row.types.join(' ')}${row.result ? ` -> ${row.result}` : ''}`;
  const inner = (row) => `| ${row.name} | ${sameName(row)} | ${attributes(row)} | ${doc(row)} | ${dtypes(row)} |`;
  const table = (head, lines) => `| ${head.join(' | ')} |\n|${'---|'.repeat(head.length)}\n${lines.join('\n')}`;
  return `# Ops

Generated from \`src/graph/ops.def\` and \`src/tensor/functions.def\` by \`scripts/gen-ops.mjs\`. ULP bounds the float32 error against a float64 reference.

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

${functionTable(functions.filter(({ group }) => group.title === 'Elementwise'))}

## Functions that are no op

Each is a graph of ops, or one op with its arguments brought into its form; [reference](reference/README.md) has their options.

${functionTable(functions.filter(({ group, names }) => group.title !== 'Elementwise' && !names.some((name) => ops.has(name))))}

## Structured and internal

Ops of the compiled graph, as \`inspect\` names them. JS: the function of the same name, where there is one; the others
stand behind functions of other names (\`gather\` behind \`take\`, \`broadcast\` behind \`broadcastTo\`) or are the compiler's.
Attributes are numbers; \`...\` is one for each axis, of \`conv\` for each spatial one. Dtypes are those that the op itself
takes: functions cast other values to them, and those of storage to float32 or int32 and back.

${table(['op', 'JS', 'attributes', 'result', 'dtypes'], rows.filter((row) => !isPublic(row)).map(inner))}
`;
};

const OUTPUTS = { header: cHeader, dtypes: dtypeTable, docs: markdown };

const { values } = parseArgs({
  options: Object.fromEntries(Object.keys(OUTPUTS).map((name) => [name, { type: 'string' }])),
});
const rows = readTable();
for (const [name, path] of Object.entries(values)) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, OUTPUTS[name](rows));
}
