// The programs in README.md and js/README.md are run as they stand there: a reader who pastes them gets what it says.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const PACKAGE_README = readFileSync(join(ROOT, 'js/README.md'), 'utf8');

const blocksOf = (text, language) =>
  [...text.matchAll(new RegExp('```' + language + '\\n([^]*?)```', 'g'))].map((match) => match[1]);

const block = (language, having) => {
  const found = blocksOf(README, language).find((text) => text.includes(having));
  assert.ok(found, `README.md has a ${language} program with ${having}`);
  return found;
};

test('the JavaScript program learns to multiply', () => {
  const file = join(ROOT, 'build', 'readme-example.mjs'); /* inside the tree, where 'sinter' is found */
  writeFileSync(file, block('js', 'trainStep'));
  const output = execFileSync(process.execPath, [file], { encoding: 'utf8' });
  const answer = Number(/= (-?[\d.]+)/.exec(output)?.[1]);
  assert.ok(Math.abs(answer - -0.3) < 0.05, output);
});

test('the C program finds the line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sinter-readme-'));
  try {
    const source = join(folder, 'example.c');
    writeFileSync(source, block('c', 'int main'));
    const build = join(ROOT, 'build/native');
    execFileSync('cc', ['-std=c11', '-Wall', '-Werror', '-I', join(ROOT, 'include'), '-I', join(build, 'include'), source,
      join(build, 'libsinter.a'), '-lm', '-lpthread', '-o', join(folder, 'example')]);
    assert.match(execFileSync(join(folder, 'example'), { encoding: 'utf8' }), /y = (2\.000|1\.999) x \+ (1\.00[0-2]|0\.99[89])/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** Runs programs as one, and compares what they print with what stands beside it. */
const runsAsItSays = (text, name, least) => {
  const program = blocksOf(text, 'js').join('\n');
  const file = join(ROOT, 'build', name);
  writeFileSync(file, program);
  const output = execFileSync(process.execPath, [file], { encoding: 'utf8' });
  const said = [...program.matchAll(/console\.log\(.*\); \/\/ (.*)/g)].map((match) => match[1]);
  assert.ok(said.length >= least, `${said.length} lines of output`);
  assert.deepEqual(output.trimEnd().split('\n'), said);
};

test('the programs of js/README.md, one after the other, print what stands beside them', () => {
  runsAsItSays(PACKAGE_README, 'package-readme-example.mjs', 8);
});

test('so do those of circuits in docs/logic.md', () => {
  const [circuits] = readFileSync(join(ROOT, 'docs/logic.md'), 'utf8').split(/^## Rules$/m);
  runsAsItSays(circuits, 'logic-example.mjs', 8);
});

test('so does that of docs/onnx.md', () => {
  runsAsItSays(readFileSync(join(ROOT, 'docs/onnx.md'), 'utf8'), 'onnx-example.mjs', 4);
});

test('the TypeScript of js/README.md compiles', () => {
  const folder = join(ROOT, 'build/readme-types'); /* inside the tree, where 'sinter' is found */
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'example.mts');
  writeFileSync(file, blocksOf(PACKAGE_README, 'ts').join('\n'));
  const tsc = createRequire(import.meta.url).resolve('typescript/lib/tsc.js');
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022', '--module', 'nodenext', '--typeRoots', 'none'];
  execFileSync(process.execPath, [tsc, ...options, file], { encoding: 'utf8', stdio: ['ignore', 'inherit', 'inherit'] });
});
