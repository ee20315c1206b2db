// Files damaged by chance; npm test -- onnx-files tries a million.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../../js/dist/index.js';
import { CASES, casesIn, unpack } from './coverage.mjs';
import { fuzz, seeds } from './mutate.mjs';

await sn.init({ threads: 1, maxMemory: 1 << 28 });

test('files damaged by chance are refused or run, and leave no memory behind', () => {
  unpack();
  const files = seeds(CASES, casesIn(CASES), 7);
  assert.ok(files.length > 100);
  const seen = fuzz(files, 10_000);
  assert.ok(seen.ran > 1000 && seen.refused > 1000, JSON.stringify(seen));
  const { tensors, tensorBytes } = sn.memory();
  assert.deepEqual({ tensors, tensorBytes }, { tensors: 0, tensorBytes: 0 });
});
