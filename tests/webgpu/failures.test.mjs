// What goes wrong with a device, on one that loses itself, has no memory and refuses shaders when it is told to: typed errors
// at the next call or reading, states that can be used on, and the next init.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { create, globals } from 'webgpu';
import * as sn from '../../js/dist/index.js';
import { webgpu } from '../../js/dist/webgpu.js';
import { assertRejects, assertThrows } from '../../js/test/support.mjs';

const { OutOfMemoryError, SinterError, UnsupportedError, WorkerError } = sn;
Object.assign(globalThis, globals);
const on = { device: 'webgpu' };

/** What the device is told. */
const told = { refuse: false, full: false, current: null, devices: 0 };
const instead = (target, methods) => new Proxy(target, {
  get(of, name) {
    const value = methods[name] ?? Reflect.get(of, name);
    return typeof value === 'function' ? value.bind(of) : value;
  },
});
const MOST_BYTES = 2 ** 20;
const limitsOf = ({ limits }) => Object.fromEntries(
  ['maxStorageBuffersPerShaderStage', 'maxStorageBufferBindingSize', 'maxBufferSize', 'maxComputeWorkgroupStorageSize']
    .map((name) => [name, name.includes('Size') && name.includes('Buffer') ? MOST_BYTES : limits[name]]));
const untrue = (device) => instead(device, {
  limits: limitsOf(device),
  createShaderModule({ code }) {
    return device.createShaderModule({ code: told.refuse ? `${code}\nfn broken() -> f32 { return missing; }` : code });
  },
  async popErrorScope() {
    const error = await device.popErrorScope();
    return told.full && !error ? { message: 'no memory' } : error;
  },
});
const untrueAdapter = (adapter) => instead(adapter, {
  async requestDevice(wanted) {
    told.current = await adapter.requestDevice(wanted);
    told.devices += 1;
    return untrue(told.current);
  },
});
const real = create([]);
const gpu = { requestAdapter: async (options) => untrueAdapter(await real.requestAdapter(options)) };

before(() => sn.init({ threads: 1, device: webgpu({ gpu }) }));

const later = () => new Promise((resolve) => setTimeout(resolve, 20));
/** Of a program of its own. */
const training = (loss = (error) => error.square()) => {
  const step = sn.trainStep((p, x) => loss(x.mul(p).sum()), sn.optim.sgd({ lr: 0.01 }), on);
  return { step, state: step.init(sn.tensor([1, 2])), x: sn.tensor([1, 1]) };
};

test('a shader that the driver refuses: its words, and the state is used on', async () => {
  const { step, state, x } = training((error) => error.exp());
  told.refuse = true;
  const result = step(state, x);
  await assertRejects(result.loss.data(), SinterError, { code: 'internal', message: /refused a shader[^]*missing/ });
  assertThrows(() => step(result.state, x), SinterError, { code: 'internal', message: /refused a shader/ });
  told.refuse = false;
  assert.deepEqual([...await training().step(result.state, x).loss.data()], [9]);
});

test('a buffer beyond the limit, at once', () => {
  const f = sn.jit((x) => sn.zeros([2 ** 20]).add(x), on);
  assertThrows(() => f(sn.tensor(1)), OutOfMemoryError, { message: /4194304 bytes are more than a buffer of the device has, 1048576/ });
});

test('no memory: known later, with the size; the next call is right', async () => {
  const { step, state, x } = training();
  const first = step(state, x);
  assert.deepEqual([...await first.loss.data()], [9]);
  const f = sn.jit((y) => y.add(1).sum(), on);
  const large = sn.ones([3000]);
  told.full = true;
  const there = large.to('webgpu');
  const y = f(there);
  await assertRejects(there.data(), OutOfMemoryError, { message: /no memory for 12032 bytes/ });
  await assertRejects(y.data(), OutOfMemoryError, {});
  told.full = false;
  await later();
  assert.deepEqual([...await f(large).data()], [6000]);
  assert.equal((await step(first.state, x).loss.data()).length, 1);
});

test('a device that is lost: errors name it, the next init has another one', async () => {
  const { step, state, x } = training();
  const first = step(state, x);
  await first.loss.data();
  const kept = sn.tensor([1, 2, 3]).to('webgpu');
  const f = sn.jit((y) => y.mul(2), on);
  await f(sn.tensor([1])).data();
  const reading = f(kept).data();
  told.current.destroy();
  await reading.then((values) => assert.deepEqual([...values], [2, 4, 6]), (error) => assert.ok(error instanceof WorkerError));
  await later();
  assertThrows(() => step(first.state, x), WorkerError, { message: /device was lost/ });
  await assertRejects(kept.data(), WorkerError, { message: /device was lost/, hint: /init/ });
  const { devices } = told;
  await sn.init();
  assert.equal(told.devices, devices + 1);
  await assertRejects(kept.data(), WorkerError, { message: /lost/ }); // its value is gone for good
  assert.deepEqual([...await f(sn.tensor([1, 2])).data()], [2, 4]); // compiled before
  await assertRejects(f(kept).data(), WorkerError, { message: /lost/ });
  const fresh = step.init(sn.tensor([1, 2]));
  assert.deepEqual([...await step(fresh, x).loss.data()], [9]);
  await sn.init();
  assert.equal(told.devices, devices + 1);
});

test('what lay there is written anew after a loss: memory that waited, what functions captured', async () => {
  const captured = sn.random.normal(sn.random.key(1), [40, 40]);
  const make = () => sn.jit((y) => sn.matmul(captured.exp(), y), on);
  const x = sn.ones([40, 40]);
  const f = make();
  const want = [...await f(x).data()];
  for (const t of [x.to('webgpu'), x.to('webgpu').to('webgpu')]) t.dispose(); // their memory waits
  told.current.destroy();
  await later();
  await sn.init({ device: webgpu({ gpu }) }); // as the first time
  assert.deepEqual([...await x.to('webgpu').data()], [...await x.data()]);
  assert.deepEqual([...await x.to('webgpu').to('webgpu').data()], [...await x.data()]);
  for (const g of [f, make()]) assert.deepEqual([...await g(x).data()], want);
  await assertRejects(sn.init({ device: webgpu({ gpu, sharesMemory: true }) }), SinterError, { code: 'argument', message: /another device/ });
});

test('a training step made anew after a loss, with as much memory as the one before', async () => {
  const { nn, optim, random } = sn;
  const net = nn.sequential(nn.linear(2, 32), nn.tanh(), nn.linear(32, 32), nn.tanh(), nn.linear(32, 1));
  const [x, y] = [random.normal(random.key(1), [400, 2]), sn.ones([400, 1])];
  const train = async () => {
    const step = sn.trainStep((p, a, b) => sn.losses.binaryCrossEntropy(net.apply(p, a), b), optim.adam({ lr: 0.01 }), on);
    let state = sn.tidy(() => step.init(net.init(random.key(3))));
    const losses = [];
    for (let i = 0; i < 3; i += 1) {
      const made = step(state, x, y);
      losses.push((await made.loss.data())[0]);
      ({ state } = made);
    }
    return { losses, end: () => (sn.dispose(state), step.dispose()) };
  };
  const before = await train();
  told.current.destroy();
  await later();
  before.end(); // what it had waits to be used again
  await sn.init();
  const { losses, end } = await train();
  assert.deepEqual(losses, before.losses);
  end();
});

test('a loop that waits for the device when that is lost settles', async () => {
  const f = sn.jit((x) => sn.whileLoop((y) => y.less(1e6), (y) => y.mul(1.5), x), on);
  const reading = f(sn.tensor(1)).data();
  told.current.destroy();
  await assertRejects(reading, WorkerError, { message: /lost/ });
  await sn.init();
  assert.ok((await f(sn.tensor(1)).data())[0] >= 1e6);
});

test('without an adapter: an error, or the CPU where that will do', async () => {
  const none = { requestAdapter: async () => null };
  await assertRejects(webgpu({ gpu: none }).open(), UnsupportedError, { message: /no adapter/ });
  assert.equal(webgpu({ gpu: none, fallback: true }).isOptional, true);
  assert.equal(webgpu({ gpu: none }).isOptional, false);
});
