// safetensors: files put together here byte by byte from the published format, and every way in which one can lie.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertThrows } from './support.mjs';

before(() => sn.init());

const { safetensors } = sn.io;

/** A file of a header, an object or its text, and bytes; length: what the file says of the header's. */
const file = (header, data = [], length) => {
  const text = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + data.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length ?? text.length), true);
  bytes.set(text, 8);
  bytes.set(data, 8 + text.length);
  return bytes;
};
const entry = (dtype, shape, begin, end) => ({ dtype, shape, data_offsets: [begin, end] });
const elements = (...arrays) => arrays.flatMap((array) => [...new Uint8Array(array.buffer)]);

/** f is called, and leaves no tensor behind. */
const withoutLoss = (f) => {
  const { tensors, bytesInUse } = sn.memory();
  f();
  assert.deepEqual([sn.memory().tensors, sn.memory().bytesInUse], [tensors, bytesInUse]);
};

test('a file from elsewhere', () => {
  const header = {
    b: entry('I32', [], 24, 28),
    __metadata__: { format: 'pt', note: 'ü' },
    w: entry('F32', [2, 3], 0, 24),
    none: entry('F64', [0, 7], 28, 28),
    flags: entry('BOOL', [3], 28, 31),
  };
  const bytes = file(`${JSON.stringify(header)}   `, elements(Float32Array.of(1, -2, 3.5, 4, 5, NaN), Int32Array.of(-7), Uint8Array.of(1, 0, 1)));
  const { tensors, metadata } = safetensors.decode(bytes);
  assert.deepEqual(metadata, { format: 'pt', note: 'ü' });
  assert.deepEqual(Object.keys(tensors).sort(), ['b', 'flags', 'none', 'w']);
  assert.deepEqual(tensors.w.toArray(), [[1, -2, 3.5], [4, 5, NaN]]);
  assert.equal(tensors.b.item(), -7);
  assert.deepEqual(tensors.none.shape, [0, 7]);
  assert.deepEqual(tensors.flags.toArray(), [true, false, true]);
  assert.deepEqual(safetensors.decode(file('{}')).tensors, {});
});

test('bytes at any address, in a buffer of any kind', () => {
  const bytes = file({ w: entry('F64', [2], 0, 16) }, elements(Float64Array.of(1, 2)));
  for (const Kind of [ArrayBuffer, SharedArrayBuffer]) {
    const around = new Uint8Array(new Kind(bytes.length + 13), 5, bytes.length);
    around.set(bytes);
    assert.deepEqual(safetensors.decode(around).tensors.w.toArray(), [1, 2]);
  }
  assert.deepEqual(safetensors.decode(bytes.buffer).tensors.w.toArray(), [1, 2]);
});

test('what is written is laid out by the format: names by paths, larger elements first, aligned', () => {
  const tree = { layers: [{ weight: sn.tensor([[1, 2], [3, 4]]), bias: sn.tensor([5], { dtype: 'float16' }) }], scale: sn.tensor(2, { dtype: 'f64' }) };
  const bytes = safetensors.encode(tree, { metadata: { step: '3' } });
  const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  assert.deepEqual(header, {
    __metadata__: { step: '3' },
    scale: entry('F64', [], 0, 8),
    'layers.0.weight': entry('F32', [2, 2], 8, 24),
    'layers.0.bias': entry('F16', [1], 24, 26),
  });
  assert.equal(length % 8, 0);
  assert.deepEqual([...bytes.subarray(8 + length)], [...elements(Float64Array.of(2), Float32Array.of(1, 2, 3, 4)), 0, 0x45]);
});

test('every dtype comes back with its bits', () => {
  const bits = sn.tensor(Uint16Array.of(0x7e01, 0x8000, 0x3c00), { dtype: 'float16' });
  const tree = {
    f32: sn.tensor([1.5, NaN, -0]), f64: sn.tensor([Math.PI], { dtype: 'f64' }), i32: sn.tensor([-(2 ** 31)], { dtype: 'i32' }), yes: sn.tensor([true, false]),
    f16: bits, bf16: sn.tensor([1.25], { dtype: 'bf16' }), i8: sn.tensor([-128], { dtype: 'i8' }), u8: sn.tensor([255], { dtype: 'u8' }),
    lazy: sn.tensor([1, 2]).mul(3), view: sn.tensor([[1, 2], [3, 4]]).transpose(), empty: sn.zeros([0, 2]),
  };
  const { tensors } = safetensors.decode(safetensors.encode(tree));
  for (const [name, t] of Object.entries(tree)) {
    assert.equal(tensors[name].dtype, t.dtype);
    assert.deepEqual(tensors[name].shape, t.shape);
    assert.deepEqual(tensors[name].dataSync(), t.dataSync(), name);
  }
  assert.deepEqual(safetensors.encode({ f16: tensors.f16 }), safetensors.encode({ f16: bits }));
});

test('integers that tensors have not are made int32 on demand, where they fit', () => {
  const small = file({ a: entry('I64', [2], 0, 16), b: entry('U16', [1], 16, 18) }, elements(BigInt64Array.of(-5n, 2n ** 31n - 1n), Uint16Array.of(65535)));
  withoutLoss(() => assertThrows(() => safetensors.decode(small), sn.UnsupportedError, { message: /"a" is int64.*convert: true/ }));
  const { a, b } = safetensors.decode(small, { convert: true }).tensors;
  assert.deepEqual([a.dtype, a.toArray(), b.toArray()], ['int32', [-5, 2 ** 31 - 1], [65535]]);
  const large = file({ a: entry('I64', [1], 0, 8) }, elements(BigInt64Array.of(2n ** 31n)));
  withoutLoss(() => assertThrows(() => safetensors.decode(large, { convert: true }), sn.DTypeError, { message: /2147483648, more than int32 holds/ }));
});

const word = elements(Float32Array.of(1));
const one = entry('F32', [1], 0, 4);
const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

/** Files that lie: the attacks on parsers of this format that have been published, and one for each rule. */
const LIES = {
  'no bytes': [new Uint8Array(0), /0 bytes/],
  'seven bytes': [new Uint8Array(7), /7 bytes/],
  'a header beyond the file': [file('{}', [], 3), /a header of 3 bytes in a file of 10/],
  'a header of 2^64 - 1 bytes': [file('{}', [], 2n ** 64n - 1n), /a header of 18446744073709552000 bytes/],
  'a header above the limit': [file('{}', [], 100_000_001), /at most 100000000/],
  'no UTF-8': [(() => { const bytes = file('{"__metadata__":{"a":"x"}}'); bytes[8 + 22] = 0xff; return bytes; })(), /not JSON/],
  'a mark of the byte order': [file('\ufeff{}'), /not JSON/],
  'no JSON': [file('{"a":}'), /not JSON/],
  'no object': [file('[]'), /no object/],
  'a header that begins with a space': [file(' {}'), /no object/],
  'a header that is null': [file('null'), /no object/],
  'a header nested deeply': [file(`{"a":${deep}}`), /no dtype/],
  'a name twice': [file(`{"a":${JSON.stringify(one)},"a":${JSON.stringify(one)}}`, word), /"a" is given twice/],
  'a name twice, once with escapes': [file(`{"a":${JSON.stringify(one)},"\\u0061":${JSON.stringify(one)}}`, word), /"a" is given twice/],
  'a dtype twice': [file('{"a":{"dtype":"U8","dtype":"F32","shape":[1],"data_offsets":[0,4]}}', word), /"dtype" is given twice/],
  'a text of the metadata twice': [file('{"__metadata__":{"a":"1","a":"2"}}'), /"a" is given twice/],
  'metadata of numbers': [file({ __metadata__: { a: 1 } }), /no object of texts/],
  'metadata that is a list': [file({ __metadata__: [] }), /no object of texts/],
  'a tensor that is null': [file({ a: null }), /no dtype/],
  'no dtype': [file({ a: { shape: [1], data_offsets: [0, 4] } }, word), /no dtype/],
  'an unknown dtype': [file({ a: entry('F33', [1], 0, 4) }, word), /"F33"/],
  'a dtype from a prototype': [file({ a: entry('toString', [1], 0, 4) }, word), /"toString"/],
  'a negative size': [file({ a: entry('F32', [-1], 0, 4) }, word), /no size|no dtype/],
  'a size of 1.5': [file({ a: entry('F32', [1.5], 0, 4) }, word), /no size|no dtype/],
  'a size as 1e0': [file('{"a":{"dtype":"F32","shape":[1e0],"data_offsets":[0,4]}}', word), /no size/],
  'a size as 1.0': [file('{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}', word), /no size/],
  'a size that is a text': [file({ a: entry('F32', ['1'], 0, 4) }, word), /no dtype/],
  'a shape whose product wraps to 4': [file({ a: entry('U8', [4194305, 4194305, 211106198978564], 0, 4) }, word), /does not fill/],
  'a shape beyond the range': [file({ a: entry('F32', [2], 0, 4) }, word), /does not fill its 4 bytes/],
  'a shape smaller than the range': [file({ a: entry('F32', [], 0, 8) }, [...word, ...word]), /does not fill its 8 bytes/],
  'an empty shape of too many sizes': [file({ a: entry('F32', [0, 1, 1, 1, 1, 1, 1, 1, 1], 0, 0) }), /rank 9/],
  'an empty shape of a huge size': [file({ a: entry('F32', [0, 2 ** 40], 0, 0) }), /is not a size/],
  'reversed offsets': [file({ a: entry('F32', [1], 4, 0) }, word), /does not fill/],
  'negative offsets': [file({ a: entry('F32', [1], -4, 0) }, word), /no size|no dtype/],
  'offsets beyond the file': [file({ a: entry('F32', [2], 0, 8) }, word), /4 bytes of elements, the header has 8/],
  'offsets near 2^53': [file({ a: entry('U8', [2 ** 53 - 1], 0, 2 ** 53 - 1) }, word), /4 bytes of elements/],
  'one offset': [file({ a: { dtype: 'F32', shape: [1], data_offsets: [0] } }, word), /no dtype/],
  'a hole before the elements': [file({ a: entry('F32', [1], 4, 8) }, [...word, ...word]), /begin at 4, expected 0/],
  'a hole between elements': [file({ a: one, b: entry('F32', [1], 8, 12) }, [...word, ...word, ...word]), /begin at 8, expected 4/],
  'elements that overlap': [file({ a: entry('F32', [2], 0, 8), b: entry('F32', [1], 4, 8) }, [...word, ...word]), /begin at 4, expected 8/],
  'elements of two tensors in one place': [file({ a: one, b: one }, word), /begin at 0, expected 4/],
  'bytes behind the elements': [file({ a: one }, [...word, 0]), /5 bytes of elements, the header has 4/],
  'bytes without a tensor': [file('{}', word), /4 bytes of elements, the header has 0/],
  'a bool of 2': [file({ a: entry('BOOL', [2], 0, 2) }, [1, 2]), /element 1 is 2/],
};

for (const [name, [bytes, message]] of Object.entries(LIES)) {
  test(`refused: ${name}`, () => withoutLoss(() => assertThrows(() => safetensors.decode(bytes), sn.SinterError, { message })));
}

test('an empty tensor may share its place with another one', () => {
  const bytes = file({ z: entry('F32', [0], 0, 0), a: one, b: entry('F32', [0], 4, 4) }, word);
  assert.deepEqual(safetensors.decode(bytes).tensors.a.toArray(), [1]);
});

test('a name is a name, also that of a prototype', () => {
  const { tensors } = safetensors.decode(file('{"__proto__":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', word));
  assert.deepEqual(Object.keys(tensors), ['__proto__']);
  const again = safetensors.encode(tensors);
  assert.deepEqual(Object.keys(safetensors.decode(again).tensors), ['__proto__']);
});

test('a file cut anywhere is refused', () => {
  const bytes = safetensors.encode({ a: sn.ones([3]), b: [sn.tensor([1], { dtype: 'u8' })] });
  withoutLoss(() => {
    for (let size = 0; size < bytes.length; size++)
      assertThrows(() => safetensors.decode(bytes.subarray(0, size)), sn.SinterError, { message: /damaged/ });
  });
});

test('arguments that are none', () => {
  const t = sn.ones([1]);
  assertThrows(() => safetensors.decode('x'), sn.SinterError, { message: /expected bytes, not "x" \(.*io\.read/ });
  assertThrows(() => safetensors.decode(new Uint8Array(8), { conert: true }), sn.SinterError, { message: /did you mean 'convert'/ });
  assertThrows(() => safetensors.encode({ t }, { metadata: { a: 1 } }), sn.SinterError, { message: /metadata/ });
  assertThrows(() => safetensors.encode({ __metadata__: t }), sn.SinterError, { message: /__metadata__/ });
  assertThrows(() => safetensors.encode({ 'a.b': t, a: { b: t } }), sn.SinterError, { message: /two tensors of the tree are called "a.b"/ });
  assertThrows(() => sn.jit((x) => { safetensors.encode({ x }); return x; })(t), sn.SinterError, { message: /no values while/ });
  const detached = new Uint8Array(8);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  assertThrows(() => safetensors.decode(detached), sn.SinterError, {});
});
