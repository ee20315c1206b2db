// The shaders that a product may have: the fastest by the clock, which is a test's own, and all with the same bits.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { globals } from 'webgpu';
import { lastProduct, tileOf, withClock } from './clock.mjs';
import { asked, settings, start } from './device.mjs';

Object.assign(globalThis, globals);
const kept = new Map();
const NOTHING = '{ }';
globalThis.localStorage = { getItem: (name) => kept.get(name) ?? NOTHING, setItem: (name, value) => kept.set(name, value) };
/** What the device remembers to have found. */
let found;
const { parse } = JSON;
JSON.parse = (text, ...given) => (text === NOTHING ? (found = {}) : parse(text, ...given));
Object.assign(settings, { sharesMemory: true, tune: true });

let sn;
before(async () => {
  sn = await start();
});
/** What was found last is found again then, among shaders that are there: to compile them takes longer here than all else. */
const forget = () => delete found[Object.keys(found).at(-1)];

const normal = (seed, shape) => sn.random.normal(sn.random.key(seed), shape);

/** Of another size, so that the program is another one; that a product reads the first one is its text. */
const copiesOf = (x, count) => sn.stack(Array.from({ length: count }, () => x));

const withFastest = (tile, f) => withClock((code) => tileOf(code) === tile, f);

/** What was found is known by the text, which says where x is read. */
const productOf = (which, m, k) => sn.jit((x, y) => sn.matmul(x.slice([which, 0, 0], [1, m, k]).reshape([m, k]), y), { device: 'webgpu' });

// The second one's terms are cut in parts, which are put together when all of them are there. The last one has another text
// each time.
for (const [m, k, n, ...tiles] of [[257, 101, 258, 64, 0, 32, 128], [66, 530, 70, 64, 0, 32], [33, 40, 36, 32, 0]])
  test(`(${m}, ${k}) x (${k}, ${n}): ${tiles.length} shaders with the same bits`, async () => {
    const [x, y] = [normal(1, [m, k]), normal(2, [k, n])];
    const haveOwnTexts = tiles.length === 2;
    const all = [];
    for (const [fastest, tile] of tiles.entries()) {
      const values = await withFastest(tile, () => productOf(haveOwnTexts ? fastest : 0, m, k)(copiesOf(x, fastest + 2), y).data());
      const { kernel, ms, chosen } = sn.info().device.shaders.at(-1);
      assert.match(kernel, /matmul/);
      assert.equal(ms.length, tiles.length);
      assert.equal(chosen, fastest);
      assert.equal(tileOf(lastProduct()), tile); // what ran last
      all.push(values);
      if (!haveOwnTexts) forget();
    }
    for (const values of all) assert.deepEqual(values, all[0]);
    const want = await sn.matmul(x, y).data();
    all[0].forEach((value, i) => assert.ok(Math.abs(value - want[i]) < 1e-4 * Math.sqrt(k)));
  });

test('attention: tiles of 64 and of 32 rows with the same bits', async () => {
  const [q, ...rest] = [1, 2, 3].map((seed) => normal(seed, [2, 300, 16]));
  const all = [];
  for (const [fastest, tile] of [64, 32].entries()) {
    const f = sn.jit((x, k, v) => sn.attention(x.slice([0, 0, 0, 0], [1, 2, 300, 16]).reshape([2, 300, 16]), k, v, { causal: true }), { device: 'webgpu' });
    const values = await withFastest(tile, () => f(copiesOf(q, fastest + 2), ...rest).data());
    assert.equal(sn.info().device.shaders.at(-1).chosen, fastest);
    assert.equal(tileOf(lastProduct()), tile);
    all.push(values);
    forget();
  }
  assert.deepEqual(all[1], all[0]);
});

test('what was found is kept for the adapter, and not asked for again', async () => {
  const [[place, text], ...others] = [...kept];
  assert.deepEqual(others, []);
  assert.match(place, /SwiftShader/);
  const numbers = Object.values(JSON.parse(text));
  assert.equal(numbers.length, 3); // what was not forgotten, and the last one
  assert.ok(numbers.every((number) => number >= 0 && number < 4));
  const timed = sn.info().device.shaders.length;
  assert.equal(timed, 11);
  const { submissions } = asked;
  await productOf(1, 33, 40)(normal(3, [2, 33, 40]), normal(4, [40, 36])).data();
  assert.equal(sn.info().device.shaders.length, timed);
  assert.equal(asked.submissions - submissions, 2); // the run, and what reads
});
