// The programs in README.md are run as they stand there: a reader who pastes them gets what it says.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

const block = (language, having) => {
  const blocks = [...README.matchAll(new RegExp('```' + language + '\\n([^]*?)```', 'g'))].map((match) => match[1]);
  const found = blocks.find((text) => text.includes(having));
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
