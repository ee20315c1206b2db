// op-table.mjs - reads the rows of src/graph/ops.def, the only list of ops.
//
// A row is MACRO(argument, ...). This file reads the arguments up to the doc text, and the named facts at the end. The
// expressions between them are C.
import { readFileSync } from 'node:fs';

const TABLE = new URL('../../src/graph/ops.def', import.meta.url);

/** For each kind of row: the positions of its arguments, the dtypes it takes, and its result. */
const NUMBERS = { name: 0, arity: 1, flags: 2, cost: 3, lo: 4, hi: 5, ulp: 6, doc: 7 };
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
  REDUCE_I: { at: { name: 0, flags: 1, cost: 2, doc: 3 }, types: ['int32'] },
  OP: { at: { name: 0, class: 1, arity: 2, flags: 3, types: 4, doc: 5 } },
};

/** The dtypes that a row's column of dtypes stands for: SN_TYPES_* of graph/ops.h. */
const TYPES = {
  I: ['int32'],
  F: ['float32', 'float64'],
  FI: ['float32', 'float64', 'int32'],
  FIB: ['float32', 'float64', 'int32', 'bool'],
  BITS: ['float32', 'int32'],
  ANY: ['all'],
};

/** The classes of elementwise ops among the rows OP. */
const ELEMENTWISE = ['SELECT', 'MARKER'];

/** Splits "a, f(b, c), "d, e"" at the commas outside of brackets and quotes. */
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

/** Parses "ATTRS(AXIS(axis), FLAG(reverse))" to [['AXIS', 'axis'], ['FLAG', 'reverse']]. */
const parseAttributes = (text) => [...text.matchAll(/([A-Z_]+)\((\w+)\)/g)].map(([, kind, name]) => [kind, name]);

const parseRow = (text) => {
  const match = /^([A-Z_]+)\(([\s\S]*)\)\s*$/.exec(text);
  const kind = match && KINDS[match[1]];
  if (!kind) return null;
  const args = splitArguments(match[2]);
  const facts = new Map(args.filter((arg) => arg.startsWith('.')).map((arg) => arg.slice(1).split(/\s*=\s*/)));
  const at = (field) => (kind.at[field] === undefined ? undefined : args[kind.at[field]]);
  if (!/^[a-z][a-z0-9_]*$/.test(at('name')) || !/^".*"$/.test(at('doc'))) {
    throw new Error(`ops.def: cannot read ${text}`);
  }
  return {
    macro: match[1],
    name: at('name'),
    arity: Number(at('arity') ?? 1),
    hidden: at('flags').includes('H'),
    commutative: at('flags').includes('C'),
    elementwise: kind.elementwise ?? ELEMENTWISE.includes(at('class')),
    types: kind.types ?? TYPES[at('types')],
    result: kind.result ?? (facts.get('result') === 'SN_RESULT_I32' ? 'int32' : undefined),
    attributes: parseAttributes(facts.get('attrs') ?? (match[1].startsWith('REDUCE') ? 'AXES(axes)' : '')),
    cost: at('cost'),
    lo: at('lo'),
    hi: at('hi'),
    ulp: at('ulp'),
    doc: at('doc').slice(1, -1),
  };
};

export const readTable = () => {
  const rows = readFileSync(TABLE, 'utf8').match(/^[A-Z_]+\(.*(?:\n {3}.*)*/gm).map(parseRow).filter(Boolean);
  const names = new Set(rows.map(({ name }) => name));
  if (!rows.length || names.size !== rows.length) throw new Error('ops.def: no rows, or a name twice');
  return rows;
};

export const isPublic = (row) => row.elementwise && !row.hidden;
export const camelCase = (name) => name.replace(/_([a-z0-9])/g, (_, c) => c.toUpperCase());

/** The names of the inputs in doc texts. */
export const inputs = (row) => (row.name === 'where' ? ['condition', 'x', 'y'] : ['x', 'y', 'z'].slice(0, row.arity));
