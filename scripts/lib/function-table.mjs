// function-table.mjs - reads src/tensor/functions.def, which describes its own format, and the elementwise rows of
// src/graph/ops.def into one list of public functions.
import { readFileSync } from 'node:fs';
import { readKind } from './kinds.mjs';
import { camelCase, inputs, isPublic, readTable } from './op-table.mjs';

const TABLE = new URL('../../src/tensor/functions.def', import.meta.url);
const HEADER = new URL('../../include/sinter.h', import.meta.url);
const KEYS = ['shape', 'dtypes', 'errors', 'refuse', 'js', 'c', 'instead', 'example'];
/** Names that are reserved in JavaScript. */
const RESERVED = new Set(['var']);

export const snakeCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const fail = (line, why) => {
  throw new Error(`functions.def:${line}: ${why}`);
};

/** Splits at commas outside of all brackets. */
const splitOuter = (text) => {
  const parts = [];
  let depth = 0;
  let part = '';
  for (const c of text) {
    depth += '([{<'.includes(c) - ')]}>'.includes(c);
    if (c === ',' && depth === 0) {
      parts.push(part.trim());
      part = '';
    } else part += c;
  }
  return part.trim() ? [...parts, part.trim()] : parts;
};

/** Parses "name: kind = default". */
const readArgument = (text, where, line) => {
  const [, name, kind, value] = /^(\w+): ([^=]+?)(?: = (.+))?$/.exec(text) ?? fail(line, `cannot read ${text}`);
  const read = readKind(kind, where);
  return { name, kind: read, value, optional: read.optional || value !== undefined };
};

/** Parses "name: kind = default    text". */
const readOption = (text, set, line) => {
  const [, head, doc] = /^(.*?\S)\s{2,}(\S.*)$/.exec(text) ?? fail(line, `an option needs a text: ${text}`);
  return { ...readArgument(head, snakeCase(set.name.replace(/Options$/, '')).slice(1), line), doc };
};

const nameOf = (name) => (RESERVED.has(name) ? `${name}_` : name);

/** Parses "name(argument: kind, options: Set | axis) -> result". */
const readFunction = (text, group, sets, line) => {
  const [, pattern, inside, result = 'tensor'] = /^([\w{}.]+)\((.*)\)(?: -> (.+))?$/.exec(text) ?? fail(line, `cannot read ${text}`);
  const parts = splitOuter(inside);
  const last = /^options: (\w+)( \| axis)?$/.exec(parts.at(-1) ?? '');
  if (last) parts.pop();
  const options = last ? sets.get(last[1]) ?? fail(line, `no options ${last[1]}`) : null;
  const args = parts.map((part) => readArgument(part, snakeCase(pattern), line));
  const [, from, to] = /\{(\d)\.\.(\d)\}/.exec(pattern) ?? [];
  const [, several] = /^\{ (\w+(?:, \w+)*) \}$/.exec(result) ?? [];
  const axes = from ? Array.from({ length: to - from + 1 }, (_, i) => Number(from) + i) : null;
  return {
    pattern,
    names: axes ? axes.map((n) => pattern.replace(/\{.*\}/, n)) : [pattern],
    axes,
    cName: `sn_${snakeCase(pattern.replace(/\{.*\}d$/, ''))}`,
    group,
    args,
    options,
    takesAxis: Boolean(last?.[2]),
    result,
    results: several?.split(', '),
    isMethod: args[0]?.kind.name === 'tensor' && !args[0].optional,
    doc: '',
    line,
  };
};

/** The hint of an error about extra arguments, for functions that take an axis in place of the options: such an argument was
 *  meant as an option. */
const hintOf = ({ takesAxis, options, refuse }) => {
  if (refuse || !takesAxis) return refuse;
  const [axis, ...others] = options.list;
  const flag = others.find(({ kind }) => kind.name === 'flag');
  const write = flag ? `write { axis: 0, ${flag.name}: true }` : '';
  return [write, axis.kind.name === 'axes' ? 'several axes are an array: [0, 1]' : ''].filter(Boolean).join('; ');
};

/** Reads a key's text or a line of the doc. The first line without a key begins the doc; further ones continue it. */
const readText = (fn, text, line) => {
  const [, key, value] = /^([a-z]+): (.*)$/.exec(text) ?? [];
  if (key && !KEYS.includes(key)) fail(line, `no key ${key}`);
  if (!key) fn.doc = fn.doc ? `${fn.doc} ${text}` : text;
  else if (fn[key] !== undefined) fail(line, `${key} twice`);
  else fn[key] = value;
};

const parse = (text) => {
  const groups = [];
  const functions = [];
  const aliases = [];
  const sets = new Map();
  let group = null;
  let open = null; // the function or option set that indented lines belong to
  text.split('\n').forEach((given, i) => {
    const line = i + 1;
    if (given.startsWith('#') || given.trim() === '') return;
    if (given.startsWith('  ')) {
      if (open?.list) open.list.push(readOption(given.trim(), open, line));
      else if (open) readText(open, given.trim(), line);
      else fail(line, 'belongs to nothing');
      return;
    }
    const options = /^options (\w+)(?:: (\w+))?$/.exec(given);
    const alias = /^(\w+) = (\w+)$/.exec(given);
    if (given.startsWith('== ')) groups.push((group = { title: given.slice(3), text: '', js: '', c: '' }));
    else if (options) {
      const base = options[2] ? sets.get(options[2]) ?? fail(line, `no options ${options[2]}`) : null;
      sets.set(options[1], (open = { name: options[1], base, group, list: [...(base?.list ?? [])] }));
    } else if (alias) aliases.push({ name: alias[1], of: alias[2] });
    else if (/^[\w{}.]+\(/.test(given)) functions.push((open = readFunction(given, group, sets, line)));
    else {
      const [, language, text] = /^(JS|C): (.*)$/.exec(given) ?? [null, 'text', given];
      const where = language.toLowerCase();
      group[where] = `${group[where]} ${text}`.trim();
    }
  });
  return { groups, functions, aliases, sets };
};

const checked = (table) => {
  const names = table.functions.flatMap(({ names: each }) => each);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice) throw new Error(`functions.def: ${twice} twice`);
  for (const fn of table.functions) {
    if (!fn.doc || !fn.example) fail(fn.line, `${fn.pattern} needs a text and an example`);
    if (!fn.c && !fn.instead && !fn.results && fn.result !== 'tensor') fail(fn.line, `${fn.pattern} needs a prototype`);
  }
  return table;
};

/** Up to three readable points of a row's test domain. */
const sample = (row) => {
  const [lo, hi] = [Number(row.lo ?? -2), Number(row.hi ?? 2)];
  return [-1, 0, 0.5, 1, 2].filter((x) => x >= lo && x <= hi).slice(0, 3);
};

/** The call of an elementwise row in its example. */
const exampleOf = (row) => {
  const first = row.types[0] === 'int32' ? "sn.tensor([5, 6], { dtype: 'int32' })" : JSON.stringify(row.types[0] === 'bool' ? [true, false] : sample(row));
  const other = row.types[0] === 'bool' ? 'true' : '2';
  const list = inputs(row).map((name, i) => (name === 'condition' ? '[true, false]' : i === 0 ? first : i === 1 && row.arity === 3 ? '1' : other));
  return `sn.${camelCase(row.name)}(${list.join(', ')})`;
};

/** The elementwise rows that are public functions, with their numbers in the interface to wasm. */
const elementwiseRows = () =>
  readTable().map((row, number) => ({ ...row, number })).filter(isPublic).map((row) => ({
    ...row,
    js: camelCase(row.name),
    inputs: inputs(row),
    example: exampleOf(row),
  }));

/** The version of the core. */
const readVersion = () => /SN_VERSION "(.+)"/.exec(readFileSync(HEADER, 'utf8'))[1];

/** The groups, functions, option sets and aliases of functions.def, the rows of ops.def, and the version of the core. */
export const readFunctions = () => {
  const table = checked(parse(readFileSync(TABLE, 'utf8')));
  const rows = elementwiseRows();
  for (const fn of table.functions) {
    fn.hint = hintOf(fn);
    fn.isRow = !fn.js && rows.some(({ js }) => js === fn.pattern);
    fn.inC = !fn.instead && !fn.isRow;
    fn.list = [...fn.args, ...(fn.options?.list ?? [])];
  }
  return { ...table, rows, nameOf, version: readVersion() };
};
