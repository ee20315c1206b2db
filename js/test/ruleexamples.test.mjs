// The programs that a page offers, and those of docs/logic.md.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import * as sn from 'sinter';
import * as logic from 'sinter/logic';

before(() => sn.init());

const solved = (name, options = {}) => {
  const { text, options: own, params = {} } = logic.ruleExamples.find((example) => example.name === name);
  const p = logic.program(text, { ...own, ...options });
  p.solve({ params: Object.fromEntries(Object.entries(params).map(([domain, rows]) => [domain, sn.tensor(rows)])) });
  return p;
};

test('family', () => {
  const p = solved('family');
  assert.deepEqual(p.queries().map(({ answers }) => answers.map(({ x }) => x)), [['cleo', 'dan', 'eva', 'finn', 'gina', 'hugo'], ['finn', 'gina']]);
  assert.deepEqual(p.rows('Childless'), [['eva'], ['gina'], ['hugo']]);
});

test('graph', () => {
  const p = solved('graph');
  assert.deepEqual(p.query('Way(0, x)').map(({ x }) => x), [1, 2, 3, 4, 5]);
  assert.deepEqual(p.rows('OnCycle'), [[1], [2], [3]]);
  assert.deepEqual(p.rows('DeadEnd'), [[5], [8]]);
  assert.deepEqual(p.rows('Reach'), p.rows('Way'));
  assert.ok(p.rows('NoReturn').every(([x, y]) => p.value(`Way(${y}, ${x})`) === 0));
  assert.deepEqual(p.tensor('Degree').toArray(), [1, 1, 1, 2, 1, 0, 1, 1, 0, 0]);
});

test('access', () => {
  const p = solved('access');
  assert.deepEqual(p.rows('May'), [['ann', 'news'], ['ann', 'drafts'], ['ann', 'accounts'], ['ben', 'drafts'], ['cleo', 'news']]);
});

test('grammar', () => {
  const p = solved('grammar');
  assert.deepEqual(p.query('Sentence(0, x)'), [{ x: 4 }, { x: 6 }]);
  assert.match(p.explain('Sentence(0, 6)').text, /^Sentence\(0, 6\) {4}rule 8 /);
});

test('links', () => {
  assert.deepEqual(solved('links', { temperature: 0 }).rows('Hunts'), [['cat']]);
  const p = solved('links');
  assert.deepEqual(p.rows('Hunts'), [['cat'], ['tiger']]);
  assert.ok(p.value("Rivals('cat', 'tiger')") > 0.5);
});

test('the document of rules prints what it says', async () => {
  const [, rules] = readFileSync(new URL('../../docs/logic.md', import.meta.url), 'utf8').split(/^## Rules$/m);
  const code = [...rules.split(/^## /m)[0].matchAll(/^```js\n(.*?)^```/gms)].map(([, block]) => block.replaceAll(/^import .*$/gm, ''));
  const printed = [];
  const AsyncFunction = (async () => {}).constructor;
  await new AsyncFunction('sn', 'logic', 'console', code.join('\n'))(sn, logic, { log: (x) => printed.push(x) });
  assert.deepEqual(printed.slice(0, 3), [{ iterations: 3 }, 6, [{ x: 8 }, { x: 9 }, { x: 12 }]]);
  assert.deepEqual(printed.at(-1), [[6, 1], [7, 3]]);
});
