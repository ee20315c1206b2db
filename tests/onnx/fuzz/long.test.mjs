// A million damaged ONNX files, from SINTER_TEST_SEED on, or 1.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../../../js/dist/index.js';
import { CASES, casesIn, unpack } from '../coverage.mjs';
import { fuzz, seeds } from '../mutate.mjs';

await sn.init({ threads: 1, maxMemory: 1 << 28 });

test('a million damaged files are refused or run, and leave no memory behind', () => {
  unpack();
  const count = Number(process.env.SINTER_TEST_DAMAGES ?? 1e6);
  const seen = fuzz(seeds(CASES, casesIn(CASES), 1), count, Number(process.env.SINTER_TEST_SEED ?? 1));
  console.log(JSON.stringify(seen));
  assert.equal(seen.ran + seen.refused, count);
  assert.equal(sn.memory().tensors, 0);
});
