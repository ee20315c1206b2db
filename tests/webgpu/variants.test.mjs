// The shaders that a product may have: the fastest by the clock, which is a test's own, and all with the same bits.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { globals } from 'webgpu';
import { asked, settings, start } from './device.mjs';

Object.assign(globalThis, globals);
const kept = new Map();
globalThis.localStorage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) };
settings.sharesMemory = true;

let sn;
before(async () => {
  sn = await start();
});

const normal = (seed, shape) => sn.random.normal(sn.random.key(seed), shape);

/** What the last pass ran. */
let under = '';
const codes = new WeakMap();
const instead = (of, method, make) => {
  of.prototype[method] = make(of.prototype[method]);
};
instead(GPUDevice, 'createShaderModule', (original) => function noted({ code }) {
  const module = original.call(this, { code });
  codes.set(module, code);
  return module;
});
instead(GPUDevice, 'createComputePipelineAsync', (original) => async function noted(options) {
  const pipeline = await original.call(this, options);
  codes.set(pipeline, codes.get(options.compute.module));
  return pipeline;
});
instead(GPUComputePassEncoder, 'setPipeline', (original) => function noted(pipeline) {
  under = codes.get(pipeline);
  return original.call(this, pipeline);
});
/** Elements of a tile in the memory of a workgroup; 0: none. */
const tileOf = (code) => Number(/tile_a: array<f32, (\d+)>/.exec(code)?.[1] ?? 0);

/** Runs f on a clock by which shaders with such tiles are the fastest. */
const withFastest = async (tile, f) => {
  const { now } = performance;
  let [at, before] = [0, asked.submissions];
  performance.now = () => {
    at += asked.submissions === before ? 0 : tileOf(under) === tile ? 5 : 8;
    before = asked.submissions;
    return at;
  };
  try {
    return await f();
  } finally {
    performance.now = now;
  }
};

/** What was found is known by the text: four with the same products. */
const FINISHES = [(y) => y, (y) => y.neg(), (y) => y.abs(), (y) => y.abs().neg()];

for (const [m, k, n, ...tiles] of [[257, 530, 258, 1024, 0, 512, 2048], [33, 40, 36, 512, 0]])
  test(`(${m}, ${k}) x (${k}, ${n}): ${tiles.length} shaders with the same bits`, async () => {
    const [x, y] = [normal(1, [m, k]), normal(2, [k, n])];
    const all = [];
    for (const [fastest, tile] of tiles.entries()) {
      const f = sn.jit((a, b) => FINISHES[fastest](sn.matmul(a, b)), { device: 'webgpu' });
      const values = await withFastest(tile, () => f(x, y).data());
      const { kernel, ms, chosen } = sn.info().device.shaders.at(-1);
      assert.match(kernel, /matmul/);
      assert.equal(ms.length, tiles.length);
      assert.equal(chosen, fastest);
      assert.equal(tileOf(under), tile); // what ran last
      all.push(values.map(Math.abs));
    }
    for (const values of all) assert.deepEqual(values, all[0]);
    const want = await sn.matmul(x, y).abs().data();
    all[0].forEach((value, i) => assert.ok(Math.abs(value - want[i]) < 1e-4 * Math.sqrt(k)));
  });

test('attention: tiles of 64 and of 32 rows with the same bits', async () => {
  const args = [1, 2, 3].map((seed) => normal(seed, [2, 300, 16]));
  const all = [];
  for (const [fastest, tile] of [1024, 512].entries()) {
    const f = sn.jit((q, k, v) => FINISHES[fastest](sn.attention(q, k, v, { causal: true })), { device: 'webgpu' });
    const values = await withFastest(tile, () => f(...args).data());
    assert.equal(sn.info().device.shaders.at(-1).chosen, fastest);
    assert.equal(tileOf(under), tile);
    all.push(values.map(Math.abs));
  }
  assert.deepEqual(all[1], all[0]);
});

test('what was found is kept for the adapter, and not asked for again', async () => {
  const [[place, text], ...others] = [...kept];
  assert.deepEqual(others, []);
  assert.match(place, /SwiftShader/);
  assert.ok(Object.values(JSON.parse(text)).every((number) => number >= 0 && number < 4));
  const timed = sn.info().device.shaders.length;
  assert.equal(timed, 8);
  const f = sn.jit((a, b) => sn.matmul(a, b), { device: 'webgpu' });
  const { submissions } = asked;
  await f(normal(3, [33, 40]), normal(4, [40, 36])).data();
  assert.equal(sn.info().device.shaders.length, timed);
  assert.equal(asked.submissions - submissions, 2); // the run, and what reads
});
