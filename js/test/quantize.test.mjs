// Quantizing in blocks: values and scales against plain loops, the bound of the error, two values of 4 bits in a byte.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const numbers = (n) => Array.from({ length: n }, (_, i) => Math.fround(Math.sin(7 * i + 1) * 2 ** (i % 5)));

test('each block has the scale of its largest, and is off by half a step at most', () => {
  const [rows, columns] = [3, 32];
  const data = numbers(rows * columns);
  const x = sn.tensor(data, { shape: [rows, columns] });
  for (const bits of [8, 4])
    for (const blockSize of [2, 16, undefined]) {
      const size = blockSize ?? columns, most = bits === 8 ? 127 : 7;
      const { values, scales } = sn.quantize(x, { blockSize, bits });
      assert.deepEqual([values.dtype, scales.dtype], [bits === 8 ? 'int8' : 'uint8', 'float32']);
      assert.deepEqual([...values.shape], [rows, bits === 8 ? columns : columns / 2]);
      assert.deepEqual([...scales.shape], [rows, columns / size]);
      const back = sn.dequantize({ values, scales }, { bits }).dataSync();
      const s = scales.dataSync();
      data.forEach((v, i) => {
        const block = data.slice(i - (i % size), i - (i % size) + size);
        const scale = Math.fround(Math.max(...block.map(Math.abs)) / most);
        assert.equal(s[Math.floor(i / size)], scale);
        assert.ok(Math.abs(back[i] - v) <= scale * (0.5 + 1e-5), `element ${i}: ${back[i]}, not ${v}`);
      });
    }
});

test('along any axis, of halves and of zeros', () => {
  const x = sn.tensor([[1, -2], [0, 5], [0, 0], [0, 8]]);
  const { values, scales } = sn.quantize(x, { axis: 0, blockSize: 2 });
  assert.deepEqual(values.toArray(), [[127, -51], [0, 127], [0, 0], [0, 127]]);
  assert.deepEqual(scales.mul(127).toArray(), [[1, 5], [0, 8]]);
  assert.deepEqual(sn.dequantize(sn.quantize(sn.zeros([4]))).toArray(), [0, 0, 0, 0]);
  const packed = sn.quantize(x.astype('float16'), { axis: 0, bits: 4 });
  assert.deepEqual([...packed.values.shape], [2, 2]);
  assert.deepEqual(sn.dequantize(packed, { axis: 0, bits: 4 }).mul(7).round().toArray(), [[7, -16], [0, 32], [0, 0], [0, 56]]);
  const run = sn.jit((x) => sn.quantize(x, { blockSize: 1 }));
  assert.deepEqual(run(x).values.toArray(), [[127, -127], [0, 127], [0, 0], [0, 127]]);
});

test('packInt4 and unpackInt4 undo each other', () => {
  const all = Array.from({ length: 16 }, (_, i) => i - 8);
  const x = sn.tensor(all, { dtype: 'int8' });
  const bytes = sn.packInt4(x);
  assert.equal(bytes.dtype, 'uint8');
  assert.deepEqual(bytes.toArray().slice(0, 2), [0x98, 0xba]);
  assert.deepEqual(sn.unpackInt4(bytes).toArray(), all);
  const grid = x.reshape([4, 2, 2]);
  assert.deepEqual(sn.unpackInt4(sn.packInt4(grid, { axis: 0 }), { axis: 0 }).toArray(), grid.toArray());
  assertThrows(() => sn.packInt4(sn.zeros([3], { dtype: 'int8' })), sn.ShapeError, { op: 'packInt4' });
  assertThrows(() => sn.packInt4(sn.zeros([2])), sn.DTypeError, { op: 'packInt4' });
  assertThrows(() => sn.unpackInt4(x), sn.DTypeError, { op: 'unpackInt4' });
});

test('what is refused', () => {
  for (const given of [undefined, 3, sn.zeros([2])])
    assertThrows(() => sn.dequantize(given), sn.SinterError, { code: 'argument', op: 'dequantize' });
  assertThrows(() => sn.dequantize({ values: sn.zeros([6], { dtype: 'int8' }), scales: sn.ones([4]) }), sn.ShapeError, { op: 'dequantize' });
  const x = sn.zeros([2, 6]);
  assertThrows(() => sn.quantize(x, { blockSize: 4 }), sn.ShapeError, { op: 'quantize', shapes: [[2, 6]] });
  assertThrows(() => sn.quantize(x, { bits: 3 }), sn.SinterError, { code: 'argument', op: 'quantize' });
  assertThrows(() => sn.quantize(sn.zeros([3]), { bits: 4 }), sn.ShapeError, { op: 'quantize' });
});
