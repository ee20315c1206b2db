// Products of numbers of 8 bits: they are exact for any number of terms, whatever they are computed in. A plain program says
// what they are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../../js/dist/index.js';
import * as onnx from '../../js/dist/onnx.js';
import * as file from './write.mjs';

await sn.init({ threads: 1 });

const INT8 = 3;
const UINT8 = 2;
const INT32 = 6;

/** An int8 or uint8 initializer. */
const bytes = (name, type, dims, values) => file.message(...dims.map((size) => file.field(1, size)), file.field(2, type), file.field(8, name), file.field(9, new Uint8Array(Uint8Array.from(values, (v) => v & 255))));

const loaded = (type, inputs, ports, { initializers = [], attributes = [], shape }) =>
  onnx.load(file.model({
    nodes: [file.node(type, inputs, ['y'], ...attributes)],
    initializers,
    inputs: ports.map(([name, dtype, dims]) => file.value(name, dtype, dims)),
    outputs: [file.value('y', INT32, shape)],
  }));

const product = (a, b, m, n, k) => {
  const c = new Int32Array(m * n);
  for (let i = 0; i < m; i++)
    for (let p = 0; p < k; p++) for (let j = 0; j < n; j++) c[i * n + j] += a[i * k + p] * b[p * n + j];
  return c;
};

/** Mostly the ends of the range, of one sign: sums as large as they get, beyond what float32 has. */
const uint8s = (count) => Uint8Array.from({ length: count }, (_, i) => (i % 11 === 3 ? i : 255));
const int8s = (count) => Int8Array.from({ length: count }, (_, i) => (i % 13 === 5 ? i : -128));

for (const k of [0, 1, 257, 258, 514, 515, 1030, 1537]) {
  test(`MatMulInteger adds up ${k} terms exactly, with zero points and without`, () => {
    const [m, n] = [3, 5];
    const [a, b] = [uint8s(m * k), int8s(k * n)];
    const x = sn.tensor(a, { shape: [m, k], dtype: 'uint8' });
    const w = sn.tensor(b, { shape: [k, n], dtype: 'int8' });
    const ports = [['a', UINT8, [m, k]], ['b', INT8, [k, n]]];
    const plain = loaded('MatMulInteger', ['a', 'b'], ports, { shape: [m, n] });
    assert.deepEqual(plain.run({ a: x, b: w }).y.dataSync(), product(a, b, m, n, k));
    const known = loaded('MatMulInteger', ['a', 'b', 'p', 'q'], ports, { shape: [m, n], initializers: [bytes('p', UINT8, [], [0]), bytes('q', INT8, [], [127])] });
    assert.deepEqual(known.run({ a: x, b: w }).y.dataSync(), product(a, Int32Array.from(b, (v) => v - 127), m, n, k));
    const given = loaded('MatMulInteger', ['a', 'b', 'p', 'q'], [...ports, ['p', UINT8, [m]], ['q', INT8, [n]]], { shape: [m, n] });
    const [p, q] = [[0, 255, 7], [127, -128, 0, 1, -1]];
    const y = given.run({ a: x, b: w, p: sn.tensor(p, { dtype: 'uint8' }), q: sn.tensor(q, { dtype: 'int8' }) }).y.dataSync();
    assert.deepEqual(y, product(Int32Array.from(a, (v, i) => v - p[Math.floor(i / k)]), Int32Array.from(b, (v, i) => v - q[i % n]), m, n, k));
    for (const model of [plain, known, given]) model.dispose();
  });
}

/** Weights of the file or given, of both signs on both sides, with zero points of each kind. */
for (const [aType, bType] of [[UINT8, INT8], [UINT8, UINT8], [INT8, INT8], [INT8, UINT8]])
  for (const isWeight of [false, true])
    test(`MatMulInteger takes ${aType === INT8 ? 'int8' : 'uint8'} by ${bType === INT8 ? 'int8' : 'uint8'} ${isWeight ? 'of the file' : 'that is given'}`, () => {
      const [m, n, k] = [5, 130, 37]; // more than 4,096 elements: a weight that is a tensor
      const numbers = (type, count, step) => (type === INT8 ? Int8Array : Uint8Array).from({ length: count }, (_, i) => ((i * step + (i >> 3)) & 255) - (type === INT8 ? 128 : 0));
      const [a, b] = [numbers(aType, m * k, 37), numbers(bType, k * n, 101)];
      const [p, q] = [aType === INT8 ? -3 : 200, bType === INT8 ? 5 : 128];
      const ports = [['a', aType, [m, k]], ...(isWeight ? [] : [['b', bType, [k, n]]])];
      const initializers = [bytes('p', aType, [], [p]), bytes('q', bType, [], [q]), ...(isWeight ? [bytes('b', bType, [k, n], b)] : [])];
      const model = loaded('MatMulInteger', ['a', 'b', 'p', 'q'], ports, { shape: [m, n], initializers });
      const tensors = { a: sn.tensor(a, { shape: [m, k] }), ...(isWeight ? {} : { b: sn.tensor(b, { shape: [k, n] }) }) };
      assert.deepEqual(model.run(tensors).y.dataSync(), product(Int32Array.from(a, (v) => v - p), Int32Array.from(b, (v) => v - q), m, n, k));
      model.dispose();
    });

for (const channels of [28, 64]) {
  test(`ConvInteger adds up ${channels * 9} terms exactly`, () => {
    const size = 4;
    const x = uint8s(channels * size * size);
    const w = int8s(2 * channels * 9);
    const model = loaded('ConvInteger', ['x', 'w'], [['x', UINT8, [1, channels, size, size]], ['w', INT8, [2, channels, 3, 3]]], { shape: [1, 2, 2, 2] });
    const want = new Int32Array(8);
    for (let o = 0; o < 2; o++)
      for (let at = 0; at < 4; at++)
        for (let c = 0; c < channels; c++)
          for (let t = 0; t < 9; t++) want[o * 4 + at] += x[c * 16 + (Math.floor(at / 2) + Math.floor(t / 3)) * 4 + (at % 2) + (t % 3)] * w[(o * channels + c) * 9 + t];
    const y = model.run({ x: sn.tensor(x, { shape: [1, channels, size, size], dtype: 'uint8' }), w: sn.tensor(w, { shape: [2, channels, 3, 3], dtype: 'int8' }) }).y;
    assert.deepEqual(y.dataSync(), want);
    model.dispose();
  });
}
