// npy: files that NumPy has written (tests/golden/numpy.json), what NumPy would read of ours, and files that lie.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertThrows } from './support.mjs';

before(() => sn.init());

const { npy } = sn.io;
const golden = JSON.parse(readFileSync(new URL('../../tests/golden/numpy.json', import.meta.url)));
const bytesOf = ({ file }) => new Uint8Array(Buffer.from(file, 'base64'));
const WIDE = ['int16', 'uint16', 'uint32', 'int64', 'uint64'];

for (const each of golden.arrays) {
  test(`of NumPy: ${each.name}`, () => {
    const isWide = WIDE.includes(each.dtype);
    const bytes = bytesOf(each);
    if (isWide) assertThrows(() => npy.decode(bytes), sn.UnsupportedError, { message: /convert: true/ });
    const t = npy.decode(bytes, { convert: isWide });
    assert.equal(t.dtype, isWide ? 'int32' : each.dtype);
    assert.deepEqual(t.shape, each.shape);
    assert.deepEqual([...t.dataSync()], each.values);
  });
}

for (const each of golden.refused) {
  test(`not read: ${each.name}`, () => assertThrows(() => npy.decode(bytesOf(each)), sn.UnsupportedError, { op: 'npy.decode' }));
}

test('what is written is what NumPy writes', () => {
  for (const each of golden.arrays) {
    if (WIDE.includes(each.dtype) || /endian|Fortran|version [23]/.test(each.name)) continue;
    const own = npy.encode(npy.decode(bytesOf(each)));
    assert.deepEqual(own, bytesOf(each), each.name);
  }
});

/** A file of version 1.0 or another one. */
const file = (header, data = [], { version = [1, 0], length } = {}) => {
  const long = version[0] > 1;
  const bytes = new Uint8Array((long ? 12 : 10) + header.length + data.length);
  bytes.set([0x93, ...Buffer.from('NUMPY'), ...version]);
  const view = new DataView(bytes.buffer);
  if (long) view.setUint32(8, length ?? header.length, true);
  else view.setUint16(8, length ?? header.length, true);
  bytes.set(Buffer.from(header, 'latin1'), long ? 12 : 10);
  bytes.set(data, (long ? 12 : 10) + header.length);
  return bytes;
};
const dict = (descr, shape, fortran = 'False') => `{'descr': ${descr}, 'fortran_order': ${fortran}, 'shape': ${shape}, }\n`;
const word = [0, 0, 128, 63];

const LIES = {
  'no bytes': [new Uint8Array(0), /no npy/],
  'another magic word': [Uint8Array.from(Buffer.from('PK\x03\x04........')), /no npy/],
  'version 9': [file(dict("'<f4'", '(1,)'), word, { version: [9, 0] }), /version 9.0/],
  'a header beyond the file': [file('{}', [], { length: 3 }), /3 bytes in a file of 12/],
  'a header above the limit': [file(' '.repeat(10_001)), /at most 10000/],
  'a header of 4 GiB': [file('{}', [], { version: [2, 0], length: 2 ** 32 - 1 }), /at most 10000/],
  'no dict': [file('hello'), /the header is "hello"/],
  'a dict that does not end': [file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), ", word), /the header is/],
  'text behind the dict': [file(`${dict("'<f4'", '(1,)').trim()} x`, word), /the header is/],
  'code in the dict': [file(dict('__import__("os")', '(1,)'), word), /the header is/],
  'no shape': [file("{'descr': '<f4', 'fortran_order': False, }", word), /the header is/],
  'a shape twice': [file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (2,), }", word), /shape is given twice/],
  'a further key': [file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1, }", word), /the header is/],
  'a shape that is a number': [file(dict("'<f4'", '1'), word), /the header is/],
  'a shape that is a number in brackets': [file(dict("'<f4'", '(1)'), word), /the header is/],
  'a negative size': [file(dict("'<f4'", '(-1,)'), word), /the header is/],
  'an order that is a number': [file(dict("'<f4'", '(1,)', '0'), word), /the header is/],
  'a size of 2^64': [file(dict("'<f4'", `(${2n ** 64n},)`), word), /the header is/],
  'sizes whose product is beyond any file': [file(dict("'<f4'", '(94906267, 94906267)'), word), /more than any file/],
  '32 GiB in 80 bytes': [file(dict("'<f8'", '(4294967296,)'), word), /has 4 bytes of elements/],
  'too few elements': [file(dict("'<f4'", '(2,)'), word), /4 bytes of elements, \(2\) of float32 has 8/],
  'too many elements': [file(dict("'<f4'", '()'), [...word, 0]), /5 bytes of elements/],
  'a dtype that does not exist': [file(dict("'<f3'", '(1,)'), word), /"<f3" is no dtype/],
  'a dtype that is a pair': [file(dict("('<f4', (2,))", '(1,)'), word), /several fields/],
  'objects': [file(dict("'|O'", '(1,)'), word), /pickled objects are never read/],
  'a rank of 9': [file(dict("'|u1'", '(1, 1, 1, 1, 1, 1, 1, 1, 1)'), [0]), /rank 9/],
  'a long shape without an end': [file(`{'shape': (${'1'.repeat(5000)}`), /the header is/],
  'many brackets': [file(`{'descr': ${'('.repeat(9000)}`), /several fields/],
};

for (const [name, [bytes, message]] of Object.entries(LIES)) {
  test(`refused: ${name}`, () => {
    const { tensors, bytesInUse } = sn.memory();
    assertThrows(() => npy.decode(bytes), sn.SinterError, { message });
    assert.deepEqual([sn.memory().tensors, sn.memory().bytesInUse], [tensors, bytesInUse]);
  });
}

test('arguments that are none', () => {
  assertThrows(() => npy.encode([1, 2]), sn.SinterError, { message: /npy.encode: expected a tensor/ });
  assertThrows(() => npy.encode(sn.ones([2], { dtype: 'bfloat16' })), sn.UnsupportedError, { message: /bfloat16 is not in npy/ });
  assertThrows(() => npy.decode(5), sn.SinterError, { message: /expected bytes/ });
});
