// The same cases have equal bits natively, in the module with one thread and in the one with threads.
// Deterministic mode is compared across all of them; the default mode within one build, where only the
// number of threads differs.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newerNode, root, systemNode } from '../../scripts/lib/proc.mjs';
import { writeCases } from './cases.mjs';

const native = join(root, 'build/native/tests/native/cross_cases');
const evaluate = join(root, 'tests/cross/evaluate.mjs');
const arrays = { float32: Float32Array, float64: Float64Array, int32: Int32Array, bool: Uint8Array };

const output = (command, args, input = '') => new Promise((resolve, reject) => {
  const child = spawn(command, args);
  const chunks = [];
  let complaints = '';
  child.stdout.on('data', (chunk) => chunks.push(chunk));
  child.stderr.on('data', (chunk) => (complaints += chunk));
  child.on('error', reject);
  child.on('close', (code) => {
    if (code === 0) resolve(Buffer.concat(chunks).toString());
    else reject(new Error(`${command} ${args.join(' ')}: exit code ${code}\n${complaints}`));
  });
  child.stdin.on('error', () => {}); // it ended early; its exit code says so
  child.stdin.end(input);
});

const readOps = (text) => text.trim().split('\n').map((line) => {
  const [name, arity, dtypes, lo, hi] = line.split(' ');
  return { name, arity: Number(arity), dtypes: dtypes.split(','), lo: Number(lo), hi: Number(hi) };
});

const parse = (line) => {
  const [name, dtype, hex = ''] = line.split(' ');
  if (!arrays[dtype]) return { name, values: [line] };
  return { name, values: new arrays[dtype](Uint8Array.from(Buffer.from(hex, 'hex')).buffer) };
};

/** Where two results differ, or ''. Any two NaNs are the same. */
const difference = (expected, actual) => {
  if (expected === actual) return '';
  const [a, b] = [parse(expected), parse(actual)];
  if (a.name !== b.name || a.values.length !== b.values.length) return `${expected} / ${actual}`;
  const at = a.values.findIndex((value, i) => !Object.is(value, b.values[i]));
  return at < 0 ? '' : `${a.name}[${at}]: expected ${a.values[at]}, got ${b.values[at]}`;
};

const compare = (expected, actual) => {
  const [a, b] = [expected, actual].map((text) => text.trim().split('\n'));
  assert.equal(b.length, a.length, 'as many results');
  const differences = a.map((line, i) => difference(line, b[i])).filter(Boolean);
  assert.equal(differences.length, 0, `${differences.length} of ${a.length}:\n${differences.slice(0, 20).join('\n')}`);
};

let cases;
let reference;
before(async () => {
  cases = writeCases(readOps(await output(native, ['--ops'])));
  reference = await output(native, ['1'], cases);
});

const wasm = (node, ...args) => output(node, [evaluate, ...args], cases);

test('the cases have results', () => {
  const lines = reference.trim().split('\n');
  const errors = lines.filter((line) => line.split(' ')[1] === 'error');
  assert.ok(lines.length > 900, `${lines.length} results`);
  assert.deepEqual(errors.map((line) => line.split(' ')[0]), ['refused.matmul', 'refused.add', 'refused.bits'], errors.join('\n'));
});
test('natively with four threads', async () => compare(reference, await output(native, ['4'], cases)));
test('wasm, one thread', async () => compare(reference, await wasm(newerNode(), '0')));
test('wasm, three threads', async () => compare(reference, await wasm(newerNode(), '3')));
test('wasm, the system\'s Node', async () => compare(reference, await wasm(systemNode(), '2')));
test('natively without determinism, one thread and three', async () =>
  compare(await output(native, ['1', 'fast'], cases), await output(native, ['3', 'fast'], cases)));
test('wasm without determinism, one thread and three', async () =>
  compare(await wasm(newerNode(), '0', 'fast'), await wasm(newerNode(), '3', 'fast')));
