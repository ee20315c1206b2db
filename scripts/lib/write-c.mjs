// write-c.mjs - writes the public functions in C: prototypes with their docs, and the bridge that JavaScript calls.
import { snakeCase } from './function-table.mjs';

const COLUMNS = 100;

/** Breaks words into lines of at most `columns` columns. */
const wrap = (text, columns) => {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line && line.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines;
};

const comment = (...paragraphs) =>
  `/* ${paragraphs.flat().flatMap((text) => (typeof text === 'string' ? wrap(text, COLUMNS - 6) : text.lines)).join('\n * ')} */`;

/** "result name(arguments);", broken into lines that fit. */
const declaration = (result, name, args) => {
  const head = `${result}${result.endsWith('*') ? '' : ' '}${name}(`;
  const lines = [head];
  args.forEach((arg, i) => {
    const text = i < args.length - 1 ? `${arg},` : `${arg})`;
    const line = lines.at(-1);
    if (line === head) lines[0] += text;
    else if (line.length + 1 + text.length < COLUMNS) lines[lines.length - 1] = `${line} ${text}`;
    else lines.push(' '.repeat(head.length) + text);
  });
  return lines.join('\n');
};

/** The arguments of a function in C, as texts. */
export const cArguments = (fn) => {
  const written = /\((.*)\)/.exec(fn.c ?? '');
  if (written) return written[1].split(', ');
  const results = fn.results?.map((name) => `sn_tensor **${name}`) ?? [];
  const args = [...fn.list.flatMap(({ name, kind }) => kind.c(snakeCase(name))), ...results];
  if (args.some((arg) => arg.startsWith('sn_tensor *'))) return args;
  const isDType = (arg) => arg.startsWith('sn_dtype');
  return ['sn_context *ctx', ...args.filter(isDType), ...args.filter((arg) => !isDType(arg))];
};

const resultType = ({ c, results }) => (results || c?.startsWith('sn_status') ? 'sn_status' : 'sn_tensor *');

/** The prototype of a function in C. */
export const prototype = (fn) => declaration(`SN_API ${resultType(fn)}`, fn.cName, cArguments(fn));

/** The prototype of an elementwise row. */
export const rowPrototype = (row) =>
  declaration('SN_API sn_tensor *', `sn_${row.name}`, row.inputs.map((name) => `sn_tensor *${name}`));

const choicesOf = (functions) => {
  const enums = new Map();
  for (const { list } of functions)
    for (const { name, kind } of list) if (kind.choices) enums.set(kind.c(name)[0].split(' ')[0], kind.choices);
  return [...enums].map(([name, choices]) => {
    const places = choices.map((each) => `${name.replace(/_[a-z]+$/, '').toUpperCase()}_${each.toUpperCase()}`);
    return `typedef enum ${name} { ${places.join(', ')} } ${name};`;
  });
};

/** Describes options as arguments: the name, then the text. */
const optionLines = ({ list }) => {
  const width = Math.max(...list.map(({ name }) => snakeCase(name).length)) + 4;
  return list.flatMap(({ name, kind, doc }) => {
    const called = kind.c ? /(\w+)$/.exec(kind.c(snakeCase(name))[0])[1] : snakeCase(name);
    return wrap(doc, COLUMNS - 6 - width).map((line, i) => `  ${(i ? '' : called).padEnd(width - 2)}${line}`);
  });
};

/** The comment above a prototype. Options that an earlier function has described are not described again. */
const docOf = (fn, isTold) => {
  const notes = [fn.shape && `Shapes: ${fn.shape}`, fn.dtypes && `Dtypes: ${fn.dtypes}`, '[new, m s d]'].filter(Boolean).join(' ');
  const lines = fn.options && !fn.c && !isTold ? optionLines(fn.options) : [];
  return lines.length ? comment(fn.doc, { lines }, notes) : comment(`${fn.doc} ${notes}`);
};

const groupText = (group, { functions, rows }) => {
  const mine = functions.filter((fn) => fn.group === group && fn.inC);
  if (!mine.length) return [];
  const told = new Set();
  const written = mine.flatMap((fn) => {
    const isTold = told.has(fn.options);
    told.add(fn.options);
    return [docOf(fn, isTold), `${prototype(fn)};`];
  });
  const elementwise = group.title === 'Elementwise'
    ? rows.flatMap((row) => [comment(`${row.doc}. [new, m s d]`), `${rowPrototype(row)};`]) : [];
  const head = `/* ---- ${group.title} ${'-'.repeat(COLUMNS - 13 - group.title.length)} */`;
  return [[head, ...(group.text || group.c ? [comment(`${group.text} ${group.c}`.trim())] : []), ...choicesOf(mine.filter(({ c }) => !c)), '', ...elementwise, ...written].join('\n')];
};

/** sinter_functions.h: all public functions that make tensors from others or from numbers. */
export const header = (table) => `/* sinter_functions.h - the public functions on tensors. Generated from src/tensor/functions.def
 * and src/graph/ops.def by scripts/gen-api.mjs; included by sinter.h. */
#ifndef SINTER_FUNCTIONS_H
#define SINTER_FUNCTIONS_H

${table.groups.flatMap((group) => groupText(group, table)).join('\n\n')}

#endif
`;

/* ---- the bridge ------------------------------------------------------------------------------ */

/** How an argument of C crosses the bridge: the number that JavaScript sends, and the expression that C is called with.
 *  Values of more than one word are in the scratch block; `at` is the number of its words that are already read. */
const crossing = (arg, at, results) => {
  const name = /(\w+)$/.exec(arg)[1];
  if (arg === 'sn_context *ctx') return { call: 'context' };
  if (arg === 'const int64_t *dims') return { call: 'DIMS(rank)' };
  if (arg.startsWith('sn_tensor *const *')) return { call: 'scratch_tensors()' };
  if (arg.startsWith('sn_tensor **')) return { call: `scratch_tensors() + ${results}`, result: 1 };
  if (/^const int64_t \*(sizes|shifts)$/.test(arg)) return { call: 'scratch_wide()' };
  if (arg === 'const int *axes') return { sent: 'bool flat', call: 'flat ? NULL : scratch + 2 * count' };
  if (arg.startsWith('const char *')) return { call: '(const char *)(scratch + count)' };
  if (arg.startsWith('const sn_window_options *')) return { call: '&windows' };
  if (arg === 'const int64_t *reps') return { call: 'dims_from((int64_t[SN_MAX_RANK]){0}, scratch, count)' };
  if (arg === 'const int64_t *window') return { call: 'wide + 4 * axes' };
  if (arg.startsWith('const int *')) return { call: 'scratch' };
  if (arg.startsWith('const int64_t *'))
    return { call: `dims_from((int64_t[SN_MAX_RANK]){0}, scratch + ${at} * sn_rank(x), sn_rank(x))`, words: 1 };
  if (arg.startsWith('int64_t ')) return { sent: `int ${name}`, call: name };
  if (arg.startsWith('size_t ')) return { sent: `uint32_t ${name}`, call: name };
  if (/^sn_\w+ \w+$/.test(arg)) return { sent: `int ${name}`, call: `(${arg.split(' ')[0]})${name}` };
  return { sent: arg, call: name };
};

const crossings = (fn) => {
  let [at, results] = [0, 0];
  return cArguments(fn).map((arg) => {
    const way = crossing(arg, at, results);
    at += way.words ?? 0;
    results += way.result ?? 0;
    return way;
  });
};

export const bridgeName = (fn) => fn.cName.replace(/^sn_/, 'sinter_');

/** The names of the numbers that the bridge's function takes. */
export const sentNames = (fn) => crossings(fn).filter(({ sent }) => sent).map(({ sent }) => /(\w+)$/.exec(sent)[1]);

const bridgeFunction = (fn) => {
  const ways = crossings(fn);
  const sent = ways.filter((way) => way.sent).map((way) => way.sent).join(', ');
  const windows = ways.some(({ call }) => call === '&windows');
  const name = bridgeName(fn);
  return [
    `${declaration(resultType(fn), `SN_EXPORT(${name})`, [sent])};`,
    `${declaration(resultType(fn), name, [sent])} {`,
    ...(windows ? ['  int64_t wide[WINDOW_WORDS];', '  const sn_window_options windows = window_options(wide, axes);'] : []),
    `  return ${fn.cName}(${ways.map(({ call }) => call).join(', ')});`,
    '}',
  ].join('\n');
};

/** The part of wasm/bridge.c that is generated from the table. */
export const bridge = ({ functions }) => `/* The public functions of src/tensor/functions.def, one export each. Generated by scripts/gen-api.mjs. */

${functions.filter(({ inC }) => inC).map(bridgeFunction).join('\n\n')}
`;
