// Programs as modules of their own: an exported module computes the bits of the program that it was made of, without the
// package; it is small, starts quickly, and says what is wrong with what it is given.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import * as sn from 'sinter';
import { exportWasm } from 'sinter/export';
import { load } from 'sinter/standalone';
import { assertRejects } from './support.mjs';

before(() => sn.init({ threads: 2, deterministic: true }));

const { nn, optim, random } = sn;
const floats = (shape, seed) => random.uniform(random.key(seed), shape, { minval: -1, maxval: 1 });
const bytesOf = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('base64');
const elements = (t) => t.dataSync();

/** Exports f, and holds the module against f at the arguments, twice, with others in between. */
const check = async (f, args, { options, others } = {}) => {
  const compiled = sn.jit(f);
  const made = await exportWasm(compiled.save(...args), options);
  const run = await load(made.wasm, made.weights);
  const compare = (given) => sn.tidy(() => {
    const [want, have] = [[compiled(...given)].flat(), [run(...given.map(elements))].flat()];
    assert.equal(have.length, want.length);
    want.forEach((t, i) => {
      const values = elements(t);
      assert.equal(bytesOf(typeof have[i] === 'number' ? values.constructor.of(have[i]) : have[i]), bytesOf(values), `result ${i}`);
    });
  });
  compare(args);
  compare(others ?? args);
  compare(args);
  return made;
};

const mlp = () => {
  const net = nn.sequential(nn.linear(784, 128), nn.relu(), nn.linear(128, 10));
  const params = net.init(random.key(1));
  return { f: (x) => sn.softmax(net.apply(params, x)), args: [floats([1, 784], 2)], others: [floats([1, 784], 3)] };
};

test('an MLP of 784-128-10 takes at most 40 kB gzipped beside its weights, and answers within 10 ms', async () => {
  const { f, ...given } = mlp();
  const { wasm, weights } = await check(f, given.args, given);
  const size = gzipSync(wasm, { level: 9 }).length;
  assert.ok(size <= 40_000, `${size} bytes gzipped`);
  assert.deepEqual(Object.keys(sn.io.safetensors.decode(weights).tensors).sort(), ['captured.0', 'captured.1', 'captured.2']);
  const times = [];
  for (let i = 0; i < 20; i++) {
    const begin = performance.now();
    const run = await load(wasm, weights);
    run(elements(given.args[0]));
    times.push(performance.now() - begin);
  }
  const least = Math.min(...times);
  assert.ok(least <= 10, `${least} ms from the bytes to the first answer`);
});

test('weights are inside on request', async () => {
  const { f, ...given } = mlp();
  const { weights } = await check(f, given.args, { ...given, options: { weights: 'inside' } });
  assert.equal(weights, null);
});

test('a CNN', async () => {
  const net = nn.sequential(
    nn.conv2d(1, 8, 3), nn.relu(), nn.maxPool2d(2), nn.conv2d(8, 16, 3), nn.relu(), nn.maxPool2d(2), nn.flatten(), nn.linear(400, 10));
  const params = net.init(random.key(1));
  await check((x) => sn.logSoftmax(net.apply(params, x)), [floats([4, 28, 28, 1], 2)], { others: [floats([4, 28, 28, 1], 3)] });
});

test('a small GPT', async () => {
  const [tokens, vocabulary, width] = [16, 50, 32];
  const blocks = [nn.transformerBlock(width, 4), nn.transformerBlock(width, 4)];
  const params = { embed: floats([vocabulary, width], 1), place: floats([tokens, width], 2), blocks: blocks.map((b, i) => b.init(random.key(3 + i))) };
  const gpt = (ids) => {
    let x = sn.take(params.embed, ids).add(params.place);
    blocks.forEach((b, i) => (x = b.apply(params.blocks[i], x)));
    return sn.softmax(sn.layerNorm(x).matmul(params.embed.transpose()));
  };
  const ids = (seed) => random.uniform(random.key(seed), [1, tokens], { minval: 0, maxval: vocabulary }).floor().astype('int32');
  await check(gpt, [ids(8)], { others: [ids(9)] });
});

test('loops that test, and branches that the first run does not take', async () => {
  const collatz = (n) => sn.whileLoop(({ n, steps }) => n.greater(1), ({ n, steps }) => ({
    n: sn.where(sn.mod(n, 2).equal(0), sn.div(n, 2).floor(), n.mul(3).add(1)), steps: steps.add(1),
  }), { n, steps: sn.tensor(0) }).steps;
  await check(collatz, [sn.tensor(1)], { others: [sn.tensor(27)] });
  const pick = (flag, x) => sn.cond(flag.greater(0), (y) => sn.sort(y), (y) => y.matmul(y).add(y.sum({ axis: 1, keepdims: true })), x);
  await check(pick, [sn.tensor(1), floats([40, 40], 4)], { others: [sn.tensor(-1), floats([40, 40], 5)] });
  const scanned = (x) => sn.scan((carry, row) => [carry.mul(0.5).add(row.tanh()), carry.sum()], sn.zeros([30]), x);
  await check((x) => scanned(x).flat(), [floats([12, 30], 6)], { others: [floats([12, 30], 7)] });
});

test('kernels of the library: sorts, running sums, lookups, long reductions, small dtypes, random numbers', async () => {
  const x = [floats([37, 65], 1)];
  const others = [floats([37, 65], 2)];
  for (const f of [
    (t) => [sn.sort(t), sn.argsort(t), sn.cumsum(t, { axis: 0 })],
    (t) => sn.take(t, sn.argmax(t, { axis: 1 }), { axis: 1 }),
    (t) => [t.sum(), t.var(), t.max({ axis: 0 }), sn.logsumexp(t)],
    (t) => [t.astype('float16').add(1).astype('float32'), t.mul(100).astype('int8').astype('int32')],
    (t) => random.normal(random.key(7), [50]).mul(t.mean()),
    (t) => [sn.concat([t, t.flip(1)], { axis: 1 }), sn.pad(t, [[1, 2], [3, 0]]), t.reshape([65, 37])],
    (t) => [t.astype('float64').matmul(t.astype('float64').transpose()), t.sin().erf().exp()],
  ]) await check(f, x, { others });
});

test('a program without weights needs none, one without arguments has none', async () => {
  assert.equal((await check((a, b) => a.matmul(b), [floats([70, 90], 1), floats([90, 33], 2)])).weights, null);
  await check(() => sn.arange(10).square(), []);
});

test('trees of arguments and results', async () => {
  const f = sn.jit(({ a, list: [b] }, scale) => ({ sum: a.add(b), parts: [a.mul(scale), { flag: true, nothing: null }], total: b.sum() }));
  const args = [{ a: sn.tensor([1, 2]), list: [sn.tensor([3, 4])] }, 2];
  const { wasm } = await exportWasm(f.save(...args));
  const run = await load(wasm);
  const have = run({ a: [1, 2], list: [new Float32Array([3, 4])] }, 2);
  assert.deepEqual(have, { sum: new Float32Array([4, 6]), parts: [new Float32Array([2, 4]), { flag: true, nothing: null }], total: 7 });
  assert.throws(() => run({ a: [1, 2], list: [] }, 2), { name: 'TypeError', message: 'arguments.0.list.0: expected float32 of shape (2)' });
  assert.throws(() => run({ a: [1, 2, 3], list: [[1, 2]] }, 2), { name: 'TypeError', message: /arguments\.0\.a/ });
});

test('numbers become elements of small floats and bools as tensors make them; a Uint16Array has the bits', async () => {
  const numbers = [1.5, -0.1, 65520, 1e-7, NaN, 3];
  for (const dtype of ['float16', 'bfloat16']) {
    const [x, flags] = [sn.tensor(numbers, { dtype }), sn.tensor([2, 0.5, 0, NaN, -0, 1], { dtype: 'bool' })];
    const f = sn.jit((t, b) => [t.astype('float32'), sn.where(b, t, 0).astype('float32'), b.logicalNot(), t]);
    const { wasm } = await exportWasm(f.save(x, flags));
    const run = await load(wasm);
    const want = f(x, flags).slice(0, 3).map((t) => Array.from(elements(t), Number));
    for (const given of [numbers, new Float32Array(numbers), numbers.map((each) => [each])]) {
      const made = run(given, [2, 0.5, 0, NaN, -0, 1]);
      assert.deepEqual(made.slice(0, 3).map((each) => Array.from(each, Number)), want);
      assert.deepEqual(run(made[3], elements(flags)), made, 'bits are given as they are returned');
    }
  }
});

const STEPS = {
  adam: () => {
    const net = nn.sequential(nn.linear(6, 16), nn.gelu(), nn.linear(16, 2));
    const step = sn.trainStep((params, x, y) => net.apply(params, x).sub(y).square().mean(), optim.adamw({ lr: 0.01 }), { clipNorm: 1 });
    return { step, state: step.init(net.init(random.key(1))) };
  },
  states: () => {
    const net = nn.sequential(nn.linear(6, 16), nn.batchNorm(16), nn.relu(), nn.dropout(0.3), nn.linear(16, 2));
    const loss = (params, x, y, { state, key }) => {
      const [out, next] = net.apply(params, x, { state, key, train: true });
      return [out.sub(y).square().mean(), { state: next, aux: { largest: out.max(), rows: out.sum({ axis: 1 }) } }];
    };
    const step = sn.trainStep(loss, optim.sgd({ lr: optim.schedules.cosine({ lr: 0.1, steps: 20 }), momentum: 0.9 }));
    const { params, state } = net.init(random.key(2));
    return { step, state: step.init(params, { state, key: random.key(3) }) };
  },
};

for (const [name, make] of Object.entries(STEPS)) {
  test(`a training step goes on from its own state: ${name}`, async () => {
    const { step, state: first } = make();
    const batch = (i) => [floats([8, 6], 100 + i), floats([8, 2], 200 + i)];
    const { wasm, weights } = await exportWasm(step.export(first, ...batch(0)));
    const run = await load(wasm, weights);
    const before = run.state();
    let state = first;
    for (let i = 0; i < 6; i++) {
      const made = step(state, ...batch(i));
      const have = run(...batch(i).map(elements));
      assert.equal(have.loss, made.loss.item(), `loss of step ${i}`);
      if (name === 'states') assert.equal(bytesOf(have.aux.rows), bytesOf(elements(made.aux.rows)));
      state = made.state;
    }
    const { tensors } = sn.io.safetensors.decode(weights);
    assert.ok(Object.keys(run.state()).every((path) => path in tensors));
    const again = sn.importStep(step.export(state, ...batch(0)));
    const { weights: after } = await exportWasm(step.export(again.init(), ...batch(0)));
    const want = sn.io.safetensors.decode(after).tensors;
    for (const [path, values] of Object.entries(run.state())) assert.equal(bytesOf(values), bytesOf(elements(want[path])), path);
    assert.notDeepEqual(run.state(), before);
    run.state(before);
    assert.deepEqual(run.state(), before);
    assert.throws(() => run.state({ 'params.0.wieght': [1] }), { name: 'TypeError', message: /the state has no params\.0\.wieght; it has .*params\.0\.weight/ });
  });
}

test('relaxed SIMD on request, where the engine has it', { skip: Number(process.versions.node.split('.')[0]) < 22 }, async () => {
  const { f, args } = mlp();
  const { wasm, weights } = await exportWasm(sn.jit(f).save(...args), { relaxedSimd: true });
  const run = await load(wasm, weights);
  const want = elements(f(...args));
  run(elements(args[0])).forEach((value, i) => assert.ok(Math.abs(value - want[i]) <= 1e-6, `${value}, not ${want[i]}`));
});

test('relaxed SIMD where the engine lacks it is refused', { skip: Number(process.versions.node.split('.')[0]) >= 22 }, async () => {
  const { f, args } = mlp();
  await assertRejects(exportWasm(sn.jit(f).save(...args), { relaxedSimd: true }), sn.UnsupportedError, { message: /relaxed SIMD/ });
});

test('bytes that are no program, options that are none, a module that is another', async () => {
  const saved = sn.jit((x) => x.add(1)).save(sn.ones([3]));
  await assertRejects(exportWasm(new Uint8Array(20)), sn.SinterError, { message: /^exportWasm: / });
  await assertRejects(exportWasm(saved.subarray(0, saved.length - 1)), sn.SinterError);
  await assertRejects(exportWasm('x'), sn.SinterError, { message: /expected bytes/ });
  await assertRejects(exportWasm(saved, { weight: 'inside' }), sn.SinterError, { message: /weight/ });
  await assertRejects(exportWasm(saved, { weights: 'under' }), sn.SinterError, { message: /under/ });
  await assertRejects(exportWasm(saved, { module: readFileSync(new URL('../dist/sinter-mt.wasm', import.meta.url)) }), sn.SinterError, { code: 'load' });
  await assertRejects(exportWasm(sn.jit((m) => m.get('x').add(1)).save(new Map([['x', sn.ones([2])]]))), sn.UnsupportedError, { message: /Map/ });
});

test('a loader that is given another module, or other weights', async () => {
  const { f, args } = mlp();
  const { wasm, weights } = await exportWasm(sn.jit(f).save(...args));
  await assert.rejects(load(wasm), { name: 'TypeError', message: /beside/ });
  await assert.rejects(load(wasm, sn.io.safetensors.encode({ x: sn.ones([3]) })), { name: 'TypeError', message: /captured\.0/ });
  for (const missing of [1, 4, 400]) await assert.rejects(load(wasm, weights.subarray(0, weights.length - missing)), { name: 'TypeError', message: /the weights have no captured\.\d as/ });
  for (const none of [new Uint8Array(3), new Uint8Array(100), weights.subarray(0, 20), new TextEncoder().encode('<!doctype html>')])
    await assert.rejects(load(wasm, none), { name: 'TypeError', message: /no file in the format safetensors/ });
  await assert.rejects(load(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])), { name: 'TypeError' });
});
