// The dtypes of 16 and 8 bits: bits and values, what ops make of them, and products that read them in packing.
// The engines are held against the reference, bit for bit, by the differential suite.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const HALVES = ['float16', 'bfloat16'];
const SMALL = [...HALVES, 'int8', 'uint8'];
const WIDE = { float16: 'float32', bfloat16: 'float32', int8: 'int32', uint8: 'int32' };

/** The value of a float's bits, from its fields. */
const valueOf = (bits, exponent, fraction) => {
  const sign = bits >> (exponent + fraction) ? -1 : 1;
  const e = (bits >> fraction) & ((1 << exponent) - 1);
  const f = bits & ((1 << fraction) - 1);
  const bias = (1 << (exponent - 1)) - 1;
  if (e === (1 << exponent) - 1) return f ? NaN : sign * Infinity;
  return e ? sign * (1 + f / 2 ** fraction) * 2 ** (e - bias) : sign * (f / 2 ** fraction) * 2 ** (1 - bias);
};
const FIELDS = { float16: [5, 10], bfloat16: [8, 7] };

const sine = (shape, dtype, scale = 1) => {
  const n = shape.reduce((a, b) => a * b, 1);
  return sn.tensor(Array.from({ length: n }, (_, i) => scale * Math.sin(i * 1.7 + 0.3)), { shape }).astype(dtype);
};
const whole = (shape, dtype) => sine(shape, 'float32', 7).round().astype(dtype);

test('all bits have their values, and the values their bits', () => {
  const bits = Uint16Array.from({ length: 65536 }, (_, i) => i);
  for (const dtype of HALVES) {
    const values = sn.tensor(bits, { dtype }).dataSync();
    bits.forEach((b) => assert.ok(Object.is(values[b], valueOf(b, ...FIELDS[dtype])), `${dtype} ${b}: ${values[b]}`));
    const again = sn.tensor(values).astype(dtype).dataSync();
    again.forEach((v, b) => assert.ok(Object.is(v, values[b]), `${dtype} ${b}: ${v}`));
  }
});

/** Numbers between two of the dtype, and just above and below the middle, with what they are when rounded. */
function roundings(dtype) {
  const [exponent, fraction] = FIELDS[dtype];
  const last = ((1 << exponent) - 1) << fraction; // the bits of infinity
  const given = [];
  const expected = [];
  for (let b = 0; b < last; b += dtype === 'float16' ? 1 : 7) {
    const low = valueOf(b, exponent, fraction);
    const high = b + 1 < last ? valueOf(b + 1, exponent, fraction) : 2 ** (1 << (exponent - 1));
    const middle = low + (high - low) / 2;
    const overflow = b + 1 === last ? Infinity : high;
    const nudge = middle * 2 ** -23 || 2 ** -149;
    given.push(middle, middle + nudge, middle - nudge, -middle);
    expected.push(b % 2 ? overflow : low, overflow, low, b % 2 ? -overflow : -low);
  }
  return { given, expected };
}

function assertRounded(dtype, got) {
  const { given, expected } = roundings(dtype);
  const of32 = Float32Array.from(given);
  got.forEach((v, i) => {
    if (of32[i] === given[i] || dtype === 'float16')
      assert.ok(Object.is(v, expected[i]) || of32[i] !== given[i], `${dtype} of ${given[i]}: ${v}, not ${expected[i]}`);
  });
}

test('narrowing rounds to the nearest, halfway to the even', () => {
  for (const dtype of HALVES) {
    assertRounded(dtype, sn.tensor(roundings(dtype).given).astype(dtype).dataSync());
    assert.deepEqual(sn.tensor([1e30, -1e39, NaN, -0]).astype('float16').dataSync(),
      Float32Array.of(Infinity, -Infinity, NaN, -0));
  }
});

test('a number that goes by 16 bits within a kernel is rounded, as by memory', () => {
  const special = [65503, 65519.99, 65520, -65520, 1e5, 2 ** 115, 2 ** 116, -1e38, 3.4e38, Infinity, -Infinity, NaN, 0, -0, 2 ** -24, 2 ** -25, 2 ** -149];
  for (const dtype of HALVES) {
    const given = sn.tensor([...roundings(dtype).given, ...special]);
    const byMemory = given.astype(dtype).dataSync();
    for (const jit of [true, false]) {
      const run = (f) => sn.jit(f, { jit })(given);
      const [rounded, kept] = run((x) => {
        const y = x.astype(dtype);
        return [y.astype('float32').neg(), y];
      });
      assert.deepEqual(rounded.dataSync().map((v) => -v), byMemory);
      assert.deepEqual(kept.dataSync(), byMemory);
      assertRounded(dtype, rounded.dataSync().map((v) => -v).slice(0, -special.length));
    }
  }
});

test('a constant that goes by 16 bits is a rounded constant, and what is viewed between casts is a view', () => {
  for (const dtype of HALVES) {
    const x = sine([6, 4], dtype);
    const textOf = (f) => sn.inspect(f)(x).stages.find(({ name }) => name === 'dce').text;
    assert.equal(textOf((x) => x.mul(0.1)).match(/astype/g).length, 2); // of x, and of the result
    assert.doesNotMatch(textOf((x) => x.astype('float32').reshape([2, 3, 4]).transpose([1, 0, 2]).astype(dtype)), /astype/);
    assert.deepEqual(sn.jit((x) => x.mul(0.1))(x).dataSync(), x.mul(sn.full([], 0.1, { dtype })).dataSync());
  }
});

test('integers wrap, floats go to the nearest', () => {
  const ints = sn.tensor([0, 127, 128, 255, 256, -1, -129, 2 ** 31 - 1], { dtype: 'int32' });
  assert.deepEqual(ints.astype('int8').dataSync(), Int8Array.of(0, 127, -128, -1, 0, -1, 127, -1));
  assert.deepEqual(ints.astype('uint8').dataSync(), Uint8Array.of(0, 127, 128, 255, 0, 255, 127, 255));
  const floats = sn.tensor([1.9, -1.9, 200, -200, 300, NaN, Infinity, -Infinity]);
  assert.deepEqual(floats.astype('i8').dataSync(), Int8Array.of(1, -1, 127, -128, 127, 0, 127, -128));
  assert.deepEqual(floats.astype('u8').dataSync(), Uint8Array.of(1, 0, 200, 0, 255, 0, 255, 0));
  const a = sn.tensor(Uint8Array.of(200, 100)), b = sn.tensor(Int8Array.of(100, -100));
  assert.deepEqual(a.add(a).dataSync(), Uint8Array.of(144, 200));
  assert.deepEqual(b.mul(2).dataSync(), Int8Array.of(-56, 56));
  assert.deepEqual(a.add(b).dataSync(), Int32Array.of(300, 0));
});

test('creating and reading', async () => {
  assert.deepEqual(await sn.tensor([0.1, 1 / 3], { dtype: 'f16' }).data(), Float32Array.of(0.0999755859375, 0.333251953125));
  assert.equal(sn.tensor(0.1, { dtype: 'bf16' }).item(), 0.10009765625);
  assert.deepEqual(sn.full([2, 1], 0.1, { dtype: 'float16' }).toArray(), [[0.0999755859375], [0.0999755859375]]);
  assert.deepEqual(sn.arange(3, undefined, 1, { dtype: 'int8' }).dataSync(), Int8Array.of(0, 1, 2));
  assert.deepEqual(sn.zeros([0], { dtype: 'bfloat16' }).dataSync(), new Float32Array(0));
  assert.deepEqual(sn.tensor(Uint8ClampedArray.of(300, 7)).dataSync(), Uint8Array.of(255, 7));
  if (globalThis.Float16Array) {
    const half = sn.tensor(new Float16Array([0.1, -2]));
    assert.equal(half.dtype, 'float16');
    assert.deepEqual(half.dataSync(), Float32Array.of(0.0999755859375, -2));
    assert.equal(sn.tensor(new Float16Array([300]), { dtype: 'int32' }).item(), 300);
  }
  const before = sn.memory().tensors;
  const t = sn.tensor([1, 2], { dtype: 'float16' });
  await t.data();
  t.toArray();
  t.dispose();
  assert.ok(sn.memory().tensors <= before); // fewer where others were collected meanwhile
});

test('dtypes that meet', () => {
  const of = Object.fromEntries([...SMALL, 'bool', 'int32', 'float32', 'float64'].map((d) => [d, sn.ones([2], { dtype: d })]));
  const rows = [
    ['float16', 'float16', 'float16'], ['float16', 'bfloat16', 'float32'], ['float16', 'int32', 'float16'],
    ['int8', 'bfloat16', 'bfloat16'], ['float16', 'float32', 'float32'], ['bfloat16', 'float64', 'float64'],
    ['int8', 'uint8', 'int32'], ['int8', 'bool', 'int8'], ['uint8', 'int32', 'int32'], ['uint8', 'float32', 'float32'],
  ];
  for (const [a, b, both] of rows) {
    assert.equal(of[a].add(of[b]).dtype, both, `${a} + ${b}`);
    assert.equal(of[b].add(of[a]).dtype, both, `${b} + ${a}`);
    assert.equal(sn.concat([of[a], of[b]]).dtype, both);
  }
  assert.equal(sn.concat([of.int8, of.uint8, of.int8]).dtype, 'int32');
  assert.equal(of.float16.mul(0.5).dtype, 'float16');
  assert.equal(of.int8.mul(3).dtype, 'int8');
  assert.equal(of.int8.add(1000).dtype, 'int32');
  assert.equal(of.uint8.mul(0.5).dtype, 'float32');
  assert.equal(of.uint8.div(255).dtype, 'float32');
  assert.equal(of.uint8.less(2).dtype, 'bool');
});

/** f on small dtypes is f on wide ones, cast back. */
const rounds = (name, f, dtypes = HALVES, shapes = [[3, 5], [4, 300]]) => {
  for (const dtype of dtypes) {
    for (const shape of shapes) {
      const x = dtypes === HALVES ? sine(shape, dtype, 2) : whole(shape, dtype);
      const [y, z] = [f(x), f(x.astype(WIDE[dtype])).astype(dtype)];
      assert.equal(y.dtype, dtype, name);
      assert.deepEqual(y.shape, z.shape);
      assert.deepEqual(y.dataSync(), z.dataSync(), `${name} of ${dtype} (${shape})`);
    }
  }
};

test('ops compute in the wide dtype and round once', () => {
  rounds('exp', (x) => x.exp());
  rounds('gelu', (x) => sn.gelu(x, { approximate: true }));
  rounds('mean', (x) => x.mean({ axis: 1 }));
  rounds('std', (x) => sn.std(x, { axis: 0 }));
  rounds('softmax', (x) => sn.softmax(x));
  rounds('logSoftmax', (x) => sn.logSoftmax(x));
  rounds('layerNorm', (x) => sn.layerNorm(x, { weight: x.slice([0, 0], [1, x.shape[1]]).reshape([-1]) }));
  rounds('attention', (x) => sn.attention(x, x, x));
  rounds('rope', (x) => sn.rope(sn.concat([x, x], { axis: 1 })));
  // Squares of such gradients are over the largest float16.
  rounds('clipByGlobalNorm', (x) => sn.optim.clipByGlobalNorm([x.mul(512), x.mul(256)], 2)[0]);
  rounds('matmul', (x) => x.matmul(x.transpose()));
  rounds('einsum', (x) => sn.einsum('ij,kj,k->i', x, x, x.slice([0, 1], [x.shape[0], 1]).reshape([-1])));
  rounds('cumsum', (x) => sn.cumsum(x, { axis: 1 }));
  rounds('conv1d', (x) => sn.conv1d(x.reshape([1, -1, 1]), x.slice([0, 0], [1, 3]).reshape([3, 1, 1])));
  for (const dtypes of [HALVES, ['int8', 'uint8']]) {
    rounds('max', (x) => x.max({ axis: 0 }), dtypes);
    rounds('sort', (x) => sn.sort(x, { axis: 1 }), dtypes);
    rounds('where', (x) => sn.where(x.less(1), x, x.mul(2)), dtypes);
    rounds('clip', (x) => sn.clip(x, 1, 3), dtypes);
    rounds('pad', (x) => sn.pad(x, [[1, 0], [0, 2]], { value: 3 }), dtypes);
    rounds('concat', (x) => sn.concat([x, sn.flip(x)], { axis: 1 }), dtypes);
    rounds('take', (x) => sn.take(x, [2, 0, -1], { axis: 0 }), dtypes);
    rounds('take along', (x) => sn.take(x, sn.tensor(Uint8Array.of(1, 0)), { axis: 1 }), dtypes);
    rounds('maxPool', (x) => sn.maxPool2d(x.reshape([1, x.shape[0], x.shape[1], 1]), { window: 2, padding: 'same' }), dtypes);
    rounds('at.set', (x) => x.at([1]).set(3), dtypes);
    rounds('views', (x) => x.transpose().slice([2, 0], [3, 2], { strides: [-1, 1] }).reshape([2, 3]), dtypes);
  }
  const bytes = whole([3, 50], 'int8');
  assert.equal(bytes.sum().dtype, 'int32');
  assert.deepEqual(bytes.sum({ axis: 1 }).dataSync(), bytes.astype('int32').sum({ axis: 1 }).dataSync());
  assert.equal(sn.argsort(bytes).dtype, 'int32');
  assert.equal(sn.argmax(bytes).dtype, 'int32');
});

test('products read small dtypes in packing: one kernel, no copy in memory, the same bits', () => {
  const shapes = [[1, 1, 1], [1, 300, 200], [2, 3, 4], [7, 161, 33], [64, 64, 64], [130, 200, 70], [300, 1, 9], [5, 0, 3]];
  const forms = [
    ['plain', (x) => x],
    ['transposed', (x) => x.transpose().transpose()],
    ['stored transposed', (x) => x, true],
  ];
  for (const dtype of SMALL) {
    for (const [m, k, n] of shapes) {
      // A lone row and tiny products have a way of their own where nothing is packed.
      const packed = m > 1 && n > 1 && m * k * n > 2048;
      const same = (y, z, what) => (packed ? assert.deepEqual(y.dataSync(), z.dataSync(), what) : assertClose(y, z.toArray(), 1e-5));
      for (const [name, , turned] of forms) {
        const stored = whole(turned ? [n, k] : [k, n], dtype);
        const left = sine([m, k], 'float32');
        const b = (w) => (turned ? w.transpose() : w);
        const f = sn.jit((x, w) => x.matmul(b(w.astype('float32'))).relu());
        const g = sn.jit((x, w) => x.matmul(b(w)).relu());
        same(f(left, stored), g(left, stored.astype('float32')), `${dtype} ${name} ${m} ${k} ${n}`);
        const h = sn.jit((w, x) => b(w).astype('float32').transpose().matmul(x.transpose()));
        const i = sn.jit((w, x) => b(w).transpose().matmul(x.transpose()));
        same(h(stored, left), i(stored.astype('float32'), left), `${dtype} left ${m} ${k} ${n}`);
      }
    }
    const seen = sn.inspect((x, w) => x.matmul(w.astype('float32').reshape([200, 70])).relu())(
      sine([130, 200], 'float32'), whole([70, 200], dtype));
    assert.equal(seen.kernels.length, 1);
    assert.equal(seen.memory.arenaBytes, 0);
    assert.equal(seen.kernels[0].bytes, 4 * 130 * 200 + 4 * 130 * 70 + 200 * 70 * (dtype.endsWith('16') ? 2 : 1));
    seen.dispose();
    const batch = sn.jit((x, w) => x.matmul(w.astype('float32')));
    const [x, w] = [sine([3, 20, 50], 'float32'), whole([3, 50, 30], dtype)];
    assert.deepEqual(batch(x, w).dataSync(), x.matmul(w.astype('float32')).dataSync());
  }
});

test('gradients have the dtype of their argument and are computed in float32', () => {
  for (const dtype of HALVES) {
    const [x, w] = [sine([4, 6], dtype), sine([6, 3], dtype)];
    const loss = (a, b) => a.transpose().slice([0, 1], [6, 3]).mul(2).transpose().astype('float32').matmul(b.astype('float32')).square().mean();
    const [dx, dw] = sn.grad(loss, { argnums: [0, 1] })(x, w);
    assert.equal(dx.dtype, dtype);
    assert.equal(dw.dtype, dtype);
    const [ex, ew] = sn.grad((a, b) => loss(a.astype(dtype), b), { argnums: [0, 1] })(x.astype('float32'), w.astype('float32'));
    assert.deepEqual(dx.dataSync(), ex.astype(dtype).dataSync());
    assert.deepEqual(dw.dataSync(), ew.astype(dtype).dataSync());
    assert.equal(sn.grad((a) => a.sum())(x).dtype, dtype);
    assert.deepEqual(sn.grad((a) => sn.layerNorm(a).mul(a).sum().astype('float32'))(x).shape, [4, 6]);
  }
  assertThrows(() => sn.grad((a) => a.astype('float32').sum())(sn.ones([2], { dtype: 'int8' })), sn.DTypeError, { code: 'dtype' });
});

test('rows are taken from a table as it is stored', () => {
  const index = sn.tensor([5, 0, 5], { dtype: 'int32' });
  for (const dtype of SMALL) {
    const table = whole([40, 9], dtype);
    const seen = sn.inspect((t, i) => sn.take(t, i, { axis: 0 }))(table, index);
    assert.equal(seen.kernels.length, 1);
    assert.equal(seen.memory.arenaBytes, 0);
    seen.dispose();
    assert.deepEqual(sn.take(table, index, { axis: 0 }).dataSync(),
      sn.take(table.astype('float32'), index, { axis: 0 }).astype(dtype).dataSync());
    if (WIDE[dtype] !== 'float32') continue;
    const pick = (t) => sn.take(t, index, { axis: 0 }).astype('float32').square().sum();
    assert.deepEqual(sn.grad(pick)(table).dataSync(), sn.grad(pick)(table.astype('float32')).astype(dtype).dataSync());
  }
});

test('labels and indices of bytes', () => {
  const logits = sine([4, 10], 'float32');
  const labels = [3, 0, 9, 1];
  const expected = sn.softmaxCrossEntropy(logits, sn.tensor(labels, { dtype: 'int32' })).dataSync();
  assert.deepEqual(sn.softmaxCrossEntropy(logits, sn.tensor(Uint8Array.from(labels))).dataSync(), expected);
  assert.deepEqual(sn.oneHot(sn.tensor(Uint8Array.of(1, 0)), 3, { dtype: 'int8' }).toArray(), [[0, 1, 0], [1, 0, 0]]);
});

test('parameters in float16 and bfloat16 train and keep their dtype', () => {
  const x = sine([32, 3], 'float32');
  const y = x.matmul(sn.tensor([[1], [-2], [0.5]]));
  for (const dtype of HALVES) {
    for (const optimizer of [sn.optim.sgd({ lr: 0.3, momentum: 0.5 }), sn.optim.adam({ lr: 0.1 })]) {
      const step = sn.trainStep((p, x, y) => x.matmul(p.w).sub(y).square().mean(), optimizer);
      let state = step.init({ w: sn.zeros([3, 1], { dtype }) });
      let loss;
      for (let i = 0; i < 100; i += 1) ({ state, loss } = step(state, x, y));
      assert.ok(loss.item() < 1e-3, String(loss.item()));
      assert.equal(step.params(state).w.dtype, dtype);
    }
  }
});
