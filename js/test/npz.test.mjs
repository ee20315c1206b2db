// npz: archives that NumPy has written (tests/golden/numpy.json), ours, and archives that lie.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { crc32, deflateRawSync } from 'node:zlib';
import * as sn from '../dist/index.js';
import { assertRejects, assertThrows, settledMemory } from './support.mjs';

before(() => sn.init());

const { npy, npz } = sn.io;
const golden = JSON.parse(readFileSync(new URL('../../tests/golden/numpy.json', import.meta.url)));

for (const { name, file, arrays } of golden.archives) {
  test(`of NumPy: ${name}`, async () => {
    const tensors = await npz.decode(new Uint8Array(Buffer.from(file, 'base64')));
    assert.deepEqual(Object.keys(tensors).sort(), Object.keys(arrays).sort());
    for (const [key, { shape, values }] of Object.entries(arrays)) {
      assert.deepEqual(tensors[key].shape, shape);
      assert.deepEqual([...tensors[key].dataSync()], values);
    }
  });
}

test('what is written is read again', async () => {
  const tree = { layers: [{ w: sn.tensor([[1, 2], [3, 4]]) }], ü: sn.tensor([true]), none: sn.zeros([0]) };
  const bytes = npz.encode(tree);
  const tensors = await npz.decode(bytes);
  assert.deepEqual(Object.keys(tensors).sort(), ['layers.0.w', 'none', 'ü']);
  assert.deepEqual(tensors['layers.0.w'].toArray(), [[1, 2], [3, 4]]);
  assert.deepEqual(tensors.ü.toArray(), [true]);
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  assert.equal(Object.keys(await npz.decode(shared)).length, 3);
  assert.deepEqual(await npz.decode(npz.encode({})), {});
});

/** An archive of files, each with what its headers say; central: what the directory says otherwise. */
const archive = (files, { comment = '', end = {} } = {}) => {
  const parts = [];
  let at = 0;
  const put = (buffer) => {
    parts.push(buffer);
    at += buffer.length;
  };
  const entries = files.map(({ name, data, method = 0, packed = method === 8 ? deflateRawSync(data) : data, size = data.length, crc = crc32(data), local = {}, central = {} }) => {
    const header = { name, method, flags: 0, crc, packedSize: packed.length, size, ...local };
    const begin = at;
    const head = Buffer.alloc(30);
    head.writeUInt32LE(header.signature ?? 0x04034b50, 0);
    head.writeUInt16LE(header.method, 8);
    head.writeUInt32LE(header.crc, 14);
    head.writeUInt32LE(header.packedSize, 18);
    head.writeUInt32LE(header.size, 22);
    head.writeUInt16LE(Buffer.byteLength(header.name), 26);
    put(head);
    put(Buffer.from(header.name));
    put(Buffer.from(packed));
    return { name, method, flags: 0, crc, packedSize: packed.length, size, begin, ...central };
  });
  const directory = at;
  for (const { name, method, flags, crc, packedSize, size, begin } of entries) {
    const head = Buffer.alloc(46);
    head.writeUInt32LE(0x02014b50, 0);
    head.writeUInt16LE(flags, 8);
    head.writeUInt16LE(method, 10);
    head.writeUInt32LE(crc, 16);
    head.writeUInt32LE(packedSize, 20);
    head.writeUInt32LE(size, 24);
    head.writeUInt16LE(Buffer.byteLength(name), 28);
    head.writeUInt32LE(begin, 42);
    put(head);
    put(Buffer.from(name));
  }
  const last = Buffer.alloc(22);
  const said = { disk: 0, count: files.length, bytes: at - directory, directory, comment: comment.length, ...end };
  last.writeUInt32LE(0x06054b50, 0);
  last.writeUInt16LE(said.disk, 4);
  last.writeUInt16LE(said.count, 8);
  last.writeUInt16LE(said.count, 10);
  last.writeUInt32LE(said.bytes, 12);
  last.writeUInt32LE(said.directory, 16);
  last.writeUInt16LE(said.comment, 20);
  put(last);
  put(Buffer.from(comment));
  return new Uint8Array(Buffer.concat(parts));
};

const makeLies = () => {
  const data = npy.encode(sn.tensor([1, 2]));
  const a = { name: 'a.npy', data };
  const zeros = Buffer.alloc(1 << 20);
  return {
    'no bytes': [new Uint8Array(0), /no zip/],
    'no archive': [new Uint8Array(100), /no zip/],
    'an archive in parts': [archive([a], { end: { disk: 1 } }), /in parts/],
    'more files than there are': [archive([a], { end: { count: 2 } }), /fewer files/],
    'fewer files than there are': [archive([a], { end: { count: 0 } }), /more files/],
    'a directory elsewhere': [archive([a], { end: { directory: 3 } }), /not where/],
    'a directory beyond the file': [archive([a], { end: { directory: 0xfffffff0 } }), /not where/],
    'zip64': [archive([a], { end: { directory: 0xffffffff } }), /beyond 4 GiB/],
    'an encrypted file': [archive([{ ...a, central: { flags: 1 } }]), /encrypted/],
    'another method': [archive([{ ...a, method: 12 }]), /method 12/],
    'a name twice': [archive([a, a]), /given twice/],
    'two names': [archive([{ ...a, local: { name: 'b.npy' } }]), /two names/],
    'no file where the directory says': [archive([{ ...a, central: { begin: 1 } }]), /no file at 1/],
    'a file beyond the archive': [archive([{ ...a, central: { begin: 0xffffff00 } }]), /no file at/],
    'elements beyond the directory': [archive([{ ...a, central: { packedSize: 5000, size: 5000 } }]), /5000 bytes for 5000/],
    'a stored file of two sizes': [archive([{ ...a, size: 5 }]), /bytes for 5/],
    'files that overlap': [archive([a, { ...a, name: 'b.npy', central: { name: 'a.npy', begin: 0 } }].map((each, i) => (i ? { ...each, central: { begin: 0 } } : each))), /two names/],
    'a checksum of other bytes': [archive([{ ...a, crc: 1 }]), /checksum/],
    'no deflate': [archive([{ ...a, method: 8, packed: Buffer.from('hello, world') }]), /cannot be unpacked|has not the/],
    'deflate cut short': [archive([{ ...a, method: 8, packed: deflateRawSync(data).subarray(0, 20) }]), /cannot be unpacked/],
    'more bytes than said': [archive([{ name: 'z.npy', data: zeros, method: 8, size: 1000 }]), /has not the 1000 bytes/],
    'fewer bytes than said': [archive([{ ...a, method: 8, size: data.length + 1 }]), /has not the/],
    'more than deflate can make': [archive([{ ...a, method: 8, size: 2 ** 32 - 2 }]), /bytes for 4294967294/],
    'another file': [archive([{ ...a, name: 'a.txt' }]), /"a.txt" is no npy/],
    'a file that lies itself': [archive([a, { name: 'b.npy', data: data.subarray(0, data.length - 1) }]), /npz.decode: damaged: "b" has 7 bytes/],
  };
};

test('archives that lie are refused', async (t) => {
  for (const [name, [bytes, message]] of Object.entries(makeLies())) {
    await t.test(name, async () => {
      const { tensors, bytesInUse } = await settledMemory(sn);
      await assertRejects(npz.decode(bytes), sn.SinterError, { message });
      assert.deepEqual([sn.memory().tensors, sn.memory().bytesInUse], [tensors, bytesInUse]);
    });
  }
});

test('bytes behind deflate are refused, or left out where the engine does so', async () => {
  const data = npy.encode(sn.tensor([1, 2]));
  const bytes = archive([{ name: 'a.npy', data, method: 8, packed: Buffer.concat([deflateRawSync(data), Buffer.from('x')]) }]);
  const result = await npz.decode(bytes).catch((error) => error);
  if (result instanceof Error) assert.match(result.message, /npz.decode: damaged: "a.npy" cannot be unpacked/);
  else assert.deepEqual(result.a.toArray(), [1, 2]);
});

test('files that share bytes are refused', async () => {
  const data = npy.encode(sn.tensor([1, 2]));
  // A file whose bytes hold another whole file with its header.
  const inner = archive([{ name: 'b.npy', data }]).subarray(0, 35 + data.length);
  const bytes = archive([{ name: 'a.npy', data: inner }, { name: 'b.npy', data, central: { begin: 35 } }]);
  await assertRejects(npz.decode(bytes), sn.SinterError, { message: /"b.npy" overlaps/ });
});

test('a comment behind the archive, and one that looks like an end', async () => {
  const data = npy.encode(sn.tensor([1, 2]));
  for (const comment of ['made elsewhere', 'PK\x05\x06 and more']) {
    const { a } = await npz.decode(archive([{ name: 'a.npy', data }], { comment }));
    assert.deepEqual(a.toArray(), [1, 2]);
  }
});

test('without what unpacks', async () => {
  const real = globalThis.DecompressionStream;
  globalThis.DecompressionStream = undefined;
  try {
    await assertRejects(npz.decode(new Uint8Array(Buffer.from(golden.archives[1].file, 'base64'))), sn.UnsupportedError, { message: /numpy.savez/ });
  } finally {
    globalThis.DecompressionStream = real;
  }
});

test('arguments that are none', async () => {
  await assertRejects(npz.decode('x'), sn.SinterError, { message: /expected bytes/ });
  assertThrows(() => npz.encode({ t: sn.ones([1], { dtype: 'bfloat16' }) }), sn.UnsupportedError, { message: /npz.encode: bfloat16/ });
});
