// Windows that padding moves beyond the input, windows rounded up, and norms of windows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const line = (data) => sn.tensor(data).reshape([1, data.length, 1]);
const taps = (data) => sn.tensor(data).reshape([data.length, 1, 1]);
const flat = (t) => [...t.dataSync()];

test('a convolution may be padded by more than its window', () => {
  assert.deepEqual(flat(sn.conv1d(sn.ones([1, 3, 1]), sn.ones([2, 1, 1]), { padding: [[2, 2]] })), [0, 1, 2, 2, 1, 0]);
  assert.deepEqual(flat(sn.conv2d(sn.full([1, 1, 1, 1], 3), sn.ones([1, 1, 1, 1]), { padding: [[1, 1], [1, 1]] })),
    [0, 0, 0, 0, 3, 0, 0, 0, 0]);
  assert.deepEqual(flat(sn.conv1d(line([1, 2]), taps([3]), { padding: [[5, 2]], strides: 2 })), [0, 0, 0, 6, 0]);
  const loss = (x, w) => sn.conv1d(x, w, { padding: [[3, 4]], strides: 2 }).mul(line([1, 2, 4, 8])).sum();
  const [dx, dw] = sn.grad(loss, { argnums: [0, 1] })(line([5, 6]), taps([1, 10]));
  assert.deepEqual(flat(dx), [20, 4]); // windows begin at -3, -1, 1, 3
  assert.deepEqual(flat(dw), [24, 10]);
});

test('transposed convolutions: strides beyond the window, padding that cuts off, output padding', () => {
  const x = line([1, 2, 3]), w = taps([10, 20]);
  assert.deepEqual(flat(sn.convTranspose1d(x, w, { strides: 3 })), [10, 20, 0, 20, 40, 0, 30, 60]);
  assert.deepEqual(flat(sn.convTranspose1d(x, w, { strides: 3, padding: [[3, 0]] })), [20, 40, 0, 30, 60]);
  assert.deepEqual(flat(sn.convTranspose1d(x, w, { strides: 3, outputPadding: 2 })), [10, 20, 0, 20, 40, 0, 30, 60, 0, 0]);
  assert.deepEqual(flat(sn.convTranspose1d(x, w, { strides: 2, padding: [[1, 1]], outputPadding: 1 })), [20, 20, 40, 30, 60]);
  const slope = sn.grad((x) => sn.convTranspose1d(x, w, { strides: 2, padding: [[1, 1]], outputPadding: 1 })
    .mul(line([1, 2, 4, 8, 16])).sum())(x);
  assert.deepEqual(flat(slope), [20, 100, 400]);
  assertThrows(() => sn.convTranspose1d(x, w, { strides: 2, outputPadding: 2 }), sn.ShapeError, { op: 'convTranspose1d' });
  assertThrows(() => sn.conv1d(x, w, { outputPadding: 1 }), sn.SinterError, { code: 'argument' });
  const volume = sn.convTranspose3d(sn.ones([1, 1, 1, 1, 1]), sn.ones([1, 2, 2, 1, 1]));
  assert.deepEqual([...volume.shape], [1, 1, 2, 2, 1]);
});

test('pools of one and three axes', () => {
  assert.deepEqual(flat(sn.maxPool1d(line([1, 5, 2, 4]), { window: 2 })), [5, 4]);
  assert.deepEqual(flat(sn.avgPool1d(line([1, 5, 2, 4]), { window: 2 })), [3, 3]);
  const cube = sn.arange(8).reshape([1, 2, 2, 2, 1]);
  assert.deepEqual(flat(cube.maxPool3d({ window: 2 })), [7]);
  assert.deepEqual(flat(cube.avgPool3d({ window: [1, 2, 2] })), [1.5, 5.5]);
});

test('windows rounded up, and means that count padding, as in PyTorch', () => {
  const x = line([1, 2, 3, 4, 5]);
  assert.deepEqual(flat(sn.maxPool1d(x, { window: 2, ceil: true })), [2, 4, 5]);
  assert.deepEqual(flat(sn.avgPool1d(x, { window: 2, ceil: true })), [1.5, 3.5, 5]);
  assert.deepEqual(flat(sn.avgPool1d(x, { window: 2, ceil: true, countIncludePad: true })), [1.5, 3.5, 5]);
  // the window that would begin in the padding behind x is left out
  assert.deepEqual(flat(sn.avgPool1d(line([1, 2, 3]), { window: 2, padding: [[1, 1]], ceil: true })), [1, 2.5]);
  const padded = { window: 3, strides: 2, padding: [[1, 1]] };
  assert.deepEqual(flat(sn.avgPool1d(line([3, 6, 9]), padded)), [4.5, 7.5]);
  assert.deepEqual(flat(sn.avgPool1d(line([3, 6, 9]), { ...padded, countIncludePad: true })), [3, 5]);
  // (N, H, W, C) = (1, 4, 1, 1): rows -1 .. 4 count, row 5 does not
  const rows = sn.tensor([3, 6, 9, 12]).reshape([1, 4, 1, 1]);
  const tall = { window: [3, 1], strides: [2, 1], padding: [[1, 1], [0, 0]], ceil: true };
  assert.deepEqual(flat(sn.avgPool2d(rows, { ...tall, countIncludePad: true })), [3, 9, 6]);
  assert.deepEqual(flat(sn.avgPool2d(rows, tall)), [4.5, 9, 12]);
  assertThrows(() => sn.maxPool1d(x, { window: 2, ceiling: true }), sn.SinterError, { code: 'argument' });
});

test('norms of windows, and their gradients', () => {
  assertClose(flat(sn.lpPool1d(line([3, -4, 0, 0]), { window: 2 })), [5, 0]);
  assertClose(flat(sn.lpPool1d(line([3, -4, 1, 1]), { window: 2, norm: 1 })), [7, 2]);
  assertClose(flat(sn.lpPool2d(sn.ones([1, 3, 3, 1]), { window: 2, ceil: true })), [2, Math.SQRT2, Math.SQRT2, 1]);
  const slope = sn.grad((x) => x.lpPool1d({ window: 2 }).sum())(line([3, -4, 0, 0]));
  assertClose(flat(slope), [0.6, -0.8, 0, 0]);
  assertThrows(() => sn.lpPool1d(line([1]), { window: 1, norm: 0 }), sn.SinterError, { code: 'argument' });
});
