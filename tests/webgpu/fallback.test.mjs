// webgpu({ fallback: true }): where the device is lost, what was for it goes on on the CPU, and what lay there is named.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { create, globals } from 'webgpu';
import * as sn from '../../js/dist/index.js';
import { webgpu } from '../../js/dist/webgpu.js';
import { assertRejects, assertThrows } from '../../js/test/support.mjs';

Object.assign(globalThis, globals);
const on = { device: 'webgpu' };
const told = { current: null, isGone: false };
const real = create([]);
const gpu = {
  requestAdapter: async (options) => {
    if (told.isGone) return null;
    const adapter = await real.requestAdapter(options);
    return new Proxy(adapter, {
      get: (of, name) => {
        if (name === 'requestDevice') return async (wanted) => (told.current = await of.requestDevice(wanted));
        const value = Reflect.get(of, name);
        return typeof value === 'function' ? value.bind(of) : value;
      },
    });
  },
};

before(() => sn.init({ threads: 1, device: webgpu({ gpu, fallback: true }) }));

const later = () => new Promise((resolve) => setTimeout(resolve, 20));

test('a lost device', async () => {
  const f = sn.jit((x) => x.mul(2).add(1), on);
  const step = sn.trainStep((p, x) => x.mul(p).sum().square(), sn.optim.sgd({ lr: 0.01 }), on);
  const [x, weights] = [sn.tensor([1, 1]), sn.tensor([1, 2])];
  const { state } = step(step.init(weights), x);
  const there = sn.tensor([[1, 2, 3]]).to('webgpu');
  assert.equal(there.device, 'webgpu');
  assert.deepEqual([...await f(there).data()], [3, 5, 7]);
  told.isGone = true;
  told.current.destroy();
  await later();

  assertThrows(() => f(there), sn.WorkerError, { code: 'worker', message: /device was lost, and with it Tensor\(float32 \(1, 3\)\)/ });
  assertThrows(() => step(state, x), sn.WorkerError, { message: /and with it .*Tensor\(float32 \(2,\)\)/ });
  await assertRejects(there.data(), sn.WorkerError, { message: /^data: Tensor\(float32 \(1, 3\)\): the device was lost/ });
  assertThrows(() => there.to('webgpu'), sn.WorkerError, { message: /lost/ });

  const y = f(x);
  assert.equal(y.device, 'cpu');
  assert.deepEqual(y.toArray(), [3, 3]);
  assert.equal(x.to('webgpu').device, 'cpu');
  const again = step(step.init(weights), x);
  assert.equal(again.loss.item(), 9);
  assert.equal(step(again.state, x).loss.device, 'cpu');
  const { device, reasons } = await sn.init();
  assert.equal(device, null);
  assert.ok(reasons.some((reason) => /device: it was lost/.test(reason)));
  assert.equal(f(x).device, 'cpu');

  told.isGone = false;
  assert.equal((await sn.init()).device.name, 'webgpu');
  assert.equal(f(x).device, 'webgpu');
  assert.deepEqual([...await f(x).data()], [3, 3]);
  assert.deepEqual(sn.info().reasons.filter((reason) => /device/.test(reason)), []);
});
