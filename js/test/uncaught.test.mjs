// The first thing that most users see go wrong: an error that nobody caught, as Node writes it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const INDEX = new URL('../dist/index.js', import.meta.url).href;
const LONGEST_LINE = 160;

const stderrOf = (program) => {
  const source = `import * as sn from ${JSON.stringify(INDEX)};\nawait sn.init({ threads: 1 });\n${program}`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' });
  assert.equal(status, 1, stderr);
  return stderr;
};

test('an uncaught error is its class and message, short', () => {
  const stderr = stderrOf('sn.matmul(sn.zeros([2, 3]), sn.zeros([4, 5]));');
  const lines = stderr.split('\n');
  const message = 'ShapeError: matmul: inner dimensions differ: a (2, 3), b (4, 5)';
  // Above it Node shows where the error was thrown: a place, one line of code and a mark.
  assert.ok(lines.slice(0, 5).includes(message), stderr);
  assert.ok(stderr.length < 2000, `${stderr.length} bytes`);
  assert.ok(Math.max(...lines.map((line) => line.length)) < LONGEST_LINE, stderr);
});

test('each class is named in the stack and is not an own property', () => {
  const stderr = stderrOf("throw new sn.DisposedError('add', 'the tensor was disposed');");
  assert.match(stderr, /^DisposedError: add: the tensor was disposed$/m);
  assert.doesNotMatch(stderr, /name:/);
});

test('code that an error may show has lines of human length', () => {
  for (const name of ['index.js', 'worker.js']) {
    const text = readFileSync(new URL(`../dist/${name}`, import.meta.url), 'utf8');
    assert.ok(Math.max(...text.split('\n').map((line) => line.length)) < 400, name);
  }
});
