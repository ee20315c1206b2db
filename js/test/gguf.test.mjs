// GGUF: files put together byte by byte from the published format, every way in which one can lie, and quantised blocks
// against ggml's reference, whose results tests/golden/gguf_cases.c wrote.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import * as sn from '../dist/index.js';
import * as gguf from '../dist/gguf.js';
import { checkGgufs } from './fuzz/ggufs.mjs';
import { TYPE, entry, f32, f64, file, info, text, u32, u64, u8, uniforms, weights } from './ggufcases.mjs';
import { assertRejects, assertThrows } from './support.mjs';

before(() => sn.init());

const golden = JSON.parse(readFileSync(new URL('../../tests/golden/gguf.json', import.meta.url), 'utf8'));
const hashOf = (array) => createHash('sha256').update(new Uint8Array(array.buffer, array.byteOffset, array.byteLength)).digest('hex');
const KINDS = ['Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q8_0', 'Q4_K', 'Q5_K', 'Q6_K'];
const array = (type, count, bytes) => [...u32(type), ...u64(count), ...bytes];

/** f is called, and leaves no tensor behind. */
const withoutLoss = (f) => {
  const { tensors, bytesInUse } = sn.memory();
  f();
  assert.deepEqual([sn.memory().tensors, sn.memory().bytesInUse], [tensors, bytesInUse]);
};

/* ---- reading and writing ---- */

test('a file from elsewhere', () => {
  const entries = [
    entry('general.architecture', TYPE.string, text('llama')),
    entry('small', TYPE.u8, u8(200)), entry('less', TYPE.i8, u8(-2)), entry('count', TYPE.u32, u32(4294967295)), entry('f', TYPE.f32, f32(0.5)), entry('d', TYPE.f64, f64(Math.PI)),
    entry('yes', TYPE.bool, u8(1)), entry('wide', TYPE.u64, u64(2n ** 64n - 1n)), entry('n', TYPE.u64, u64(5)), entry('below', TYPE.i64, u64(-3)),
    entry('tokens', TYPE.array, array(TYPE.string, 2, [...text('a'), ...text('ü')])), entry('scores', TYPE.array, array(TYPE.f32, 2, [...f32(1.5), ...f32(-1)])),
    entry('flags', TYPE.array, array(TYPE.bool, 2, [1, 0])), entry('broken', TYPE.string, text([0x61, 0xff])),
  ];
  const tensors = [info('w', [3, 2], 0, 0), info('h', [2], 1, 32), info('one', [], 26, 64)];
  const data = [...[1, 2, 3, 4, 5, 6].flatMap(f32), ...new Array(8).fill(0), 0x00, 0x3c, 0x00, 0xc0, ...new Array(28).fill(0), ...u32(7)];
  for (const version of [2, 3]) {
    const bytes = file({ version, entries, tensors, data });
    const made = gguf.read(bytes);
    assert.equal(made.version, version);
    assert.deepEqual(made.metadata, {
      'general.architecture': 'llama', small: 200, less: -2, count: 4294967295, f: 0.5, d: Math.PI, yes: true, wide: 2n ** 64n - 1n, n: 5, below: -3,
      tokens: ['a', 'ü'], scores: Float32Array.of(1.5, -1), flags: [true, false], broken: 'a\ufffd',
    });
    assert.deepEqual([made.types.wide, made.types.tokens, made.types.less], ['uint64', 'string[]', 'int8']);
    assert.deepEqual(made.tensors.map(({ name, kind, shape, bytes: size }) => [name, kind, shape, size]), [['w', 'float32', [2, 3], 24], ['h', 'float16', [2], 4], ['one', 'int32', [], 4]]);
    assert.deepEqual(made.tensor('w').toArray(), [[1, 2, 3], [4, 5, 6]]);
    assert.deepEqual([made.tensor('h').dtype, made.tensor('h').toArray()], ['float16', [1, -2]]);
    assert.equal(made.tensor('one').item(), 7);
    assert.equal(made.raw('w').buffer, bytes.buffer);
    assert.equal(made.raw('w').byteOffset, made.tensors[0].offset);
  }
});

test('what is written, byte for byte', () => {
  const bytes = gguf.write({
    metadata: { 'general.alignment': 8, 'a.eps': 1e-5, list: [1, -2], texts: ['x'] },
    types: { 'a.eps': 'float32' },
    tensors: { w: sn.tensor([[1, 2, 3]]), b: { tensor: [1.5, -2], kind: 'bfloat16' } },
  });
  const expected = file({
    alignment: 8,
    entries: [entry('general.alignment', TYPE.u32, u32(8)), entry('a.eps', TYPE.f32, f32(1e-5)), entry('list', TYPE.array, array(TYPE.i32, 2, [...u32(1), ...u32(-2)])),
      entry('texts', TYPE.array, array(TYPE.string, 1, text('x')))],
    tensors: [info('w', [3, 1], 0, 0), info('b', [2], 30, 16)],
    data: [...[1, 2, 3].flatMap(f32), 0, 0, 0, 0, 0xc0, 0x3f, 0x00, 0xc0, 0, 0, 0, 0],
  });
  assert.deepEqual(bytes, expected);
});

test('what is written comes back: kinds, types, lazy tensors, data as they were', () => {
  const values = weights(512);
  const tensors = {
    f: sn.tensor(values).reshape([2, 256]).mul(2), h: { tensor: sn.tensor([1, 2.5]), kind: 'float16' }, i: sn.tensor([[3]], { dtype: 'i32' }), d: sn.tensor([Math.PI], { dtype: 'f64' }),
    half: sn.tensor([0.1], { dtype: 'f16' }), none: sn.zeros([0, 3]), raw: { raw: new Uint8Array(18).fill(7), kind: 'IQ4_NL', shape: [1, 32] },
    ...Object.fromEntries(KINDS.map((kind) => [kind, { tensor: sn.tensor(values).reshape([2, 256]), kind }])),
  };
  const metadata = { text: 'ü\n', none: [], big: 2n ** 63n, huge: 2 ** 100, small: -5, wide: Int8Array.of(-1), yes: false, x: 0.1, words: Uint16Array.of(65535), list: BigInt64Array.of(-(2n ** 63n)) };
  const made = gguf.read(gguf.write({ metadata, types: { small: 'int64', x: 'float64' }, tensors }));
  assert.deepEqual(made.metadata, { ...metadata, none: [] });
  assert.deepEqual([made.types.small, made.types.x, made.types.none, made.types.big], ['int64', 'float64', 'string[]', 'uint64']);
  assert.deepEqual(made.tensor('f').toArray(), tensors.f.toArray());
  assert.deepEqual([made.tensor('d').item(), made.tensor('i').toArray(), made.tensor('half').dtype, made.tensor('none').shape], [Math.PI, [[3]], 'float16', [0, 3]]);
  assert.deepEqual(made.raw('raw'), new Uint8Array(18).fill(7));
  for (const kind of KINDS) {
    assert.deepEqual(made.raw(kind), gguf.quantize(kind, values));
    assert.deepEqual(made.tensor(kind).dataSync(), gguf.dequantize(kind, made.raw(kind)));
  }
  const again = gguf.write({ metadata: made.metadata, types: made.types, tensors: Object.fromEntries(made.tensors.map(({ name, kind, shape }) => [name, { raw: made.raw(name), kind, shape }])) });
  assert.deepEqual(gguf.read(again).metadata, made.metadata);
  assert.deepEqual(again.length, gguf.write({ metadata, types: { small: 'int64', x: 'float64' }, tensors }).length);
});

test('the type of a key that is not there is an error', () => {
  const write = (types) => () => gguf.write({ metadata: { small: 1 }, types, tensors: {} });
  assertThrows(write({ smal: 'int64' }), sn.SinterError, { message: /types has "smal", metadata does not/ });
  write({ small: 'int64' })();
});

test('a NaN in an array of the metadata keeps its bits', () => {
  const scores = new Float32Array(Uint32Array.of(0xffffffff, 0x7f800001).buffer);
  const made = gguf.read(gguf.write({ metadata: { scores }, tensors: {} }));
  assert.deepEqual(new Uint32Array(made.metadata.scores.buffer), Uint32Array.of(0xffffffff, 0x7f800001));
});

test('float16 and bfloat16 are rounded to the nearest, of two the even one: as the core does', () => {
  const next = uniforms(3);
  const values = Float32Array.from({ length: 20_000 }, (_, i) => (i % 2 ? 1 : -1) * next() * 2 ** (next() * 50 - 28));
  values.set([0, -0, 65504, 65519.996, 65520, -65536, Infinity, NaN, 2 ** -24, 2 ** -25, 2 ** -25 * 1.0001, 6.1e-5, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 3.4e38]);
  const { float16, bfloat16 } = { float16: 'float16', bfloat16: 'bfloat16' };
  for (const kind of [float16, bfloat16]) {
    const made = gguf.read(gguf.write({ tensors: { x: { tensor: values, kind } } }));
    assert.deepEqual(made.tensor('x').dataSync(), sn.tensor(values).astype(kind).dataSync());
  }
});

/* ---- quantised kinds ---- */

test('blocks are read to the bits of the reference', () => {
  for (const kind of KINDS) {
    // Random bytes, with scales that are finite.
    const { bytes: size } = golden.kinds[kind];
    const next = uniforms(7);
    const bytes = Uint8Array.from({ length: size * 64 }, () => next() * 256);
    const scales = { Q4_K: [0, 2], Q5_K: [0, 2], Q6_K: [208], Q4_1: [0, 2], Q5_1: [0, 2] }[kind] ?? [0];
    for (let at = 0; at < bytes.length; at += size) for (const scale of scales) bytes[at + scale + 1] &= 0xbb;
    assert.equal(hashOf(gguf.dequantize(kind, bytes)), golden.kinds[kind].values, kind);
  }
});

test('blocks are as near to normal weights as those of the reference, within 2 %', (t) => {
  const values = weights(65536);
  for (const kind of KINDS) {
    const blocks = gguf.quantize(kind, values);
    const error = Math.sqrt(gguf.dequantize(kind, blocks).reduce((sum, x, i) => sum + (x - values[i]) ** 2, 0) / values.length);
    t.diagnostic(`${kind}: ${error.toExponential(4)}, the reference's ${golden.kinds[kind].error.toExponential(4)}`);
    assert.ok(error <= 1.02 * golden.kinds[kind].error, `${kind}: ${error}, reference ${golden.kinds[kind].error}`);
    if (!kind.endsWith('K')) assert.equal(hashOf(blocks), golden.kinds[kind].blocks, kind);
  }
});

test('blocks of zeros, of one number, of large and of tiny ones', () => {
  for (const kind of KINDS) {
    for (const value of [0, 1, -1, 1000, -1000, 0.02]) {
      const values = new Float32Array(256).fill(value);
      for (const x of gguf.dequantize(kind, gguf.quantize(kind, values))) assert.ok(Math.abs(x - value) <= Math.abs(value) * 0.02, `${kind}: ${x} of ${value}`);
    }
    for (const scale of [1e-30, 1e-8, 1e4]) for (const x of gguf.dequantize(kind, gguf.quantize(kind, weights(256).map((each) => each * scale)))) assert.ok(Number.isFinite(x), kind);
  }
});

test('numbers whose scales float16 does not have are refused, those just below are not', () => {
  const least = { Q4_0: 8, Q4_1: 1, Q5_0: 16, Q5_1: 1, Q8_0: 127, Q4_K: 63, Q5_K: 63, Q6_K: 31 * 128 };
  for (const kind of KINDS) {
    const block = { Q4_K: 256, Q5_K: 256, Q6_K: 256 }[kind] ?? 32;
    const at = (size) => Float32Array.from({ length: 2 * block }, (_, i) => (i < block ? 0 : -size));
    const [fits] = gguf.dequantize(kind, gguf.quantize(kind, at(65000 * least[kind]))).slice(-1);
    assert.ok(Math.abs(fits / (-65000 * least[kind]) - 1) < 0.02, `${kind}: ${fits}`);
    for (const size of [66000 * least[kind], 3e38])
      assertThrows(() => gguf.quantize(kind, at(size)), sn.SinterError, { message: new RegExp(`numbers ${block} to ${2 * block - 1} are too large for ${kind}, whose scales are float16`) });
  }
});

/* ---- files that lie ---- */

const word = f32(1);
const one = info('a', [1], 0, 0);
const deep = (() => {
  let bytes = [...u32(TYPE.u8), ...u64(0)];
  for (let i = 0; i < 1000; i++) bytes = [...u32(TYPE.array), ...u64(1), ...bytes];
  return bytes;
})();

/** The attacks on parsers of this format that have been published, and one for each rule. */
const LIES = {
  'no bytes': [new Uint8Array(0), /4 bytes at 0, where 0 are left/],
  'another magic': [file({ magic: 'GGML' }), /does not begin with GGUF/],
  'version 0': [file({ version: 0 }), /version 0/],
  'version 1': [file({ version: 1 }), /version 1 of GGUF, of 2023/, sn.UnsupportedError],
  'version 4': [file({ version: 4 }), /version 4/],
  'the highest byte first': [file({ version: 0x03000000 }), /highest byte first/, sn.UnsupportedError],
  '2^64 - 1 tensors': [file({ tensorCount: -1 }), /number of tensors is 18446744073709551615/],
  '2^64 - 1 metadata': [file({ entryCount: -1 }), /number of metadata is 18446744073709551615/],
  'counts whose bytes wrap to few': [file({ tensorCount: 2n ** 61n + 1n }), /number of tensors is 2305843009213693953/],
  'more tensors than bytes': [file({ tensorCount: 1000 }), /24000 bytes at 24/],
  'more metadata than bytes': [file({ entryCount: 1000 }), /13000 bytes at 24/],
  'a name of 2^64 - 1 bytes': [file({ entries: [[...u64(-1), ...u64(0), ...u64(0)]] }), /the length of a name of metadata is 18446744073709551615/],
  'a name of 2^40 bytes': [file({ entries: [[...u64(2 ** 40), ...u64(0), ...u64(0)]] }), /1099511627776 bytes at 32/],
  'a name that is no UTF-8': [file({ entries: [entry([0xff], TYPE.u8, [1])] }), /no UTF-8/],
  'a name of a tensor that is no UTF-8': [file({ tensors: [info([0xc0, 0x80], [1], 0, 0)], data: word }), /no UTF-8/],
  'a name given twice': [file({ entries: [entry('a', TYPE.u8, [1]), entry('a', TYPE.u8, [2])] }), /metadata "a" are given twice/],
  'a tensor given twice': [file({ tensors: [one, info('a', [1], 0, 32)], data: [...word, ...new Array(28).fill(0), ...word] }), /"a" is given twice/],
  'a type that is none': [file({ entries: [entry('a', 13, u64(0))] }), /"a" has the type 13/],
  'a type of 2^32 - 1': [file({ entries: [entry('a', -1, u64(0))] }), /"a" has the type 4294967295/],
  'a text of 2^31 bytes': [file({ entries: [entry('a', TYPE.string, [...u64(2 ** 31), 1])] }), /2147483648 bytes at/],
  'a text of 2^64 - 1 bytes': [file({ entries: [entry('a', TYPE.string, u64(-1))] }), /the length of "a" is 18446744073709551615/],
  'an array of 2^62 elements': [file({ entries: [entry('a', TYPE.array, array(TYPE.f32, 2n ** 62n, []))] }), /the length of "a" is 4611686018427387904/],
  'an array of 2^40 texts': [file({ entries: [entry('a', TYPE.array, array(TYPE.string, 2 ** 40, []))] }), /8796093022208 bytes/],
  'an array of a type that is none': [file({ entries: [entry('a', TYPE.array, array(77, 1, [0]))] }), /"a" has the type 77/],
  'arrays in an array': [file({ entries: [entry('a', TYPE.array, array(TYPE.array, 1, array(TYPE.u8, 1, [1])))] }), /arrays in an array/, sn.UnsupportedError],
  'arrays nested deeply': [file({ entries: [entry('a', TYPE.array, deep)] }), /arrays in an array/, sn.UnsupportedError],
  'a bool of 2': [file({ entries: [entry('a', TYPE.bool, [2])] }), /"a" is 2, a bool is 0 or 1/],
  'a bool of 255 in an array': [file({ entries: [entry('a', TYPE.array, array(TYPE.bool, 1, [255]))] }), /"a" is 255/],
  'an alignment of 0': [file({ entries: [entry('general.alignment', TYPE.u32, u32(0))], tensors: [one], data: word }), /general.alignment is 0/],
  'an alignment of 24': [file({ entries: [entry('general.alignment', TYPE.u32, u32(24))], tensors: [one], data: word }), /general.alignment is 24/],
  'an alignment of another type': [file({ entries: [entry('general.alignment', TYPE.u64, u64(32))], tensors: [one], data: word }), /general.alignment is 32, expected/],
  'an alignment of 2^31': [file({ entries: [entry('general.alignment', TYPE.u32, u32(2 ** 31))], tensors: [one], data: word }), /end at 2147483652/],
  'five dimensions': [file({ tensors: [info('a', [1, 1, 1, 1, 1], 0, 0)], data: word }), /5 dimensions/],
  '2^32 - 1 dimensions': [file({ tensors: [info('a', [1], 0, 0, -1)], data: word }), /4294967295 dimensions/],
  'a dimension of 2^64 - 1': [file({ tensors: [info('a', [-1], 0, 0)], data: word }), /a dimension of "a" is 18446744073709551615/],
  'a shape whose product wraps to 4': [file({ tensors: [info('a', [2 ** 31, 2 ** 31, 4, 4], 24, 0)], data: word }), /more elements than can be counted/],
  'a shape whose bytes wrap': [file({ tensors: [info('a', [2n ** 51n, 2], 0, 0)], data: word }), /more elements than can be counted/],
  'a shape that is large but for a 0': [file({ tensors: [info('a', [2n ** 40n, 2n ** 40n, 0], 0, 0)], data: word }), /more elements than can be counted/],
  'exabytes in a small file': [file({ tensors: [info('a', [2 ** 48], 0, 0)], data: word }), /end at 1125899906842/],
  'rows that are no whole blocks': [file({ tensors: [info('a', [33], 2, 0)], data: new Array(18).fill(0) }), /rows of 33, and Q4_0 has blocks of 32/],
  'a number as a block': [file({ tensors: [info('a', [], 8, 0)], data: new Array(34).fill(0) }), /rows of 1/],
  'a kind that was removed': [file({ tensors: [info('a', [32], 4, 0)], data: new Array(18).fill(0) }), /kind 4/, sn.UnsupportedError],
  'a kind of 2^32 - 1': [file({ tensors: [info('a', [32], -1, 0)], data: word }), /kind 4294967295/, sn.UnsupportedError],
  'an offset of 2^64 - 1': [file({ tensors: [info('a', [1], 0, -1)], data: word }), /the offset of "a" is 18446744073709551615/],
  'an offset that leaves a gap': [file({ tensors: [info('a', [1], 0, 32)], data: [...new Array(32).fill(0), ...word] }), /begin at 32, expected 0/],
  'an offset that is not aligned': [file({ tensors: [one, info('b', [1], 0, 4)], data: [...word, ...word] }), /begin at 4, expected 32/],
  'data that overlap': [file({ tensors: [one, info('b', [1], 0, 0)], data: word }), /begin at 0, expected 32/],
  'data behind the end': [file({ tensors: [one], data: [0, 0, 0] }), /end at 68, the file at 67/],
};

for (const [name, [bytes, message, type = sn.SinterError]] of Object.entries(LIES))
  test(`refused: ${name}`, () => withoutLoss(() => assertThrows(() => gguf.read(bytes), type, { message })));

test('a file cut anywhere is refused', () => {
  const bytes = gguf.write({ metadata: { a: 'text', b: [1, 2], c: ['x', 'y'] }, tensors: { w: sn.ones([3]), q: { tensor: new Float32Array(32), kind: 'Q8_0' } } });
  const { offset, bytes: size } = gguf.read(bytes).tensors[1];
  withoutLoss(() => {
    // Behind the data there may be what fills up to the alignment.
    for (let end = 0; end < offset + size; end++) assertThrows(() => gguf.read(bytes.subarray(0, end)), sn.SinterError, { message: /damaged/ });
  });
});

test('names of prototypes are names', () => {
  const made = gguf.read(file({ entries: [entry('__proto__', TYPE.u8, [1]), entry('toString', TYPE.u8, [2])], tensors: [info('__proto__', [1], 0, 0)], data: word }));
  assert.deepEqual(Object.keys(made.metadata), ['__proto__', 'toString']);
  assert.deepEqual(made.tensor('__proto__').toArray(), [1]);
  assertThrows(() => made.raw('constructor'), sn.SinterError, { message: /no tensor "constructor" \(there are 1: "__proto__"\)/ });
  const again = gguf.read(gguf.write({ metadata: made.metadata, tensors: {} }));
  assert.deepEqual(again.types, { ['__proto__']: 'uint32', toString: 'uint32' });
});

test('many names take time in proportion', () => {
  const count = 100_000;
  const entries = Array.from({ length: count }, (_, i) => entry(`k${i}`, TYPE.u8, [1]));
  assert.equal(Object.keys(gguf.read(file({ entries })).metadata).length, count);
});

test('kinds that are known and not computed', () => {
  const made = gguf.read(file({ tensors: [info('a', [32], 20, 0)], data: new Array(18).fill(1) }));
  assert.deepEqual([made.tensors[0].kind, made.raw('a').length], ['IQ4_NL', 18]);
  assertThrows(() => made.tensor('a'), sn.UnsupportedError, { message: /IQ4_NL cannot be read.*Q4_0/ });
});

test('arguments that are none', () => {
  const t = sn.ones([2]);
  const at = (options) => () => gguf.write(options);
  assertThrows(() => gguf.read('x'), sn.SinterError, { message: /gguf.read: expected bytes, not "x"/ });
  assertThrows(at({}), sn.SinterError, { message: /needs tensors/ });
  assertThrows(at({ tensors: {}, metadat: {} }), sn.SinterError, { message: /did you mean 'metadata'/ });
  assertThrows(at({ tensors: { t: 3 } }), sn.SinterError, { message: /"t" is 3, expected a tensor/ });
  assertThrows(at({ tensors: { t: { tensor: t, kind: 'Q4' } } }), sn.SinterError, { message: /no kind "Q4"/ });
  assertThrows(at({ tensors: { t: { tensor: t, kind: 'Q4_0' } } }), sn.SinterError, { message: /rows of 2, and Q4_0 has blocks of 32/ });
  assertThrows(at({ tensors: { t: { tensor: t, kind: 'IQ4_XS' } } }), sn.UnsupportedError, { message: /IQ4_XS cannot be written/ });
  assertThrows(at({ tensors: { t: { raw: new Uint8Array(3), kind: 'float32', shape: [1] } } }), sn.SinterError, { message: /has 3 bytes, and its shape 4/ });
  assertThrows(at({ tensors: { t: sn.tensor([true]) } }), sn.SinterError, { message: /no kind "bool"/ });
  assertThrows(at({ tensors: { t: sn.zeros([1, 1, 1, 1, 1]) } }), sn.SinterError, { message: /5 dimensions/ });
  assertThrows(at({ tensors: { ['n'.repeat(64)]: t } }), sn.SinterError, { message: /more than 63 bytes/ });
  assertThrows(at({ tensors: { t }, metadata: { a: null } }), sn.SinterError, { message: /"a" is null/ });
  assertThrows(at({ tensors: { t }, metadata: { a: 300 }, types: { a: 'uint8' } }), sn.SinterError, { message: /"a" is 300, which is no uint8/ });
  assertThrows(at({ tensors: { t }, metadata: { a: 1e39 } }), sn.SinterError, { message: /"a" is 1e\+39, which is no float32/ });
  assertThrows(at({ tensors: { t }, metadata: { a: [0.5, -1e39] } }), sn.SinterError, { message: /which is no float32\[\]/ });
  assertThrows(at({ tensors: { t }, metadata: { a: 1 }, types: { a: 'int' } }), sn.SinterError, { message: /no type "int"/ });
  for (const type of ['array', 'array[]', 5])
    assertThrows(at({ tensors: { t }, metadata: { a: 1 }, types: { a: type } }), sn.SinterError, { message: /no type .* of metadata \(there are uint8, .*float64, and arrays/ });
  assertThrows(at({ tensors: { t }, metadata: { 'general.alignment': 3 } }), sn.SinterError, { message: /general.alignment is 3/ });
  assertThrows(() => gguf.quantize('Q4_0', [1]), sn.SinterError, { message: /1 numbers are no whole blocks of Q4_0/ });
  assertThrows(() => gguf.quantize('Q8_0', new Float32Array(32).fill(NaN)), sn.SinterError, { message: /number 0 is NaN/ });
  assertThrows(() => gguf.dequantize('Q4_0', new Uint8Array(17)), sn.SinterError, { message: /17 bytes are no whole blocks/ });
});

test('4,000 damaged files', () => checkGgufs(4000, 5));

/* ---- files that arrive ---- */

/** Bytes in pieces of odd sizes. */
const inPieces = (bytes) => new Response(new ReadableStream({
  start(controller) {
    for (let at = 0, size = 1; at < bytes.length; at += size, size = ((size * 7 + 3) % 50) + 1) controller.enqueue(bytes.slice(at, at + size));
    controller.close();
  },
}));

const gather = async (source) => {
  const file = await gguf.stream(source);
  const data = {};
  for await (const { info: { name }, bytes } of file.data()) data[name] = bytes.slice();
  return { metadata: file.metadata, data };
};

test('a file that arrives has the same tensors, and one that is cut anywhere is refused', async () => {
  const list = Array.from({ length: 20 }, (_, i) => `text ${i}`);
  const bytes = gguf.write({ metadata: { list }, tensors: { w: sn.ones([7]), none: sn.zeros([0]), q: { tensor: weights(64), kind: 'Q8_0' } } });
  const read = gguf.read(bytes);
  const data = Object.fromEntries(read.tensors.map(({ name }) => [name, read.raw(name).slice()]));
  for (const source of [bytes, new Blob([bytes]), inPieces(bytes)]) assert.deepEqual(await gather(source), { metadata: { list }, data });
  const last = read.tensors.at(-1);
  for (let end = 0; end < last.offset + last.bytes; end += 3) {
    await assertRejects(gather(bytes.subarray(0, end)), sn.SinterError, { message: /damaged/ });
    await assertRejects(gather(inPieces(bytes.subarray(0, end))), sn.SinterError, { message: /damaged/ });
  }
});

test('a header of a megabyte, lying sizes, a source that fails', async () => {
  const list = Array.from({ length: 50_000 }, (_, i) => `a longer text ${i}`);
  const bytes = gguf.write({ metadata: { list }, tensors: { w: sn.ones([3]) } });
  assert.deepEqual((await gather(new Blob([bytes]))).metadata.list, list);
  const huge = file({ tensors: [info('a', [2 ** 45], 0, 0)], data: f32(1) });
  await assertRejects(gather(inPieces(huge)), sn.SinterError, { message: /the data of "a" end at/ });
  let isCancelled = false;
  const failing = new Response(new ReadableStream({
    start: (controller) => controller.enqueue(bytes.slice(0, 100)),
    pull: (controller) => controller.error(new Error('the line is cut')),
  }));
  await assertRejects(gguf.stream(failing), sn.SinterError, { code: 'storage', message: /the line is cut/ });
  const endless = new Response(new ReadableStream({ pull: (controller) => controller.enqueue(bytes.slice()), cancel: () => { isCancelled = true; } }));
  const opened = await gguf.stream(endless);
  for await (const _ of opened.data()) break;
  assert.ok(isCancelled);
  await assertRejects(gguf.stream(new Response('x', { status: 500 })), sn.SinterError, { message: /the server answered 500/ });
  await assertRejects(gguf.stream(bytes, { progress: 1 }), sn.SinterError, { message: /no option 'progress'/ });
});
