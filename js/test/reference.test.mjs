// The reference: the example of every public function runs and gives what stands behind it.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import ts from 'typescript';
import * as sn from '../dist/index.js';
import { readFunctions } from '../../scripts/lib/function-table.mjs';
import { docOf } from '../../scripts/lib/write-packages.mjs';
import { assertClose } from './support.mjs';

await sn.init();

const { functions, rows, aliases } = readFunctions();
const run = (code) => new Function('sn', `return ${code}`)(sn);

test('every public function is there, and a method if its first argument is a tensor', () => {
  for (const { names, isMethod } of functions) {
    for (const name of names) {
      assert.equal(typeof sn[name], 'function', name);
      assert.equal(typeof sn.Tensor.prototype[name], isMethod ? 'function' : 'undefined', `method ${name}`);
    }
  }
  for (const { js } of rows) assert.equal(typeof sn.Tensor.prototype[js], 'function', js);
  for (const { name, of } of aliases) assert.equal(sn[name], sn[of], name);
});

for (const { pattern, example } of functions) {
  test(`the example of ${pattern}`, () => sn.tidy(() => {
    const [code, result] = example.split(' // ');
    const value = run(code);
    if (result === undefined) value.dataSync();
    else assertClose(value, run(result), 1e-5);
  }));
}

test('the examples of elementwise functions run', () => {
  for (const { js, example } of rows) {
    const values = sn.tidy(() => [...run(example).dataSync()]);
    assert.ok(values.length > 1 && !values.some(Number.isNaN), `${js}: ${example} is ${values}`);
  }
});

test('docs/reference tells of every function of the package and of its namespaces', () => {
  const folder = new URL('../../docs/reference/', import.meta.url);
  const text = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n');
  const told = new Set([...text.matchAll(/^### (.+)$/gm)].flatMap(([, names]) => names.split(', ')));
  const functionsOf = (of, prefix) => Object.entries(of).flatMap(([name, value]) => {
    if (typeof value === 'function') return [{ name: `${prefix}${name}`, value }];
    return prefix || typeof value !== 'object' ? [] : functionsOf(value, `${name}.`);
  });
  const { internals: _, ...of } = sn; // for the other entry points of the package alone
  const all = functionsOf(of, '');
  const known = new Set(all.filter(({ name }) => told.has(name)).map(({ value }) => value)); // under one name of several
  assert.ok(['random.key', 'jit', 'sum'].every((name) => told.has(name)));
  assert.deepEqual(all.filter(({ value }) => !known.has(value)).map(({ name }) => name), []);
});

test('a doc comment is read to its end, or to a tag at the beginning of a line', () => {
  const source = '/** What a @ b is in Python. Mail\n *  to a @word.\n *\n *      code of @two\n * @internal */\nexport const f = 1;\nconst g = 2;';
  const [f, g] = ts.createSourceFile('x.ts', source, ts.ScriptTarget.Latest, true).statements.map((each) => each.declarationList.declarations[0]);
  assert.equal(docOf(f), 'What a @ b is in Python. Mail to a @word.\n\n     code of @two');
  assert.equal(docOf(g), '');
});
