// MatMulNBits, onnxruntime's product with a matrix of few bits in blocks. onnxruntime says what it is where x is taken as it is;
// where x may be quantised, a plain program.
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

const [FLOAT, UINT8, BOOL, HALF] = [1, 2, 9, 10];
const ROWS = 6; // of x

const noise = (count, k = 1) => Uint8Array.from({ length: count }, (_, i) => (Math.imul(i + k, 2654435761) >>> 13) & 255);
const waves = (count, scale) => Float32Array.from({ length: count }, (_, i) => scale * Math.sin(i * 1.7 + 0.4));
const raw = (name, type, dims, array) => file.message(...dims.map((d) => file.field(1, d)), file.field(2, type), file.field(8, name), file.field(9, new Uint8Array(array.buffer)));

/** What a product is made of: the tensors of the file, and what they mean. */
function parts({ n, k, size, bits = 4, zeros, bias, scale = 0.2 }) {
  const blocks = Math.ceil(k / size);
  const rowOfZeros = Math.ceil((blocks * bits) / 8);
  const b = noise((n * blocks * size * bits) / 8);
  const s = waves(n * blocks, scale);
  const z = zeros === 'floats' ? waves(n * blocks, 6) : zeros ? noise(n * rowOfZeros, 5) : null;
  const c = bias ? waves(n, 1) : null;
  const code = (bytes, i) => (bytes[Math.floor((i * bits) / 8)] >> ((i * bits) % 8)) & (2 ** bits - 1);
  const zeroOf = (row, block) => (z === null ? 2 ** (bits - 1) : zeros === 'floats' ? z[row * blocks + block] : code(z.subarray(row * rowOfZeros), block));
  const matrix = (f) => Array.from({ length: n }, (_, row) => Float64Array.from({ length: k }, (_, i) => f(code(b, row * blocks * size + i), row, Math.floor(i / size))));
  const w = matrix((q, row, block) => (q - zeroOf(row, block)) * s[row * blocks + block]);
  // The same in two parts, with scales as float16 has them: what is counted from the middle, and the rest.
  const middle = 2 ** (bits - 1);
  const apart = matrix((q, row, block) => (q - middle) * Math.f16round(s[row * blocks + block]));
  const added = matrix((_, row, block) => (middle - zeroOf(row, block)) * s[row * blocks + block]);
  const initializers = [raw('b', UINT8, [n, blocks, (size * bits) / 8], b), raw('s', FLOAT, [n, blocks], s)];
  if (z) initializers.push(raw('z', zeros === 'floats' ? FLOAT : UINT8, zeros === 'floats' ? [n, blocks] : [n * rowOfZeros], z));
  if (c) initializers.push(raw('c', FLOAT, [n], c));
  return { initializers, names: ['a', 'b', 's', z ? 'z' : '', '', c ? 'c' : ''], attributes: { K: k, N: n, bits, block_size: size }, w, c, apart, added };
}

const product = ({ names, attributes }, y = 'y', more = {}) =>
  file.field(1, file.message(...names.map((name) => file.field(1, name)), file.field(2, y), file.field(4, 'MatMulNBits'), file.field(7, 'com.microsoft'),
    ...Object.entries({ ...attributes, ...more }).map(([name, value]) => file.attribute(name, value))));

const opset = (domain, version) => file.field(8, file.message(file.field(1, domain), file.field(2, version)));
const modelOf = (graph) => Uint8Array.from(file.message(file.field(1, 8), opset('', 17), opset('com.microsoft', 1), file.field(7, file.graph(graph))));
const fileOf = (made, { more, inputs = [] } = {}) => modelOf({
  nodes: [product(made, 'y', more)],
  initializers: made.initializers.filter((_, i) => !(inputs.length > 0 && i === 0)),
  inputs: [file.value('a', FLOAT, ['batch', 3, made.attributes.K]), ...inputs],
  outputs: [file.value('y', FLOAT, ['batch', 3, made.attributes.N])],
});

const x = (k) => sn.tensor(waves(ROWS * k, 1), { shape: [ROWS / 3, 3, k] });
const run = (bytes, k, options) => {
  const model = onnx.load(bytes, options);
  const y = model.run({ a: x(k) }).y.dataSync();
  model.dispose();
  return y;
};

/** x as numbers of 8 bits, with a scale for each 32. */
function quantised(a) {
  const out = new Float64Array(a.length);
  for (let from = 0; from < a.length; from += 32) {
    const scale = Math.max(...a.subarray(from, from + 32).map(Math.abs)) / 127;
    a.subarray(from, from + 32).forEach((value, i) => (out[from + i] = scale && Math.round(value / scale) * scale));
  }
  return out;
}

/** What it is where x is quantised: zero points are multiplied with x as it is. */
function assertQuantised(got, { apart, added, c, attributes: { K: k, N: n } }) {
  for (let i = 0; i < ROWS; i++) {
    const a = waves(ROWS * k, 1).subarray(i * k, (i + 1) * k);
    const steps = quantised(a);
    for (let row = 0; row < n; row++) {
      const terms = [...steps].map((value, j) => value * apart[row][j] + a[j] * added[row][j]);
      const want = terms.reduce((sum, each) => sum + each, c ? c[row] : 0);
      const size = terms.reduce((sum, each) => sum + Math.abs(each), 1);
      assert.ok(Math.abs(got[i * n + row] - want) <= 1e-5 * size, `row ${i}, column ${row}: ${got[i * n + row]}, expected ${want}`);
    }
  }
}

const CASES = [
  { name: '4 bits, blocks of 32', n: 7, k: 96, size: 32 },
  { name: '4 bits, a last block that is not whole, zero points', n: 9, k: 80, size: 32, zeros: true },
  { name: '4 bits, blocks of 128, zero points', n: 5, k: 256, size: 128, zeros: true },
  { name: '4 bits, zero points in float32, a bias', n: 8, k: 64, size: 16, zeros: 'floats', bias: true },
  { name: '4 bits, an odd number of blocks of 16', n: 4, k: 48, size: 16, zeros: true },
  { name: '4 bits, blocks of 64, zero points in float32, a bias', n: 8, k: 128, size: 64, zeros: 'floats', bias: true },
  { name: '8 bits, zero points', n: 6, k: 128, size: 64, bits: 8, zeros: true },
  { name: '8 bits', n: 6, k: 64, size: 32, bits: 8 },
];
const TWO_BITS = { name: '2 bits, zero points', n: 6, k: 64, size: 32, bits: 2, zeros: true };

for (const { name, ...each } of CASES)
  test(`it is what onnxruntime computes: ${name}`, async () => {
    const made = parts(each);
    const bytes = fileOf(made);
    const session = await ort.InferenceSession.create(bytes);
    const want = (await session.run({ a: new ort.Tensor('float32', waves(ROWS * each.k, 1), [2, 3, each.k]) })).y.data;
    await session.release();
    const got = run(bytes, each.k);
    assert.equal(got.length, want.length);
    want.forEach((value, i) => assert.ok(Math.abs(got[i] - value) <= 1e-4 * (1 + Math.abs(value)), `${i}: ${got[i]}, expected ${value}`));
  });

for (const { name, ...each } of [...CASES, TWO_BITS]) {
  test(`a matrix that is given to each call has the bits of one of the file: ${name}`, () => {
    const made = parts(each);
    const blocks = Math.ceil(each.k / each.size);
    const shape = [each.n, blocks, (each.size * (each.bits ?? 4)) / 8];
    const model = onnx.load(fileOf(made, { inputs: [file.value('b', UINT8, shape)] }));
    const b = sn.tensor(noise(shape[0] * shape[1] * shape[2]), { shape });
    assert.deepEqual(model.run({ a: x(each.k), b }).y.dataSync(), run(fileOf(made), each.k));
    model.dispose();
  });

  if (each.size % 32 === 0)
    test(`where x may be quantised, it is what a plain program says: ${name}`, () => {
      const made = parts(each);
      const got = run(fileOf(made, { more: { accuracy_level: 4 } }), each.k);
      assertQuantised(got, made);
      assert.notDeepEqual(got, run(fileOf(made), each.k));
      assert.deepEqual(run(fileOf(made), each.k, { accuracy: 4 }), got);
    });
}

const [plain] = CASES;

test('what the file says of its accuracy holds, whatever the option says', () => {
  const exact = run(fileOf(parts(plain)), plain.k);
  assert.deepEqual(run(fileOf(parts(plain), { more: { accuracy_level: 1 } }), plain.k, { accuracy: 4 }), exact);
});

test('scales that float16 does not hold are kept: x is taken as it is', () => {
  for (const scale of [1e-7, 1e6]) {
    const made = parts({ ...plain, scale });
    assert.deepEqual(run(fileOf(made), plain.k, { accuracy: 4 }), run(fileOf(made), plain.k));
  }
});

test('scales are parameters where x is taken as it is, and have gradients; save gives the file', () => {
  const bytes = fileOf(parts(plain));
  const model = onnx.load(bytes);
  assert.deepEqual(Object.keys(model.params), ['s']);
  const a = x(plain.k);
  const gradient = sn.grad((params) => sn.sum(model.apply(params, { a }).y))(model.params);
  assert.ok(gradient.s.dataSync().some((value) => value !== 0));
  assert.deepEqual(model.save(model.params), bytes);
  model.dispose();
  const quick = onnx.load(bytes, { accuracy: 4 });
  assert.deepEqual(Object.keys(quick.params), []);
  assert.deepEqual(quick.save({}), bytes);
  quick.dispose();
});

test('where x is quantised its gradient is that of a product with the matrix', () => {
  const made = parts(plain);
  const model = onnx.load(fileOf(made), { accuracy: 4 });
  const got = sn.grad((a) => sn.sum(model.apply(model.params, { a }).y))(x(plain.k)).dataSync();
  for (let i = 0; i < plain.k; i++) {
    const want = made.w.reduce((sum, row) => sum + row[i], 0);
    assert.ok(Math.abs(got[i] - want) <= 2 ** -10 * made.w.reduce((sum, row) => sum + Math.abs(row[i]), 0) + 1e-5, `${i}: ${got[i]}, expected ${want}`);
  }
  model.dispose();
});

test('a matrix that graphs inside of nodes use is laid out, too, once for all of them', async () => {
  const made = parts(plain);
  const branch = (nodes, y) => file.graph({ nodes, outputs: [file.value(y, FLOAT, ['batch', 3, plain.n])] });
  const bytes = modelOf({
    nodes: [file.node('If', ['way'], ['y'], file.graphAttribute('then_branch', branch([product(made, 'p')], 'p')), file.graphAttribute('else_branch', branch([product(made, 'q')], 'q')))],
    initializers: made.initializers,
    inputs: [file.value('way', BOOL, []), file.value('a', FLOAT, ['batch', 3, plain.k])],
    outputs: [file.value('y', FLOAT, ['batch', 3, plain.n])],
  });
  const before = (await settledMemory(sn)).tensorBytes;
  const model = onnx.load(bytes, { accuracy: 4 });
  assert.equal((await settledMemory(sn)).tensorBytes - before, ((plain.n * plain.k) / 32) * 18);
  const want = run(fileOf(made), plain.k, { accuracy: 4 });
  for (const way of [true, false]) assert.deepEqual(model.run({ way: sn.tensor(way), a: x(plain.k) }).y.dataSync(), want);
  model.dispose();
});

test('scales of 16 bits are read', () => {
  const made = parts(plain);
  const blocks = Math.ceil(plain.k / plain.size);
  made.initializers[1] = raw('s', HALF, [plain.n, blocks], new Uint16Array(plain.n * blocks).fill(0x3400)); // 1/4
  const half = run(fileOf(made), plain.k, { accuracy: 4 });
  made.initializers[1] = raw('s', FLOAT, [plain.n, blocks], new Float32Array(plain.n * blocks).fill(0.25));
  assert.deepEqual(half, run(fileOf(made), plain.k, { accuracy: 4 }));
});

test('a matrix takes its bytes and a scale for 32 numbers, and gives them back', async () => {
  const [n, k] = [256, 1024];
  const bytes = fileOf(parts({ n, k, size: 32 }));
  run(bytes, k, { accuracy: 4 });
  const before = await settledMemory(sn);
  const model = onnx.load(bytes, { accuracy: 4 });
  const { tensorBytes } = await settledMemory(sn);
  assert.ok(tensorBytes - before.tensorBytes <= ((n * k) / 32) * 18 * 1.05, `${tensorBytes - before.tensorBytes} bytes`);
  model.dispose();
  assert.deepEqual(await settledMemory(sn), before);
});

test('blocks in another order, other widths and tensors that do not fit are typed errors', () => {
  const made = parts(plain);
  const ordered = { ...made, names: ['a', 'b', 's', '', 's'] };
  assert.throws(() => run(fileOf(ordered), plain.k), { name: 'UnsupportedError', message: /MatMulNBits.*g_idx/ });
  for (const bits of [3, 16]) assert.throws(() => run(fileOf(made, { more: { bits } }), plain.k), { name: 'UnsupportedError', message: new RegExp(`${bits} bits`) });
  for (const more of [{ N: 8 }, { K: 128 }, { block_size: 64 }, { block_size: 0 }])
    for (const accuracy of [0, 4]) assert.throws(() => run(fileOf(made, { more }), plain.k, { accuracy }), (error) => error instanceof sn.SinterError && /MatMulNBits/.test(error.message), JSON.stringify(more));
  const few = { ...made, initializers: [made.initializers[0], raw('s', FLOAT, [2], Float32Array.of(1, 2))] };
  for (const accuracy of [0, 4]) assert.throws(() => run(fileOf(few), plain.k, { accuracy }), { name: 'SinterError', code: 'shape', message: /MatMulNBits/ });
  assert.throws(() => onnx.load(fileOf(made), { accuracy: 0.5 }), sn.SinterError);
});
