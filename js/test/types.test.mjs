// The declarations, as a strict TypeScript user sees them, wherever the program is to run and however it finds modules.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const usage = fileURLToPath(new URL('types/usage.ts', import.meta.url));

/** No types of Node in any of them: the declarations must stand without, and without those of a page. */
const PLACES = [
  { module: 'nodenext', lib: 'es2022,dom' },
  { module: 'nodenext', lib: 'es2022' },
  { module: 'node16', lib: 'es2022' },
  { module: 'esnext', moduleResolution: 'bundler', lib: 'es2022,dom' },
  { module: 'esnext', moduleResolution: 'bundler', lib: 'es2022' },
];

const declarations = new Map();

/** The compiler's host, which reads declarations once for all programs, as that of `tsc --build` does. */
const hostOf = (options) => {
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (name, how, ...rest) => {
    const key = `${name} ${how.languageVersion} ${how.impliedNodeFormat}`;
    const found = declarations.get(key) ?? getSourceFile(name, how, ...rest);
    if (found?.isDeclarationFile) declarations.set(key, found);
    return found;
  };
  return host;
};

/** What tsc says with these arguments. */
const compiled = (args) => {
  const { options, fileNames, errors } = ts.parseCommandLine(args);
  const host = hostOf(options);
  const program = ts.createProgram({ rootNames: fileNames, options, host, configFileParsingDiagnostics: errors });
  return ts.formatDiagnostics(ts.getPreEmitDiagnostics(program), host);
};

for (const place of PLACES) {
  test(`they are those of the package's use: ${Object.values(place).join(' ')}`, () => {
    const options = Object.entries({ target: 'es2022', typeRoots: 'none', ...place }).flatMap(([name, value]) => [`--${name}`, value]);
    assert.equal(compiled(['--noEmit', '--strict', '--exactOptionalPropertyTypes', ...options, usage]), '');
  });
}
