// MatMul with what DequantizeLinear makes of numbers of the file in blocks: the values of a plain program and of onnxruntime, the
// very bits of the same matrix in MatMulNBits, and the memory of its blocks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as ort from 'onnxruntime-web';
import * as sn from '../../js/dist/index.js';
import * as onnx from '../../js/dist/onnx.js';
import { settledMemory } from '../../js/test/support.mjs';
import * as file from './write.mjs';

await sn.init({ threads: 1 });
ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';

const FLOAT = 1;
const TYPES = { uint8: { code: 2, bits: 8, least: 0 }, int8: { code: 3, bits: 8, least: -128 }, uint4: { code: 21, bits: 4, least: 0 }, int4: { code: 22, bits: 4, least: -8 } };
const ROWS = 5; // of x

const waves = (count, scale, k = 1) => Float32Array.from({ length: count }, (_, i) => scale * Math.sin(i * 1.7 + k));
const raw = (name, type, dims, bytes) => file.message(...dims.map((d) => file.field(1, d)), file.field(2, type), file.field(8, name), file.field(9, new Uint8Array(bytes.buffer)));

/** Whole numbers as the bytes of a type, the lowest bits first. */
const packed = (numbers, bits) => {
  const out = new Uint8Array(Math.ceil((numbers.length * bits) / 8));
  numbers.forEach((q, i) => (out[Math.floor((i * bits) / 8)] |= (q & (2 ** bits - 1)) << ((i * bits) % 8)));
  return out;
};

/** q (k, n), the scales and zero points of its blocks, and the matrix that they are. */
function parts({ type, n, k, size, zeros }) {
  const { bits, least } = TYPES[type];
  const blocks = Math.ceil(k / size);
  const noise = (count, from) => Array.from({ length: count }, (_, i) => least + ((Math.imul(i + from, 2654435761) >>> 13) & (2 ** bits - 1)));
  const [q, z] = [noise(k * n, 1), zeros ? noise(blocks * n, 7) : null];
  const s = waves(blocks * n, 0.2);
  const at = (i, column) => Math.floor(i / size) * n + column;
  const w = (i, column) => (q[i * n + column] - (z ? z[at(i, column)] : 0)) * s[at(i, column)];
  return { type, n, k, size, bits, least, blocks, q, z, s, w };
}

const opset = (domain, version) => file.field(8, file.message(file.field(1, domain), file.field(2, version)));
const modelOf = (graph) => Uint8Array.from(file.message(file.field(1, 10), opset('', 21), opset('com.microsoft', 1), file.field(7, file.graph(graph))));

const dequantize = ({ z, size }, name = 'w', axis = 0) => file.node('DequantizeLinear', ['q', 's', ...(z ? ['z'] : [])], [name], file.attribute('axis', axis), file.attribute('block_size', size));
const initializersOf = ({ type, n, k, bits, blocks, q, z, s }) => [
  raw('q', TYPES[type].code, [k, n], packed(q, bits)),
  raw('s', FLOAT, [blocks, n], s),
  ...(z ? [raw('z', TYPES[type].code, [blocks, n], packed(z, bits))] : []),
];
const fileOf = (made, nodes = [dequantize(made), file.node('MatMul', ['a', 'w'], ['y'])], more = []) =>
  modelOf({ nodes, initializers: initializersOf(made), inputs: [file.value('a', FLOAT, [ROWS, made.k])], outputs: [file.value('y', FLOAT, [ROWS, made.n]), ...more] });

/** The same matrix as onnxruntime's op has it: rows of blocks, numbers without a sign. */
function inMatMulNBits({ n, k, size, bits, least, blocks, q, z, s }) {
  const turned = (list, rows) => Array.from({ length: n * rows }, (_, i) => list[(i % rows) * n + Math.floor(i / rows)]);
  const codes = turned(q, k).map((each) => each - least);
  const padded = Array.from({ length: n * blocks * size }, (_, i) => (i % (blocks * size) < k ? codes[Math.floor(i / (blocks * size)) * k + (i % (blocks * size))] : 0));
  const zeros = turned(z ?? new Array(blocks * n).fill(0), blocks).map((each) => each - least);
  const rows = Array.from({ length: n }, (_, row) => packed(zeros.slice(row * blocks, (row + 1) * blocks), bits));
  const initializers = [
    raw('b', 2, [n, blocks, (size * bits) / 8], packed(padded, bits)),
    raw('s', FLOAT, [n, blocks], Float32Array.from(turned(s, blocks))),
    raw('z', 2, [rows.length * rows[0].length], Uint8Array.from(rows.flatMap((row) => [...row]))),
  ];
  const attributes = Object.entries({ K: k, N: n, bits, block_size: size }).map(([name, value]) => file.attribute(name, value));
  const node = file.field(1, file.message(...['a', 'b', 's', 'z'].map((name) => file.field(1, name)), file.field(2, 'y'), file.field(4, 'MatMulNBits'), file.field(7, 'com.microsoft'), ...attributes));
  return modelOf({ nodes: [node], initializers, inputs: [file.value('a', FLOAT, [ROWS, k])], outputs: [file.value('y', FLOAT, [ROWS, n])] });
}

const x = (k) => sn.tensor(waves(ROWS * k, 1, 3), { shape: [ROWS, k] });
const run = (bytes, k, options) => {
  const model = onnx.load(bytes, options);
  const y = model.run({ a: x(k) }).y.dataSync();
  model.dispose();
  return y;
};

function assertPlain(got, { n, k, w }) {
  const a = waves(ROWS * k, 1, 3);
  assert.equal(got.length, ROWS * n);
  got.forEach((value, i) => {
    const terms = Array.from({ length: k }, (_, j) => a[Math.floor(i / n) * k + j] * w(j, i % n));
    const size = terms.reduce((sum, each) => sum + Math.abs(each), 1);
    const want = terms.reduce((sum, each) => sum + each, 0);
    assert.ok(Math.abs(value - want) <= 1e-6 * size, `${i}: ${value}, expected ${want}`);
  });
}

const CASES = Object.keys(TYPES).flatMap((type) => [
  { type, n: 7, k: 96, size: 32 },
  { type, n: 6, k: 128, size: 64, zeros: true },
  { type, n: 5, k: 48, size: 16, zeros: true },
  { type, n: 3, k: 80, size: 32, zeros: true }, // a last block that is not whole
]);
const [, plain] = CASES;

for (const each of CASES) {
  const { type, k, size, zeros } = each;
  const name = `${type}, ${k} in blocks of ${size}${zeros ? ', zero points' : ''}`;

  test(`it is what a plain program says: ${name}`, () => assertPlain(run(fileOf(parts(each)), k), parts(each)));

  for (const accuracy of size % 32 === 0 ? [0, 4] : [0])
    test(`it has the bits of MatMulNBits, accuracy ${accuracy}: ${name}`, () => {
      const made = parts(each);
      assert.deepEqual(run(fileOf(made), k, { accuracy }), run(inMatMulNBits(made), k, { accuracy }));
    });
}

test('it is what onnxruntime computes', async () => {
  const made = parts(plain);
  const session = await ort.InferenceSession.create(fileOf(made));
  const want = (await session.run({ a: new ort.Tensor('float32', waves(ROWS * made.k, 1, 3), [ROWS, made.k]) })).y.data;
  await session.release();
  run(fileOf(made), made.k).forEach((value, i) => assert.ok(Math.abs(value - want[i]) <= 1e-4 * (1 + Math.abs(want[i]))));
});

test('a matrix takes the memory of its blocks, and of its scales where x is taken as it is', async () => {
  const made = parts({ type: 'int4', n: 64, k: 256, size: 32 });
  for (const [accuracy, most] of [[4, 18], [0, 18 + 4]]) {
    run(fileOf(made), made.k, { accuracy });
    const before = (await settledMemory(sn)).tensorBytes;
    const model = onnx.load(fileOf(made), { accuracy });
    assert.equal((await settledMemory(sn)).tensorBytes - before, ((64 * 256) / 32) * most);
    model.dispose();
    assert.equal((await settledMemory(sn)).tensorBytes, before);
  }
});

test('scales are parameters where x is taken as it is, and have gradients; save gives the file', () => {
  const made = parts(plain);
  const bytes = fileOf(made);
  const model = onnx.load(bytes);
  assert.deepEqual(Object.keys(model.params), ['s']);
  const gradient = sn.grad((params) => sn.sum(model.apply(params, { a: x(made.k) }).y))(model.params).s;
  assert.deepEqual(gradient.shape, [made.blocks, made.n]);
  assert.ok(gradient.dataSync().some((value) => value !== 0));
  assert.deepEqual(model.save(model.params), bytes);
  model.dispose();
});

test('what others read, too, and blocks along the rows stay as the file has them', () => {
  const made = parts(plain);
  const twice = fileOf(made, [dequantize(made), file.node('MatMul', ['a', 'w'], ['y']), file.node('Neg', ['w'], ['v'])], [file.value('v', FLOAT, [made.k, made.n])]);
  const given = fileOf(made, [dequantize(made), file.node('MatMul', ['a', 'w'], ['y'])], [file.value('w', FLOAT, [made.k, made.n])]);
  const first = fileOf(made, [dequantize(made), file.node('Transpose', ['w'], ['t']), file.node('MatMul', ['a', 'w'], ['y']), file.node('MatMul', ['t', 'w'], ['v'])], [file.value('v', FLOAT, [made.n, made.n])]);
  for (const bytes of [twice, given, first]) {
    assertPlain(run(bytes, made.k), made);
    assert.deepEqual(run(bytes, made.k, { accuracy: 4 }), run(bytes, made.k));
  }
  // (k, n) as (n, k) of blocks along the last axis.
  const turned = modelOf({
    nodes: [dequantize(made, 'w', -1), file.node('MatMul', ['a', 'w'], ['y'])],
    initializers: [raw('q', TYPES[made.type].code, [made.k, made.size * 2], packed(made.q.slice(0, made.k * 6).concat(new Array(made.k * (made.size * 2 - 6)).fill(0)), made.bits)), raw('s', FLOAT, [made.k, 2], waves(made.k * 2, 0.2)), raw('z', TYPES[made.type].code, [made.k, 2], packed(new Array(made.k * 2).fill(1), made.bits))],
    inputs: [file.value('a', FLOAT, [ROWS, made.k])],
    outputs: [file.value('y', FLOAT, [ROWS, made.size * 2])],
  });
  assert.deepEqual(run(turned, made.k, { accuracy: 4 }), run(turned, made.k));
});
