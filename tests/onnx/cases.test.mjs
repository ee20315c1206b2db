// ONNX's own cases: exactly those pass that expected.mjs does not name, and docs/onnx.md says so.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { docs, runAll } from './coverage.mjs';
import { NOT_PASSING, passes } from './expected.mjs';

const results = await runAll();

test('all cases but the named ones pass', () => {
  const failed = results.filter((result) => !passes(result));
  for (const { name, problem, error } of failed) {
    if (!Object.values(NOT_PASSING).flat().includes(name)) console.log(name, problem ?? error);
  }
  assert.deepEqual(failed.map(({ name }) => name).sort(), Object.values(NOT_PASSING).flat().sort());
});

test('at least 91 % of 1,331 cases pass', () => {
  assert.equal(results.length, 1331);
  assert.ok(results.filter(passes).length >= 0.91 * 1331);
});

test('what is not known is a typed error that says so', () => {
  const untyped = results.filter(({ problem, name }) => problem && !('code' in problem) && !/more than int32/.test(problem.message) && !/differs/.test(name));
  assert.deepEqual(untyped.map(({ name, problem }) => `${name}: ${problem.message}`), []);
});

test('docs/onnx.md is current', () => {
  const { now, wanted } = docs(results);
  assert.equal(now, wanted, 'run node tests/onnx/write-docs.mjs');
});
