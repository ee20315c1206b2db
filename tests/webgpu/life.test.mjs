// Tensors and programs on two devices: where they live, how they move, and what is refused.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { inspect } from 'node:util';
import { SinterError, UnsupportedError } from '../../js/dist/index.js';
import { webgpu } from '../../js/dist/webgpu.js';
import { assertRejects, assertThrows } from '../../js/test/support.mjs';
import { asked, assertWithin, start } from './device.mjs';

let sn;
before(async () => {
  sn = await start();
});

test('info tells of the adapter', () => {
  const { device } = sn.info();
  assert.equal(device.name, 'webgpu');
  assert.match(device.adapter, /SwiftShader/);
  assert.ok(device.limits.maxStorageBuffersPerShaderStage >= 8);
});

test('info tells what the adapter makes of numbers, as ops there show', async () => {
  const { nan, infinities, subnormals, unequalNan, fusedMultiplyAdd } = sn.info().device.arithmetic;
  const f = sn.jit((x) => [x.add(1), x.mul(1e38), x.mul(0.5)], { device: 'webgpu' });
  const [sum, product, half] = await Promise.all(f(sn.tensor([NaN, Infinity, 1e30, 2 ** -126])).map((t) => t.data()));
  assert.equal(Number.isNaN(sum[0]), nan);
  assert.equal(sum[1] === Infinity && product[1] === Infinity && product[2] === Infinity, infinities);
  assert.equal(half[3] !== 0, subnormals);
  assert.deepEqual([nan, infinities], [true, true]); // SwiftShader's
  assert.deepEqual([typeof unequalNan, typeof fusedMultiplyAdd], ['boolean', 'boolean']);
});

test('values go there and back, in every dtype', async () => {
  for (const dtype of ['float32', 'int32', 'bool', 'float16', 'bfloat16', 'int8', 'uint8']) {
    const x = sn.tensor([[1, 0, 1], [0, 1, 1]], { dtype });
    const there = x.to('webgpu');
    assert.equal(there.device, 'webgpu');
    assert.deepEqual(await there.data(), x.dataSync());
    const back = await there.to('cpu');
    assert.equal(back.device, 'cpu');
    assert.equal(back.dtype, dtype);
    assert.deepEqual(back.toArray(), x.toArray());
  }
});

test('ops on tensors of the device run there at once, with numbers', async () => {
  const x = sn.tensor([1, 2, 3]).to('webgpu');
  const y = x.mul(2).add(x).exp().sum();
  assert.equal(y.device, 'webgpu');
  const want = Math.exp(3) + Math.exp(6) + Math.exp(9);
  assert.ok(Math.abs((await y.data())[0] - want) < 1e-6 * want);
});

test('arguments are brought over for a call, captured tensors once', async () => {
  const captured = sn.tensor([10, 20, 30]);
  const f = sn.jit((x) => x.add(captured), { device: 'webgpu' });
  assert.deepEqual(await f(sn.tensor([1, 2, 3])).data(), new Float32Array([11, 22, 33]));
  assert.deepEqual(await f(sn.tensor([1, 2, 3]).to('webgpu')).data(), new Float32Array([11, 22, 33]));
  assert.equal(f(new Float32Array([1, 2, 3])).device, 'webgpu');
});

test('equal kernels share a pipeline, whatever their constants', async () => {
  const x = sn.tensor([1, 2, 3]).to('webgpu');
  const before = asked.shaders.length;
  for (const k of [2.5, 3.5, 4.5]) await sn.jit((t) => t.mul(k).add(7 * k), { device: 'webgpu' })(x).data();
  assert.equal(asked.shaders.length, before + 1);
});

test('donated memory is written over', async () => {
  const f = sn.jit((x) => x.mul(2), { device: 'webgpu', donate: 0 });
  let x = sn.ones([1000]).to('webgpu');
  for (let i = 0; i < 4; i += 1) x = f(x);
  assert.deepEqual([...new Set(await x.data())], [16]);
});

test('sizes 0 and 1', async () => {
  const f = sn.jit((x, y) => [x.mul(2), x.sum(), sn.concat([x, y]), sn.matmul(x.reshape([0, 3]), y.reshape([3, 1])),
    y.reshape([3, 1]).mul(x.reshape([1, 0])).sum()], { device: 'webgpu' });
  const [twice, sum, both, product, ofNone] = f(sn.zeros([0]), sn.tensor([1, 2, 3]));
  assert.equal((await twice.data()).length, 0);
  assert.deepEqual(await sum.data(), new Float32Array([0]));
  assert.deepEqual(await both.data(), new Float32Array([1, 2, 3]));
  assert.equal((await product.data()).length, 0);
  assert.deepEqual(await ofNone.data(), new Float32Array([0]));
});

test('what is read at once has to lie here', () => {
  const x = sn.tensor([1, 2]).to('webgpu');
  assertThrows(() => x.dataSync(), SinterError, { code: 'argument', message: /lies on another device/, hint: /await/ });
  assertThrows(() => x.sum().item(), SinterError, { message: /another device/ });
});

test('arrays and numbers go where the tensors beside them are', async () => {
  const x = sn.tensor([1, 2, 3]);
  const functions = [
    (t) => sn.add([1, 2, 3], t), (t) => t.mul(new Float32Array([4, 5, 6])), (t) => t.clip(1.5, 2), (t) => sn.where(t.greater(1), 0, 1),
    (t) => sn.where(false, 0, t), (t) => sn.concat([t, [4, 5]]), (t) => t.take([0, -1]), (t) => sn.scatter(t, [0], [9]), (t) => sn.at(t, 1).set(5), (t) => sn.at(t, { begin: 1 }).add([4, 5]),
    (t) => sn.gatherNd(t, [[0], [2]]), (t) => sn.einsum('i,i->', t, [1, 2, 3]), (t) => sn.layerNorm(t, { weight: [1, 2, 3] }),
    (t) => sn.losses.huber(t, [0, 0, 0]), (t) => sn.softmaxCrossEntropy(t.expandDims(0), [1]), (t) => t.astype('int32').floorDivide(2),
  ];
  for (const f of functions) {
    const want = f(x).dataSync();
    for (const y of [f(x.to('webgpu')), sn.jit(f, { device: 'webgpu' })(x)]) {
      assert.equal(y.device, 'webgpu', String(f));
      assertWithin(String(f), await y.data(), want, 16);
    }
  }
});

test('a tensor of the device is shown without its values, and leaves no error behind', () => {
  const x = sn.tensor([1, 2]).to('webgpu');
  assert.equal(inspect(x), 'Tensor(float32 (2,), on webgpu)');
  assert.equal(inspect([x.add(1)]), '[ Tensor(float32 (2,), on webgpu) ]');
  assertThrows(() => sn.jit((t) => t.add(1), { device: 'webgpu' })(sn.ones([2], { dtype: 'float64' })), UnsupportedError, { message: /float64/ });
});

test('a state of the device is saved from there, also while a step uses it up', async () => {
  const { nn, optim } = sn;
  const net = nn.linear(4, 3);
  const step = sn.trainStep((p, x) => net.apply(p, x).square().sum(), optim.adam({ lr: 0.1 }), { device: 'webgpu' });
  const x = sn.ones([2, 4]);
  let { state } = step(step.init(net.init(sn.random.key(1))), x);
  const want = await Promise.all(Object.values(step.params(state)).map((t) => t.data()));
  const saving = sn.io.snapshot({ state, epoch: 3, here: sn.tensor([5]) });
  ({ state } = step(state, x));
  const saved = sn.io.loadState(await saving);
  assert.equal(saved.epoch, 3);
  assert.deepEqual(saved.here.toArray(), [5]);
  assert.deepEqual(Object.values(step.params(saved.state)).map((t) => t.dataSync()), want);
  const [again, next] = [step(saved.state, x), state].map((s) => Object.values(step.params(s.state ?? s)));
  for (const [i, t] of again.entries()) assert.deepEqual(await t.data(), await next[i].data());
  assertThrows(() => sn.io.saveState(state), SinterError, { code: 'argument', message: /another device/ });
  assertThrows(() => sn.io.npy.encode(again[0]), SinterError, { code: 'argument', message: /another device/ });
});

test('tensors of two devices do not meet', () => {
  const [x, y] = [sn.tensor([1, 2]), sn.tensor([1, 2]).to('webgpu')];
  assertThrows(() => x.add(y), SinterError, { code: 'argument', message: /on two devices/, hint: /to\(/ });
  assertThrows(() => sn.jit((t) => t.mul(2))(y), SinterError, { message: /device/, hint: /jit\(f, \{ device/ });
  assertThrows(() => sn.vmap((t) => t.mul(2))(y), SinterError, { message: /device/, hint: /jit\(f, \{ device/ });
  assert.deepEqual(x.toArray(), [1, 2]); // nothing is lost
});

test('what the device has not is refused with a hint', async () => {
  const on = { device: 'webgpu' };
  assertThrows(() => sn.jit((x) => x.mul(2), on)(sn.tensor([1, 2], { dtype: 'float64' })), SinterError, { message: /webgpu has no float64/ });
  const loop = (x) => sn.foriLoop(0, 100000, (i, carry) => carry.mul(0.5).add(i), x);
  assertThrows(() => sn.jit(loop, on)(sn.tensor(1)), UnsupportedError, { message: /more than 65536 rounds/, hint: /CPU/ });
  assertThrows(() => sn.jit((x) => x, { device: 'tpu' })(sn.tensor([1])), SinterError, { message: /tpu/ });
  assertThrows(() => sn.jit((x) => sn.zeros([2 ** 29]).add(x), on)(sn.tensor(1)), SinterError, { code: 'memory' });
  assert.deepEqual(await sn.jit((x) => x.mul(2), on)(sn.tensor([1, 2])).data(), new Float32Array([2, 4]));
});

test('a place without WebGPU says so', async () => {
  assertThrows(() => webgpu({ gpus: 1 }), SinterError, { message: /no option/ });
  await assertRejects(webgpu({}).open(), UnsupportedError, { message: /no WebGPU/, hint: /npm package webgpu/ });
  await assertRejects(webgpu({ gpu: { requestAdapter: async () => null } }).open(), UnsupportedError, { message: /no adapter/ });
});

test('what is saved of a function for the device runs on the CPU', async () => {
  const captured = sn.tensor([10, 20, 30]);
  const f = sn.jit((x) => ({ y: sn.matmul(x, x).sum({ axis: 0 }).add(captured) }), { device: 'webgpu', donate: 0 });
  const x = () => sn.tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9]]);
  const g = sn.load(f.save(x().to('webgpu')));
  const want = [...await f(x()).y.data()];
  const { y } = g(x());
  assert.equal(y.device, 'cpu');
  assert.deepEqual(y.toArray(), want);
});

test('a profile has a lane for the device', async () => {
  const f = sn.jit((x) => sn.matmul(x, x).relu(), { device: 'webgpu' });
  const x = sn.ones([64, 64]).to('webgpu');
  await f(x).data();
  const { device, totalMs, toChromeTrace } = await sn.profile(async () => {
    for (let i = 0; i < 3; i += 1) await f(x).data();
  });
  assert.deepEqual(device.map(({ dispatches }) => dispatches), [1, 1, 1]);
  device.forEach(({ begin, end }) => assert.ok(begin >= 0 && begin <= end && end <= totalMs, `${begin} to ${end} of ${totalMs}`));
  const { traceEvents } = toChromeTrace();
  assert.equal(traceEvents.filter(({ name }) => name === 'device: 1 dispatches').length, 3);
  assert.equal(traceEvents.filter(({ name }) => name === 'matmul+relu').length, 3);
  assert.deepEqual((await sn.profile(() => sn.ones([3]).add(1).data())).device, []);
});

test('a profile has the times of each kernel, by the device\'s clock', async () => {
  const f = sn.jit((x) => sn.softmax(sn.matmul(x, x).relu()).sum({ axis: 0 }), { device: 'webgpu' });
  const x = sn.random.normal(sn.random.key(1), [96, 96]).to('webgpu');
  await f(x).data();
  const names = sn.inspect((t) => sn.softmax(sn.matmul(t, t).relu()).sum({ axis: 0 }), { device: 'webgpu' })(x).kernels
    .flatMap(({ name, dispatches }) => new Array(dispatches).fill(name));
  const { device: [span], totalMs } = await sn.profile(() => f(x).data());
  assert.equal(span.isExact, true);
  assert.ok(names.length > 1);
  assert.deepEqual(span.kernels.map(({ name }) => name), names);
  let before = 0;
  for (const { begin, end } of span.kernels) {
    assert.ok(before <= begin && begin <= end && end <= totalMs, `${begin} to ${end} behind ${before}`);
    before = end;
  }
});

test('at most three submissions are under way', async () => {
  const f = sn.jit((x) => x.mul(0.5).add(1), { device: 'webgpu' });
  let x = sn.zeros([1000]).to('webgpu');
  await f(x).data();
  const before = asked.submissions;
  for (let i = 0; i < 40; i += 1) x = f(x);
  assert.ok(asked.submissions - before <= 3, `${asked.submissions - before}`);
  assert.ok(Math.abs((await x.data())[0] - 2) < 1e-6);
  assert.equal(asked.submissions - before, 41);
});

test('memory of the device is counted', async () => {
  await sn.zeros([1]).to('webgpu').data();
  const { deviceBytes } = sn.memory();
  const x = sn.ones([12345]).to('webgpu');
  assert.equal(sn.memory().deviceBytes - deviceBytes, Math.ceil(12345 * 4 / 256) * 256);
  x.dispose(); // waits for the next of its size
  const y = sn.ones([12345]).to('webgpu');
  assert.equal(sn.memory().deviceBytes - deviceBytes, Math.ceil(12345 * 4 / 256) * 256);
  y.dispose();
  const large = sn.zeros([2 ** 26 + 64], { dtype: 'float32' });
  const there = large.to('webgpu');
  there.dispose(); // more than what waits may take: destroyed
  large.dispose();
  assert.equal(sn.memory().deviceBytes - deviceBytes, Math.ceil(12345 * 4 / 256) * 256);
});

test('memory is given back', async () => {
  const { tensors } = sn.memory();
  const f = sn.jit((x) => sn.matmul(x, x).relu(), { device: 'webgpu' });
  const here = sn.ones([64, 64]);
  const x = here.to('webgpu');
  here.dispose();
  for (let i = 0; i < 3; i += 1) f(x).dispose();
  const made = asked.buffers;
  for (let i = 0; i < 20; i += 1) f(x).dispose();
  assert.equal(asked.buffers, made);
  x.dispose();
  assert.equal(sn.memory().tensors, tensors);
});
