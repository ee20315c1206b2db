// Elements by index, sorting and running sums, against plain loops.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();

/** Numbers that look random and are the same in every run. */
const numbers = (count, seed = 1) => {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.fround(state / 2 ** 31 - 1);
  });
};

const matrix = (rows, columns, seed) =>
  Array.from({ length: rows }, (_, i) => numbers(columns, (seed ?? 7) * 100 + i));
const place = (i, n) => Math.min(n - 1, Math.max(0, i < 0 ? i + n : i));

test('take along each axis, with indices of any shape', () => {
  const rows = matrix(5, 3);
  const x = sn.tensor(rows);
  const indices = [4, 0, -1, 2, 2, 99, -99];
  const unseen = sn.tensor(indices, { dtype: 'int32' });
  assertClose(sn.take(x, unseen), indices.map((i) => rows[place(i, 5)]), 0);
  assertClose(x.take(unseen, { axis: 1 }), rows.map((row) => indices.map((i) => row[place(i, 3)])), 0);
  assertClose(x.take([4, 0, -5]), [rows[4], rows[0], rows[0]], 0);
  assert.deepEqual([...x.take([[0, 1], [2, 3]]).shape], [2, 2, 3]);
  assert.deepEqual([...x.take(1, { axis: -1 }).shape], [5]);
  assert.deepEqual([...x.take(sn.zeros([0], { dtype: 'int32' })).shape], [0, 3]);
  assertClose(x.transpose().take([1], { axis: 1 }), rows[1].map((value) => [value]), 0);
  assert.deepEqual(sn.takeAlongAxis([[1, 2], [3, 4]], [[1], [0]]).toArray(), [[2], [3]]);
  assert.deepEqual(sn.take([true, false], [1, 1, 0]).toArray(), [false, false, true]);
});

test('scatterAdd adds in the order of the indices', () => {
  const table = matrix(4, 3);
  const updates = matrix(6, 3, 3);
  const indices = [1, 3, 1, -1, 0, 1];
  const want = table.map((row) => [...row]);
  indices.forEach((i, k) => updates[k].forEach((u, c) => {
    const row = want[place(i, 4)];
    row[c] = Math.fround(row[c] + u);
  }));
  const x = sn.tensor(table);
  assertClose(sn.scatterAdd(x, indices, updates), want, 0);
  assertClose(x.transpose().scatterAdd(indices, sn.tensor(updates).transpose(), { axis: 1 }).transpose(), want, 0);
  assert.deepEqual(sn.scatterAdd(sn.zeros([3], { dtype: 'int32' }), [2, 2, 0], 1).toArray(), [1, 0, 2]);
});

test('scatter sets, adds, multiplies, keeps the smaller or the larger', () => {
  const x = sn.tensor([[1, 2], [3, 4], [5, 6]]);
  const [indices, updates] = [[0, 2, 0], [[2, 3], [-1, 9], [4, -1]]];
  const want = {
    set: [[4, -1], [3, 4], [-1, 9]],
    add: [[7, 4], [3, 4], [4, 15]],
    mul: [[8, -6], [3, 4], [-5, 54]],
    min: [[1, -1], [3, 4], [-1, 6]],
    max: [[4, 3], [3, 4], [5, 9]],
  };
  for (const [mode, rows] of Object.entries(want)) {
    for (const dtype of ['float32', 'float64', 'int32', 'float16', 'int8']) {
      const t = x.astype(dtype);
      const run = (t, u) => t.scatter(indices, u, { mode });
      const u = sn.tensor(updates, { dtype });
      for (const f of [run, sn.jit(run), sn.jit(run, { jit: false })]) {
        assert.equal(f(t, u).dtype, dtype);
        assert.deepEqual(f(t, u).toArray(), rows, `${mode} of ${dtype}`);
      }
    }
    assert.deepEqual(sn.scatter(x.transpose(), indices, sn.tensor(updates).transpose(), { axis: 1, mode }).transpose().toArray(), rows);
    if (mode !== 'set') assert.deepEqual(x.at(indices)[mode](updates).toArray(), rows);
  }
  const special = sn.tensor([NaN, 1, -0, 0]);
  assert.deepEqual(special.at([0, 1, 2, 3]).max([1, NaN, 0, -0]).toArray(), [NaN, NaN, 0, 0]);
  assert.deepEqual(special.at([0, 1, 2, 3]).min([1, NaN, 0, -0]).toArray(), [NaN, NaN, -0, -0]);
  assertThrows(() => x.scatter([0], 1, { mode: 'mean' }), sn.SinterError, { code: 'argument', op: 'scatter' });
});

test('gradients of scatter are those of finite differences', () => sn.tidy(() => {
  const indices = [0, 2, 0, 2, 1];
  const weight = sn.tensor(numbers(4, 5), { dtype: 'float64' });
  for (const mode of ['set', 'add', 'mul', 'min', 'max']) {
    const inputs = [numbers(4, 6), numbers(5, 7)];
    if (mode === 'mul') inputs[1][0] = inputs[1][1] = 0; // one 0 at place 0, one at place 2
    const loss = (x, u) => sn.scatter(x, indices, u, { mode }).square().mul(weight).sum();
    const at = (lists) => loss(...lists.map((list) => sn.tensor(list, { dtype: 'float64' }))).item();
    const slopes = sn.grad(loss, { argnums: [0, 1] })(...inputs.map((list) => sn.tensor(list, { dtype: 'float64' })));
    inputs.forEach((list, which) => assertClose(slopes[which], list.map((_, i) => {
      const moved = (step) => at(inputs.map((l, k) => l.map((v, j) => (k === which && j === i ? v + step : v))));
      return (moved(1e-6) - moved(-1e-6)) / 2e-6;
    }), 1e-7));
  }
  const ties = sn.grad((x, u) => sn.scatter(x, [0, 0], u, { mode: 'max' }).sum(), { argnums: [0, 1] })(sn.tensor([2]), sn.tensor([2, 2]));
  assertClose(ties[0], [1 / 3]);
  assertClose(ties[1], [1 / 3, 1 / 3]);
}));

test('gatherNd and scatterNd take indices of several axes', () => {
  const x = sn.arange(24).reshape([2, 3, 4]);
  assert.deepEqual(sn.gatherNd(x, [[0, 1], [1, -1]]).toArray(), [[4, 5, 6, 7], [20, 21, 22, 23]]);
  assert.deepEqual(x.gatherNd([[[1, 2, 3]], [[0, 0, -4]]]).toArray(), [[23], [0]]);
  assert.deepEqual(x.gatherNd([1]).toArray(), x.toArray()[1]);
  const small = sn.zeros([2, 2]);
  assert.deepEqual(sn.scatterNd(small, [[0, 1], [1, 0], [0, 1]], [1, 2, 3]).toArray(), [[0, 3], [2, 0]]);
  assert.deepEqual(small.scatterNd([[0, 1], [1, 0], [0, 1]], [1, 2, 3], { mode: 'add' }).toArray(), [[0, 4], [2, 0]]);
  assert.deepEqual(sn.scatterNd(small, [[1]], [[7, 8]], { mode: 'max' }).toArray(), [[0, 0], [7, 8]]);
  const slope = sn.grad((x) => sn.gatherNd(x, [[0, 1], [0, 1], [1, 1]]).mul([1, 2, 4]).sum())(sn.ones([2, 2]));
  assert.deepEqual(slope.toArray(), [[0, 3], [0, 4]]);
  const run = sn.jit((x, i) => sn.gatherNd(x, i));
  assert.deepEqual(run(x, sn.tensor([[1, 1, 1]], { dtype: 'int32' })).toArray(), [17]);
  assert.deepEqual(sn.gatherNd(x, sn.tensor([[-9, 9, 9]], { dtype: 'int32' })).toArray(), [11]);
  assertThrows(() => sn.gatherNd(x, [[0, 0, 0, 0]]), sn.ShapeError, { op: 'gatherNd' });
  assertThrows(() => sn.gatherNd(x, [[0, 3]]), sn.ShapeError, { op: 'gatherNd', message: /3 is out of range/ });
  assertThrows(() => sn.scatterNd(x, [[-3]], 0), sn.ShapeError, { op: 'scatterNd' });
  assertThrows(() => sn.gatherNd(x, sn.tensor([[0.5]])), sn.DTypeError, { op: 'gatherNd' });
});

test('takeAlongAxis broadcasts the other axes', () => {
  const x = sn.tensor([[1, 2], [3, 4]]);
  assert.deepEqual(sn.takeAlongAxis(x, [[1, 0, 1]]).toArray(), [[2, 1, 2], [4, 3, 4]]);
  assert.deepEqual(sn.takeAlongAxis([[5, 6]], [[1], [0], [1]]).toArray(), [[6], [5], [6]]);
  const slope = sn.grad((x) => sn.takeAlongAxis(x, [[1], [0], [1]]).sum())(sn.tensor([[5, 6]]));
  assert.deepEqual(slope.toArray(), [[1, 2]]);
  assertThrows(() => sn.takeAlongAxis(x, [[0], [0], [0]]), sn.ShapeError, { op: 'takeAlongAxis', shapes: [[2, 2], [3, 1]] });
});

test('topk puts NaN first, sort last', () => {
  const x = sn.tensor([1, NaN, 3, -Infinity, 3, NaN]);
  const { values, indices } = x.topk(4);
  assert.deepEqual(values.toArray(), [NaN, NaN, 3, 3]);
  assert.deepEqual(indices.toArray(), [1, 5, 2, 4]);
  assert.deepEqual(x.sort({ descending: true }).toArray(), [3, 3, 1, -Infinity, NaN, NaN]);
  assert.deepEqual(sn.topk([[1, 5, 2]], 2, { axis: 1 }).values.toArray(), [[5, 2]]);
  assert.deepEqual([...x.topk(0).values.shape], [0]);
});

test('at takes rows, ranges and indices', () => {
  const x = sn.arange(6).reshape([3, 2]);
  assert.deepEqual(x.at(1).get().toArray(), [2, 3]);
  assert.deepEqual(x.at(-1).set(9).toArray(), [[0, 1], [2, 3], [9, 9]]);
  assert.deepEqual(x.at({ begin: 1 }).add([[10], [20]]).toArray(), [[0, 1], [12, 13], [24, 25]]);
  assert.deepEqual(x.at({ stride: -2 }).get().toArray(), [[4, 5], [0, 1]]);
  assert.deepEqual(x.at({ begin: -2, end: -1 }).get().toArray(), [[2, 3]]);
  assert.deepEqual([...x.at({ begin: 2, end: 1 }).get().shape], [0, 2]);
  assert.deepEqual(x.at([2, 2]).set([[1, 1], [7, 8]]).toArray(), [[0, 1], [2, 3], [7, 8]]);
  assert.deepEqual(x.at(sn.tensor([0], { dtype: 'int32' })).add(1).toArray(), [[1, 2], [2, 3], [4, 5]]);
  assert.deepEqual(x.toArray(), [[0, 1], [2, 3], [4, 5]]);
});

test('oneHot', () => {
  assert.deepEqual(sn.oneHot([2, 0, -1, 3], 3).toArray(), [[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]]);
  assert.equal(sn.oneHot(1, 3, { dtype: 'bool' }).dtype, 'bool');
});

test('sort, argsort and topk are stable and put NaN last', () => {
  for (const count of [0, 1, 2, 7, 24, 25, 100, 600, 3000]) {
    const values = numbers(count).map((x, i) => (i % 11 === 3 ? NaN : i % 5 === 0 ? 0.5 : x));
    const down = [false, true];
    for (const descending of down) {
      const order = values.map((_, i) => i).sort((a, b) => {
        const [x, y] = [values[a], values[b]];
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a - b;
        return (descending ? y - x : x - y) || a - b;
      });
      const x = sn.tensor(Float64Array.from(values));
      assert.deepEqual(x.argsort({ descending }).toArray(), order);
      assert.deepEqual(x.sort({ descending }).toArray(), order.map((i) => values[i]));
      assert.deepEqual(x.astype('float32').argsort({ descending }).toArray(), order);
    }
  }
  const x = sn.tensor([[3, 1, 2], [4, 6, 5]]);
  assert.deepEqual(x.sort({ axis: 0, descending: true }).toArray(), [[4, 6, 5], [3, 1, 2]]);
  const { values, indices } = x.topk(2);
  assert.deepEqual(values.toArray(), [[3, 2], [6, 5]]);
  assert.deepEqual(indices.toArray(), [[0, 2], [1, 2]]);
  const limits = [-(2 ** 31), -7, 3, 2 ** 31 - 1];
  assert.deepEqual(sn.sort(Int32Array.from([3, -7, limits[3], limits[0]])).toArray(), limits);
  assert.deepEqual(sn.sort([true, false, true]).toArray(), [false, true, true]);
});

test('cumsum and cumprod along any axis, backwards and exclusive', () => {
  const rows = matrix(3, 4);
  const scan = (line, start, step, { reverse, exclusive }) => {
    const out = [...line];
    const order = line.map((_, i) => (reverse ? line.length - 1 - i : i));
    let state = start;
    for (const i of order) {
      const before = state;
      state = step(state, line[i]);
      out[i] = exclusive ? before : state;
    }
    return out;
  };
  const flip = (m) => m[0].map((_, i) => m.map((row) => row[i]));
  const x = sn.tensor(rows);
  for (const reverse of [false, true]) {
    for (const exclusive of [false, true]) {
      const options = { reverse, exclusive };
      const sums = (m) => m.map((line) => scan(line, 0, (a, b) => a + b, options));
      const products = (m) => m.map((line) => scan(line, 1, (a, b) => a * b, options));
      assertClose(sn.cumsum(x, { axis: 1, ...options }), sums(rows), 1e-7);
      assertClose(sn.cumsum(x, { axis: 0, ...options }), flip(sums(flip(rows))), 1e-7);
      assertClose(sn.cumprod(x, { axis: -1, ...options }), products(rows), 1e-7);
      assertClose(x.cumprod({ axis: 0, ...options }), flip(products(flip(rows))), 1e-7);
    }
  }
  assert.deepEqual(sn.cumsum([[1, 2], [3, 4]]).toArray(), [1, 3, 6, 10]);
  assert.deepEqual(sn.cumsum([true, true], 0).toArray(), [1, 2]);
  assert.deepEqual(sn.zeros([2, 0]).cumsum(1).toArray(), [[], []]);
});

test('gradients', () => {
  const pick = sn.grad((t) => sn.take(t, [1, 1, 0]).mul([[1], [2], [4]]).sum());
  assert.deepEqual(pick(sn.zeros([3, 2])).toArray(), [[4, 4], [3, 3], [0, 0]]);
  const replaced = sn.grad((t) => t.at(0).set(t.at(1).get()).mul([[1, 1], [10, 10]]).sum());
  assert.deepEqual(replaced(sn.zeros([2, 2])).toArray(), [[0, 0], [11, 11]]);
  assert.deepEqual(sn.grad((t) => t.sort().mul([1, 2, 3]).sum())(sn.tensor([5, 1, 3])).toArray(), [3, 1, 2]);
  assert.deepEqual(sn.grad((t) => t.topk(1).values.sum())(sn.tensor([5, 1, 7])).toArray(), [0, 0, 1]);
  assert.deepEqual(sn.grad((t) => t.cumsum(0).sum())(sn.zeros([3])).toArray(), [3, 2, 1]);
  assert.deepEqual(sn.grad((t) => t.prod())(sn.tensor([0, 2, 3])).toArray(), [6, 0, 0]);
  assert.deepEqual(sn.grad((t) => t.cumprod(0).sum())(sn.tensor([2, 0, 3])).toArray(), [1, 8, 0]);
});

test('scatterAdd by captured indices gathers its sums, which have the bits of a scatter', () => {
  const indices = sn.tensor(Array.from({ length: 40 }, (_, i) => (i * 7) % 23 - 9), { dtype: 'int32' });
  const updates = sn.tensor(numbers(40 * 36)).reshape([40, 36]);
  const cases = {
    rows: (u, i) => sn.zeros([11, 36]).scatterAdd(i, u).mul(1.5),
    alone: (u, i) => sn.zeros([11, 36]).scatterAdd(i, u),
    'rows that lie apart': (u, i) => sn.zeros([11, 36]).scatterAdd(i, u.reshape([36, 40]).transpose()).neg(),
    'rows of parts': (u, i) => sn.zeros([11, 16]).scatterAdd(i, u.slice([0, 3], [40, 16])).add(1),
    'a middle axis': (u, i) => sn.zeros([2, 11, 18]).scatterAdd(i, u.reshape([2, 40, 18]), { axis: 1 }).abs(),
    'a gradient': (u, i) => sn.grad((x) => x.take(i).mul(u).sum())(sn.ones([11, 36])),
  };
  for (const [name, f] of Object.entries(cases)) {
    const want = sn.jit(f)(updates, indices).toArray();
    for (const options of [{}, { jit: false }, { fusion: false }])
      assert.deepEqual(sn.jit((u) => f(u, indices), options)(updates).toArray(), want, `${name} ${JSON.stringify(options)}`);
    const { kernels } = sn.inspect((u) => f(u, indices))(updates);
    assert.ok(kernels.some(({ text }) => text.includes('ragged_sum')), name);
  }
});

test('elements are looked up where they are read, whatever dtype, axis and indices', () => {
  const wires = Array.from({ length: 45 }, (_, i) => (i * 17) % 60 - 30);
  const indices = sn.tensor(wires, { dtype: 'int32' });
  for (const dtype of ['float32', 'float64', 'int32', 'bool', 'float16', 'int8']) {
    const x = sn.tensor(numbers(7 * 22)).mul(50).astype(dtype).reshape([7, 22]);
    const others = sn.tensor(Array.from({ length: 7 * 45 }, (_, i) => (i * 5) % 31 - 9), { dtype: 'int32' }).reshape([7, 45]);
    const cases = {
      'the last axis': (t) => t.take(indices, { axis: 1 }),
      'part of it': (t) => t.take(indices, { axis: 1 }).slice([1, 3], [5, 41]),
      'an index each': (t) => t.takeAlongAxis(others, { axis: 1 }),
      'reading columns': (t) => t.take(indices, { axis: 1 }).transpose(),
      'a transposed table': (t) => t.transpose().take(indices.slice([2], [7]), { axis: 1 }),
    };
    for (const [name, f] of Object.entries(cases)) {
      const read = (t) => sn.where(f(t), 1, 2).add(f(t).astype('float32'));
      const want = sn.jit(read, { fusion: false })(x).toArray();
      assert.deepEqual(sn.jit(read)(x).toArray(), want, `${dtype} ${name}`);
      assert.deepEqual(sn.jit(read, { jit: false })(x).toArray(), want, `${dtype} ${name}, no code`);
      assert.equal(sn.inspect(read)(x).kernels.length, 1, `${dtype} ${name}`);
    }
  }
});

test('scatters of lines have the bits of the reference, whatever the axis', () => {
  const places = Array.from({ length: 45 }, (_, i) => (i * 17) % 60 - 30);
  const at = (i) => Math.max(0, Math.min(21, i < 0 ? i + 22 : i));
  const u = Array.from({ length: 3 }, (_, r) => places.map((_, i) => ((i * 7 + r) % 11) - 4));
  const want = u.map((row) => {
    const sums = Array(22).fill(0);
    row.forEach((v, i) => { sums[at(places[i])] += v; });
    return sums;
  });
  const i = sn.tensor(places, { dtype: 'int32' });
  for (const dtype of ['float32', 'float64', 'int32']) {
    const got = sn.jit((t, i) => sn.zeros([3, 22], { dtype }).scatterAdd(i, t, { axis: 1 }))(sn.tensor(u).astype(dtype), i);
    assert.deepEqual(got.toArray(), want, dtype);
  }
});

test('inside jit, as outside', () => {
  const f = (t, i) => t.take(i).cumsum(0).sort({ axis: 1 });
  const x = sn.tensor(matrix(6, 5));
  const i = sn.tensor([5, -1, 0, 3], { dtype: 'int32' });
  assert.deepEqual(sn.jit(f)(x, i).toArray(), f(x, i).toArray());
});

test('what is refused', () => {
  const x = sn.zeros([2, 3]);
  assertThrows(() => x.take([0.5]), sn.DTypeError, { op: 'take' });
  assertThrows(() => x.take(sn.tensor([1])), sn.DTypeError, { message: /indices must be int32, not float32/ });
  assertThrows(() => x.take([0], { axis: 2 }), sn.ShapeError, { message: 'take: axis 2 is out of range: a (2, 3) of rank 2, axes are -2 to 1' });
  assertThrows(() => sn.zeros([0, 3]).take([0]), sn.ShapeError, { op: 'take' });
  assertThrows(() => x.scatterAdd([0], sn.zeros([4])), sn.ShapeError, { shapes: [[1, 3], [4]] });
  assertThrows(() => sn.zeros([2], { dtype: 'int32' }).scatterAdd([0], sn.ones([1])), sn.DTypeError);
  assertThrows(() => x.at(2).get(), sn.ShapeError, { message: 'at: row 2 is out of range: a (2, 3)' });
  assertThrows(() => x.at({ stride: 0 }).get(), sn.SinterError, { code: 'argument' });
  assertThrows(() => sn.tensor(1).at(0).get(), sn.ShapeError);
  assertThrows(() => x.takeAlongAxis([0]), sn.ShapeError, { shapes: [[2, 3], [1]] });
  assertThrows(() => x.topk(4), sn.ShapeError, { op: 'topk' });
  assertThrows(() => x.sort({ axis: 0.5 }), sn.ShapeError);
  assertThrows(() => x.cumsum(2), sn.ShapeError, { op: 'cumsum' });
  assertThrows(() => sn.oneHot([0], 1.5), sn.SinterError, { code: 'argument' });
});
