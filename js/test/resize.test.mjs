// pad in its modes and resize, against NumPy's and PyTorch's numbers; their gradients against differences.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertSlopes, assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const flat = (t) => [...t.dataSync()];
/** Numbers in no particular order. */
const ragged = (n) => Array.from({ length: n }, (_, i) => Math.sin(3 * i + 1));

test('pad by edge, reflect and symmetric, further than the tensor reaches', () => {
  const want = {
    edge: [1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 4, 4, 4, 4, 4],
    reflect: [1, 2, 3, 4, 3, 2, 1, 2, 3, 4, 3, 2, 1, 2, 3],
    symmetric: [3, 4, 4, 3, 2, 1, 1, 2, 3, 4, 4, 3, 2, 1, 1],
  };
  for (const [mode, list] of Object.entries(want)) {
    for (const dtype of ['float32', 'int32', 'float16', 'bool']) {
      const x = sn.tensor([1, 2, 3, 4]).astype(dtype);
      const y = x.pad([[6, 5]], { mode });
      assert.equal(y.dtype, dtype);
      if (dtype !== 'bool') assert.deepEqual(y.toArray(), list, mode);
    }
    assert.deepEqual(sn.pad([7], [[2, 1]], { mode }).toArray(), [7, 7, 7, 7]);
  }
  assert.deepEqual(sn.arange(6).reshape([2, 3]).pad([[1, 2], [2, 1]], { mode: 'reflect' }).toArray(),
    [[5, 4, 3, 4, 5, 4], [2, 1, 0, 1, 2, 1], [5, 4, 3, 4, 5, 4], [2, 1, 0, 1, 2, 1], [5, 4, 3, 4, 5, 4]]);
  assert.deepEqual(sn.pad([1], [[1, 0]], { value: 9 }).toArray(), [9, 1]);
  assert.deepEqual([...sn.pad(sn.zeros([0, 2]), [[0, 0], [1, 1]], { mode: 'edge' }).shape], [0, 4]);
  assertThrows(() => sn.pad(sn.zeros([0]), [[1, 0]], { mode: 'edge' }), sn.ShapeError, { op: 'pad' });
  assertThrows(() => sn.pad([1], [[1, 0]], { mode: 'wrap' }), sn.SinterError, { code: 'argument', op: 'pad' });
  assertThrows(() => sn.pad([1], [[-1, 0]], { mode: 'edge' }), sn.SinterError, { op: 'pad' });
});

test('gradients of pad', () => {
  for (const mode of ['constant', 'edge', 'reflect', 'symmetric']) {
    const weight = sn.tensor(ragged(9 * 4), { shape: [9, 4], dtype: 'float64' });
    assertSlopes(sn, (x) => x.pad([[4, 2], [1, 1]], { mode }).square().mul(weight).sum(), [{ data: ragged(6), shape: [3, 2] }]);
  }
});

/* (1, 1, 3, 4), the powers 1.5 of 0 .. 11; interpolate of PyTorch 1.13 in float64. */
const IMAGE = Array.from({ length: 12 }, (_, i) => i ** 1.5);
const TORCH = [
  [[5, 2], { mode: 'linear' }, [0.5, 4.012289774, 4.136067977, 9.050813391, 9.590169944, 16.608598817, 18.724293077,
    27.075134316, 24.813708499, 34.052824648]],
  [[5, 2], { alignCorners: true }, [0, 5.196152423, 4, 11.8582058, 8, 18.520259177, 15.313708499, 27.501565936,
    22.627416998, 36.482872694]],
  [[4, 6], { mode: 'cubic' }, [-0.647439322, -0.312523377, 0.548233002, 1.54969599, 3.268215294, 4.436245804,
    3.313672578, 4.380748697, 6.314992459, 7.923459196, 10.414275689, 12.021931069, 13.815760327, 15.690233033,
    18.84646703, 21.200214525, 24.662963408, 26.835143102, 23.290341163, 25.465584741, 29.111666732, 31.811874543,
    35.745753759, 38.200524528]],
  [[4, 6], { mode: 'cubic', alignCorners: true }, [0, 0.414529871, 1.360977767, 2.303322322, 3.94457467, 5.196152423,
    3.856212926, 4.992308907, 6.8701338, 8.320840997, 10.649980873, 12.329787031, 13.493816462, 15.380492337,
    18.266104194, 20.308193264, 23.454668262, 25.655612331, 22.627416998, 24.804177922, 28.116734344, 30.447540687,
    34.007753758, 36.482872694]],
  [[2, 7], { mode: 'nearest' }, [0, 0, 1, 2.828427125, 2.828427125, 5.196152423, 5.196152423, 22.627416998, 22.627416998,
    27, 31.622776602, 31.622776602, 36.482872694, 36.482872694]], // there 'nearest-exact'
];

test('resize has the numbers of PyTorch', () => {
  const x = sn.tensor(IMAGE, { shape: [1, 1, 3, 4], dtype: 'float64' });
  for (const [size, options, want] of TORCH) {
    const y = x.resize([1, 1, ...size], options);
    assert.equal(y.dtype, 'float64');
    assertClose(flat(y), want, 1e-8);
    const channelsLast = sn.jit((t) => t.resize([1, ...size, 1], options));
    assertClose(flat(channelsLast(x.reshape([1, 3, 4, 1]).astype('float32'))), want, 1e-6);
  }
});

test('resize keeps what keeps its size, and dtypes', () => {
  const x = sn.tensor([[1, 2], [3, 4]], { dtype: 'int32' });
  assert.deepEqual(sn.resize(x, [4, 2], { mode: 'nearest' }).toArray(), [[1, 2], [1, 2], [3, 4], [3, 4]]);
  assert.equal(sn.resize(x, [4, 2], { mode: 'nearest' }).dtype, 'int32');
  assert.equal(sn.resize(x, [3, 2]).dtype, 'float32');
  assert.equal(sn.resize(x.astype('float16'), [3, 2]).dtype, 'float16');
  assert.deepEqual(sn.resize([1, 2, 3], [1], { alignCorners: true }).toArray(), [1]);
  assert.deepEqual([...sn.resize([1, 2, 3], [0]).shape], [0]);
  assertClose(sn.resize([0, 1, 0, 0], [8], { mode: 'cubic', coefficient: -0.5 }), // jax.image.resize
    [-0.0703125, 0.2265625, 0.8671875, 0.8671875, 0.2265625, -0.0703125, -0.0234375, 0]);
  assertThrows(() => sn.resize(x, [4]), sn.ShapeError, { op: 'resize' });
  assertThrows(() => sn.resize(sn.zeros([0]), [4]), sn.ShapeError, { op: 'resize' });
  assertThrows(() => sn.resize(x, [4, 4], { mode: 'lanczos' }), sn.SinterError, { code: 'argument' });
});

test('gradients of resize', () => {
  for (const mode of ['nearest', 'linear', 'cubic'])
    for (const alignCorners of [false, true])
      for (const size of [[5, 3], [2, 7]]) {
        const weight = sn.tensor(ragged(size[0] * size[1]), { shape: size, dtype: 'float64' });
        assertSlopes(sn, (x) => x.resize(size, { mode, alignCorners }).square().mul(weight).sum(), [{ data: ragged(12), shape: [3, 4] }]);
      }
});
