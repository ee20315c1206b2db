// Reductions, norms and rearrangements that are compositions of other ops, against plain loops.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();

const X = [[1, -2, 3, 0.5], [0, 4, -1, 2], [2, 2, 5, -3]];
const x = sn.tensor(X);
const columns = X[0].map((_, i) => X.map((row) => row[i]));
const sum = (line) => line.reduce((a, b) => a + b, 0);
const mean = (line) => sum(line) / line.length;
const variance = (line, correction = 0) => sum(line.map((v) => (v - mean(line)) ** 2)) / (line.length - correction);

test('softmax, logSoftmax and logsumexp of nothing, with gradients', () => {
  for (const [shape, axis] of [[[0], 0], [[3, 0], 1], [[3, 0], 0], [[0, 3], 0]]) {
    const none = sn.zeros(shape);
    for (const f of [sn.softmax, sn.logSoftmax]) {
      assert.deepEqual([...f(none, { axis }).shape], shape);
      assert.deepEqual([...sn.jit((x) => f(x, { axis }))(none).shape], shape);
      assert.deepEqual([...sn.grad((x) => f(x, { axis }).sum())(none).shape], shape);
    }
  }
  assert.equal(sn.logsumexp(sn.zeros([0])).item(), -Infinity);
  assert.deepEqual(sn.logsumexp(sn.zeros([3, 0]), { axis: 1 }).toArray(), [-Infinity, -Infinity, -Infinity]);
  assert.deepEqual([...sn.grad((x) => sn.logsumexp(x, { axis: 1 }).sum())(sn.zeros([3, 0])).shape], [3, 0]);
});

test('statistics over one axis, all, and with options', () => {
  assertClose(sn.var(x, { axis: 1 }), X.map((row) => variance(row)));
  assertClose(x.var({ axis: 0, correction: 1 }), columns.map((column) => variance(column, 1)));
  assertClose(x.std(), Math.sqrt(variance(X.flat())));
  assert.deepEqual([...sn.std(x, { axis: -1, keepdims: true }).shape], [3, 1]);
  assertClose(sn.logsumexp(x, 1), X.map((row) => Math.log(sum(row.map(Math.exp)))));
  assertClose(sn.logsumexp([1e4, 1e4]), 1e4 + Math.log(2));
  assertClose(x.prod(0), columns.map((column) => column.reduce((a, b) => a * b)));
  assert.equal(sn.prod(sn.zeros([0])).item(), 1);
  assert.deepEqual(x.any(1).toArray(), [true, true, true]);
  assert.deepEqual(x.all({ axis: 0 }).toArray(), [false, true, true, true]);
  assert.deepEqual([sn.any(sn.zeros([0])).item(), sn.all(sn.zeros([0])).item()], [0, 1]);
  assert.equal(sn.any([NaN]).dtype, 'bool');
  assert.ok(Number.isNaN(sn.var([1], { correction: 1 }).item()));
});

test('norms of each order', () => {
  const line = X.flat();
  const power = (p) => sum(line.map((v) => Math.abs(v) ** p)) ** (1 / p);
  assertClose(sn.norm(x), power(2));
  for (const ord of [1, 3, 0.5]) assertClose(x.norm({ ord }), power(ord), 1e-5);
  assert.equal(x.norm({ ord: Infinity }).item(), 5);
  assert.equal(x.norm({ ord: -Infinity }).item(), 0);
  assert.equal(x.norm({ ord: 0 }).item(), 11);
  assertClose(x.norm({ axis: 1 }), X.map((row) => Math.hypot(...row)));
  assert.deepEqual(sn.grad((t) => sn.norm(t))(sn.zeros([2])).toArray(), [0, 0]);
});

test('softmax along each axis and cross-entropy in both forms', () => {
  const softmax = (line) => line.map((v) => Math.exp(v) / sum(line.map(Math.exp)));
  assertClose(sn.softmax(x), X.map(softmax));
  assertClose(x.softmax({ axis: 0 }).transpose(), columns.map(softmax));
  assertClose(x.logSoftmax(), X.map((row) => softmax(row).map(Math.log)));
  assertClose(sn.softmax([1e4, -1e4]), [1, 0]);
  const labels = [2, 1, 0];
  const losses = X.map((row, i) => -Math.log(softmax(row)[labels[i]]));
  assertClose(sn.softmaxCrossEntropy(x, sn.tensor(labels, { dtype: 'int32' })), losses);
  assertClose(sn.softmaxCrossEntropy(x, sn.oneHot(labels, 4)), losses);
});

test('layerNorm and rmsNorm, also of large values', () => {
  const [weight, bias] = [[1, 2, 3, 4], [0.5, 0, 0, -1]];
  const normed = X.map((row) =>
    row.map((v, i) => ((v - mean(row)) / Math.sqrt(variance(row) + 1e-5)) * weight[i] + bias[i]));
  assertClose(sn.layerNorm(x, { weight, bias }), normed, 1e-5);
  assertClose(sn.layerNorm(x.add(1e4), { weight, bias }), normed, 2e-3);
  assertClose(sn.layerNorm([[10001, 10003]], { eps: 0 }), [[-1, 1]]);
  assertClose(sn.layerNorm([[-1e4, 1e4]]), [[-1, 1]]);
  const rms = X.map((row) => row.map((v, i) => (v / Math.sqrt(mean(row.map((w) => w * w)) + 1e-3)) * weight[i]));
  assertClose(sn.rmsNorm(x, { weight, eps: 1e-3 }), rms, 1e-5);
  assertThrows(() => sn.layerNorm(x, { bias: [1, 2] }), sn.ShapeError, {
    message: 'layerNorm: bias is not (4,): a (3, 4), bias (2,)',
  });
});

test('batchNorm: of x itself, of given statistics, along any axis', () => {
  const [weight, bias, eps] = [[1, 2, 3, 4], [0.5, 0, 0, -1], 1e-3];
  const column = (i) => X.map((row) => row[i]);
  const normed = X.map((row) => row.map((v, i) =>
    ((v - mean(column(i))) / Math.sqrt(variance(column(i)) + eps)) * weight[i] + bias[i]));
  assertClose(sn.batchNorm(x, { weight, bias, eps }), normed, 1e-5);
  assertClose(sn.batchNorm(x.transpose(), { axis: 0, weight, bias, eps }).transpose(), normed, 1e-5);
  const statistics = { mean: sn.mean(x, { axis: 0 }), variance: sn.var(x, { axis: 0 }) };
  assertClose(sn.batchNorm(x, { ...statistics, weight, bias, eps }), normed, 1e-5);
  const images = x.reshape([3, 1, 2, 2]);
  const pixels = [0, 1].map((channel) => X.flatMap((row) => row.filter((_, i) => i % 2 === channel)));
  assertClose(sn.batchNorm(images, { eps }).reshape([3, 4]), X.map((row) => row.map((v, i) =>
    (v - mean(pixels[i % 2])) / Math.sqrt(variance(pixels[i % 2]) + eps))), 1e-5);
  assertClose(sn.batchNorm([[3], [3]], { mean: [1], variance: [4], eps: 0 }), [[1], [1]]);
  assertThrows(() => sn.batchNorm(x, { weight: [1, 2] }), sn.ShapeError, {
    message: 'batchNorm: weight is not (4,): a (3, 4), weight (2,)',
  });
  assertThrows(() => sn.batchNorm(x, { mean: [1, 2, 3, 4] }), sn.SinterError, {
    message: 'batchNorm: a mean and a variance are needed together',
  });
});

test('roll, split, tile, repeat', () => {
  const at = (i, n) => ((i % n) + n) % n;
  for (const shift of [0, 1, -1, 5, -7]) {
    assert.deepEqual(sn.roll(x, shift, { axis: 1 }).toArray(), X.map((row) => row.map((_, i) => row[at(i - shift, 4)])));
    assert.deepEqual(x.roll(shift).toArray().flat(), X.flat().map((_, i, all) => all[at(i - shift, 12)]));
  }
  assert.deepEqual(sn.roll(x, [1, -1], { axis: [0, 1] }).toArray(), x.roll(1, { axis: 0 }).roll(-1, { axis: 1 }).toArray());
  assert.deepEqual(sn.roll(sn.zeros([0, 2]), 3, { axis: 0 }).toArray(), []);
  assert.deepEqual(sn.split(x, 2, { axis: 1 }).map((t) => t.toArray()), [
    X.map((row) => row.slice(0, 2)), X.map((row) => row.slice(2))]);
  assert.deepEqual(x.split([1, 2]).map((t) => [...t.shape]), [[1, 4], [2, 4]]);
  assert.deepEqual(sn.tile(x, 2).toArray(), X.map((row) => [...row, ...row]));
  assert.deepEqual(sn.tile([1, 2], [2, 2]).toArray(), [[1, 2, 1, 2], [1, 2, 1, 2]]);
  assert.deepEqual([...sn.tile(x, [2, 1, 0]).shape], [2, 3, 0]);
  assert.deepEqual(sn.repeat([1, 2], 2).toArray(), [1, 1, 2, 2]);
  assert.deepEqual(x.repeat(2, { axis: 0 }).toArray(), X.flatMap((row) => [row, row]));
  assertThrows(() => sn.split(x, 3, { axis: 1 }), sn.ShapeError, { op: 'split' });
  assertThrows(() => sn.roll(x, 0.5), sn.SinterError, { code: 'argument' });
});

test('repeat with a count for each element', () => {
  const each = (list, counts) => list.flatMap((v, i) => new Array(counts[i]).fill(v));
  assert.deepEqual(sn.repeat([1, 2, 3], [2, 0, 1]).toArray(), [1, 1, 3]);
  assert.deepEqual(x.repeat([1, 0, 3], { axis: 0 }).toArray(), each(X, [1, 0, 3]));
  assert.deepEqual(x.repeat([2, 1, 0, 1], { axis: -1 }).toArray(), X.map((row) => each(row, [2, 1, 0, 1])));
  const all = X.flat().map((_, i) => i % 3);
  assert.deepEqual(sn.repeat(x, all).toArray(), each(X.flat(), all));
  assert.deepEqual([...x.repeat([0, 0, 0], { axis: 0 }).shape], [0, 4]);
  assert.deepEqual(sn.repeat(sn.zeros([0, 2]), [], { axis: 0 }).toArray(), []);
  assert.equal(sn.repeat([true, false], [1, 2]).dtype, 'bool');
  const f = (t) => sn.repeat(t, [2, 0, 1, 3]).mul([1, 2, 3, 4, 5, 6]).sum();
  assert.deepEqual(sn.jit(sn.grad(f))(x.take(0)).toArray(), [3, 0, 3, 15]);
  const rows = sn.vmap((row) => row.repeat([0, 1, 2, 0]))(x);
  assert.deepEqual(rows.toArray(), X.map((row) => each(row, [0, 1, 2, 0])));
  assertThrows(() => x.repeat([1, 2], { axis: 0 }), sn.ShapeError, { message: 'repeat: 2 counts for the 3 elements of axis 0: a (3, 4)' });
  assertThrows(() => x.repeat([1, -2, 1], { axis: 0 }), sn.SinterError, { op: 'repeat', code: 'argument' });
  assertThrows(() => x.repeat([1, 0.5, 1], { axis: 0 }), sn.SinterError, { op: 'repeat', code: 'argument' });
  assertThrows(() => x.repeat([1, 1, 1], { axis: 2 }), sn.ShapeError, { op: 'repeat' });
  assertThrows(() => sn.repeat([1, 2], [2 ** 31 - 1, 2 ** 31 - 1]), sn.OutOfMemoryError, { op: 'repeat' });
});

test('tril, triu, outer, dot', () => {
  for (const k of [-2, 0, 1]) {
    assert.deepEqual(sn.tril(x, { k }).toArray(), X.map((row, i) => row.map((v, j) => (j <= i + k ? v : 0))));
    assert.deepEqual(sn.triu(x, { k }).toArray(), X.map((row, i) => row.map((v, j) => (j >= i + k ? v : 0))));
  }
  assert.equal(sn.tril([[true, true], [true, true]]).dtype, 'bool');
  assert.deepEqual(sn.outer([1, 2], [3, 4, 5]).toArray(), [[3, 4, 5], [6, 8, 10]]);
  assert.equal(sn.dot([1, 2, 3], [4, 5, 6]).item(), 32);
  assertClose(sn.dot(x, columns), X.map((a) => X.map((b) => sum(a.map((v, i) => v * b[i])))));
  assert.deepEqual(sn.dot(2, [1, 2]).toArray(), [2, 4]);
  const y = sn.arange(24).reshape([2, 4, 3]);
  const product = sn.dot(x, y);
  assert.deepEqual([...product.shape], [3, 2, 3]);
  assertClose(product.at(1).get().at(1).get(), sn.matmul(x.at(1).get(), y.at(1).get()).toArray());
});
