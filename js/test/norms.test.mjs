// Layer norm over any axes, group and instance norm: PyTorch's numbers, plain loops, gradients.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertSlopes, assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const range = (n) => Array.from({ length: n }, (_, i) => i);
const wide = (data, shape) => sn.tensor(data, { shape, dtype: 'float64' });
/* (2, 6, 2), channels at axis 1, the powers 1.3 of 0 .. 23; PyTorch 1.13 in float64. */
const X = range(24).map((i) => i ** 1.3);

test('the numbers of PyTorch', () => {
  const x = wide(X, [2, 6, 2]);
  const grouped = x.transpose([0, 2, 1]);
  const scale = { weight: range(6).map((i) => i + 1), bias: range(6) };
  const want = [-1.213395577, -0.577565346, 1.704404194, 3.877517651, -1.948791515, 0.581961788, 4.693513084, 8.462259885];
  assertClose([...sn.groupNorm(x, 3, { axis: 1, ...scale }).dataSync()].slice(0, 8), want, 1e-8);
  assertClose([...sn.groupNorm(grouped, 3, scale).transpose([0, 2, 1]).dataSync()].slice(0, 8), want, 1e-8);
  assertClose([...sn.instanceNorm(x, { axis: 1 }).dataSync()].slice(0, 4), [-0.999980001, 0.999980001, -0.999993151, 0.999993151], 1e-8);
  const layer = sn.layerNorm(x, { axis: [1, 2], weight: wide(range(12), [6, 2]) });
  assertClose([...layer.dataSync()].slice(0, 6), [0, -1.232378448, -2.062369381, -2.388189198, -2.143150193, -1.275250933], 1e-8);
});

test('over one axis layer norm is that of the last one, moved', () => {
  const x = wide(X, [4, 6]), weight = range(4), bias = [1, 0, 2, 0];
  const want = sn.layerNorm(x.transpose(), { weight, bias }).transpose().toArray();
  for (const axis of [0, [0], -2]) assertClose(sn.layerNorm(x, { axis, weight, bias }), want, 1e-12);
  assertClose(sn.layerNorm(x, { axis: -1 }), sn.layerNorm(x).toArray(), 0);
  assertClose(sn.layerNorm(x, { axis: [1] }), sn.layerNorm(x).toArray(), 1e-12);
  assertClose(sn.groupNorm(x, 6), x.mul(0).toArray(), 0); // each alone is its own mean
});

test('halves are computed as float32 and come back', () => {
  const x = sn.tensor(range(16)).reshape([2, 2, 4]).mul(1000).astype('float16');
  assert.equal(sn.instanceNorm(x).dtype, 'float16');
  assertClose(sn.groupNorm(x, 2), sn.groupNorm(x.astype('float32'), 2).toArray(), 1e-3);
  assert.equal(sn.groupNorm(sn.ones([2, 4]).astype('int32'), 2).dtype, 'float32');
});

test('gradients', () => {
  const inputs = [{ data: range(24).map((i) => Math.sin(3 * i)), shape: [2, 6, 2] }];
  const weight = { data: range(6).map((i) => Math.cos(i)), shape: [6] }, bias = { data: range(6), shape: [6] };
  const r = wide(range(24).map((i) => Math.cos(5 * i)), [2, 6, 2]);
  const loss = (f) => (...args) => f(...args).mul(r).sum();
  assertSlopes(sn, loss((x, w, b) => sn.groupNorm(x, 3, { axis: 1, weight: w, bias: b })), [...inputs, weight, bias]);
  assertSlopes(sn, loss((x, w, b) => sn.instanceNorm(x, { axis: 1, weight: w, bias: b, eps: 0.1 })), [...inputs, weight, bias]);
  assertSlopes(sn, loss((x, w) => sn.layerNorm(x, { axis: [0, 1], weight: w })), [...inputs, { data: range(12).map((i) => i / 5), shape: [2, 6] }]);
});

test('what is refused', () => {
  const x = sn.zeros([2, 6, 3]);
  assertThrows(() => sn.groupNorm(x, 4, { axis: 1 }), sn.ShapeError, { op: 'groupNorm', shapes: [[2, 6, 3]] });
  assertThrows(() => sn.groupNorm(x, 0), sn.SinterError, { op: 'groupNorm' });
  assertThrows(() => sn.instanceNorm(x, { axis: 0 }), sn.ShapeError, { op: 'instanceNorm' });
  assertThrows(() => sn.groupNorm(x, 3, { weight: [1, 2] }), sn.ShapeError, { op: 'groupNorm', shapes: [[3], [2, 6, 3], [2]] });
  assertThrows(() => sn.layerNorm(x, { axis: [1, 1] }), sn.ShapeError, { op: 'layerNorm' });
  assertThrows(() => sn.layerNorm(x, { axis: [1, 2], weight: [1] }), sn.ShapeError, { op: 'layerNorm' });
});
