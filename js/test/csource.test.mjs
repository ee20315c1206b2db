// cSource: the C of a program, compiled by the C compiler of this machine, gives the program's numbers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as sn from '../dist/index.js';
import { readFunctions } from '../../scripts/lib/function-table.mjs';

await sn.init();

const folder = mkdtempSync(join(tmpdir(), 'sinter-c-'));
after(() => rmSync(folder, { recursive: true }));

const C_TYPES = { float32: 'float', float64: 'double', int32: 'int32_t', bool: 'bool', int8: 'int8_t', uint8: 'uint8_t' };
const ARRAYS = { float32: Float32Array, float64: Float64Array, int32: Int32Array, bool: Uint8Array, int8: Int8Array, uint8: Uint8Array };
const bytesOf = (t) => {
  const array = ARRAYS[t.dtype].from(t.dataSync(), Number);
  return new Uint8Array(array.buffer);
};

/** A main that reads the arguments from a file one after the other, and writes the results. */
const mainFor = (name, inputs, outputs) => {
  const array = (prefix) => (t, i) => `  static ${C_TYPES[t.dtype]} ${prefix}${i}[${Math.max(t.size, 1)}];`;
  const names = [...inputs.map((_, i) => `a${i}`), ...outputs.map((_, i) => `out${i}`)];
  return `#include <stdio.h>
int main(void) {
${inputs.map(array('a')).join('\n')}
${outputs.map(array('out')).join('\n')}
${inputs.map((t, i) => `  if (fread(a${i}, sizeof *a${i}, ${t.size}, stdin) != ${t.size}) return 1;`).join('\n')}
  ${name}(${names.join(', ')});
${outputs.map((t, i) => `  fwrite(out${i}, sizeof *out${i}, ${t.size}, stdout);`).join('\n')}
  return 0;
}
`;
};

let count = 0;

/** Runs f's C on the arguments and what f captures; an array per result. f takes tensors, returns an array of them. */
function runAsC(f, given, results, captured = []) {
  const name = `program${count++}`;
  const seen = sn.inspect(f)(...given);
  const source = seen.cSource(name);
  seen.dispose();
  const args = [...given, ...captured];
  const file = join(folder, `${name}.c`);
  writeFileSync(file, source + mainFor(name, args, results));
  const flags = ['-std=c11', '-O1', '-Wall', '-Wextra', '-Wno-unused-parameter', '-Werror'];
  execFileSync('cc', [...flags, file, '-o', `${file}.out`, '-lm'], { stdio: 'pipe' });
  const written = execFileSync(`${file}.out`, { input: Buffer.concat(args.map(bytesOf)), maxBuffer: 1 << 28 });
  let at = 0;
  return { source, values: results.map((t) => {
    const bytes = t.size * ARRAYS[t.dtype].BYTES_PER_ELEMENT;
    const values = new ARRAYS[t.dtype](Uint8Array.from(written.subarray(at, at + bytes)).buffer);
    at += bytes;
    return values;
  }) };
}

const TOLERANCE = { float32: 2e-5, float64: 1e-12, int32: 0, bool: 0, int8: 0, uint8: 0 };

/**
 * Holds the C of f against the program run op by op, which shares no group with it; a difference counts relative
 * to the largest value.
 */
function check(f, args) {
  const results = [sn.jit(f, { fusion: false })(...args)].flat();
  const { source, values } = runAsC(f, args, results);
  results.forEach((t, i) => {
    const want = Array.from(t.dataSync(), Number);
    const got = Array.from(values[i], Number);
    assert.equal(got.length, want.length);
    const scale = Math.max(1e-30, ...want.filter(Number.isFinite).map(Math.abs));
    want.forEach((w, k) => {
      const same = Object.is(w, got[k]) || w === got[k] || Math.abs(w - got[k]) <= TOLERANCE[t.dtype] * scale;
      assert.ok(same, `result ${i}[${k}]: C ${got[k]}, program ${w}\n${source}`);
    });
  });
  return source;
}

const ramp = (shape, scale = 1, dtype = 'float32') => {
  const n = shape.reduce((a, b) => a * b, 1);
  return sn.tensor(Array.from({ length: n }, (_, i) => scale * Math.sin(i * 1.7 + 0.3)), { shape, dtype });
};

test('loss and gradient of an MLP', () => {
  const loss = (w1, b1, w2, b2, x, y) =>
    sn.softmaxCrossEntropy(sn.relu(x.matmul(w1).add(b1)).matmul(w2).add(b2), y).mean();
  const args = [ramp([12, 16], 0.3), ramp([16], 0.1), ramp([16, 5], 0.4), ramp([5], 0.1), ramp([7, 12])];
  const labels = sn.tensor([0, 1, 2, 3, 4, 0, 1], { dtype: 'int32' });
  const step = (...all) => {
    const [value, grads] = sn.valueAndGrad(loss, { argnums: [0, 1, 2, 3] })(...all);
    return [value, ...grads];
  };
  const source = check(step, [...args, labels]);
  assert.match(source, /static void k0_matmul/);
  assert.match(source, /\/\* relu \*\//);
});

test('convolutions, pools and their gradients', () => {
  const net = (x, w, v) => {
    const y = sn.conv2d(x, w, { padding: 'same', strides: 2 }).relu();
    return sn.conv2d(sn.maxPool2d(y, { window: 2, strides: 1 }), v, { groups: 3, dilation: 2, padding: 'same' });
  };
  check((x, w) => [sn.conv2d(x, w, { padding: [[1, 0], [2, 1]], strides: 2, dilation: [1, 2] })],
    [ramp([1, 5, 32, 32]), ramp([2, 3, 32, 3])]);
  const source = check((x, w, mean, variance) => [sn.batchNorm(sn.conv2d(x, w), { mean, variance })],
    [ramp([1, 8, 8, 4]), ramp([3, 3, 4, 16]), ramp([16]), ramp([16]).square()]);
  assert.match(source, /k0_add_rsqrt.*[^]*k1_matmul/);
  const args = [ramp([2, 7, 6, 2]), ramp([3, 3, 2, 3]), ramp([2, 3, 1, 6])];
  check((...all) => [net(...all), ...sn.grad((x, w, v) => net(x, w, v).square().sum(), { argnums: [0, 1, 2] })(...all)], args);
});

test('softmax, layer norm and a variance over rows', () => {
  const norm = (x) => {
    const centred = x.sub(x.mean({ axis: 1, keepdims: true }));
    return centred.div(centred.square().mean({ axis: 1, keepdims: true }).add(1e-5).sqrt());
  };
  check((x) => [sn.softmax(x), sn.logSoftmax(x), norm(x), x.max({ axis: 0 }), x.min()], [ramp([9, 33], 4)]);
  check((x) => sn.grad((z) => norm(z).mul(sn.softmax(z)).sum())(x), [ramp([5, 17], 2, 'float64')]);
});

test('a value and its gradient that read one argument in two shapes', () => {
  const both = (f) => (x, w) => sn.valueAndGrad((z) => f(z).mul(w).sum())(x);
  check(both((x) => x.tanh().mul(0.5).reshape([12])), [ramp([4, 3]), ramp([12], 2)]);
  check(both((x) => x.max({ axis: [1] }).tanh()), [ramp([33, 1, 1]), ramp([33, 1], 2)]);
});

test('a concat of many, along either axis', () => {
  check((x, y) => {
    const parts = Array.from({ length: 40 }, (_, i) => (i % 3 ? x.slice([0, i % 4], [4, 2]) : y.mul(i)));
    return [sn.concat(parts, { axis: 1 }), sn.concat(parts.map((part) => part.transpose()))];
  }, [ramp([4, 6]), ramp([4, 3], 3)]);
});

test('views, pad, concat, broadcasts and numbers counted on the fly', () => {
  check((x, y) => {
    const wide = sn.concat([x, y.mul(2), sn.flip(x, { axis: 1 })], { axis: 1 });
    return [
      sn.pad(wide.slice([1, 0], [3, 9], { strides: [1, 2] }).transpose(), [[1, 2], [0, 3]], { value: 7 }),
      wide.reshape([6, 12]).add(sn.arange(12)).sum({ axis: 1 }),
      y.broadcastTo([3, 4, 6]).sum({ axis: [0, 2] }),
      x,
    ];
  }, [ramp([4, 6]), ramp([4, 6], 3)]);
});

test('integers, booleans and conversions', () => {
  const big = sn.tensor([2147483647, -2147483648, 5, -7, 0], { dtype: 'int32' });
  const odd = sn.tensor([NaN, 1e20, -1e20, -2.7, 2.5]);
  check((i, x) => [
    i.add(i), i.mul(3), i.neg(), i.sum(), i.maximum(2), i.less(1), i.astype('float32').div(2),
    x.astype('int32'), x.astype('bool'), sn.isnan(x).logicalOr(x.greater(0)), sn.where(i.greater(0), x, 1),
    sn.sign(x), x.maximum(0), sn.round(x), sn.floor(x), sn.bitcast(x, 'int32'), sn.bitcast(i, 'float32'),
  ], [big, odd]);
});

test('empty and single results, and a result given twice', () => {
  check((x) => [x.sum({ axis: 1 }), x.add(1), x.sum()], [sn.zeros([3, 0])]);
  check((x) => { const y = x.exp(); return [y, y, x]; }, [ramp([5])]);
});

test('batched and transposed products, in float64 and int32', () => {
  check((a, b) => [a.matmul(b), a.swapaxes(1, 2).matmul(b.swapaxes(1, 2))],
    [ramp([2, 3, 5], 1, 'float64'), ramp([2, 5, 3], 1, 'float64')]);
});

test('products and convolutions of int32, which wrap', () => {
  const ints = (shape, seed) => sn.tensor(Int32Array.from({ length: shape.reduce((a, b) => a * b) },
    (_, i) => Math.imul(i + seed, 0x9e3779b1)), { shape });
  check((a, b) => [a.matmul(b), a.matmul(b).add(1)], [ints([2, 3, 70], 1), ints([2, 70, 5], 9)]);
  check((x, w) => [sn.conv1d(x, w, { padding: [[4, 1]], strides: 2 }), sn.convTranspose1d(x, w.swapaxes(1, 2), { strides: 4, padding: [[3, 0]] })],
    [ints([2, 6, 3], 1), ints([2, 3, 4], 5)]);
});

test('scatter by all modes', () => {
  const index = sn.tensor([2, -1, 2, 0], { dtype: 'int32' });
  for (const dtype of ['float32', 'float64', 'int32'])
    check((x, u, i) => ['set', 'add', 'mul', 'min', 'max'].map((mode) => sn.scatter(x, i, u, { mode })),
      [ramp([4, 3], 9).astype(dtype), ramp([4, 3], -7).astype(dtype), index]);
  check((x, u, i) => sn.scatter(x, i, u, { mode: 'or' }), [ramp([4, 3], 99).astype('int32'), ramp([4, 3], 50).astype('int32'), index]);
});

test('bits', () => {
  const ints = (shape, seed) => ramp(shape, seed).mul(1e8).astype('int32');
  check((x, y) => [x.bitwiseInvert(), sn.bitwiseAnd(x, y), sn.bitwiseXor(x, y), sn.bitwiseLeftShift(x, y), sn.bitwiseRightShift(x, y),
    x.bitwiseRightShift(3), sn.bitwiseOrReduce(x, 1)], [ints([7, 9], 5), ramp([7, 9], 40).astype('int32')]);
});

test('attention and its gradient: the kernels of a chain one by one', () => {
  const source = check((q, k, v) => sn.attention(q, k, v, { causal: true }),
    [0, 1, 2].map((i) => ramp([4, 80, 8], 1 + i)));
  assert.equal(source.match(/static void k\d/g).length, 3);
  check((q, k, v) => sn.grad((...x) => sn.attention(...x).square().sum(), { argnums: [0, 1, 2] })(q, k, v),
    [0, 1, 2].map((i) => ramp([2, 100, 8], 1 + i, 'float64')));
});

test('lines of one element, and whole numbers that meet themselves, leave nothing unused', () => {
  const index = sn.tensor([0, -1, 3], { dtype: 'int32' });
  check((x, i, u) => [sn.take(x, i, { axis: 0 }), sn.scatter(x, i, u, { mode: 'add' })], [ramp([1, 4]), index, ramp([3, 4])]);
  // argmin compares what it reads with the least of its line, which is itself.
  const least = (x, v) => [sn.argmin(x, { axis: 1, keepdims: true }), sn.cond(v.greater(0), (w) => w.add(w), (w) => w.neg(), v)];
  for (const dtype of ['bool', 'int32', 'float32']) check(least, [ramp([2, 1, 3], 3, dtype), sn.tensor(2)]);
});

test('what a function captured are further arguments, and a comment names them', () => {
  const [x, w, b] = [ramp([2, 3]), ramp([3, 4], 2), ramp([4], 3)];
  const f = (v) => [v.matmul(w.exp()).add(b)];
  const [want] = f(x);
  const { source, values } = runAsC(f, [x], [want], [b, w]);
  const lines = source.split('\n').slice(2, 6).map((line) => line.slice(' *   '.length));
  assert.deepEqual(lines, ['a0: float32(2, 3)', 'a1: float32(4,), captured', 'a2: float32(3, 4), captured', 'out0: float32(2, 4)']);
  const far = Math.max(...Array.from(want.dataSync(), (v, i) => Math.abs(v - values[0][i])));
  assert.ok(far < 1e-4, `${far}`);
});

test('a training step is a function of its state and batch, and of the learning rate', () => {
  const step = sn.trainStep((p, v) => p.w.mul(v).sum().square(), sn.optim.sgd({ lr: 0.25 }));
  const seen = sn.inspect(step)(step.init({ w: ramp([5]) }), ramp([5]));
  const lines = seen.cSource('step').split('\n').slice(2, 9).map((line) => line.slice(' *   '.length));
  assert.deepEqual(lines, ['a0: int32()', 'a1: float32(5,)', 'a2: float32(5,)', 'a3: float32(), captured', 'out0: float32()', 'out1: int32()', 'out2: float32(5,)']);
  seen.dispose();
});

test('ops along an axis: take, scatter, sort, sums so far', () => {
  const index = sn.tensor([2, -1, 0, 9], { dtype: 'int32' });
  const holes = sn.tensor([[3, NaN, -1], [2, 2, 2], [0, -5, NaN], [1, 7, 1]]);
  check((x, i) => [
    sn.take(x, i, { axis: 0 }), sn.grad((t) => sn.take(t, i, { axis: 0 }).square().sum())(x),
    sn.sort(x, { axis: 0 }), sn.sort(x, { axis: 1, descending: true }), sn.argsort(x, { axis: 1 }),
    sn.cumsum(x, { axis: 0 }), sn.cumprod(x, { axis: 1 }),
  ], [holes, index]);
  check((x) => [sn.grad((t) => sn.cumsum(t, { axis: 1 }).square().sum())(x), sn.cumsum(x.astype('int32'), { axis: 0 }),
    sn.grad((t) => sn.cumprod(t, { axis: 1 }).sum())(x)], [ramp([3, 5])]);
});

test('every elementwise op that the table gives to JavaScript, on each of its dtypes', () => {
  const rows = readFunctions().rows.map(({ js, types, arity }) => ({ name: js, dtypes: types, arity: Math.min(arity, 2) }));
  assert.ok(rows.length > 40, `${rows.length} rows`);
  for (const dtype of Object.keys(C_TYPES)) {
    const ops = rows.filter(({ dtypes, name }) => dtypes.includes(dtype) && name !== 'where');
    if (!ops.length) continue; // of small dtypes there are none
    const values = { bool: [1, 0, 1, 0], int32: [3, -2, 31, 0] }[dtype] ?? [0.4, 0.9, -0.3, 0];
    const others = { bool: [1, 1, 0, 0], int32: [2, 5, -1, 9] }[dtype] ?? [2, 0.9, 0.5, -0];
    const args = [values, others].map((list) => sn.tensor(list, { dtype }));
    const results = ops.map(({ name, arity }) => (x, y) => (arity === 1 ? sn[name](x) : sn[name](x, y)));
    check((x, y) => results.map((f) => f(x, y)), args);
  }
});

test('bytes are stored as such; C11 has no 16-bit floats', () => {
  const bytes = sn.tensor(Int8Array.from({ length: 35 }, (_, i) => i * 37), { shape: [5, 7] });
  const small = sn.tensor(Uint8Array.from({ length: 35 }, (_, i) => i * 7), { shape: [5, 7] });
  const source = check((x, y, w) => [x.add(x), y.mul(3), y.transpose(), x.add(y), sn.sort(y, { axis: 1 }), x.mul(0.5),
    w.matmul(x.astype('float32')), x.max({ axis: 0 })], [bytes, small, ramp([3, 5])]);
  assert.match(source, /const int8_t \*b/);
  for (const dtype of ['float16', 'bfloat16']) {
    const stored = sn.inspect((x) => x.astype('float32').mul(2))(sn.ones([3], { dtype }));
    const within = sn.inspect((x) => x.exp().astype(dtype).astype('float32'))(sn.ones([3])); // in a kernel, not in memory
    for (const seen of [stored, within]) {
      assert.throws(() => seen.cSource('half'), (error) => error instanceof sn.UnsupportedError && error.message.includes(dtype));
      seen.dispose();
    }
  }
});

/** The building simulation, as scalars. */
function simulation(startingTemp, spacing, thickness, slabCp, tankTemp) {
  const tube = { diameter: 0.019, resistivity: 2.43 };
  const slab = { area: 100, density: 2242.58, thickness: 0.101 };
  const q = { flow: 0.0006309, density: 1000, Cp: 4180 };
  const tank = { volume: 0.0757082, Cp: 4180, density: 1000 };
  const dt = 0.1;
  let [slabT, quanta, tankT] = [startingTemp, sn.full([], 60, { dtype: 'float64' }), tankTemp];
  const update = (power) => { quanta = quanta.add(power.mul(dt / q.Cp / (q.flow * dt * q.density))); };
  for (let step = 0; step < 20; step++) {
    const gained = tankT.sub(quanta).mul(q.flow * q.density * q.Cp);
    tankT = tankT.add(gained.mul(dt / tank.Cp / (tank.volume * tank.density)));
    update(gained);
    const area = sn.full([], slab.area * Math.PI * tube.diameter, { dtype: 'float64' }).div(spacing);
    const resistance = thickness.mul(10 * tube.resistivity).div(area);
    const power = slabT.sub(quanta).div(resistance);
    update(power);
    slabT = slabT.add(power.neg().mul(dt).div(slabCp).mul(1 / (slab.area * slab.thickness * slab.density)));
  }
  return slabT.sub(27.344767).abs();
}

test('the building simulation and its gradient', () => {
  const args = [33.3, 0.50292, 0.001588, 0.2, 70].map((v) => sn.tensor(v, { dtype: 'float64' }));
  const both = (...all) => {
    const [value, grads] = sn.valueAndGrad(simulation, { argnums: [0, 1, 2, 3, 4] })(...all);
    return [value, ...grads];
  };
  const results = both(...args);
  const { values } = runAsC(both, args, results);
  const want = [10.634975130093931, 0.8725142030644532, -8.722791744336112, -2762.510342608008,
    -21.9151195589128, 0.12758713519148412];
  want.forEach((w, i) => assert.ok(Math.abs(values[i][0] / w - 1) <= 1e-10, `${i}: ${values[i][0]}, expected ${w}`));
});

test('a name that C does not take is refused', () => {
  const seen = sn.inspect((x) => x.add(1))(sn.ones([2]));
  assert.throws(() => seen.cSource('two words'), { code: 'argument' });
  assert.match(seen.cSource(), /^\/\* program:/);
});
