// jsSource: the JavaScript of a program, when it runs, has the program's bits; and how it reads.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import * as sn from '../dist/index.js';
import { readFunctions } from '../../scripts/lib/function-table.mjs';
import { readTable } from '../../scripts/lib/op-table.mjs';
import { load, met, roundTrip } from './jssource.mjs';

await sn.init();

const size = (shape) => shape.reduce((a, b) => a * b, 1);
const ramp = (shape, scale = 1, dtype = 'float32') => sn.tensor(Array.from({ length: size(shape) },
  (_, i) => (dtype === 'int32' ? ((i * 7) % 11) - 5 : scale * Math.sin(i * 1.7 + 0.3))), { shape, dtype });
const ints = (list) => sn.tensor(list, { dtype: 'int32' });

/** The gradient of a number made of f's first result, by all arguments. */
const slopes = (f, n) => (...args) => sn.grad((...all) => {
  const y = [f(...all)].flat()[0];
  return y.mul(y.mul(0.3).cos()).sum();
}, { argnums: Array.from({ length: n }, (_, i) => i) })(...args);

/** f and its gradient. */
const both = (f, ...args) => {
  roundTrip(f, args);
  roundTrip(slopes(f, args.length), args);
};

test('a fault in what is written is found, be it one of the last bit', () => {
  const f = (a) => sn.scan((c, z) => [c.add(z).sin().mul(0.1), c], sn.ones([6]), a)[1];
  const spoilt = (from, to) => roundTrip(f, [ramp([4, 6])], [], (source) => {
    assert.ok(source.includes(from), source);
    return source.replace(from, to);
  });
  spoilt('.sin()', '.sin()');
  for (const [from, to] of [['.sin()', '.cos()'], ['0.1', '0.10000001'], ['.mul(', '.add(']]) assert.throws(() => spoilt(from, to), /result 0/, to);
});

/* ---- every op -------------------------------------------------------------------------------- */

/** Made behind the trace, by passes. */
const NEVER_TRACED = ['barrier', 'copy', 'ragged_sum', 'ragged_or'];

after(() => {
  const missing = readTable().map(({ name }) => name).filter((name) => !met.has(name) && !NEVER_TRACED.includes(name));
  assert.deepEqual(missing, [], 'ops that no test writes');
});

test('every elementwise op on each of its dtypes, and its gradient', () => {
  for (const { js, types, arity } of readFunctions().rows) {
    for (const dtype of types.map((each) => (each === 'all' ? 'float32' : each))) {
      if (js === 'where') continue;
      const values = { bool: [1, 0, 1, 0], int32: [3, -2, 31, 0] }[dtype] ?? [0.4, 0.9, -0.3, 0.1];
      const others = { bool: [1, 1, 0, 0], int32: [2, 5, -1, 9] }[dtype] ?? [2, 0.9, 0.5, 0.3];
      const args = [values, others].slice(0, arity).map((list) => sn.tensor(list, { dtype }));
      const f = (...all) => sn[js](...all);
      roundTrip(f, args);
      if (f(...args).dtype.startsWith('float')) roundTrip(slopes(f, arity), args);
    }
  }
  both((a, b) => sn.where(a.greater(b), a, b.mul(2)), ramp([4, 6]), ramp([4, 6], 3));
  roundTrip((a) => [sn.where(a.greater(0), -0.5, 0), sn.where(a.greater(0), ints(2), 3), sn.where(a.greater(0), true, a.less(-1))], [ramp([4])]);
});

test('broadcasts, numbers and which side they stand on', () => {
  const [x, v] = [ramp([4, 6]), ramp([6], 2)];
  both((a, b) => a.mul(b).add(1).sub(b), x, v);
  both((a, b) => a.expandDims(1).mul(b), v, ramp([3]));
  both((a, b) => sn.sub(1, a).div(b).add(sn.div(2, a)), x, ramp([4, 1]));
  roundTrip((a, i) => [sn.less(0, a), sn.pow(2, a), sn.atan2(1, a), i.mul(3).add(-7), sn.mod(7, i), a.mul(0.1), a.mul(1e-40), a.mul(1 / 3), a.add(-0),
    a.maximum(-Infinity), sn.sub(NaN, a)], [x, ramp([4, 6], 1, 'int32')]);
  roundTrip((a) => [a.mul(0.1), a.mul(1 / 3), a.add(Math.PI), a.mul(1e-310)], [ramp([5], 1, 'float64')]);
  roundTrip((a) => sn.ones([4, 6]).add(a), [v]);
});

test('reductions, and what is made of them', () => {
  const x = ramp([4, 6]);
  for (const name of ['sum', 'prod', 'max', 'min', 'mean', 'var', 'std', 'logsumexp', 'norm'])
    for (const options of [{}, { axis: 0 }, { axis: 1, keepdims: true }, { axis: [0, 1], keepdims: true }]) both((a) => a[name](options), x);
  both((a) => a.softmax(), x);
  both((a) => a.softmax({ axis: 0 }).add(a.logSoftmax()), x);
  roundTrip((a, b) => [a.any(0), b.all(), b.sum(), a.argmax({ axis: 1 }), b.max(0)], [x, x.greater(0)]);
});

test('views and moves', () => {
  const [x, y, z] = [ramp([4, 6]), ramp([4, 6], 3), ramp([2, 3, 4])];
  for (const f of [
    (a) => a.reshape([3, 8]), (a) => a.transpose(), (a) => a.expandDims(0), (a) => a.slice([1, 0], [2, 5]), (a) => a.take(2, { axis: 1 }),
    (a) => a.slice([0, 1], [2, 2], { strides: [2, 3] }), (a) => a.slice([3, 5], [2, 3], { strides: [-1, -2] }), (a) => a.flip(0), (a) => a.flip(),
    (a) => a.pad([[1, 2], [0, 3]]), (a) => a.pad([[1, 2], [0, 3]], { value: 7 }), (a) => a.pad([[1, 2], [0, 3]], { mode: 'reflect' }),
    (a) => a.roll(2, { axis: 1 }), (a) => a.tile([2, 2]), (a) => a.repeat(3, { axis: 0 }), (a) => a.resize([7, 9], { mode: 'cubic' }), (a) => a.tril(),
    (a) => a.windows(1, 3), (a) => a.windows(0, 2, { step: 2 }).slice([0, 0, 1], [1, 2, 3]), (a) => a.windows(1, 2, { dilation: 3 }),
  ]) both(f, x);
  both((a) => a.transpose([2, 0, 1]), z);
  both((a) => a.swapaxes(0, 2).expandDims(1).swapaxes(0, 1).squeeze(), z);
  both((a, b) => sn.concat([a, b, a], { axis: 1 }), x, y);
  both((a, b) => sn.stack([a, b], { axis: 1 }), x, y);
  roundTrip((a) => [sn.bitcast(sn.bitcast(a, 'int32').add(1), 'float32'), a.broadcastTo([2, 4, 6]), a.astype('int32')], [x]);
});

test('products', () => {
  for (const dtype of ['float32', 'float64']) both((a, b) => a.matmul(b), ramp([3, 4], 1, dtype), ramp([4, 5], 1, dtype));
  both((a, b) => a.matmul(b), ramp([2, 3, 4]), ramp([4, 5]));
  both((a, b) => a.matmul(b), ramp([3, 4]), ramp([4]));
  both((a, b) => sn.einsum('bij,bkj->ikb', a, b), ramp([2, 3, 4]), ramp([2, 5, 4]));
  both((a, b) => sn.einsum('ii,ij->j', a, b), ramp([4, 4]), ramp([4, 5]));
  roundTrip((a, b) => a.matmul(b), [ramp([3, 4], 1, 'int32'), ramp([4, 5], 1, 'int32')]);
  for (const [kind, bytes, numbers] of [['Q8_0', 34, 32], ['Q4_K', 144, 256]])
    roundTrip((x, b) => [x.matmulBlocks(b, { kind }), b.dequantizeBlocks({ kind }), x.matmulBlocks(b, { kind }).matmulDequantized(b, { kind })], [ramp([3, numbers]), ramp([4, bytes], 1, 'int32').astype('uint8')]);
});

test('indices: gathers, scatters, sorts, running sums', () => {
  const [x, y, i] = [ramp([4, 6]), ramp([4, 6], 3), ints([2, -1, 0, 2])];
  roundTrip((a, j, u) => [sn.scatter(a, j, u, { mode: 'or' }), a.bitwiseOrReduce(0), u.bitwiseInvert().bitwiseRightShift(a)],
    [ramp([4, 6], 1, 'int32'), i, ramp([4, 6], 3, 'int32')]);
  for (const mode of ['set', 'add', 'mul', 'min', 'max']) {
    roundTrip((a, j, u) => sn.scatter(a, j, u, { mode }), [x, i, y]);
    roundTrip((a, j, u) => sn.grad((p, q) => sn.scatter(p, j, q, { mode }).square().sum(), { argnums: [0, 1] })(a, u), [x, i, y]);
    both((a, u) => sn.scatter(a, i, u, { mode }), x, y);
  }
  for (const f of [
    (a) => sn.take(a, i), (a) => sn.take(a, [[1, 2], [0, 5]], { axis: 1 }), (a) => sn.takeAlongAxis(a, a.argsort({ axis: 1 }), { axis: 1 }),
    (a) => sn.gatherNd(a, [[0, 1], [2, 3]]), (a) => sn.scatterNd(a, [[0, 1], [2, 3]], 5), (a) => sn.at(a, { begin: 1, end: 3 }).add(a.take(0)),
    (a) => a.sort(), (a) => a.sort({ axis: 0, descending: true }), (a) => a.topk(3).values, (a) => a.cumsum(1), (a) => a.cumprod(1), (a) => a.cumsum(),
    (a) => a.cumsum({ axis: 0, reverse: true, exclusive: true }), (a) => a.cumprod({ axis: 1, reverse: true, exclusive: true }),
    (a) => a.shard(), (a) => a.shard({ axis: 1 }).allGather({ axis: 1 }), (a) => a.allReduce(), (a) => a.allReduce({ axis: 1 }),
  ]) both(f, x);
  roundTrip((a, j) => [sn.take(a, j), sn.take(a, j.reshape([2, 2]), { axis: 1 }), a.argsort({ axis: 0 })], [x, i]);
  both((a) => a.cumprod(0), ramp([4, 3], 2, 'float64'));
});

test('convolutions and pools, and derivatives of theirs', () => {
  const image = ramp([2, 7, 6, 4]);
  const filter = (...shape) => ramp([3, 3, ...shape]);
  for (const [options, w] of [
    [{}, filter(4, 6)], [{ padding: 'same', strides: 2 }, filter(4, 6)], [{ padding: [[2, 1], [1, 3]], dilation: [1, 2] }, filter(4, 6)],
    [{ groups: 2, padding: 'same' }, filter(2, 6)], [{ groups: 2, strides: [2, 3] }, filter(2, 6)], [{ groups: 4, strides: 2 }, filter(1, 8)],
  ]) {
    both((a, b) => sn.conv2d(a, b, options), image, w);
    const first = slopes((a, b) => sn.conv2d(a, b, options).sin(), 2);
    roundTrip(slopes((a, b) => sn.concat(first(a, b).map((t) => t.reshape([-1]))), 2), [image, w]);
  }
  for (const [options, w] of [[{ strides: 2 }, filter(6, 4)], [{ strides: [2, 3], padding: 'same' }, filter(6, 4)],
    [{ strides: 3, padding: [[1, 2], [0, 1]], outputPadding: 1, groups: 2 }, filter(3, 4)]])
    both((a, b) => sn.convTranspose2d(a, b, options), image, w);
  both((a, b) => sn.conv1d(a, b, { strides: 3, padding: [[4, 5]] }), ramp([2, 11, 3]), ramp([4, 3, 5]));
  both((a, b) => sn.conv3d(a, b), ramp([1, 4, 5, 4, 2]), ramp([2, 2, 2, 2, 3]));
  roundTrip(sn.vmap((a, b) => sn.conv2d(a, b, { strides: 2 })), [ramp([3, 1, 7, 6, 4]), ramp([3, 3, 3, 4, 6])]);
  for (const name of ['maxPool2d', 'avgPool2d', 'sumPool2d', 'lpPool2d'])
    for (const options of [{ window: 2 }, { window: [3, 2], strides: [2, 1], padding: 'same' }, { window: 2, dilation: 2, strides: 1 }])
      both((a) => sn[name](a, options), image);
});

test('every dtype, in memory as it is', () => {
  for (const dtype of ['float16', 'bfloat16', 'int8', 'uint8', 'int32', 'float64', 'bool'])
    roundTrip((a) => [a.add(a), a.mul(3), a.sum(), a.astype('float32').div(2), a.transpose().reshape([8, 3]), a.max({ axis: 0 }), sn.sort(a),
      a.greater(1), sn.where(a.greater(0), a, 2)], [ramp([4, 6], 3).astype(dtype)]);
  roundTrip(sn.grad((a) => a.mul(a).sin().astype('float32').sum()), [ramp([4, 6]).astype('float16')]);
  roundTrip((a) => { const q = sn.quantize(a); return [q, sn.dequantize(q), sn.packInt4(a.astype('int8'))]; }, [ramp([4, 6], 5)]);
});

test('random numbers: keys as arguments, and known ones', () => {
  roundTrip((k) => [sn.random.uniform(k, [2, 3]), sn.random.split(k), sn.random.normal(k, [5])], [sn.random.key(7)]);
  roundTrip((a) => [sn.random.uniform(sn.random.key(3), [4]).add(a)], [ramp([4])]);
});

test('captured tensors: small ones are written down, others become arguments', () => {
  const odd = sn.tensor([1.5, NaN, -0, Infinity, 1e-40, 0.1]);
  const wide = sn.tensor([0.1, 1e-310, -0], { dtype: 'float64' });
  const half = sn.tensor([0.1, 65504, 1e-7], { dtype: 'float16' });
  const source = roundTrip((a) => [a.mul(odd), wide.mul(2), half.add(half), ints([[1, -2]])], [ramp([6])]);
  assert.match(source, /const known = sn\.tensor\(\[1\.5, NaN, -0, Infinity, 1e-40, 0\.1\]\); \/\/ float32 \(6,\)/);
  const [big, index, updates] = [ramp([64, 6]), ints(Array.from({ length: 60 }, (_, k) => (k * 7) % 4)), ramp([60, 6])];
  const other = roundTrip((a) => a.matmul(big.transpose()), [ramp([4, 6])], [big]);
  assert.match(other, /export function program\(a, captured\)/);
  assert.match(other, /captured: float32 \(64, 6\), which the function captured/);
  roundTrip((a) => sn.scatter(a, index, updates.mul(a.sum()), { mode: 'add' }), [ramp([4, 6])], [updates, index]);
});

test('trees of arguments and results', () => {
  const [x, v] = [ramp([4, 6]), ramp([6], 2)];
  const f = (p, [a, b], m) => ({ 'odd key': p.w.add(a), list: [b, 3, 'text', null, -0], map: new Map([['k', m.get('u')], [2, a]]), nested: { deep: [[a]] } });
  const source = roundTrip(f, [{ w: x, n: 3, unused: v }, [x, x.mul(2)], new Map([['u', v]])]);
  assert.match(source, /p\.unused: (not used|float32)/);
  const made = load(source)({ w: x, n: 3, unused: v }, [x, x.mul(2)], new Map([['u', v]]));
  assert.deepEqual(Object.keys(made).sort(), ['list', 'map', 'nested', 'odd key']);
  assert.deepEqual(made.list.slice(1), [3, 'text', null, -0]);
  roundTrip((a) => { const b = a.exp(); return [b, b, a, a.sub(a)]; }, [x]);
  roundTrip(() => [sn.ones([2]), sn.full([2, 2], 3, { dtype: 'int32' }), sn.zeros([], { dtype: 'bool' }), sn.full([1], -0)], []);
  roundTrip((a) => [a.sum({ axis: 1 }), a.add(1), a.sum()], [sn.zeros([3, 0])]);
});

test('loops and conditions, nested, and their derivatives', () => {
  const [x, y, v] = [ramp([4, 6]), ramp([4, 6], 3), ramp([6], 2)];
  const one = sn.ones([6]);
  both((a) => sn.scan((c, z) => [c.mul(z).tanh().add(0.1), c.sin()], one, a)[1], x);
  both((a, b) => {
    const [[c, d], [p, q]] = sn.scan(([s, t], [z, u]) => [[s.add(z), t.mul(u)], [s.mul(t), z]], [v, one], [a, b]);
    return c.add(d).add(p.mul(q).sum(0));
  }, x, y);
  for (const options of [{ reverse: true }, { unroll: 3 }]) both((a) => sn.scan((c, z) => [c.mul(z).tanh(), c], one, a, options)[1], x);
  both((a) => sn.foriLoop(2, 7, (k, c) => c.mul(0.9).add(k.astype('float32')), a), x);
  both((a) => sn.map((z) => z.mul(z.sum()), a), x);
  roundTrip((a) => sn.whileLoop((c) => c.sum().less(100), (c) => c.abs().mul(1.5).add(0.1), a), [x]);
  roundTrip((a, n) => sn.whileLoop(([k]) => k.less(n), ([k, c]) => [k.add(1), c.mul(1.1)], [ints(0), a]), [x, ints(5)]);
  roundTrip((a, n) => sn.foriLoop(0, n, (k, c) => c.add(k), a), [x, ints(5)]);
  both((a, b) => sn.cond(a.sum().greater(0), (p, q) => p.mul(q), (p, q) => p.sub(q), a, b), x, y);
  both((a) => sn.cond(a.sum().greater(0), () => [a, a.mul(2)], () => [a.mul(3), sn.zeros([4, 6])])[1], x);
  both((a) => sn.switchCase(ints(1), [(p) => p, (p) => p.sin(), (p) => p.mul(2)], a), x);
  both((a) => sn.scan((c, z) => {
    const next = sn.foriLoop(0, 3, (k, u) => sn.cond(u.sum().greater(0), () => u.mul(z), () => u.add(z)), c);
    return [next, next.sum()];
  }, one, a)[1], x);
  roundTrip(sn.vmap((a) => sn.scan((c, z) => [c.mul(z).sin(), c], sn.ones([]), a)[1]), [x]);
  roundTrip(sn.vmap((a) => sn.cond(a.sum().greater(0), () => a, () => a.mul(2))), [x]);
  roundTrip(sn.vmap((a) => sn.whileLoop((c) => c.sum().less(10), (c) => c.abs().mul(2).add(1), a)), [x]);
  roundTrip(sn.hessian((a) => sn.scan((c, z) => [c.mul(z).sin(), null], sn.ones([]), a)[0]), [v]);
});

test('what is composed before the trace: vjp, jvp, jacobian, hessian, vmap of grad, grad of vmap', () => {
  const [x, y, v] = [ramp([4, 6]), ramp([4, 6], 3), ramp([6], 2)];
  roundTrip((a, ct) => sn.vjp((p) => p.sin().matmul(p.transpose()), a)[1](ct), [x, ramp([4, 4])]);
  roundTrip((a, da) => sn.jvp((p) => p.sin().matmul(p.transpose()), [a], [da]), [x, y]);
  roundTrip(sn.jacobian((a) => a.sin().sum(0).mul(a.take(0))), [x]);
  roundTrip(sn.hessian((a) => a.sin().sum(0).mul(a.take(0)).sum()), [x]);
  roundTrip(sn.vmap(sn.grad((w, a) => a.mul(w).sin().sum()), { inAxes: [null, 0] }), [v, x]);
  roundTrip(sn.grad((w, xs) => sn.vmap((a) => a.mul(w).sin().sum())(xs).sum()), [v, x]);
});

test('functions with derivatives of their own, and checkpoints, are written as calls of them', () => {
  const [x, v] = [ramp([4, 6]), ramp([6], 2)];
  const twice = sn.customVjp((a) => a.sin(), { forward: (a) => [a.sin(), a], backward: (a, ct) => [ct.mul(a.cos()).mul(2)] });
  const bent = sn.customJvp((a) => a.tanh(), { jvp: ([a], [da]) => [a.tanh(), da.mul(0.5)] });
  const again = sn.checkpoint((a, w) => sn.saveAs(a.mul(w).tanh(), 'h').sin(), { policy: ['h'] });
  both((a) => twice(a).add(bent(a)), x);
  both((a, w) => again(again(a, w), w), x, v);
  both((a) => sn.scan((c, z) => [again(c, z), c], sn.ones([6]), a, { checkpoint: 2 })[1], x);
  roundTrip(sn.vmap((a) => again(twice(a), a)), [x]);
  // Integers have no derivatives; what is captured is none of its arguments.
  const shifted = sn.customVjp((a, k, i) => [a.mul(k).add(v), i.add(1)], {
    forward: (a, k, i) => [[a.mul(k).add(v), i.add(1)], [a, k]], backward: ([a, k], [ct]) => [ct.mul(k).mul(3).add(v.sin()), ct.mul(a).sum(), null],
  });
  const slope = (f) => sn.grad((a, k, i) => f(a, k, i)[0].sum(), { argnums: [0, 1] });
  const inputs = [x, sn.tensor(0.7), ints([1, 2])];
  const source = roundTrip(shifted, inputs);
  assert.match(source, /sn\.customVjp\(/);
  const [want, got] = [shifted, load(source)].map((f) => slope(f)(...inputs).map((t) => t.toArray()));
  assert.deepEqual(got, want);
  assert.notDeepEqual(want, slope((a, k) => [a.mul(k)])(...inputs).map((t) => t.toArray()));
  assert.match(roundTrip(bent, [x]), /sn\.customJvp\(/);
});

test('a checkpoint that is written keeps what it kept', () => {
  const [x, w] = [ramp([64, 64]).mul(0.01), ramp([64, 64], 2).mul(0.01)];
  for (const policy of ['nothing', 'products', ['h']]) {
    const part = sn.checkpoint((a, w) => sn.saveAs(a.matmul(w).sin(), 'h').exp().sin().mul(a).tanh(), { policy });
    const f = (a, w) => part(part(part(a, w), w), w).sum();
    const source = roundTrip(f, [x, w]);
    assert.equal(source.match(/sn\.checkpoint\(/g).length, 3);
    const [want, got] = [f, load(source)].map((g) => sn.inspect(sn.grad(g))(x, w).memory);
    assert.deepEqual([got.arenaBytes, got.again], [want.arenaBytes, want.again], String(policy));
  }
});

test('layers, attention, solvers', () => {
  const x = ramp([4, 6]);
  both((a, b) => sn.layerNorm(a, { weight: b }), x, ramp([6], 2));
  both((a) => sn.groupNorm(a, 2), ramp([3, 5, 4]));
  both((q, k, u) => sn.attention(q, k, u, { causal: true }), ramp([2, 5, 4]), ramp([2, 5, 4], 2), ramp([2, 5, 4], 3));
  both((a) => sn.softmaxCrossEntropy(a, ints([0, 3, 1, 5])), x);
  const lstm = sn.nn.lstm(4, 3);
  roundTrip((p, a) => sn.grad((q) => [lstm.apply(q, a)].flat(3)[0].square().sum())(p), [lstm.init(sn.random.key(1)), ramp([5, 2, 4])]);
  const swing = (u, p) => sn.stack([u.take(1), u.take(0).neg().mul(p)]);
  roundTrip(sn.grad((p) => sn.odeint((u) => swing(u, p), sn.ones([2]), [0, 0.5, 1], { method: 'rk4' }).sum()), [sn.tensor(0.7)]);
  roundTrip((p) => sn.odeint((u) => swing(u, p), sn.ones([2]), [0, 0.5, 1], { method: 'dopri5' }), [sn.tensor(0.7)]);
  roundTrip((a) => sn.minimize((p) => p.sub(a).square().sum(), sn.zeros([6]), { method: 'lbfgs', maxSteps: 5 }), [ramp([6])]);
});

/* ---- how it reads ---------------------------------------------------------------------------- */

const golden = new URL('./jssource.golden.txt', import.meta.url);

/** Compared with the file; SINTER_TEST_WRITE=1 writes it anew, to be read before it is committed. */
const written = [];
const reads = (title, f, ...args) => {
  written.push(`==== ${title}\n${roundTrip(f, args)}`);
};

test('how famous derivatives read', async () => {
  const mlp = (p, x, labels) => sn.softmaxCrossEntropy(x.matmul(p.w1).add(p.b1).relu().matmul(p.w2).add(p.b2), labels).mean();
  const params = { w1: ramp([12, 8]), b1: ramp([8]), w2: ramp([8, 5]), b2: ramp([5]) };
  reads('the gradient of an MLP', sn.grad(mlp), params, ramp([4, 12]), ints([0, 4, 2, 1]));
  const logistic = (w, x, y) => { const z = x.matmul(w); return sn.softplus(z).sub(y.mul(z)).mean(); };
  reads('the Hessian of a logistic regression', sn.hessian(logistic), ramp([3]), ramp([8, 3]), ramp([8]).greater(0).astype('float32'));
  const lotka = (p, y0, data) => {
    const step = (y) => {
      const [prey, hunters] = [y.take(0), y.take(1)];
      const met = prey.mul(hunters);
      const slope = sn.stack([prey.mul(p.alpha).sub(met.mul(p.beta)), met.mul(p.delta).sub(hunters.mul(p.gamma))]);
      const next = y.add(slope.mul(0.01));
      return [next, next];
    };
    return sn.scan(step, y0, null, { length: 20 })[1].sub(data).square().sum();
  };
  const rates = Object.fromEntries(Object.entries({ alpha: 1.5, beta: 1, gamma: 3, delta: 1 }).map(([name, value]) => [name, sn.tensor(value)]));
  reads('a loop of Lotka and Volterra, and its adjoint', sn.valueAndGrad(lotka), rates, ramp([2]), ramp([20, 2]));
  reads('gradients per example', sn.vmap(sn.grad((w, x, y) => x.matmul(w).sub(y).square().sum()), { inAxes: [null, 0, 0] }), ramp([3]), ramp([8, 3]), ramp([8]));
  const text = `${written.join('\n')}`;
  if (process.env.SINTER_TEST_WRITE) (await import('node:fs')).writeFileSync(golden, text);
  assert.equal(text, readFileSync(golden, 'utf8'));
});

test('without sinter/source jsSource says what to import', async () => {
  const seen = sn.inspect((x) => x.add(1))(sn.ones([2]));
  const key = Symbol.for('sinter.source');
  const write = globalThis[key];
  delete globalThis[key];
  assert.throws(() => seen.jsSource(), { code: 'unsupported', hint: /import 'sinter\/source'/ });
  await import('../dist/source.js?again');
  assert.match(seen.jsSource(), /export function program/);
  globalThis[key] = write;
  seen.dispose();
});

test('names of parameters: of every form of function, through transforms', () => {
  const first = (f, ...args) => {
    const seen = sn.inspect(f)(...args);
    const source = seen.jsSource();
    seen.dispose();
    return /export function program\((.*)\)/.exec(source)[1];
  };
  const [x, y] = [sn.ones([2]), sn.ones([2])];
  assert.equal(first((a, b = 2 /* , c */) => a.mul(b), x, y), 'a, b');
  assert.equal(first((a) => a.neg(), x), 'a');
  assert.equal(first(function named(left, right) { return left.add(right); }, x, y), 'left, right');
  assert.equal(first({ method(p, { w }) { return p.add(w); } }.method, x, { w: y }), 'p, x');
  assert.equal(first((...list) => list[0].add(list[1]), x, y), 'x, x2');
  assert.equal(first(sn.vmap(sn.grad((w, v) => w.mul(v))), x, y), 'w, v');
  assert.equal(first(sn.jit((h) => h.exp()), x), 'h');
  assert.equal(first((sn, known) => sn.add(known), x, y), 'sn2, known');
});

test('a name that JavaScript does not take is refused, and so is a program that was disposed of', () => {
  const seen = sn.inspect((x) => x.add(1))(sn.ones([2]));
  for (const name of ['two words', 'while', 'sn', 7]) assert.throws(() => seen.jsSource(name), { code: 'argument' });
  assert.match(seen.jsSource('plusOne'), /export function plusOne\(x\) \{/);
  seen.dispose();
  assert.throws(() => seen.jsSource(), { name: 'DisposedError' });
});
