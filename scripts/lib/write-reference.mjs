// write-reference.mjs - writes docs/reference: a page for each group of public functions, a section for each function.
import { prototype, rowPrototype } from './write-c.mjs';

const pageOf = ({ title }) => `${title.toLowerCase().replaceAll(' ', '-')}.md`;
const cell = (text) => text.replaceAll('|', '\\|');
const joined = (text) => text.replace(/\s*\n\s*/g, ' ').replace('SN_API ', '');

export const signature = (fn, op) => {
  const args = fn.args.map(({ name, kind, value, optional }) => {
    if (kind.name === 'rest') return `...${name}`;
    return value === undefined ? `${name}${optional ? '?' : ''}` : `${name} = ${value}`;
  });
  if (fn.options) {
    const options = fn.options.list.map(({ name, value, optional }) => (value === undefined ? `${name}${optional ? '?' : ''}` : `${name} = ${value}`));
    args.push(`{ ${options.join(', ')} }`);
  }
  return `${op}(${args.join(', ')})`;
};

const optionTable = ({ list }) => [
  '| option | | |',
  '|---|---|---|',
  ...list.map(({ name, kind, doc, value }) => `| \`${name}\` | ${kind.says}${value && value !== 'null' ? `; default \`${value}\`` : ''} | ${cell(doc)} |`),
].join('\n');

const section = (fn, rowNames) => {
  const head = fn.names.join(', ');
  const anchors = fn.names.length > 1 ? fn.names.map((name) => `<a id="${name.toLowerCase()}"></a>`).join('') : '';
  const cText = fn.inC ? [`${joined(prototype(fn))};`] : rowNames.has(fn.pattern) ? [`sn_tensor *sn_${fn.pattern}(...);`] : [];
  return [
    `${anchors}${anchors ? '\n\n' : ''}### ${head}`,
    ['```', ...fn.names.map((op) => signature(fn, op)), ...cText, '```'].join('\n'),
    cell(fn.doc).replaceAll('\\|', '|'),
    fn.options && optionTable(fn.options),
    fn.shape && `Shapes: ${fn.shape}`,
    fn.dtypes && `Dtypes: ${fn.dtypes}`,
    fn.errors && `Errors: ${fn.errors}`,
    fn.instead && `In C: ${fn.instead}.`,
    ['```js', fn.example, '```'].join('\n'),
  ].filter(Boolean).join('\n\n');
};

const rowSection = (row) => [
  `### ${row.js}`,
  ['```', `${row.js}(${row.inputs.join(', ')})`, `${joined(rowPrototype(row))};`, '```'].join('\n'),
  `${row.doc}.`,
  `Dtypes: ${row.types.join(', ')}${row.result ? `; the result is ${row.result}` : ''}.`,
  ['```js', row.example, '```'].join('\n'),
].join('\n\n');

/** The anchor of a heading such as "### nn.linear". */
const anchorOf = (name) => name.toLowerCase().replaceAll('.', '');

const GENERATED = 'Generated from `src/tensor/functions.def` and `src/graph/ops.def` by `scripts/gen-api.mjs`.';

const page = (group, table) => {
  const mine = table.functions.filter((fn) => fn.group === group);
  const own = new Set(table.functions.flatMap(({ names }) => names));
  const rowNames = new Set(table.rows.map(({ js }) => js));
  const rows = group.title === 'Elementwise' ? table.rows.filter(({ js }) => !own.has(js)) : [];
  return [
    `# ${group.title}`,
    GENERATED,
    [group.text, group.js, group.c && `In C ${group.c}`].filter(Boolean).join(' '),
    ...mine.map((fn) => section(fn, rowNames)),
    ...rows.map(rowSection),
  ].filter(Boolean).join('\n\n') + '\n';
};

const index = (table, packages) => {
  const own = new Set(table.functions.flatMap(({ names }) => names));
  const link = (group, name) => `[${name}](${pageOf(group)}#${name.toLowerCase()})`;
  const lines = table.groups.map((group) => {
    const names = table.functions.filter((fn) => fn.group === group).flatMap((fn) => fn.names);
    const rows = group.title === 'Elementwise' ? table.rows.map(({ js }) => js).filter((name) => !own.has(name)) : [];
    return `## [${group.title}](${pageOf(group)})\n\n${[...names, ...rows].map((name) => link(group, name)).join(' · ')}`;
  });
  const others = packages.map(({ title, file, names }) =>
    `## [${title}](${file})\n\n${names.map((name) => `[${name.replace(`${title}.`, '')}](${file}#${anchorOf(name)})`).join(' · ')}`);
  return `# Reference

${GENERATED}
The pages behind them, of the package itself and its namespaces, come from the declarations of \`js/src/\`.

Every public function of tensors is a function of the package, \`sn.sum(x)\`, and, if its first argument is a
tensor, a method, \`x.sum()\`. Wherever a tensor is taken, a number, nested arrays and typed arrays are, too. Options are
the last argument, an object; an unknown one is an error. In C options are arguments, in the order given here.
${table.aliases.map(({ name, of }) => `\`${name}\` is another name of \`${of}\`.`).join(' ')}

${[...lines, ...others].join('\n\n')}
`;
};

/** The pages by file name; packages: the pages of what is not in the table. */
export const reference = (table, packages) =>
  Object.fromEntries([
    ['README.md', index(table, packages)],
    ...table.groups.map((group) => [pageOf(group), page(group, table)]),
    ...packages.map(({ file, text }) => [file, text]),
  ]);
