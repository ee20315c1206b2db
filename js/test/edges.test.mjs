// Contractions at the edges: every size around the micro-kernels' tiles in every transposition, sizes 0 and 1,
// NaN and infinities, and input that is refused before anything is allocated.
import assert from 'node:assert/strict';
import { afterEach, before, test } from 'node:test';
import * as sn from 'sinter';
import { assertThrows } from './support.mjs';

before(() => sn.init({ threads: 2 }));

const INF = Infinity;

/** Numbers in [-1, 1) that float32 holds, the same in every run. */
const generator = (seed) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return (seed >>> 8) / 2 ** 23 - 1;
};

const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);
const noise = (random, shape) => Float64Array.from({ length: sizeOf(shape) }, random);
const flat = (t) => Array.from(t.dataSync());

// ---- every small size ------------------------------------------------------------------------------

/** a (m, k) and b (k, n) as rows, turned, with gaps between columns, or back to front: views without a copy. */
const LAYOUTS = {
  rows: (data, rows, columns, dtype) => sn.tensor(data, { shape: [rows, columns], dtype }),
  turned: (data, rows, columns, dtype) => {
    const turned = Float64Array.from(data, (_, i) => data[(i % rows) * columns + Math.floor(i / rows)]);
    return sn.tensor(turned, { shape: [columns, rows], dtype }).transpose();
  },
  gaps: (data, rows, columns, dtype) => {
    const wide = new Float64Array(rows * columns * 3).fill(NaN);
    data.forEach((x, i) => (wide[3 * i + 1] = x));
    return sn.slice(sn.tensor(wide, { shape: [rows, columns, 3], dtype }), [0, 0, 1], [rows, columns, 1]).squeeze(2);
  },
  reversed: (data, rows, columns, dtype) =>
    sn.flip(sn.tensor(Float64Array.from(data).reverse(), { shape: [rows, columns], dtype })),
};

/** |error| <= (8 + log2 k) u sum|terms| for each element. */
const checkProduct = (what, product, a, b, [m, n, k], dtype) => {
  const factor = (8 + Math.log2(Math.max(1, k))) * (dtype === 'float64' ? 2 ** -52 : 2 ** -24);
  product.dataSync().forEach((got, at) => {
    const [i, j] = [Math.floor(at / n), at % n];
    let [sum, size] = [0, 0];
    for (let p = 0; p < k; p++) {
      const term = a[i * k + p] * b[p * n + j];
      sum += term;
      size += Math.abs(term);
    }
    assert.ok(Math.abs(got - sum) <= factor * size, `${what} ${m} x ${k} x ${n}: (${i}, ${j}) is ${got}, not ${sum}`);
  });
  assert.deepEqual(product.shape, [m, n]);
};

// Tiles are at most 8 rows of 8 columns, one size beyond each. A product of fewer than 2,048 multiply-adds is not
// packed, so each size comes with a small odd k, and with odd ones whose packed panels end 1 and 3 rows after 4.
test('products of every m, n and odd k around a tile, in all layouts', () => {
  const random = generator(1);
  const names = Object.keys(LAYOUTS);
  let turn = 0;
  const each = (m, n, k) => sn.tidy(() => {
    const [a, b] = [noise(random, [m, k]), noise(random, [k, n])];
    const dtype = turn % 5 ? 'float32' : 'float64';
    const [left, right] = [names[turn % 4], names[(turn >> 2) % 4]];
    turn++;
    const product = sn.matmul(LAYOUTS[left](a, m, k, dtype), LAYOUTS[right](b, k, n, dtype));
    checkProduct(`${left} ${right} ${dtype}`, product, a, b, [m, n, k], dtype);
  });
  for (let m = 1; m <= 9; m++)
    for (let n = 1; n <= 17; n++) {
      const packed = 4 * Math.ceil(2048 / (4 * m * n));
      for (const k of [2 * ((m * n) % 5) + 1, packed + 1, packed + 3]) each(m, n, k);
    }
  for (const k of [1, 3, 257]) for (let i = 0; i < 16; i++) each(33, 19, k);
});

// Sums of k products and a bias, in float32, of numbers below 1: (8 + log2 k) u (k + 1).
const roughly = (k) => (8 + Math.log2(k)) * 2 ** -24 * (k + 1);

test('bias and relu once on every tile, at every edge', () => {
  const random = generator(2);
  const f = sn.jit((a, b, bias) => sn.matmul(a, b).add(bias).relu());
  for (const [m, n, k] of [[1, 1, 1], [1, 17, 5], [9, 1, 3], [7, 9, 11], [8, 16, 300], [13, 33, 4], [150, 90, 70], [90, 150, 270]])
    sn.tidy(() => {
      const [a, b, bias] = [noise(random, [m, k]), noise(random, [k, n]), noise(random, [n])];
      const got = f(...[[a, m, k], [b, k, n]].map(([x, ...shape]) => sn.tensor(x, { shape, dtype: 'float32' })),
        sn.tensor(bias, { dtype: 'float32' }));
      got.dataSync().forEach((value, at) => {
        const [i, j] = [Math.floor(at / n), at % n];
        let sum = bias[j];
        for (let p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
        assert.ok(Math.abs(value - Math.max(0, sum)) <= roughly(k), `${m} ${n} ${k}: ${at} is ${value}, not ${sum}`);
      });
    });
});

test('windows of more elements than a block of k has', () => {
  const [h, w, c, o, kh, kw] = [7, 6, 40, 9, 3, 3];
  const random = generator(4);
  const [x, filter] = [noise(random, [1, h, w, c]), noise(random, [kh, kw, c, o])];
  const got = sn.conv2d(sn.tensor(x, { shape: [1, h, w, c], dtype: 'float32' }),
    sn.tensor(filter, { shape: [kh, kw, c, o], dtype: 'float32' }));
  assert.deepEqual(got.shape, [1, h - 2, w - 2, o]);
  got.dataSync().forEach((value, at) => {
    const [y, f] = [Math.floor(at / o), at % o];
    let sum = 0;
    for (let p = 0; p < kh * kw * c; p++) {
      const [tap, channel] = [Math.floor(p / c), p % c];
      const row = Math.floor(y / (w - 2)) + Math.floor(tap / kw);
      sum += x[(row * w + (y % (w - 2)) + (tap % kw)) * c + channel] * filter[p * o + f];
    }
    assert.ok(Math.abs(value - sum) <= roughly(kh * kw * c), `${at} is ${value}, not ${sum}`);
  });
});

// ---- sizes 0 and 1 ---------------------------------------------------------------------------------

const empty = (f, shape) => assert.deepEqual([f.shape, flat(f)], [shape, Array.from({ length: sizeOf(shape) }, () => 0)]);

test('sums of nothing are 0, and nothing comes of nothing', () => {
  const z = (...shape) => sn.ones(shape);
  const slope = (f, x) => sn.grad((y) => f(y).sum())(x);
  empty(sn.matmul(z(3, 0), z(0, 2)), [3, 2]);
  empty(sn.matmul(z(0), z(0)), []);
  empty(sn.matmul(z(0, 3), z(3, 2)), [0, 2]);
  empty(sn.matmul(z(0, 3, 2), z(2, 4)), [0, 3, 4]);
  empty(sn.matmul(z(2, 3, 0), z(2, 0, 4)), [2, 3, 4]);
  empty(slope((a) => sn.matmul(a, z(0, 2)), z(3, 0)), [3, 0]);
  empty(slope((b) => sn.matmul(z(0, 3), b), z(3, 2)), [3, 2]);
  assert.deepEqual(flat(sn.jit((a, b, c) => sn.matmul(a, b).add(c).relu())(z(2, 0), z(0, 2), z(2))), [1, 1, 1, 1]);
  empty(sn.einsum('ij,jk->ik', z(2, 0), z(0, 3)), [2, 3]);

  empty(sn.conv2d(z(0, 4, 4, 2), z(3, 3, 2, 5)), [0, 2, 2, 5]);
  empty(sn.conv2d(z(1, 4, 4, 0), z(3, 3, 0, 5), { padding: 'same' }), [1, 4, 4, 5]);
  empty(sn.conv2d(z(1, 4, 4, 2), z(3, 3, 2, 0)), [1, 2, 2, 0]);
  empty(sn.conv2d(z(1, 0, 4, 2), z(3, 3, 2, 1), { padding: 'same' }), [1, 0, 4, 1]);
  empty(sn.conv2d(z(1, 0, 4, 2), z(3, 3, 2, 1), { padding: [[2, 1], [0, 0]] }), [1, 1, 2, 1]); // of padding alone
  empty(sn.conv2d(z(1, 4, 4, 0), z(3, 3, 0, 0), { groups: 2 }), [1, 2, 2, 0]);
  empty(slope((w) => sn.conv2d(z(0, 4, 4, 2), w), z(3, 3, 2, 5)), [3, 3, 2, 5]);
  empty(slope((x) => sn.conv2d(x, z(3, 3, 2, 0)), z(1, 4, 4, 2)), [1, 4, 4, 2]);
  empty(sn.convTranspose2d(z(0, 4, 4, 2), z(3, 3, 5, 2)), [0, 6, 6, 5]);
  empty(sn.convTranspose2d(z(1, 2, 2, 0), z(3, 3, 1, 0)), [1, 4, 4, 1]);
  assert.deepEqual(flat(sn.conv2d(z(1, 1, 1, 1), z(1, 1, 1, 1).mul(3))), [3]);
  assert.deepEqual(flat(sn.conv2d(z(2, 2, 1, 1), z(1, 1, 1, 1).mul(3), { strides: 2 })), [3, 3]);
  assert.deepEqual(flat(slope((w) => sn.conv2d(z(2, 3, 4, 1), w), z(1, 1, 1, 1))), [24]);

  empty(sn.maxPool2d(z(0, 4, 4, 2), { window: 2 }), [0, 2, 2, 2]);
  empty(sn.avgPool2d(z(1, 4, 4, 0), { window: 2 }), [1, 2, 2, 0]);
  assert.deepEqual(flat(sn.maxPool2d(z(1, 2, 2, 1), { window: 1 })), [1, 1, 1, 1]);
  assert.deepEqual(flat(sn.avgPool2d(z(1, 2, 2, 1), { window: 1, strides: 2 })), [1]);

  empty(sn.attention(z(1, 2, 0, 3), z(1, 2, 4, 3), z(1, 2, 4, 3)), [1, 2, 0, 3]);
  empty(sn.attention(z(0, 2, 3, 2), z(0, 2, 4, 2), z(0, 2, 4, 2)), [0, 2, 3, 2]);
  empty(sn.attention(z(1, 2, 3, 2), z(1, 2, 4, 2), z(1, 2, 4, 0)), [1, 2, 3, 0]);
  empty(slope((k) => sn.attention(z(1, 2, 0, 3), k, z(1, 2, 4, 3)), z(1, 2, 4, 3)), [1, 2, 4, 3]);
  assert.deepEqual(flat(sn.attention(z(1, 1, 1, 1), z(1, 1, 1, 1), z(1, 1, 1, 1).mul(7), { causal: true })), [7]);
});

// ---- NaN and infinities ----------------------------------------------------------------------------

test('0 * infinity is NaN in every product of its row and column, and nowhere else', () => {
  for (const [m, n, k] of [[1, 1, 2], [1, 9, 4], [9, 1, 4], [5, 7, 3], [40, 35, 70]]) sn.tidy(() => {
    const [a, b] = [new Float64Array(m * k).fill(1), new Float64Array(k * n).fill(1)];
    a[(m - 1) * k + k - 1] = INF;
    b[(k - 1) * n] = 0;
    for (const dtype of ['float32', 'float64']) {
      const got = sn.matmul(sn.tensor(a, { shape: [m, k], dtype }), sn.tensor(b, { shape: [k, n], dtype })).dataSync();
      got.forEach((x, at) => {
        const [last, first] = [Math.floor(at / n) === m - 1, at % n === 0];
        const want = last ? (first ? NaN : INF) : k - (first ? 1 : 0);
        assert.ok(Object.is(x, want), `${m} ${n} ${k} ${dtype}: element ${at} is ${x}, not ${want}`);
      });
    }
  });
});

test('gradients carry what is not finite', () => {
  const [a, b] = [sn.tensor([[1, 2], [3, 4]]), sn.tensor([[INF, 1], [1, NaN]])];
  const r = sn.tensor([[1, 0], [1, 1]]);
  const [da, db] = sn.grad((x, y) => sn.matmul(x, y).mul(r).sum(), { argnums: [0, 1] })(a, b);
  assert.deepEqual(flat(da), [INF, NaN, INF, NaN]); // rows of r times b transposed: 0 NaN is NaN
  assert.deepEqual(flat(db), [4, 3, 6, 4]);
});

/** Which outputs of a 3 x 3 window see the element (y, x) of (h, w), of a 'same' convolution with stride 1. */
const sees = (i, y, x, w) => Math.abs(Math.floor(i / w) - y) <= 1 && Math.abs((i % w) - x) <= 1;

test('an infinity beside padding stays one; it and NaN reach the windows that hold them alone', () => {
  for (const [h, w, c, o, groups] of [[5, 6, 1, 1, 1], [12, 16, 8, 8, 1], [9, 8, 4, 4, 4], [6, 7, 4, 6, 2]]) sn.tidy(() => {
    for (const [value, y, x] of [[INF, 0, 0], [NaN, h - 1, w - 1], [INF, 2, 3], [-INF, h - 1, 0]]) {
      const data = new Float32Array(h * w * c).fill(1);
      data[(y * w + x) * c] = value;
      const filter = sn.ones([3, 3, c / groups, o]);
      const got = flat(sn.conv2d(sn.tensor(data, { shape: [1, h, w, c] }), filter, { padding: 'same', groups }));
      got.forEach((result, at) => {
        const hit = at % o < o / groups && sees(Math.floor(at / o), y, x, w);
        assert.ok(hit ? Object.is(result, value) : Number.isFinite(result), `${[h, w, c]} ${value}: ${at} is ${result}`);
      });
    }
  });
});

test('padding is zeros: an infinite weight times them is NaN', () => {
  const x = sn.ones([1, 3, 1]);
  const filter = sn.tensor([INF, 1, 1], { shape: [3, 1, 1] });
  assert.deepEqual(flat(sn.conv1d(x, filter, { padding: 'same' })), [NaN, INF, INF]);
});

test('pools: NaN is the largest of its windows and a part of their mean', () => {
  const x = sn.tensor([1, NaN, 2, 3, -INF, -INF, INF, 4], { shape: [1, 1, 8, 1] });
  const options = { window: [1, 2], strides: [1, 1], padding: [[0, 0], [1, 0]] };
  assert.deepEqual(flat(sn.maxPool2d(x, options)), [1, NaN, NaN, 3, 3, -INF, INF, INF]);
  assert.deepEqual(flat(sn.avgPool2d(x, options)), [1, NaN, NaN, 2.5, -INF, -INF, NaN, INF]);
});

test('attention: what a mask hides does not count; what sees nothing is NaN, in its row alone', () => {
  const [tokens, size] = [70, 4];
  const random = generator(3);
  const [q, k, v] = [0, 1, 2].map(() => sn.tensor(noise(random, [1, 1, tokens, size]), { shape: [1, 1, tokens, size] }));
  const seen = Array.from({ length: tokens }, (_, i) => Array.from({ length: tokens }, (_, j) => i !== 40 && j <= i));
  const added = seen.map((row) => row.map((x) => (x ? 0 : -INF)));
  const want = flat(sn.attention(q, k, v, { causal: true }));
  for (const mask of [seen, added]) {
    for (const run of [sn.attention, sn.jit((...x) => sn.attention(...x, { mask }))]) {
      flat(run(q, k, v, { mask })).forEach((x, at) => {
        if (Math.floor(at / size) === 40) assert.ok(Number.isNaN(x));
        else assert.equal(x, want[at]);
      });
    }
  }
  const [far] = flat(sn.attention([[[[0]]]], [[[[1], [1]]]], [[[[5], [7]]]], { mask: [[0, -INF]] }));
  assert.equal(far, 5);
  assert.deepEqual(flat(sn.attention([[[[1]]]], [[[[INF], [1]]]], [[[[5], [7]]]])), [NaN]); // infinity - infinity
  assert.deepEqual(flat(sn.attention([[[[1]]]], [[[[1], [1]]]], [[[[INF], [7]]]])), [INF]);
});

// ---- what is refused -------------------------------------------------------------------------------

// After any error the library still computes.
afterEach(() => assert.deepEqual(sn.tensor([1, 2]).add(1).toArray(), [2, 3]));

/** f throws and nothing is allocated, nor is more in use after than before. */
const refused = (f, type, fields) => {
  const { tensors, bytesInUse } = sn.memory();
  assertThrows(f, type, fields);
  assert.deepEqual([sn.memory().tensors, sn.memory().bytesInUse], [tensors, bytesInUse], 'bytes in use');
};

test('what does not fit: the op, what is wrong, and all shapes', () => {
  const z = (...shape) => sn.zeros(shape);
  const [x, w] = [z(1, 5, 6, 4), z(3, 3, 4, 8)];
  const [q, k] = [z(1, 4, 5, 8), z(1, 4, 7, 8)];
  for (const [f, message] of [
    [[sn.matmul, z(2, 3), z(4, 5)], 'matmul: inner dimensions differ: a (2, 3), b (4, 5)'],
    [[sn.matmul, z(2, 3, 4), z(3, 4, 5)], 'matmul: batch dimensions do not broadcast: a (2, 3, 4), b (3, 4, 5)'],
    [[sn.matmul, z(3), z(4)], 'matmul: inner dimensions differ: a (3,), b (4,)'],
    [[sn.matmul, z(), z(4)], 'matmul: needs at least one dimension: a (), b (4,)'],
    [[sn.conv2d, x, z(3, 3, 5, 8)], /^conv2d: channels differ: x \(1, 5, 6, 4\), filter \(3, 3, 5, 8\), strides/],
    [[sn.conv2d, x, w, { strides: [1, 0] }], /^conv2d: strides must be 1 or more: x .*filter .*strides \(1, 0\)/],
    [[sn.conv2d, x, w, { dilation: 0 }], /^conv2d: dilation must be 1 or more: x .*filter/],
    [[sn.conv2d, x, w, { groups: 3 }], /^conv2d: groups do not divide the channels: .*groups 3/],
    [[sn.conv2d, x, w, { padding: [[0, 0], [0, -1]] }], /^conv2d: padding is negative: x .*filter/],
    [[sn.conv2d, x, w, { padding: [[1, 1]] }], /^conv2d: expected padding as 2 whole numbers: x .*filter/],
    [[sn.conv2d, x, w, { padding: [1, 1] }], /^conv2d: expected padding as 2 whole numbers: x .*filter/],
    [[sn.conv2d, x, w, { padding: [null, [0, 0]] }], /^conv2d: expected padding as 2 whole numbers: x .*filter/],
    [[sn.conv2d, x, w, { padding: null }], /^conv2d: no padding 'null': x .*filter/],
    [[sn.conv2d, x, w, { padding: 1 }], /^conv2d: no padding '1': x .*filter/],
    [[sn.conv2d, x, z(7, 3, 4, 8)], /^conv2d: the window is larger than the input: x .*filter \(7, 3, 4, 8\)/],
    [[sn.conv2d, x, z(0, 3, 4, 8)], /^conv2d: the window has no elements: x .*filter \(0, 3, 4, 8\)/],
    [[sn.conv3d, x, w], /^conv3d: ranks do not fit: x \(1, 5, 6, 4\), filter/],
    [[sn.convTranspose2d, x, w], /^convTranspose2d: channels differ: x .*filter/],
    [[sn.convTranspose2d, x, z(3, 3, 8, 4), { strides: 0 }], /^convTranspose2d: strides must be 1 or more: x/],
    [[sn.convTranspose2d, z(1, 1, 1, 4), z(3, 3, 8, 4), { padding: [[2, 2], [0, 0]] }], /larger than the result: x/],
    [[sn.maxPool2d, x, { window: 2, padding: [[2, 0], [0, 0]] }], /^maxPool2d: padding is larger than the window: x/],
    [[sn.maxPool2d, x, { window: 2, strides: 0 }], /^maxPool2d: strides must be 1 or more: x .*window \(2, 2\)/],
    [[sn.avgPool2d, x, { window: [1, 7] }], /^avgPool2d: the window is larger than the input: x .*window \(1, 7\)/],
    [[sn.avgPool2d, x], /^avgPool2d: the window has no elements: x/],
    [[sn.attention, q, z(1, 4, 7, 9), z(1, 4, 7, 9)], /^attention: q and k differ in size: q .*k .*v \(1, 4, 7, 9\)/],
    [[sn.attention, q, k, q], /^attention: k and v differ in tokens: q .*k .*v/],
    [[sn.attention, q, z(1, 3, 7, 8), z(1, 3, 7, 8)], /^attention: heads of k do not divide those of q: q/],
    [[sn.attention, z(2, 4, 5, 8), k, k], /^attention: batch dimensions differ: q \(2, 4, 5, 8\), k/],
    [[sn.attention, q, z(1, 4, 0, 8), z(1, 4, 0, 8)], /^attention: k has no tokens: q .*k \(1, 4, 0, 8\)/],
    [[sn.attention, q, k, k, { mask: z(7, 5) }], /^attention: the mask does not fit the scores: .*mask \(7, 5\)/],
    [[sn.attention, z(8), z(8), z(8)], /^attention: needs .*: q \(8,\), k \(8,\), v \(8,\)/],
    [[sn.einsum, 'ij,jk->ikk', z(2, 3), z(3, 4)], `einsum: output 'k' is repeated in "ij,jk->ikk": a (2, 3), b (3, 4)`],
    [[sn.einsum, 'ij,jk->iz', z(2, 3), z(3, 4)], `einsum: output 'z' is in no operand in "ij,jk->iz": a (2, 3), b (3, 4)`],
    [[sn.einsum, 'ij,jk->ik', z(2, 3), z(5, 4)], `einsum: sizes 3 and 5 of 'j' differ in "ij,jk->ik": a (2, 3), b (5, 4)`],
  ]) {
    const [call, ...args] = f;
    refused(() => call(...args), sn.ShapeError, { code: 'shape', message });
  }
});

/* Signs would cancel what rounding adds up. Lengths about those of the blocks that are summed in sequence. */
test('matmul of positive terms stays within its bound at every length of k', () => {
  const cases = [[1500, 64], [1500, 128], [1500, 144], [1500, 160], [768, 161], [768, 192], [768, 256], [768, 320], [768, 512], [768, 1000]];
  for (const [m, k] of cases) {
    const n = m;
    const [x, y] = [[m, k], [k, n]].map((shape, i) => sn.random.uniform(sn.random.key(k + i), shape));
    const [a, b, got] = [x, y, sn.matmul(x, y)].map((t) => t.dataSync());
    const most = (8 + Math.log2(k)) * 2 ** -24;
    let worst = 0;
    for (let i = 0; i < m; i++) {
      const row = new Float64Array(n);
      for (let p = 0; p < k; p++) for (let j = 0; j < n; j++) row[j] += a[i * k + p] * b[p * n + j];
      for (let j = 0; j < n; j++) worst = Math.max(worst, Math.abs(got[i * n + j] - row[j]) / row[j]);
    }
    assert.ok(worst <= most, `k ${k}: ${worst * 2 ** 24} units of 2^-24, at most ${most * 2 ** 24}`);
  }
});

test('sizes that overflow are refused before anything is allocated', () => {
  const far = (...shape) => sn.broadcastTo(sn.ones([1]), shape);
  const z = (...shape) => sn.ones(shape);
  for (const f of [
    [sn.matmul, far(2 ** 20, 1), far(1, 2 ** 20)],
    [sn.matmul, far(2 ** 14, 1, 2, 1), far(2 ** 14, 1, 2)],
    [sn.conv2d, z(1, 4, 4, 1), z(3, 3, 1, 1), { dilation: 2 ** 30, padding: 'same' }],
    [sn.conv2d, far(2 ** 20, 4, 4, 1), z(3, 3, 1, 1), { dilation: 2 ** 12, padding: 'same' }],
    [sn.conv2d, far(2 ** 12, 2 ** 7, 2 ** 7, 1), z(64, 64, 1, 1), { padding: 'same' }],
    [sn.convTranspose2d, z(1, 4, 4, 1), z(3, 3, 1, 1), { strides: 2 ** 30 }],
    [sn.maxPool2d, far(2 ** 12, 2 ** 7, 2 ** 7, 1), { window: 64, strides: 1, padding: 'same' }],
    [sn.avgPool2d, z(1, 4, 4, 1), { window: 3, dilation: 2 ** 30, padding: 'same' }],
    [sn.attention, far(1, 1, 2 ** 20, 1), far(1, 1, 2 ** 20, 1), far(1, 1, 2 ** 20, 1)],
    [sn.einsum, 'a,b->ab', far(2 ** 20), far(2 ** 20)],
  ]) {
    const [call, ...args] = f;
    const peak = sn.memory().bytesPeak;
    refused(() => call(...args), sn.OutOfMemoryError, { code: 'memory', message: /too large/ });
    assert.ok(sn.memory().bytesPeak - peak < 2 ** 16);
  }
});
