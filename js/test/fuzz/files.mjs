// Damaged files before the parsers of sn.io: whatever comes, the answer is a SinterError or the tensors that the bytes
// have by the format, and nothing is left behind. What is accepted is judged by plain readers of the bytes below.
import assert from 'node:assert/strict';
import { deflateRawSync, crc32 } from 'node:zlib';
import * as sn from '../../dist/index.js';
import { xorshift } from '../random.mjs';

const text = (bytes) => Buffer.from(bytes).toString('latin1');

/** Bytes of the elements of a tensor. */
const bytesOf = (t) => {
  const whole = sn.io.safetensors.encode({ t });
  return Buffer.from(whole.subarray(8 + Number(new DataView(whole.buffer).getBigUint64(0, true))));
};

/* ---- seeds ---- */

const makeTree = () => ({
  w: sn.tensor([[1, 2, 3], [4, 5, 6]]), b: [sn.tensor([1.5], { dtype: 'f64' }), sn.tensor([true, false])], h: sn.tensor([1, 2], { dtype: 'f16' }),
  none: sn.zeros([0, 3]), one: sn.tensor(7, { dtype: 'i32' }), bytes: sn.tensor([255], { dtype: 'u8' }),
});

/** An archive as npz.encode makes it, with its first file deflated. */
const deflated = (archive) => {
  const view = new DataView(archive.buffer);
  const begin = 30 + view.getUint16(26, true);
  const size = view.getUint32(22, true);
  const packed = deflateRawSync(archive.subarray(begin, begin + size));
  const shift = packed.length - size;
  const bytes = new Uint8Array(Buffer.concat([archive.subarray(0, begin), packed, archive.subarray(begin + size)]));
  const changed = new DataView(bytes.buffer);
  const end = bytes.length - 22;
  const directory = changed.getUint32(end + 16, true) + shift;
  changed.setUint32(end + 16, directory, true);
  changed.setUint16(8, 8, true);
  changed.setUint32(18, packed.length, true);
  changed.setUint16(directory + 10, 8, true);
  changed.setUint32(directory + 20, packed.length, true);
  assert.equal(changed.getUint32(directory + 16, true), crc32(archive.subarray(begin, begin + size)));
  return bytes;
};

const makeSeeds = () => sn.tidy(() => {
  const tree = makeTree();
  return {
    safetensors: [sn.io.safetensors.encode(tree, { metadata: { a: 'ü' } }), sn.io.safetensors.encode({ x: sn.ones([2]) })],
    npy: [tree.w, tree.b[0], tree.b[1], tree.none, tree.one].map((t) => sn.io.npy.encode(t)),
    npz: [sn.io.npz.encode({ w: tree.w, b: tree.b }), deflated(sn.io.npz.encode({ w: tree.w }))],
    state: [sn.io.saveState({ ...tree, n: 3, list: [1, null] })],
  };
});

/* ---- what is right ---- */

const ITEM = { F64: 8, F32: 4, I32: 4, F16: 2, BF16: 2, I8: 1, U8: 1, BOOL: 1, I64: 8, U64: 8, U32: 4, I16: 2, U16: 2 };

/** A reader of safetensors that trusts: what the parser has accepted has to be true. */
const checkSafetensors = (bytes, { tensors, metadata }) => {
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const { __metadata__: said = {}, ...entries } = JSON.parse(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.slice(8, 8 + length)));
  assert.deepEqual(metadata, said);
  assert.deepEqual(Object.keys(tensors).sort(), Object.keys(entries).sort());
  const data = Buffer.from(bytes.subarray(8 + length));
  const owner = new Int8Array(data.length);
  for (const [name, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(entries)) {
    assert.deepEqual([...tensors[name].shape], shape);
    assert.equal(end - begin, shape.reduce((a, b) => a * b, ITEM[dtype]));
    owner.subarray(begin, end).forEach((_, i) => owner[begin + i]++);
    assert.deepEqual(bytesOf(tensors[name]), data.subarray(begin, end));
  }
  assert.ok(owner.every((count) => count === 1), 'every byte belongs to one tensor');
};

/** An array, of which a plain reader knows the elements' bytes where they are in the usual order. */
const checkNpy = (bytes, t) => {
  const size = bytesOf(t).length;
  const header = text(bytes.subarray(0, bytes.length - size));
  const shape = /'shape'\s*:\s*\(([^)]*)\)/.exec(header)[1].split(',').filter((each) => each.trim()).map((each) => Number.parseInt(each, 10));
  assert.deepEqual([...t.shape], shape);
  if (/'descr'\s*:\s*'[<|=]/.test(header) && /False/.test(header)) assert.deepEqual(bytesOf(t), Buffer.from(bytes.subarray(bytes.length - size)));
};

const FORMATS = {
  safetensors: (bytes) => {
    const made = sn.io.safetensors.decode(bytes);
    checkSafetensors(bytes, made);
    return made.tensors;
  },
  npy: (bytes) => {
    const made = sn.io.npy.decode(bytes);
    checkNpy(bytes, made);
    return made;
  },
  npz: async (bytes) => {
    const made = await sn.io.npz.decode(bytes);
    const again = await sn.io.npz.decode(sn.io.npz.encode(made));
    for (const [name, t] of Object.entries(made)) assert.deepEqual(bytesOf(again[name]), bytesOf(t));
    sn.dispose(again);
    return made;
  },
  state: (bytes) => {
    const made = sn.io.loadState(bytes);
    assert.deepEqual(sn.io.saveState(made), bytes);
    return made;
  },
};

/* ---- damage ---- */

const WORDS = ['0', '1', '9', '-1', '1e3', '4294967296', '9007199254740993', '18446744073709551615', '[', ']', '{', '}', '"', ',', ':', '\\u0061', 'null',
  '"F64"', '"I8"', '"shape"', '"data_offsets"', '"__metadata__"', "'<f4'", "'|O'", "'>f8'", 'True', '(1,)', '()', ' ', '\n', '\xff'];

/** Makes the lengths that a mutation has changed right again, so that what lies behind them is read. */
const repair = (format, bytes) => {
  if (format === 'safetensors' && bytes.length > 8) {
    const end = bytes.indexOf(0x7d, bytes.lastIndexOf(0x5d)) + 1; // the last ] and the } behind it
    if (end > 8) new DataView(bytes.buffer, bytes.byteOffset).setBigUint64(0, BigInt(Math.max(0, bytes.indexOf(0x7d, end) + 1 - 8)), true);
  }
  if (format === 'npy' && bytes.length > 10) {
    const end = bytes.indexOf(0x0a, 10);
    if (end > 0) new DataView(bytes.buffer, bytes.byteOffset).setUint16(8, end + 1 - 10, true);
  }
  return bytes;
};

const damage = (bytes, random) => {
  const at = random(bytes.length + 1);
  const span = random(4) ? random(4) : random(64);
  const [before, part, after] = [bytes.subarray(0, at), bytes.subarray(at, at + span), bytes.subarray(at + span)];
  const joined = (...parts) => new Uint8Array(Buffer.concat(parts));
  switch (random(9)) {
    case 0: {
      const copy = bytes.slice();
      if (copy.length) copy[at % copy.length] ^= 1 << random(8);
      return copy;
    }
    case 1: {
      const copy = bytes.slice();
      if (copy.length) copy[at % copy.length] = [0, 1, 0x7f, 0x80, 0xff, 0x30 + random(10)][random(6)];
      return copy;
    }
    case 2:
      return bytes.slice(0, at);
    case 3:
      return joined(before, after);
    case 4:
      return joined(before, part, part, after);
    case 5:
      return joined(before, Buffer.from(WORDS[random(WORDS.length)], 'latin1'), after);
    case 6:
      return joined(before, Buffer.from(WORDS[random(WORDS.length)], 'latin1'), bytes.subarray(at));
    case 7: {
      const from = random(bytes.length + 1);
      return joined(before, bytes.subarray(from, from + span), bytes.subarray(at));
    }
    default: {
      // A number of the header becomes another one.
      const numbers = [...text(bytes.subarray(0, 2000)).matchAll(/\d+/g)];
      if (!numbers.length) return bytes.slice();
      const { index, 0: digits } = numbers[random(numbers.length)];
      const value = String(random(2) ? Number(digits) + random(9) - 4 : random(100));
      return joined(bytes.subarray(0, index), Buffer.from(value), bytes.subarray(index + digits.length));
    }
  }
};

/** Reads count damaged files. Resolves to how many of each format were accepted and refused. */
export async function checkFiles(count, seed) {
  await sn.init();
  const random = xorshift(seed);
  const seeds = makeSeeds();
  const formats = Object.keys(seeds);
  const counts = Object.fromEntries(formats.map((format) => [format, { accepted: 0, refused: 0 }]));
  for (const format of formats) for (const bytes of seeds[format]) sn.dispose(await FORMATS[format](bytes));
  const before = sn.memory();
  for (let i = 0; i < count; i++) {
    // Archives take turns of the event loop, and nearly all states fail at their checksum: fewer of both.
    const format = i % 20 === 0 ? 'npz' : i % 20 === 10 ? 'state' : formats[random(2)];
    let bytes = seeds[format][random(seeds[format].length)];
    for (let times = 1 + random(3); times > 0; times--) bytes = damage(bytes, random);
    if (random(4)) bytes = repair(format, bytes.slice());
    try {
      sn.dispose(await FORMATS[format](bytes));
      counts[format].accepted++;
    } catch (error) {
      if (!(error instanceof sn.SinterError) || error.code === 'internal')
        throw new Error(`seed ${seed}, file ${i}: ${format} ${Buffer.from(bytes).toString('base64')}`, { cause: error });
      counts[format].refused++;
    }
  }
  assert.deepEqual([sn.memory().tensors, sn.memory().tensorBytes], [before.tensors, before.tensorBytes]);
  for (const format of formats) assert.ok(counts[format].refused > 0, format);
  for (const format of ['safetensors', 'npy', 'npz']) assert.ok(counts[format].accepted > 0, format);
  return counts;
}
