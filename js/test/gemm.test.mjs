// Matrix products of every size around those of the micro-kernels in WebAssembly, of operands in several layouts, against
// plain loops. On the newer Node the micro-kernels are those emitted with relaxed SIMD.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';

await sn.init({ threads: 1 });

const KERNEL = { float32: [6, 8], float64: [6, 4] }; // rows and columns of the emitted ones
const UNIT = { float32: 2 ** -24, float64: 2 ** -53 };
const DEPTHS = [1, 7, 45, 301]; // the last ones are packed, in one block of k and in two
const SIZE = 14;

let state = 1;
const random = () => {
  state = (state * 48271) % 2147483647;
  return (state / 2147483647) * 2 - 1;
};

/** How the matrix with the elements at(i, j) may lie in memory: [shape, element, view of the corner rows x cols]. */
const LAYOUTS = {
  rows: (rows, cols, at) => [[rows, cols], at, (x, m, n) => x.slice([0, 0], [m, n])],
  columns: (rows, cols, at) =>
    [[cols, rows], (i, j) => at(j, i), (x, m, n) => x.slice([0, 0], [n, m]).transpose()],
  gaps: (rows, cols, at) => [[2 * rows, 3 * cols], (i, j) => (i % 2 || j % 3 ? NaN : at(i / 2, j / 3)),
    (x, m, n) => x.slice([0, 0], [m, n], { strides: [2, 3] })],
};

const stored = (layout, rows, cols, data, dtype) => {
  const [shape, element, view] = layout(rows, cols, (i, j) => data[i * cols + j]);
  const all = Array.from({ length: shape[0] * shape[1] }, (_, p) => element(Math.floor(p / shape[1]), p % shape[1]));
  const x = sn.tensor(all, { shape, dtype });
  return (m, n) => view(x, m, n);
};

const matrix = (rows, cols, dtype) => {
  const round = dtype === 'float32' ? Math.fround : Number;
  const data = Array.from({ length: rows * cols }, () => round(random()));
  return { data, cols, views: Object.values(LAYOUTS).map((layout) => stored(layout, rows, cols, data, dtype)) };
};

/** Sums of the first k products, and of their absolute values, for all rows and columns. */
const sums = (a, b, k) => {
  const sum = new Float64Array(SIZE * SIZE), size = new Float64Array(SIZE * SIZE);
  for (let i = 0; i < SIZE; i++) {
    for (let j = 0; j < SIZE; j++) {
      for (let p = 0; p < k; p++) {
        const term = a.data[i * a.cols + p] * b.data[p * b.cols + j];
        sum[i * SIZE + j] += term;
        size[i * SIZE + j] += Math.abs(term);
      }
    }
  }
  return { sum, size };
};

const check = (c, m, n, k, dtype, { sum, size }, what) => {
  const bound = (8 + Math.log2(k)) * UNIT[dtype];
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      const error = Math.abs(c[i * n + j] - sum[i * SIZE + j]);
      assert.ok(error <= bound * size[i * SIZE + j], `${what}: ${m} x ${n} x ${k}, element ${i}, ${j} is ${error} off`);
    }
  }
};

for (const dtype of ['float32', 'float64']) {
  test(`products up to the size of a micro-kernel and one more, ${dtype}`, () => sn.tidy(() => {
    const a = matrix(SIZE, 301, dtype), b = matrix(301, SIZE, dtype);
    const [rows, columns] = KERNEL[dtype];
    for (const k of DEPTHS) {
      const exact = sums(a, b, k);
      for (let m = 1; m <= rows + 1; m++) {
        for (let n = 1; n <= columns + 1; n++) {
          const layout = (m + n + k) % 9; // in turns: compiling each of the nine would take a minute
          const left = a.views[layout % 3](m, k), right = b.views[Math.floor(layout / 3)](k, n);
          const names = Object.keys(LAYOUTS);
          check(left.matmul(right).dataSync(), m, n, k, dtype, exact, `${names[layout % 3]}, ${names[Math.floor(layout / 3)]}`);
        }
      }
    }
  }));

  test(`products in all layouts, ${dtype}`, () => sn.tidy(() => {
    const a = matrix(SIZE, 301, dtype), b = matrix(301, SIZE, dtype);
    for (const k of [45, 301]) {
      const exact = sums(a, b, k);
      for (const left of a.views) {
        for (const right of b.views) {
          check(left(13, k).matmul(right(k, 11)).dataSync(), 13, 11, k, dtype, exact, 'a pair of layouts');
        }
      }
    }
  }));
}
