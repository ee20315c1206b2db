// write-packages.mjs - writes the part of docs/reference that does not come from the table: the other exports of
// js/src/index.ts, read from its declarations and their doc comments. Nothing is listed here by hand. Each namespace (nn,
// optim, random ...) is a page. The exports of the package itself are one page, with a part for each file.
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import ts from 'typescript';
import { root } from './proc.mjs';

const SOURCE = join(root, 'js/src');
const files = new Map();

/** A parsed file of js/src. Generated files are left out: they come from the table. */
const parsed = (path) => {
  if (!files.has(path)) files.set(path, ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true));
  return files.get(path);
};

const fileOf = (from, module) => join(dirname(from), module.text.replace(/\.js$/, '.ts'));
const isGenerated = (path) => path.endsWith('.gen.ts');
const isExported = (node) => node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;

/** The names that a statement declares, with the node that their comment and text belong to. */
const declared = (statement) => {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.map((node) => [node.name.text, node]);
  return statement.name ? [[statement.name.text, statement]] : [];
};

const tagged = (node, tag) => ts.getJSDocTags(node).some(({ tagName }) => tagName.text === tag);

/** The public exports of a file, { name, node, path }, in the order of the text. */
const exportsOf = (path) => {
  const found = [];
  for (const statement of parsed(path).statements) {
    if (isExported(statement)) {
      for (const [name, node] of declared(statement)) found.push({ name, node, path });
    }
    if (!ts.isExportDeclaration(statement) || !statement.moduleSpecifier || tagged(statement, 'internal')) continue;
    const from = fileOf(path, statement.moduleSpecifier);
    if (isGenerated(from)) continue;
    const { exportClause } = statement;
    if (!exportClause) found.push(...exportsOf(from));
    else if (ts.isNamespaceExport(exportClause)) found.push({ name: exportClause.name.text, namespace: from });
    else {
      const theirs = new Map(exportsOf(from).map((each) => [each.name, each]));
      for (const { name, propertyName } of exportClause.elements) {
        const meant = theirs.get((propertyName ?? name).text);
        if (meant) found.push({ ...meant, name: name.text });
      }
    }
  }
  return found.filter(({ node }) => !node || !tagged(node, 'internal'));
};

/** The text of a doc comment, up to a tag at the beginning of a line: each paragraph on one line, code blocks unchanged.
 *  Read from the source, because TypeScript takes every word with an @ for a tag. */
export const docOf = (node) => {
  const holder = ts.isVariableDeclaration(node) ? node.parent.parent : node;
  const [doc] = ts.getJSDocCommentsAndTags(holder);
  const lines = (doc?.getText() ?? '').replace(/^\/\*\*|\*\/$/g, '').split('\n').map((line) => line.replace(/^\s*\* ?/, ''));
  const tag = lines.findIndex((line) => /^\s*@\w/.test(line));
  const text = lines.slice(0, tag < 0 ? undefined : tag).join('\n');
  return text.split(/\n\s*\n/).map((part) => (/^ {4}/.test(part) ? part : part.replace(/\s*\n\s*/g, ' ').trim())).join('\n\n');
};

/** The first comment of a file, which says what the file does. */
const headOf = (path) => {
  const lines = parsed(path).text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('// '));
  return lines.slice(0, end).map((line) => line.slice(3)).join(' ');
};

const text = (node) => node.getText().replace(/\s+/g, ' ').replace(/,? ([)\]}])/g, ' $1').replace(/\( /g, '(').replace(/ \)/g, ')');

const functionOf = (node) => {
  if (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isMethodSignature(node)) return node;
  const value = ts.isVariableDeclaration(node) ? node.initializer : undefined;
  return value && (ts.isArrowFunction(value) || ts.isFunctionExpression(value)) ? value : null;
};

/** "name(a, b = 1): T", without arguments that only catch mistakes. */
const signature = (name, node) => {
  const shown = node.parameters.filter(({ name: each }) => each.getText() !== 'extra').map(text);
  const types = node.typeParameters ? `<${node.typeParameters.map(text).join(', ')}>` : '';
  return `${name}${types}(${shown.join(', ')})${node.type ? `: ${text(node.type)}` : ''}`;
};

const cell = (value) => value.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ');

const memberRow = (member) => {
  const isMethod = ts.isMethodSignature(member) || ts.isMethodDeclaration(member);
  const name = text(member.name);
  const shown = isMethod ? signature(name, member) : `${name}${member.questionToken ? '?' : ''}${member.type ? `: ${text(member.type)}` : ''}`;
  return `| \`${cell(shown)}\` | ${cell(docOf(member))} |`;
};

const isShown = (member) => {
  const modifiers = member.modifiers?.map(({ kind }) => kind) ?? [];
  const name = member.name && ts.isIdentifier(member.name);
  const hidden = modifiers.includes(ts.SyntaxKind.PrivateKeyword) || modifiers.includes(ts.SyntaxKind.StaticKeyword);
  return name && !hidden && !tagged(member, 'internal') && !ts.isConstructorDeclaration(member);
};

const members = (node) => {
  const rows = (node.members ?? []).filter(isShown).map(memberRow);
  return rows.length ? ['| | |\n|---|---|', ...rows].join('\n') : '';
};

const section = ({ name, node }, prefix) => {
  const called = `${prefix}${name}`;
  const overloads = ts.isFunctionDeclaration(node) ? node.parent.statements.filter((each) => ts.isFunctionDeclaration(each) && each.name?.text === node.name.text) : [];
  const signed = overloads.filter((each) => !each.body);
  const fn = functionOf(node);
  const code = fn ? (signed.length ? signed : [fn]).map((each) => signature(called, each)) : null;
  const types = !fn && ts.isTypeAliasDeclaration(node) ? [text(node)] : null;
  const base = node.heritageClauses?.map(text).join(' ');
  return [
    `### ${called}`,
    (code ?? types) && ['```ts', ...(code ?? types), '```'].join('\n'),
    docOf(overloads[0] ?? node),
    base && `With those of its base: \`${base}\`.`,
    !fn && members(node),
  ].filter(Boolean).join('\n\n');
};

const isFunction = ({ node }) => functionOf(node) !== null;
const isClass = ({ node }) => ts.isClassDeclaration(node);
const isType = ({ node }) => ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);

/** Functions and classes first, then types. Overloads are described once, with the first of their name. */
const sections = (list, prefix) => {
  const once = list.filter(({ name }, i) => list.findIndex((each) => each.name === name) === i);
  return [...once.filter(isFunction), ...once.filter(isClass), ...once.filter(isType)].map((each) => section(each, isType(each) ? '' : prefix));
};

const GENERATED = 'Generated from the declarations of `js/src/` by `scripts/gen-api.mjs`.';

const pageOf = (title, parts) => ({
  title,
  file: `${title.replaceAll(' ', '-')}.md`,
  names: parts.flatMap(({ list, prefix }) => list.filter(isFunction).map(({ name }) => `${prefix}${name}`)).filter((name, i, all) => all.indexOf(name) === i),
  text: `${[`# ${title}`, GENERATED, ...parts.flatMap(({ path, list, prefix }) => [
    parts.length > 1 && `## ${basename(path, '.ts')}`,
    headOf(path),
    ...sections(list, prefix),
  ])].filter(Boolean).join('\n\n')}\n`,
});

/** The parts of a page, one for each file that declares some of its contents. */
const byFile = (list, prefix) => {
  const paths = [...new Set(list.map(({ path }) => path))];
  return paths.map((path) => ({ path, list: list.filter((each) => each.path === path), prefix }));
};

/** The parts of a namespace's page. A namespace inside it is a part with its own prefix. */
const partsOf = (namespace, prefix) => {
  const all = exportsOf(namespace);
  const inner = all.filter((each) => each.namespace);
  return [
    ...byFile(all.filter(({ node }) => node), prefix),
    ...inner.flatMap((each) => partsOf(each.namespace, `${prefix}${each.name}.`)),
  ];
};

/** The pages: { title, file, names, text }. */
export const packagePages = () => {
  const all = exportsOf(join(SOURCE, 'index.ts'));
  const own = all.filter(({ node }) => node);
  const namespaces = all.filter(({ namespace }) => namespace);
  return [
    pageOf('package', byFile(own, '')),
    ...namespaces.map(({ name, namespace }) => pageOf(name, partsOf(namespace, `${name}.`))),
    pageOf('logic', partsOf(join(SOURCE, 'logic/index.ts'), 'logic.')),
    pageOf('gguf', partsOf(join(SOURCE, 'gguf/index.ts'), 'gguf.')),
    pageOf('llm', partsOf(join(SOURCE, 'llm/index.ts'), 'llm.')),
    pageOf('onnx', partsOf(join(SOURCE, 'onnx/index.ts'), 'onnx.')),
    pageOf('report', partsOf(join(SOURCE, 'report/index.ts'), 'report.')),
    pageOf('export', partsOf(join(SOURCE, 'export/index.ts'), '')),
    pageOf('standalone', partsOf(join(SOURCE, 'standalone/index.ts'), '')),
    pageOf('parallel', partsOf(join(SOURCE, 'parallel/index.ts'), '')),
    pageOf('webgpu', partsOf(join(SOURCE, 'webgpu/index.ts'), '')),
  ];
};
