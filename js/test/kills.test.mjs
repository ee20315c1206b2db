// Workers ended at random moments, with asynchronous and synchronous calls mixed. `npm test -- kills` ends more.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { summary } from '../../tests/kills/campaign.mjs';
import { runInNode } from '../../tests/kills/node.mjs';

test('everything settles, nothing is wrong', async (t) => {
  const found = await runInNode({ kills: 25, seed: 1 });
  t.diagnostic(summary(found));
  assert.deepEqual([found.wrong, found.hung, found.raw], [[], [], []]);
});
