// write-ts.mjs - writes the public functions in TypeScript: the elementwise ones, those of functions.def with checks of their
// options, the methods of Tensor, and the core's exports.
import { bridgeName, sentNames } from './write-c.mjs';

const made = (what, from) => `// ${what} Generated from ${from} by scripts/gen-api.mjs.`;
const doc = (text, indent = '') => {
  const lines = [''];
  for (const word of text.split(' ')) {
    if (lines.at(-1).length + word.length > 110 - indent.length) lines.push('');
    lines[lines.length - 1] += `${lines.at(-1) ? ' ' : ''}${word}`;
  }
  return lines.length === 1 ? `${indent}/** ${lines[0]} */` : `${indent}/**\n${lines.map((line) => `${indent} * ${line}`).join('\n')}\n${indent} */`;
};

/* ---- elementwise ------------------------------------------------------------------------------ */

const ARITY = ['', 'unary', 'binary', 'ternary'];
const rowDoc = (row) => `${row.doc}.${row.result ? ` Result: ${row.result}.` : ''} Takes ${row.types.join(', ')}.`;

export const elementwise = ({ rows }) => `${made('The elementwise functions.', 'src/graph/ops.def')}

import { binary, ternary, unary, type TensorLike } from './apply.js';
import type { Tensor } from './tensor.js';

${rows.map((row) => `${doc(rowDoc(row))}
export const ${row.js} = (${row.inputs.map((x) => `${x}: TensorLike`).join(', ')}): Tensor => ${ARITY[row.arity]}(${row.number}, '${row.js}', ${row.inputs.join(', ')});`).join('\n\n')}
`;

/* ---- options ---------------------------------------------------------------------------------- */

/** AXIS for AxisOptions. */
export const schemaName = ({ name }) => name.replace(/Options$/, '').replace(/(?<=.)[A-Z]/g, (c) => `_${c}`).toUpperCase();

const isNullable = ({ kind, value }) => kind.optional && kind.name === 'tensor' && value === undefined;

const optionType = (option) => {
  const needed = option.optional ? '?' : '';
  const text = option.value === undefined || option.value === 'null' ? option.doc : `${option.doc} Default ${option.value}.`;
  return `${doc(text, '  ')}\n  ${option.name}${needed}: ${option.kind.ts};`;
};

/** RESIZE_MODES for ResizeOptions and its option mode. */
const choicesName = (set, option) => `${schemaName(set)}_${option.toUpperCase()}S`;

const optionSet = (set) => {
  const own = set.list.slice(set.base?.list.length ?? 0);
  return `export interface ${set.name}${set.base ? ` extends ${set.base.name}` : ''} {
${own.map(optionType).join('\n')}
}

${own.filter(({ kind }) => kind.choices).map((option) => `export const ${choicesName(set, option.name)} = [${option.kind.choices.map((each) => `'${each}'`).join(', ')}] as const;\n`).join('')}export const ${schemaName(set)} = { ${set.list.map(({ name, kind }) => `${name}: '${kind.option}'`).join(', ')} } as const;`;
};

/* ---- functions -------------------------------------------------------------------------------- */

const RESULTS = { tensor: 'Tensor', tensors: 'Tensor[]', rows: 'Rows' };
const resultOf = (fn) => (fn.results ? `{ ${fn.results.map((name) => `${name}: Tensor`).join('; ')} }` : RESULTS[fn.result] ?? fn.result);

/** The parameters of a function as users call it; for a method without the tensor that it belongs to. */
const parameters = (fn, { method = false, defaults = true, early = false } = {}) => {
  const args = (method ? fn.args.slice(1) : fn.args).map((arg) => {
    const type = `${arg.kind.ts}${early && arg.optional ? ` | ${fn.options.name}` : ''}`;
    if (arg.kind.name === 'rest') return `...${arg.name}: ${type}`;
    if (arg.value !== undefined) return defaults ? `${arg.name}: ${type} = ${arg.value}` : `${arg.name}?: ${type}`;
    return `${arg.name}${arg.optional ? '?' : ''}: ${type}${isNullable(arg) ? ' | null' : ''}`;
  });
  const needed = fn.options?.list.some((option) => !option.optional && option.value === undefined);
  const axis = fn.takesAxis ? ` | ${fn.options.list[0].kind.name === 'axes' ? 'Axes' : 'number'}` : '';
  const isBare = fn.takesAxis && fn.options.list[0].kind.optional;
  if (fn.options) args.push(`options${needed || isBare ? '' : '?'}: ${fn.options.name}${axis}`);
  if (fn.hint) args.push('...extra: []');
  return args.join(', ');
};

const names = (fn) => fn.args.map(({ name }) => name);

/** Arguments in whose place the options may stand: arange(3, { dtype }). */
const mayBeOptions = (fn) => (fn.options && !fn.args.some(({ kind }) => kind.name.startsWith('tensor')) ? fn.args.filter(({ optional }) => optional) : []);

/** The forms of such a function: with the options in the place of each of these arguments, then with all arguments. */
const overloads = (fn, name) => {
  const early = mayBeOptions(fn).map((arg) => ({ ...fn, args: fn.args.slice(0, fn.args.indexOf(arg)).map((each) => ({ ...each, optional: false, value: undefined })) }));
  return early.length ? [...early, fn].map((form) => `export function ${name}(${parameters(form, { defaults: false })}): ${resultOf(fn)};`) : [];
};

/** Statements that find the options in the place of an argument. */
const findsOptions = (fn, name) => mayBeOptions(fn).map((arg) => {
  const at = fn.args.indexOf(arg);
  const given = fn.args.map((each, i) => (i < at ? castName(fn, each) : 'undefined'));
  return `  if (arguments.length === ${at + 1} && isPlainObject(${arg.name})) return ${name}(${[...given, arg.name].join(', ')});`;
});

/** The name of an argument, as what it is where it is no options. */
const castName = (fn, arg) => {
  if (!mayBeOptions(fn).includes(arg)) return arg.name;
  return `${arg.name} as ${arg.kind.ts}${arg.value === undefined ? ' | undefined' : ''}`;
};

/** The statement that reads the options, with their defaults. */
const readsOptions = (fn, op) => {
  if (!fn.options) return [];
  const reads = fn.options.list.map(({ name, value }) => (value === undefined ? name : `${name} = ${value}`));
  const reader = fn.takesAxis ? 'axisOptions' : 'readOptions';
  return [`  const { ${reads.join(', ')} } = ${reader}<${fn.options.name}>('${op}', options, ${schemaName(fn.options)});`];
};

/** Calls the function in a hand-written file, with the arguments and with the options in one object. */
const callsFront = (fn, n) => {
  const given = fn.args.map((arg) => castName(fn, arg));
  if (fn.options) given.push(`{ ${fn.options.list.map(({ name }) => name).join(', ')} }`);
  const front = fn.axes ? fn.pattern.replace(/\{.*\}d$/, '') : fn.pattern;
  const spread = fn.args.at(-1)?.kind.name === 'rest' ? given.with(-1, `...${given.at(-1)}`) : given;
  return `  return ${fn.js}Fronts.${front}(${[...(n ? [n] : []), ...spread].join(', ')});`;
};

/** How an argument is sent to the core, if tensors are already given by address. */
const SENT = {
  tensor: (name) => `${name}_`,
  number: (name, op) => `checkNumber('${op}', '${name}', ${name})`,
  integer: (name, op) => `checkInteger('${op}', '${name}', ${name})`,
  flag: (name) => `Number(${name})`,
  axis: (name, op, x) => `axisNumber('${op}', ${x}, ${name})`,
  flat: (name, op, x) => `flatAxis('${op}', ${x}, ${name})`,
  axes: (name, op, x) => `axisMask('${op}', ${x}, ${name})`,
  dtype: (name, op) => `dtypeNumber(parseDType(${name}, '${op}'))`,
  choice: (name, op, _, { options }) => `checkChoice('${op}', '${name}', ${name}, ${choicesName(options, name)})`,
  shape: (name) => `${name}.length`,
};

/** Arguments that go through the scratch block, instead or in addition. */
const WORDS = {
  shape: (name, op) => `checkShape('${op}', ${name})`,
  pairs: (name, op) => `widthWords('${op}', t, ${name})`,
};

/** The value that is sent for a number that is not given. */
const MISSING = { number: 'NaN', integer: 'NOT_GIVEN' };

/** Numbers among the options are already checked with them. */
const sentAs = (arg, fn, op, x) => {
  const { name, optional } = arg.kind;
  const missing = MISSING[name];
  if (!missing || fn.args.includes(arg)) return SENT[name]?.(arg.name, op, x, fn);
  return optional ? `${arg.name} ?? ${missing}` : arg.name;
};

/** One call of the core. */
const callsCore = (fn, op) => {
  const [first] = fn.list;
  if (first.kind.name === 'tensors') {
    const sent = ['count', ...fn.list.slice(1).map((arg) => sentAs(arg, fn, op, `${first.name}[0]!`))];
    return [
      `  return withList('${op}', ${first.name}, (core, count) => core.${bridgeName(fn)}(${sent.join(', ')}));`,
    ];
  }
  const tensors = fn.list.filter(({ kind }) => kind.name === 'tensor');
  const needed = tensors.filter(({ optional }) => !optional).map(({ name }) => name);
  const others = tensors.filter(({ optional }) => optional).map(({ name }) => name);
  const sent = fn.list.map((arg) => sentAs(arg, fn, op, first.name)).filter(Boolean);
  if (tensors.length > 1) {
    return [
      '  return withTensors(',
      `    '${op}',`,
      `    [${needed.join(', ')}],`,
      `    (core, [${[...needed, ...others].map((name) => `${name}_`).join(', ')}]) => core.${bridgeName(fn)}(${sent.map((text) => (text.endsWith('_') ? `${text}!` : text)).join(', ')}),`,
      ...(others.length ? [`    [${others.join(', ')}],`] : []),
      '  );',
    ];
  }
  const one = sent.map((text) => (text === `${first.name}_` ? `t.use('${op}')` : text.replace(`'${op}', ${first.name},`, `'${op}', t,`)));
  const call = `core.${bridgeName(fn)}(${one.join(', ')})`;
  const words = fn.list.flatMap((arg) => WORDS[arg.kind.name]?.(arg.name, op) ?? []);
  const body = words.length ? `{\n    runtime().send(${words.join(', ')});\n    return ${call};\n  }` : call;
  const results = fn.results ? `[${fn.results.map((name) => `'${name}'`).join(', ')}], ` : '';
  return [`  return ${results ? 'withResults' : 'withTensor'}('${op}', ${first.name}, ${results}(core, t) => ${body});`];
};

const writeFunction = (fn, op, n, nameOf) => {
  const name = nameOf(op);
  const lists = fn.args.filter(({ kind }) => kind.name === 'tensors').map((arg) => `  checkList('${op}', ${arg.name});`);
  const refuse = fn.hint ? [`  refuseExtra('${op}', extra, ${JSON.stringify(fn.hint)});`] : [];
  const text = [fn.doc, fn.shape && `Shapes: ${fn.shape}`, fn.dtypes && `Dtypes: ${fn.dtypes}`].filter(Boolean).join(' ');
  return [
    doc(text),
    ...overloads(fn, name),
    `export function ${name}(${parameters(fn, { early: mayBeOptions(fn).length > 0 })}): ${resultOf(fn)} {`,
    ...findsOptions(fn, name),
    ...refuse,
    ...lists,
    ...readsOptions(fn, op),
    ...(fn.js ? [callsFront(fn, n)] : callsCore(fn, op)),
    '}',
    ...(name === op ? [] : [`export { ${name} as ${op} };`]),
  ].join('\n');
};

const written = ({ functions, nameOf }) =>
  functions.filter(({ isRow }) => !isRow).flatMap((fn) => fn.names.map((op, i) => writeFunction(fn, op, fn.axes?.[i], nameOf)));

/** The imports for the names that a text uses. */
const importsOf = (whole, places) => Object.entries(places).flatMap(([from, list]) => {
  const text = whole.replace(/\/\*\*[^]*?\*\//g, '');
  const used = list.filter((name) => new RegExp(`(?<![\\w.'])${name.replace(/^type /, '')}\\b(?!')`).test(text));
  if (!used.length) return [];
  const types = used.every((name) => name.startsWith('type '));
  return [types ? `import type { ${used.map((name) => name.slice(5)).join(', ')} } from './${from}.js';` : `import { ${used.join(', ')} } from './${from}.js';`];
}).join('\n');

const TYPES = {
  apply: ['type TensorLike'],
  axes: ['type Axes'],
  conv: ['type Padding', 'type PerAxis'],
  dtype: ['type DTypeName'],
  indexing: ['type RowIndex', 'type Rows'],
  quantize: ['type Quantized'],
  tensor: ['type NestedArray', 'type Tensor'],
  upload: ['type NumericArray'],
};

const HELPERS = {
  apply: ['withList', 'withResults', 'withTensor', 'withTensors'],
  axes: ['axisMask', 'axisNumber', 'axisOptions', 'flatAxis', 'widthWords'],
  check: ['NOT_GIVEN', 'checkChoice', 'checkInteger', 'checkList', 'checkNumber', 'isPlainObject', 'refuseExtra'],
  dtype: ['dtypeNumber', 'parseDType'],
  options: ['readOptions'],
  'runtime/runtime': ['runtime'],
  upload: ['checkShape'],
};

/** The options of functions: their types, and the checks of each option. */
export const options = ({ sets }) => {
  const body = [...sets.values()].map(optionSet).join('\n\n');
  return `${made('The options of the public functions.', 'src/tensor/functions.def')}

${importsOf(body, TYPES)}

${body}
`;
};

/** The functions themselves. */
export const functions = (table) => {
  const fronts = [...new Set(table.functions.map(({ js }) => js).filter(Boolean))].sort();
  const aliases = table.aliases.map(({ name, of }) => `${doc(`Another name of ${of}.`)}\nexport { ${of} as ${name} };`);
  const own = new Set(table.functions.filter(({ isRow }) => !isRow).flatMap((fn) => fn.names));
  const ofRows = table.aliases.filter(({ of }) => !own.has(of)).map(({ of }) => of);
  const body = [...written(table), ...aliases].join('\n\n');
  const sets = [...table.sets.values()];
  return `${made('The public functions on tensors.', 'src/tensor/functions.def')}

${fronts.map((file) => `import * as ${file}Fronts from './${file}.js';`).join('\n')}
${importsOf(body, TYPES)}
${importsOf(body, HELPERS)}
${importsOf(body, { 'options.gen': sets.flatMap((set) => [schemaName(set), `type ${set.name}`, ...set.list.filter(({ kind }) => kind.choices).map(({ name }) => choicesName(set, name))]) })}
import { ${ofRows.join(', ')} } from './ops.gen.js';

export type { ${sets.map(({ name }) => name).sort().join(', ')} } from './options.gen.js';
export * from './ops.gen.js'; // but for those below of the same name

${body}
`;
};

/* ---- methods ---------------------------------------------------------------------------------- */

export const methods = ({ functions: list, rows, aliases, nameOf }) => {
  const own = list.filter(({ isMethod }) => isMethod).flatMap((fn) => fn.names.map((op) => ({ fn, op })));
  const taken = new Set(own.map(({ op }) => op));
  const plain = rows.filter(({ js }) => !taken.has(js));
  const known = new Map([...own.map(({ fn, op }) => [op, { fn }]), ...plain.map((row) => [row.js, { row }])]);
  for (const { name, of } of aliases) known.set(name, { ...known.get(of), of });
  const entries = [...known].map(([name, { fn, row, of }]) => {
    const type = row ? row.inputs.slice(1).map((x) => `${x}: TensorLike`).join(', ') : parameters(fn, { method: true, defaults: false });
    return {
      declared: `${doc(row ? rowDoc(row) : fn.doc, '  ')}\n  ${name}(${type}): ${row ? 'Tensor' : resultOf(fn)};`,
      defined: `  ${name}: functions.${nameOf(of ?? name)},`,
    };
  });
  const declared = `/** Every function whose first argument is a tensor: this one. */
export interface Methods {
${entries.map((entry) => entry.declared).join('\n')}
}`;
  const sets = [...new Set(own.map(({ fn }) => fn.options?.name).filter(Boolean))].sort();
  return `${made('The functions as methods of Tensor.', 'src/tensor/functions.def and src/graph/ops.def')}

${importsOf(declared, { ...TYPES, tensor: ['type NestedArray'] })}
import * as functions from './functions.gen.js';
import type { ${sets.join(', ')} } from './options.gen.js';
import { Tensor } from './tensor.js';

${declared}

const methods: { [K in keyof Methods]: (x: Tensor, ...args: Parameters<Methods[K]>) => ReturnType<Methods[K]> } = {
${entries.map((entry) => entry.defined).join('\n')}
};

for (const [name, f] of Object.entries(methods) as [string, (x: Tensor, ...args: unknown[]) => unknown][]) {
  const { [name]: value } = {
    [name](this: Tensor, ...args: unknown[]) {
      return f(this, ...args);
    },
  };
  Object.defineProperty(Tensor.prototype, name, { value, configurable: true, writable: true });
}
`;
};

/* ---- the core's exports ------------------------------------------------------------------------ */

export const exports_ = ({ functions: list, version }) => `${made("The core's exports, one for each function that it has, and its version.", 'src/tensor/functions.def and include/sinter.h')}

export const CORE_VERSION = '${version}';

export interface FunctionExports {
${list.filter(({ inC }) => inC).map((fn) => `  ${bridgeName(fn)}(${sentNames(fn).map((name) => `${name}: number`).join(', ')}): number;`).join('\n')}
}
`;
