// Every block of code in the documents is what it is marked as (site/blocks.mjs): programs are run, and print what stands
// beside them; C is compiled and run, TypeScript is compiled, fragments are parsed. A reader who pastes one gets what it says.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { blocksOf, isAsSaid, programsOf, saidBy } from '../../site/blocks.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MADE = join(ROOT, 'build/documents'); /* inside the tree, where 'sinter' is found */
const inFolder = (folder) => readdirSync(join(ROOT, folder), { recursive: true }).filter((name) => name.endsWith('.md')).sort().map((name) => `${folder}/${name}`);
const DOCUMENTS = ['README.md', 'js/README.md', 'SECURITY.md', 'src/README.md', ...inFolder('docs')]
  .map((name) => ({ name, text: readFileSync(join(ROOT, name), 'utf8') }))
  .map(({ name, text }) => ({ name, text, blocks: blocksOf(text, name) }));
const of = (name) => DOCUMENTS.find((each) => each.name === name).blocks;
const kind = (wanted) => DOCUMENTS.flatMap(({ name, blocks }) => blocks.filter((block) => block.kind === wanted).map((block) => ({ name, ...block })));

const MARK = '\u0001';

/** The module of a program; before each block it prints MARK. */
const moduleOf = (program) => program.map(({ setup, code }) => `${setup}console.log('${MARK}');\n${code}`).join('\n');

const linesOf = (text) => text.trimEnd().split('\n').filter((line, i, all) => line || all.length > 1);

/** Runs the programs of a document one after the other in one process; resolves to what each block printed. */
const printedBy = async (name, programs, cwd) => {
  const base = join(MADE, name.replaceAll(/[/.]/g, '-'));
  programs.forEach((program, i) => writeFileSync(`${base}-${i}.mjs`, moduleOf(program)));
  writeFileSync(`${base}.mjs`, programs.map((_, i) => `await import('${base}-${i}.mjs');\n`).join(''));
  const { stdout } = await promisify(execFile)(process.execPath, [`${base}.mjs`], { cwd, encoding: 'utf8' });
  return stdout.split(`${MARK}\n`).slice(1).map(linesOf);
};

const NATIVE = join(ROOT, 'build/native');

/** Compiles the C programs of a document and runs them in a folder. Returns what each printed. */
const printedInC = (programs, folder) => programs.map(({ code }, i) => {
  const program = join(folder, `program-${i}`);
  writeFileSync(`${program}.c`, code);
  execFileSync('cc', ['-std=c11', '-Wall', '-Wextra', '-Werror', '-I', join(ROOT, 'include'), '-I', join(NATIVE, 'include'), `${program}.c`,
    join(NATIVE, 'libsinter.a'), '-lm', '-lpthread', '-o', program]);
  return linesOf(execFileSync(program, { cwd: folder, encoding: 'utf8' }));
});

const assertAsSaid = (name, blocks, printed) => blocks.forEach((block, i) => {
  const said = saidBy(block);
  if (!isAsSaid(printed[i], said)) assert.deepEqual(printed[i], said, `${name}:${block.line}`);
});

mkdirSync(MADE, { recursive: true });

describe('the programs print what stands beside them', { concurrency: 2 }, () => {
  for (const { name, blocks } of DOCUMENTS) {
    const programs = programsOf(blocks);
    const inC = blocks.filter((block) => block.kind === 'C program');
    if (!programs.length && !inC.length) continue;
    test(name, async () => {
      // Programs in C find the files that the others of their document wrote.
      const folder = inC.length ? mkdtempSync(join(tmpdir(), 'sinter-readme-')) : ROOT;
      try {
        assertAsSaid(name, programs.flat(), await printedBy(name, programs, folder));
        assertAsSaid(name, inC, printedInC(inC, folder));
      } finally {
        if (folder !== ROOT) rmSync(folder, { recursive: true });
      }
    });
  }
});

test('what is printed otherwise, or not, or more than is said, is noticed', () => {
  const [program] = programsOf(blocksOf("```js\nimport * as sn from 'sinter';\n```\n\n```js\nconsole.log(1); // 1\nconsole.log(2) // 2\n```\n\n```js\nf();\n```\n```output\na … c\n```\n\n```js\ng();\n```\n```output sample\n3 ms\n```\n", 'x.md'));
  assert.deepEqual(program.map(saidBy), [[], ['1', '2'], ['a … c'], null]);
  const right = [[[], []], [['a b c'], ['a … c']], [['(x.y)'], ['(x.y)']], [['4 ms'], null]];
  const wrong = [[['1'], []], [[], ['1']], [['a b d'], ['a … c']], [['1'], ['2']], [['xay'], ['x.y']], [['12'], ['1']], [[], null]];
  for (const [printed, said] of right) assert.ok(isAsSaid(printed, said), said);
  for (const [printed, said] of wrong) assert.ok(!isAsSaid(printed, said), printed);
  assert.throws(() => blocksOf('```js later\n```\n', 'x.md'), /x.md:1: no block is called "js later"/);
  assert.throws(() => blocksOf('```python\n```\n', 'x.md'), /x.md:1/);
});

test('files that documents name are there', () => {
  const named = /^(?:src|js|wasm|tests|scripts|site|docs|bench|tools|include|web)\/[\w./*-]+$/;
  const files = DOCUMENTS.flatMap(({ name, text }) => [...text.replace(/^```[^]*?^```$/gm, '').matchAll(/`([^`\n]+)`/g)]
    .map(([, file]) => ({ name, file })).filter(({ file }) => named.test(file) && !file.includes('/dist')));
  assert.ok(files.length > 200, `${files.length} files`);
  assert.deepEqual(files.filter(({ file }) => !existsSync(join(ROOT, file.replace(/[^/]*\*.*/, '')))), []);
});

test('docs/platforms.md names the oldest Node that js/package.json allows', () => {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'js/package.json'), 'utf8'));
  assert.equal(engines.node, '^20.16.0 || >=22.3.0');
  assert.match(DOCUMENTS.find(({ name }) => name === 'docs/platforms.md').text, /\| Node \| 20\.16 or newer, 22\.3 or newer \|/);
});

test('fragments, programs for a device and examples are parsed', () => {
  const found = ['fragment', 'device program', 'example'].flatMap(kind);
  assert.ok(found.length > 100);
  for (const { name, line, language, code } of found) {
    if (language === 'c') continue;
    const { diagnostics } = ts.transpileModule(code, { reportDiagnostics: true, compilerOptions: { target: 'esnext', module: 'esnext' } });
    assert.deepEqual(diagnostics.map(({ messageText }) => messageText), [], `${name}:${line}`);
  }
});

test('the JavaScript program learns to multiply', () => {
  const [program] = programsOf(of('README.md'));
  const file = join(MADE, 'multiply.mjs');
  writeFileSync(file, program[0].code);
  const output = execFileSync(process.execPath, [file], { encoding: 'utf8' });
  const answer = Number(/= (-?[\d.]+)/.exec(output)?.[1]);
  assert.ok(Math.abs(answer - -0.3) < 0.05, output);
});

test('TypeScript compiles', () => {
  const files = kind('types').map(({ code }, i) => {
    writeFileSync(join(MADE, `types-${i}.mts`), code);
    return join(MADE, `types-${i}.mts`);
  });
  assert.ok(files.length > 0);
  const tsc = createRequire(import.meta.url).resolve('typescript/lib/tsc.js');
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022', '--module', 'nodenext', '--typeRoots', 'none'];
  execFileSync(process.execPath, [tsc, ...options, ...files], { encoding: 'utf8', stdio: ['ignore', 'inherit', 'inherit'] });
});
