// The deterministic figures of known graphs against bench/metrics.csv, so that fusion, planning and sizes
// cannot get worse unnoticed. After an intended change: node bench/metrics.mjs --write, and read the diff.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { committed, measured } from '../../bench/metrics.mjs';

/** Sizes also depend on the versions of Emscripten, Binaryen and zlib. */
const SIZE_TOLERANCE = 0.05;
/** 230,000 is the aim, missed since there are loops, transforms, layers, optimizers, precisions, data, files and products with
 *  quantised blocks, with their numbers, and of bytes, and loops over arrays of structs, in what every page loads that has no
 *  bundler. */
const PACKAGE_LIMIT_BYTES = 337_400;
/** Of a page whose bundler leaves out what it does not name. The module, which has it all, is five sixths of this. */
const PAGE_LIMIT_BYTES = 304_100;

const nameOf = ({ subject, figure }) => `${subject} ${figure}`;
const asObject = (rows) => Object.fromEntries(rows.map((row) => [nameOf(row), row.value]));

const rows = await measured();
const expected = asObject(committed());

test('graphs have the kernels, memory and work of bench/metrics.csv', () => {
  const exact = rows.filter((row) => row.exact);
  const wanted = Object.fromEntries(exact.map((row) => [nameOf(row), expected[nameOf(row)]]));
  assert.deepEqual(asObject(exact), wanted);
});

test('sizes are about those of bench/metrics.csv', () => {
  for (const row of rows.filter(({ exact }) => !exact)) {
    const change = row.value / expected[nameOf(row)] - 1;
    const percent = `${(100 * change).toFixed(1)} %`;
    assert.ok(Math.abs(change) <= SIZE_TOLERANCE, `${nameOf(row)}: ${row.value}, ${percent}`);
  }
});

test('bench/metrics.csv lists nothing else', () => {
  assert.deepEqual(Object.keys(expected).sort(), rows.map(nameOf).sort());
});

test('a graphics processor adds no more than its limit, gzipped', () => {
  const sizes = asObject(rows);
  const of = (name) => sizes[`${name} gzipBytes`];
  const added = of('webgpu.js') + of('sinter-gpu-mt.wasm') - of('sinter-mt.wasm');
  assert.ok(added > 0 && added <= 60_000, `${added} bytes`);
});

test('models of ONNX files add no more than their limit, gzipped', () => {
  const { 'onnx.js gzipBytes': bytes } = asObject(rows);
  assert.ok(bytes > 0 && bytes <= 42_000, `${bytes} bytes`);
});

test('language models and their files fit their limit, gzipped', () => {
  const { 'gguf.js gzipBytes': gguf, 'llm.js gzipBytes': llm } = asObject(rows);
  assert.ok(gguf + llm <= 40_000, `${gguf} + ${llm} bytes`);
});

for (const [scripts, limit] of [
  ['javascript', PACKAGE_LIMIT_BYTES],
  ['javascript of a bundled program that trains', PAGE_LIMIT_BYTES],
]) {
  test(`the threaded module and ${scripts} fit their limit, gzipped`, () => {
    const { 'sinter-mt.wasm gzipBytes': wasm, [`${scripts} gzipBytes`]: js } = asObject(rows);
    assert.ok(wasm + js <= limit, `${wasm} + ${js} bytes`);
  });
}
