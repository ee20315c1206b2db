// Answers what TypeScript knows about a program: its errors, completions, and the meaning of names. The package's declarations
// stand beside the program in an in-memory file system. It is a worker of its own, loaded when the editor first gets the focus.

import { createSystem, createVirtualTypeScriptEnvironment } from '@typescript/vfs';
import ts from 'typescript';
import sinterTypes from '../../../../js/dist/index.d.ts?raw';
import { answer } from '../../compiler/workers/answer.ts';
import playgroundTypes from '../playground.d.ts?raw';
import type { Description, LanguageMethods, Mistake, Proposals } from '../language-protocol.ts';

const PROGRAM = '/program.ts';
/** The language's standard library, as far as programs have it. */
const LIBRARY = import.meta.glob<string>(
  [
    '../../../../node_modules/typescript/lib/lib.{es5,es2015,es2016,es2017,es2018,es2019,es2020,es2021,es2022}{,.*}.d.ts',
    '../../../../node_modules/typescript/lib/lib.{decorators,decorators.legacy,esnext.disposable}.d.ts',
    '!**/*.full.d.ts',
  ],
  { query: '?raw', import: 'default', eager: true },
);
/** The globals that exist without an import. */
const AROUND = `import type * as all from 'sinter';
declare global {
  const sn: typeof all;
  const console: Record<'log' | 'info' | 'warn' | 'error', (...values: unknown[]) => void>;
}
`;
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ['lib.es2022.d.ts', 'lib.esnext.disposable.d.ts'],
  paths: { sinter: ['/sinter.d.ts'], playground: ['/playground.d.ts'] },
  strict: true,
  // The arguments of a program in the short form have no types.
  noImplicitAny: false,
  skipLibCheck: true,
  types: [],
};
/** The kinds for which the editor has icons. */
const SIGNS: Record<string, string> = {
  function: 'function',
  method: 'method',
  property: 'property',
  getter: 'property',
  const: 'constant',
  let: 'variable',
  var: 'variable',
  parameter: 'variable',
  alias: 'namespace',
  module: 'namespace',
  interface: 'interface',
  type: 'type',
  class: 'class',
  keyword: 'keyword',
};

const files = new Map<string, string>([
  ['/sinter.d.ts', sinterTypes],
  ['/playground.d.ts', playgroundTypes],
  ['/around.d.ts', AROUND],
  [PROGRAM, 'export {};\n'],
]);
for (const [path, text] of Object.entries(LIBRARY)) files.set(`/${path.slice(path.lastIndexOf('/') + 1)}`, text);
const environment = createVirtualTypeScriptEnvironment(createSystem(files), [PROGRAM, '/around.d.ts'], ts, OPTIONS);
const { languageService: service } = environment;

function open(text: string): void {
  if (environment.getSourceFile(PROGRAM)?.text !== text) environment.updateFile(PROGRAM, text === '' ? '\n' : text);
}

/** The text of a declaration, without the lines that say that it is an import. */
const declared = (parts: readonly ts.SymbolDisplayPart[] | undefined): string =>
  said(parts).replace(/^\(alias\) /, '').replace(/\nexport \S+$/, '').replace(/\nimport .*$/, '');

const said = (parts: readonly ts.SymbolDisplayPart[] | undefined): string => ts.displayPartsToString(parts === undefined ? undefined : [...parts]);

function mistakes(text: string): Mistake[] {
  open(text);
  const found = [...service.getSyntacticDiagnostics(PROGRAM), ...service.getSemanticDiagnostics(PROGRAM)];
  return found.map(({ start = 0, length = 0, messageText }) => ({
    from: start,
    to: start + length,
    message: ts.flattenDiagnosticMessageText(messageText, '\n'),
  }));
}

function proposals(text: string, at: number, explicit: boolean): Proposals | null {
  const before = /[\w$]*$/.exec(text.slice(0, at))?.[0] ?? '';
  const isMember = text[at - before.length - 1] === '.';
  if (before === '' && !isMember && !explicit) return null;
  open(text);
  const found = service.getCompletionsAtPosition(PROGRAM, at, {});
  if (found === undefined) return null;
  const options = found.entries
    .filter(({ kind }) => kind !== ts.ScriptElementKind.warning)
    .map(({ name, kind, sortText }) => ({ label: name, type: SIGNS[kind] ?? 'text', order: Number(sortText) || 0 }));
  return { from: at - before.length, options };
}

function details(text: string, at: number, name: string): { code: string; text: string } | null {
  open(text);
  const found = service.getCompletionEntryDetails(PROGRAM, at, name, undefined, undefined, undefined, undefined);
  return found === undefined ? null : { code: declared(found.displayParts), text: said(found.documentation) };
}

function describe(text: string, at: number): Description | null {
  open(text);
  const found = service.getQuickInfoAtPosition(PROGRAM, at);
  if (found === undefined) return null;
  const { start, length } = found.textSpan;
  return { from: start, to: start + length, code: declared(found.displayParts), text: said(found.documentation) };
}

answer<LanguageMethods>({ mistakes, proposals, details, describe }, (error) => ({
  name: 'LanguageError',
  message: String(error),
  hint: '',
  line: null,
  column: null,
}));
