// docs/bench.md, its chart and the README's are what bench/bench.json yields; the figures are whole.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FIGURES, rendered } from '../../bench/record.mjs';
import { root } from '../../scripts/lib/proc.mjs';
import { workloads } from '../../bench/workloads.mjs';
import { CASES } from '../../bench/peers/cases.mjs';

const read = (path) => readFileSync(join(root, path), 'utf8');

test('the page and the chart are those of the committed figures', async () => {
  for (const [path, text] of Object.entries(await rendered())) assert.equal(text, read(path), `${path}: node bench/record.mjs --render`);
});

test('the committed figures have every workload and every case, a machine and a date', () => {
  const figures = JSON.parse(read(FIGURES));
  assert.deepEqual(figures.workloads.map(({ name }) => name), workloads.map(({ name }) => name));
  assert.deepEqual(figures.page.cases.map(({ name }) => name), CASES.map(({ name }) => name));
  assert.match(figures.date, /^\d{4}-\d\d-\d\d$/);
  assert.ok(figures.machine.cpu && figures.machine.cores > 0);
  for (const { name, ms } of figures.workloads) assert.ok(ms.native > 0 && ms.page > 0, name);
  for (const { name, ms } of figures.page.cases) assert.ok(ms.sinter > 0, name);
});
