// Damaged GGUF files: whatever comes, the answer is a SinterError or what a plain reader of the bytes finds, and it is
// written and read again with equal metadata and data.
import assert from 'node:assert/strict';
import * as sn from '../../dist/index.js';
import * as gguf from '../../dist/gguf.js';
import { plainRead } from '../ggufcases.mjs';
import { xorshift } from '../random.mjs';

const makeSeeds = () => sn.tidy(() => [
  gguf.write({ metadata: { a: 1 }, tensors: { w: sn.tensor([1, 2]) } }),
  gguf.write({
    metadata: { 'general.alignment': 8, text: 'ü', list: ['a', ''], scores: Float32Array.of(1, -2), flags: [true, false], big: 2n ** 60n, none: [] },
    tensors: { 'blk.0.w': sn.tensor([[1, 2, 3]]), h: { tensor: [1, 2], kind: 'float16' }, q: { tensor: new Float32Array(64).fill(1.5), kind: 'Q4_0' }, i: sn.tensor([7], { dtype: 'i32' }) },
  }),
  gguf.write({ metadata: { x: -1 }, tensors: { q8: { tensor: new Float32Array(32).fill(-1), kind: 'Q8_0' }, k: { tensor: new Float32Array(256).fill(2), kind: 'Q4_K' } } }),
]);

/** Numbers that break parsers. */
const COUNTS = [0n, 1n, 2n, 3n, 31n, 32n, 0x7fffffffn, 0x80000000n, 0xffffffffn, 1n << 32n, (1n << 53n) - 1n, 1n << 53n, (1n << 61n) + 1n, (1n << 63n) - 1n, (1n << 64n) - 1n];

const damage = (bytes, random) => {
  const at = random(bytes.length + 1);
  const span = random(4) ? random(4) : random(64);
  const joined = (...parts) => new Uint8Array(Buffer.concat(parts));
  const copy = bytes.slice();
  const view = new DataView(copy.buffer);
  switch (random(7)) {
    case 0:
      if (copy.length) copy[at % copy.length] ^= 1 << random(8);
      return copy;
    case 1:
      if (copy.length) copy[at % copy.length] = [0, 1, 2, 3, 9, 0x7f, 0x80, 0xff][random(8)];
      return copy;
    case 2:
      return bytes.slice(0, at);
    case 3:
      return joined(bytes.subarray(0, at), bytes.subarray(at + span));
    case 4:
      return joined(bytes.subarray(0, at), bytes.subarray(at, at + span), bytes.subarray(at));
    case 5:
      if (at + 8 <= copy.length) view.setBigUint64(at, COUNTS[random(COUNTS.length)], true);
      return copy;
    default:
      if (at + 4 <= copy.length) view.setUint32(at, random(43), true);
      return copy;
  }
};

/** What was accepted is true, and comes back. */
const check = (bytes) => {
  const made = gguf.read(bytes);
  const plain = plainRead(bytes);
  assert.equal(made.version, plain.version);
  assert.deepEqual(Object.keys(made.metadata).sort(), plain.names.sort());
  assert.equal(made.tensors.length, plain.tensors.length);
  made.tensors.forEach((t, i) => {
    const { name, shape, bytes: size = t.bytes, offset } = plain.tensors[i];
    assert.deepEqual([t.name, t.shape, t.bytes, t.offset], [name, shape, size, offset]);
    assert.deepEqual(made.raw(t.name), bytes.subarray(offset, offset + size));
  });
  rewrite(made);
  for (const { name } of made.tensors) readTensor(made, name);
};

/** Numbers, of kinds and shapes that tensors have. */
const readTensor = (made, name) => {
  try {
    made.tensor(name).dispose();
  } catch (error) {
    if (!(error instanceof sn.UnsupportedError || error instanceof sn.ShapeError || error instanceof sn.DTypeError)) throw error;
  }
};

const rewrite = ({ metadata, types, tensors, raw }) => {
  // The writer is stricter: names are short, and texts are UTF-8.
  const parts = tensors.map(({ name, kind, shape }) => [name, { raw: raw(name), kind, shape }]);
  if (parts.some(([name, { shape }]) => Buffer.byteLength(name) > 63 || shape.some((size) => size > 0x7fffffff))) return;
  const again = gguf.read(gguf.write({ metadata, types, tensors: Object.fromEntries(parts) }));
  assert.deepEqual([again.metadata, again.types], [metadata, types]);
  for (const { name, kind, shape } of tensors) {
    const found = again.tensors.find((each) => each.name === name);
    assert.deepEqual([found.kind, found.shape], [kind, shape]);
    assert.deepEqual(again.raw(name), raw(name));
  }
};

/** Reads count damaged files. Returns how many were accepted and refused. */
export async function checkGgufs(count, seed) {
  await sn.init();
  const random = xorshift(seed);
  const seeds = makeSeeds();
  const counts = { accepted: 0, refused: 0 };
  seeds.forEach(check);
  const before = sn.memory();
  for (let i = 0; i < count; i++) {
    let bytes = seeds[random(seeds.length)];
    for (let times = 1 + random(3); times > 0; times--) bytes = damage(bytes, random);
    try {
      check(bytes);
      counts.accepted++;
    } catch (error) {
      if (!(error instanceof sn.SinterError) || error.code === 'internal')
        throw new Error(`seed ${seed}, file ${i}: ${Buffer.from(bytes).toString('base64')}`, { cause: error });
      counts.refused++;
    }
  }
  assert.deepEqual([sn.memory().tensors, sn.memory().tensorBytes], [before.tensors, before.tensorBytes]);
  assert.ok(counts.accepted > 0 && counts.refused > 0);
  return counts;
}
