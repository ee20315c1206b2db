// With setDebug(1) the first run of each program on the device is repeated on the CPU: a driver that computes something else is
// found, and no value of it is given out.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { create, globals } from 'webgpu';
import * as sn from '../../js/dist/index.js';
import { webgpu } from '../../js/dist/webgpu.js';
import { assertRejects } from '../../js/test/support.mjs';

Object.assign(globalThis, globals);
const on = { device: 'webgpu' };
const told = { instead: (code) => code, current: null };
const bound = (of, methods) => new Proxy(of, {
  get: (target, name) => {
    const value = methods[name] ?? Reflect.get(target, name);
    return typeof value === 'function' ? value.bind(target) : value;
  },
});
const real = create([]);
const gpu = {
  requestAdapter: async (options) => {
    const adapter = await real.requestAdapter(options);
    return bound(adapter, {
      requestDevice: async (wanted) => {
        const device = (told.current = await adapter.requestDevice(wanted));
        return bound(device, { createShaderModule: ({ code }) => device.createShaderModule({ code: told.instead(code) }) });
      },
    });
  },
};

before(async () => {
  await sn.init({ threads: 1, device: webgpu({ gpu }) });
  sn.setDebug(1);
});

test('programs that are right pass, and are tested once', async () => {
  const { nn, optim, random } = sn;
  const before = sn.memory().tensors;
  const net = nn.sequential(nn.linear(6, 16), nn.gelu(), nn.layerNorm(16), nn.linear(16, 3));
  const loss = (p, x, y) => sn.losses.softmaxCrossEntropy(net.apply(p, x), y);
  const step = sn.trainStep(loss, optim.adamw({ lr: 1e-2 }), on);
  const [x, y] = [random.normal(random.key(1), [32, 6]), sn.tensor(Int32Array.from({ length: 32 }, (_, i) => i % 3))];
  let state = sn.tidy(() => step.init(net.init(random.key(2))));
  for (let i = 0; i < 3; i += 1) {
    const made = step(state, x, y);
    ({ state } = made);
    assert.ok(Number.isFinite((await made.loss.data())[0]));
    made.loss.dispose();
  }
  const f = sn.jit((a) => [sn.sort(a), sn.argmax(a), a.greater(0), sn.matmul(a.reshape([8, 8]), a.reshape([8, 8])), a.div(0)], on);
  const results = f(sn.tidy(() => random.normal(random.key(3), [64])));
  await results[0].data();
  for (const t of [...results, x, y]) t.dispose();
  sn.dispose(state);
  step.dispose();
  f.dispose();
  assert.ok(sn.memory().tensors <= before + 1, `${sn.memory().tensors} tensors, ${before} before`);
});

test('a driver that is wrong is found, and no value is given out', async () => {
  told.instead = (code) => code.replace('max(', 'min(');
  const f = sn.jit((x) => x.maximum(0.5).mul(2), on);
  const y = f(sn.tensor([-1, 1, 2, -3]));
  await assertRejects(y.data(), sn.SinterError, { code: 'internal', message: /self-test of jit failed: result 0, Tensor\(float32 \(4,\)\), has \d wrong elements; 0 is -2, on the CPU 1/ });
  await assertRejects(sn.tensor([1]).to('webgpu').data(), sn.SinterError, { message: /self-test/ });
  told.instead = (code) => code;
  told.current.destroy();
  await new Promise((resolve) => setTimeout(resolve, 20));
  await sn.init();
  assert.deepEqual([...await f(sn.tensor([-1, 1, 2, -3])).data()], [1, 2, 4, 1]);
});
