// Products with quantised blocks: exactly those of whole numbers, computed here from the layout of the kinds, and as near
// to the products with their numbers as 8 bits of x allow; of any sizes, in every engine, and in derivatives.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import * as gguf from '../dist/gguf.js';
import { uniforms } from './ggufcases.mjs';
import { assertClose, assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const f = Math.fround;

/* ---- the kinds, plainly ---- */

const half = (bytes, at) => {
  const bits = bytes[at] | (bytes[at + 1] << 8);
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : (2 ** -14 * fraction) / 1024);
};
const signed = (byte) => (byte << 24) >> 24;
const numbered = (count, of) => Array.from({ length: count }, (_, i) => of(i));

/** 4 bits of number j of a part, whose first 16 lie in the low halves. */
const nibble = (b, at, j) => (j < 16 ? b[at + j] & 15 : b[at + j - 16] >> 4);
const fifth = (b, at, j) => ((b[at + (j >> 3)] >> (j & 7)) & 1) << 4;

/** The parts of a block: 32 whole numbers q, scale and min. */
const simple = (bytes, min, q) => ({ bytes, numbers: 32, min, parts: (b) => [{ q: numbered(32, (j) => q(b, j)), scale: half(b, 0), min: min ? half(b, 2) : -0 }] });
const six = (b, i) => (i < 4 ? [b[4 + i] & 63, b[8 + i] & 63] : [(b[8 + i] & 15) | ((b[i] >> 6) << 4), (b[8 + i] >> 4) | ((b[4 + i] >> 6) << 4)]);
const large = (bytes, low, q5) => ({
  bytes,
  numbers: 256,
  min: true,
  parts: (b) => numbered(8, (i) => ({
    q: numbered(32, (j) => ((b[low + (i >> 1) * 32 + j] >> ((i & 1) * 4)) & 15) | (q5 ? ((b[16 + j] >> i) & 1) << 4 : 0)),
    scale: f(half(b, 0) * six(b, i)[0]),
    min: -f(half(b, 2) * six(b, i)[1]),
  })),
});
const KINDS = {
  Q4_0: simple(18, false, (b, j) => nibble(b, 2, j) - 8),
  Q4_1: simple(20, true, (b, j) => nibble(b, 4, j)),
  Q5_0: simple(22, false, (b, j) => (nibble(b, 6, j) | fifth(b, 2, j)) - 16),
  Q5_1: simple(24, true, (b, j) => nibble(b, 8, j) | fifth(b, 4, j)),
  Q8_0: simple(34, false, (b, j) => signed(b[2 + j])),
  Q4_K: large(144, 16, false),
  Q5_K: large(176, 48, true),
  Q6_K: {
    bytes: 210,
    numbers: 256,
    min: false,
    parts: (b) => numbered(8, (i) => ({
      q: numbered(32, (j) => {
        const [four, row] = [i >> 2, i & 3];
        const low = (b[four * 64 + (row & 1) * 32 + j] >> (row >> 1 ? 4 : 0)) & 15;
        const high = (b[128 + four * 32 + j] >> (row * 2)) & 3;
        return ((low + 16 * high - 32) * signed(b[192 + 2 * i + (j >> 4)])) | 0; // without the sign of a 0
      }),
      scale: half(b, 208),
      min: -0,
    })),
  },
};

/** 32 numbers as whole ones of 8 bits. */
const quantized = (x) => {
  const most = Math.max(...x.map(Math.abs));
  if (!(most < Infinity)) return { q: x.map(() => 0), scale: NaN, sum: NaN };
  if (most < 2 ** -100) return { q: x.map(() => 0), scale: 0, sum: 0 };
  const steps = f(127 / most);
  const q = x.map((each) => {
    const product = f(each * steps);
    const floor = Math.floor(product);
    const rest = product - floor;
    return rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
  });
  const scale = f(most / 127);
  return { q, scale, sum: f(scale * q.reduce((a, b) => a + b, 0)) };
};

/** Rows (n, k) as bytes, and in parts. */
const someRows = (kind, n, blocks, next) => {
  const { bytes, min } = KINDS[kind];
  const data = Uint8Array.from({ length: n * blocks * bytes }, () => next() * 256);
  for (let at = 0; at < data.length; at += bytes)
    for (const high of kind === 'Q6_K' ? [209] : min ? [1, 3] : [1]) data[at + high] = (data[at + high] & 131) | (Math.floor(4 + next() * 12) << 2);
  return data;
};
const partsOf = (kind, data, n) =>
  numbered(n, (r) => {
    const { bytes, parts } = KINDS[kind];
    const row = data.subarray((r * data.length) / n, ((r + 1) * data.length) / n);
    return numbered(row.length / bytes, (i) => parts(row.subarray(i * bytes, (i + 1) * bytes))).flat();
  });

/** What the product is by definition: part p is added to sum p % 4. */
const plain = (kind, x, data, n) => {
  const rows = partsOf(kind, data, n);
  return x.map((row) => {
    const parts = numbered(row.length / 32, (p) => quantized(row.slice(p * 32, p * 32 + 32)));
    return rows.map((w) => {
      const sums = [0, 0, 0, 0];
      w.forEach(({ q, scale, min }, p) => {
        const dot = q.reduce((sum, each, j) => sum + each * parts[p].q[j], 0);
        const product = f(f(dot) * f(scale * parts[p].scale));
        sums[p % 4] = f(sums[p % 4] + (KINDS[kind].min ? f(product + f(min * parts[p].sum)) : product));
      });
      return f(f(sums[0] + sums[1]) + f(sums[2] + sums[3]));
    });
  });
};

const normals = (count, next) => numbered(count, () => f(Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next())));
const rowsOf = (m, k, next) => numbered(m, () => normals(k, next));
const bytesOf = (data, n) => sn.tensor(data, { shape: [n, data.length / (n || 1)] });
const at = (m, k) => ({ shape: [m, k] });

/* ---- values ---- */

for (const kind of Object.keys(KINDS)) {
  test(`${kind}: exactly the products of whole numbers, and the numbers of the format`, () => {
    const next = uniforms(kind.length * 7 + KINDS[kind].bytes);
    for (const [m, n, blocks] of [[1, 1, 1], [1, 7, 3], [2, 4, 2], [3, 9, 1], [5, 6, 2], [1, 5, 7], [6, 5, 6], [1, 130, 1], [17, 21, 1]]) {
      const k = blocks * KINDS[kind].numbers;
      const [x, data] = [rowsOf(m, k, next), someRows(kind, n, blocks, next)];
      const y = sn.matmulBlocks(sn.tensor(x, at(m, k)), bytesOf(data, n), { kind });
      assert.deepEqual([y.dtype, ...y.shape], ['float32', m, n]);
      assert.deepEqual(y.toArray(), plain(kind, x, data, n), `${m} x ${n} x ${k}`);
      const numbers = partsOf(kind, data, n).map((row) => row.flatMap(({ q, scale, min }) => q.map((each) => f(scale * each + min))));
      assert.deepEqual(sn.dequantizeBlocks(bytesOf(data, n), { kind }).toArray(), numbers);
    }
  });

  test(`${kind}: off from the product with the numbers by half a step of x at most`, () => {
    const next = uniforms(5);
    const [m, n, k] = [6, 40, 512];
    const w = sn.tensor(normals(n * k, next), at(n, k)).mul(0.02);
    const file = gguf.read(gguf.write({ metadata: {}, tensors: { w: { tensor: w, kind } } }));
    const info = file.tensors.find(({ name }) => name === 'w');
    const bytes = bytesOf(Uint8Array.from(file.raw('w')), n);
    assert.equal(info.kind, kind);
    const numbers = sn.dequantizeBlocks(bytes, { kind });
    assert.ok(numbers.equal(file.tensor('w')).all().item());
    const x = rowsOf(m, k, next);
    const y = sn.matmulBlocks(sn.tensor(x, at(m, k)), bytes, { kind }).toArray();
    const exact = sn.tensor(x, at(m, k)).astype('float64').matmul(numbers.astype('float64').transpose()).toArray();
    const rows = numbers.toArray();
    y.forEach((row, i) => row.forEach((value, r) => {
      const steps = numbered(k / 32, (p) => Math.max(...x[i].slice(p * 32, p * 32 + 32).map(Math.abs)) / 127);
      const bound = rows[r].reduce((sum, each, j) => sum + (Math.abs(each) * steps[j >> 5]) / 2, 0);
      assert.ok(Math.abs(value - exact[i][r]) <= bound * 1.001 + 1e-6, `${value}, not ${exact[i][r]}`);
    }));
  });
}

test('extremes of blocks and of x, NaN and infinity', () => {
  const next = uniforms(9);
  for (const kind of Object.keys(KINDS)) {
    const k = KINDS[kind].numbers * 2;
    for (const byte of [0, 255, 0x80, 0x7f]) {
      const data = new Uint8Array(KINDS[kind].bytes * 2 * 3).fill(byte);
      for (let i = 0; i < data.length; i += KINDS[kind].bytes)
        for (const high of kind === 'Q6_K' ? [209] : [1, 3]) if (high === 1 || kind === 'Q6_K' || KINDS[kind].min) data[i + high] = byte & 0xbb;
      const x = [normals(k, next), new Array(k).fill(-1), new Array(k).fill(0), numbered(k, (i) => f((i % 2 ? -1 : 1) * 1e30)), new Array(k).fill(1e-35)];
      assert.deepEqual(sn.matmulBlocks(sn.tensor(x, at(5, k)), bytesOf(data, 3), { kind }).toArray(), plain(kind, x, data, 3), `${kind} of ${byte}`);
    }
    const [row, data] = [normals(k, next), someRows(kind, 3, 2, next)];
    const bad = [NaN, Infinity, -Infinity].map((value) => row.map((each, i) => (i === 33 ? value : each)));
    assert.deepEqual(sn.matmulBlocks(sn.tensor([...bad, row], at(4, k)), bytesOf(data, 3), { kind }).toArray(),
      [...new Array(3).fill([NaN, NaN, NaN]), plain(kind, [row], data, 3)[0]]);
  }
});

test('no rows, no blocks, a vector, batches of matrices', () => {
  const next = uniforms(2);
  const data = someRows('Q8_0', 6, 2, next);
  assert.deepEqual(sn.matmulBlocks(sn.zeros([0, 64]), bytesOf(data, 6)).shape, [0, 6]);
  assert.deepEqual(sn.matmulBlocks(sn.zeros([3, 64]), sn.zeros([0, 68], { dtype: 'uint8' })).shape, [3, 0]);
  assert.deepEqual(sn.matmulBlocks(sn.zeros([2, 0]), sn.zeros([3, 0], { dtype: 'uint8' })).toArray(), [[0, 0, 0], [0, 0, 0]]);
  const x = rowsOf(6, 64, next);
  assert.deepEqual(sn.matmulBlocks(x[0], bytesOf(data, 6)).toArray(), plain('Q8_0', x, data, 6)[0]);
  const bytes = bytesOf(data, 6).reshape([2, 3, 68]);
  const y = sn.matmulBlocks(sn.tensor(x, at(6, 64)).reshape([2, 3, 64]), bytes).toArray();
  assert.deepEqual(y, [0, 1].map((b) => plain('Q8_0', x.slice(b * 3, b * 3 + 3), data.subarray(b * 204, b * 204 + 204), 3)));
});

test('what does not fit is refused', () => {
  const bytes = sn.zeros([3, 34], { dtype: 'uint8' });
  assertThrows(() => sn.matmulBlocks(sn.zeros([2, 33]), bytes), sn.ShapeError, { message: /rows of 32 numbers of kind Q8_0, and x has 33: x \(2, 33\), rows \(3, 34\)/ });
  assertThrows(() => sn.matmulBlocks(sn.zeros([2, 32]), bytes, { kind: 'Q4_0' }), sn.ShapeError, { message: /no whole blocks of kind Q4_0, which have 18 bytes: rows \(3, 34\)/ });
  assertThrows(() => sn.matmulBlocks(sn.zeros([2, 32]), bytes, { kind: 'Q3_K' }), sn.SinterError, { message: /Q3_K/ });
  assertThrows(() => sn.dequantizeBlocks(sn.zeros([3, 34])), sn.DTypeError, { message: /rows must be uint8, not float32/ });
  assertThrows(() => sn.grad((b) => sn.matmulBlocks(sn.ones([2, 32]), b).sum())(bytes), sn.DTypeError, { message: /uint8/ });
});

test('there is no C of it', () => {
  const seen = sn.inspect((x, b) => sn.matmulBlocks(x, b))(sn.ones([2, 32]), sn.zeros([3, 34], { dtype: 'uint8' }));
  assertThrows(() => seen.cSource(), sn.UnsupportedError, { message: /matmul_blocks has no C/ });
  seen.dispose();
});

/* ---- transforms ---- */

test('the gradient of x, and that in jit, grad of grad, jvp and vmap', () => {
  const next = uniforms(4);
  for (const kind of ['Q8_0', 'Q4_K', 'Q6_K']) {
    const k = KINDS[kind].numbers;
    const bytes = bytesOf(someRows(kind, 6, 1, next), 6);
    const [x, g] = [sn.tensor(rowsOf(4, k, next), at(4, k)), sn.tensor(rowsOf(4, 6, next), at(4, 6))];
    const loss = (v, b) => sn.matmulBlocks(v, b, { kind }).mul(g).sum();
    const expected = g.matmul(sn.dequantizeBlocks(bytes, { kind })).toArray();
    assertClose(sn.grad(loss)(x, bytes), expected, 1e-5);
    assertClose(sn.jit(sn.grad(loss))(x, bytes), expected, 1e-5);
    const [, tangent] = sn.jvp((v) => sn.matmulBlocks(v, bytes, { kind }), [x], [x]);
    assertClose(tangent, x.matmul(sn.dequantizeBlocks(bytes, { kind }).transpose()).toArray(), 1e-4);
    const all = sn.matmulBlocks(x, bytes, { kind }).toArray();
    assert.deepEqual(sn.vmap((v) => sn.matmulBlocks(v, bytes, { kind }))(x).toArray(), all);
    const pairs = bytes.reshape([2, 3, -1]);
    assert.deepEqual(sn.vmap((b) => sn.matmulBlocks(x, b, { kind }))(pairs).toArray(), [0, 3].map((from) => all.map((row) => row.slice(from, from + 3))));
    const both = sn.vmap((v, b) => sn.matmulBlocks(v, b, { kind }))(x.reshape([2, 2, k]), pairs).toArray();
    assert.deepEqual(both, [[0, 1], [2, 3]].map((pick, b) => pick.map((i) => all[i].slice(b * 3, b * 3 + 3))));
  }
});

/* ---- engines ---- */

/** What a program prints in a process of its own. */
const alone = (options) => execFileSync(process.execPath, ['--input-type=module', '-e', `
  import { createHash } from 'node:crypto';
  import * as sn from 'sinter';
  await sn.init(${JSON.stringify(options)});
  const [hash, fused] = [createHash('sha256'), createHash('sha256')];
  for (const [kind, bytes, numbers] of ${JSON.stringify(Object.entries(KINDS).map(([kind, { bytes, numbers }]) => [kind, bytes, numbers]))})
    for (const [m, n] of [[1, 333], [9, 70]]) {
      const data = sn.random.uniform(sn.random.key(m), [n, 2 * bytes], { minval: 0, maxval: 60 }).astype('uint8');
      const x = sn.random.normal(sn.random.key(n), [m, 2 * numbers]);
      hash.update(sn.matmulBlocks(x, data, { kind }).dataSync());
      hash.update(sn.dequantizeBlocks(data, { kind }).dataSync());
      fused.update(sn.matmulDequantized(sn.random.normal(sn.random.key(n), [m, n]), data, { kind }).dataSync());
    }
  console.log(hash.digest('hex'), fused.digest('hex'));
  process.exit(0);`], { cwd: new URL('..', import.meta.url), encoding: 'utf8' }).trim().split(' ');

test('the same bits with one thread to four, without code made at run time and without shared memory', () => {
  const expected = alone({ threads: 1, deterministic: true });
  for (const options of [{ threads: 2 }, { threads: 3 }, { threads: 4 }, { threads: 2, jit: false }, { wasm: new URL('../dist/sinter.wasm', import.meta.url).href }])
    assert.deepEqual(alone({ ...options, deterministic: true }), expected);
  // Else only the product with the numbers may fuse multiplications with additions.
  assert.equal(alone({ threads: 2 })[0], expected[0]);
});
