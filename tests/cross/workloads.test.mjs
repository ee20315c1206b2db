// The benches' workloads are written twice, in C and in JavaScript: both sides compute the same bits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crossCheck } from '../../bench/run.mjs';
import { workloads } from '../../bench/workloads.mjs';

test('every workload of the benches has equal bits natively and in WebAssembly', async () => {
  const { rows, different } = await crossCheck(['native', 'wasm'], workloads);
  assert.equal(rows.length, workloads.length);
  assert.deepEqual(different, []);
});
