// The package as npm would publish it, and the simplest of its consumers; npm test -- bundlers tries the others.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
/** Inside the tree, where 'sinter' is found. One for each Node: their suites may run side by side. */
const FOLDER = join(PACKAGE, '../build/consumers', process.version);
const MOST_FILES = 32;

const program = (sn) => `${sn}.init().then(async ({ threads, reasons }) => {
  const a = ${sn}.tensor([[1, 2], [3, 4]]);
  console.log(JSON.stringify({ product: [...await ${sn}.matmul(a, a).data()], threads, reasons }));
}).catch(({ name, code, message }) => console.log(JSON.stringify({ name, code, message })));\n`;

/** Writes a program into a fresh folder, runs it there and returns what it printed. */
const runIn = (name, text) => {
  const file = join(FOLDER, name);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
  return JSON.parse(execFileSync(process.execPath, [file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));
};

/** platform neutral: nothing stands for import.meta.url where the format has none. */
const bundled = async (name, from, format, text = `import * as sn from '${from}';\n${program('sn')}`) => {
  const entry = join(FOLDER, `${name}.entry.mjs`);
  writeFileSync(entry, text);
  const bundle = await rolldown({ input: entry, platform: 'neutral', logLevel: 'silent' });
  const { output } = await bundle.generate({ format });
  await bundle.close();
  return output[0].code;
};

before(() => {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
});

test('the tarball holds few files, the license among them, and all that package.json names', () => {
  const json = execFileSync('npm', ['pack', '--dry-run', '--json'], { cwd: PACKAGE, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const [{ files }] = Object.values(JSON.parse(json)).flat();
  const paths = files.map(({ path }) => path);
  assert.ok(paths.length <= MOST_FILES, paths.join());
  for (const path of ['LICENSE', 'SECURITY.md', 'README.md']) assert.ok(paths.includes(path), path);
  const { main, types, exports, homepage, repository, keywords } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
  const named = [main, types, ...Object.values(exports).flatMap((target) => (typeof target === 'string' ? target : Object.values(target)))];
  for (const path of named) assert.ok(paths.includes(path.replace('./', '')), path);
  for (const field of [homepage, repository.url, keywords.length]) assert.ok(field);
});

test('the declarations give typed arrays no type parameter, which they have only from TypeScript 5.7 on', () => {
  const { exports } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
  for (const { types } of Object.values(exports)) {
    if (types) assert.doesNotMatch(readFileSync(join(PACKAGE, types), 'utf8'), /\b(?:Float|Int|Uint|BigInt|BigUint)\d+(?:Clamped)?Array</, types);
  }
});

test('import and require, of the package and of its one-file build', () => {
  for (const [from, many] of [['sinter', true], ['sinter/inline', false]]) {
    const name = from.replace('/', '-');
    for (const result of [
      runIn(`${name}.mjs`, `import * as sn from '${from}';\n${program('sn')}`),
      runIn(`${name}.cjs`, `const sn = require('${from}');\n${program('sn')}`),
    ]) {
      assert.deepEqual(result.product, [7, 10, 15, 22], result.message);
      assert.equal(result.reasons.some((reason) => reason.startsWith('one thread')), !many);
    }
  }
});

test('a bundle runs with the files beside it, its worker also where scripts are CommonJS', async () => {
  const folder = join(FOLDER, 'beside');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{}');
  for (const name of ['sinter.wasm', 'sinter-mt.wasm', 'worker.js']) copyFileSync(join(PACKAGE, 'dist', name), join(folder, name));
  const { product, reasons } = runIn('beside/main.mjs', await bundled('beside', 'sinter', 'esm'));
  assert.deepEqual(product, [7, 10, 15, 22]);
  assert.ok(!reasons.some((reason) => reason.includes('thread')), reasons.join());
});

test('a bundle without the files says which they are', async () => {
  const { name, code, message } = runIn('alone/main.mjs', await bundled('alone', 'sinter', 'esm'));
  assert.deepEqual([name, code], ['SinterError', 'load']);
  assert.match(message, /^init: .*sinter\.wasm, sinter-mt\.wasm and worker\.js.*init\(\{ wasm: url \}\).*sinter\/inline/s);
});

test('a bundle that does not know its own URL says what to do', async () => {
  for (const format of ['iife', 'cjs']) {
    const { name, message } = runIn(`${format}.cjs`, await bundled(format, 'sinter', format));
    assert.equal(name, 'SinterError', message);
    assert.match(message, /^init: .*init\(\{ wasm \}\).*sinter\/inline/s);
    const { product } = runIn(`${format}-inline.cjs`, await bundled(`${format}-inline`, 'sinter/inline', format));
    assert.deepEqual(product, [7, 10, 15, 22]);
  }
});

test('a bundle has no more than what it names: of the package, and of what sinter/logic needs of it', async () => {
  for (const [name, text] of [
    ['names', "import * as sn from 'sinter';\nimport { nn } from 'sinter';\nconsole.log(sn.tensor, nn.linear);\n"],
    ['names-logic', "import { gates } from 'sinter/logic';\nconsole.log(gates);\n"],
  ]) {
    const code = await bundled(name, '', 'esm', text);
    assert.match(code, /matmul/); // a method of every tensor
    assert.doesNotMatch(code, /safetensors|odeint/, name);
  }
});
