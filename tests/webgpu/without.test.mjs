// webgpu({ fallback: true }) where there is no device: the CPU, with the reason. Without that: an error.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../../js/dist/index.js';
import { webgpu } from '../../js/dist/webgpu.js';
import { assertRejects } from '../../js/test/support.mjs';

test('no adapter', async () => {
  const gpu = { requestAdapter: async () => null };
  await assertRejects(sn.init({ threads: 1, device: webgpu({ gpu }) }), sn.UnsupportedError, { message: /no adapter/ });
  const { device, reasons } = await sn.init({ threads: 1, device: webgpu({ gpu, fallback: true }) });
  assert.equal(device, null);
  assert.ok(reasons.some((reason) => /no adapter/.test(reason)));
  for (const where of ['webgpu', 'auto', 'cpu']) {
    const y = sn.jit((x) => x.mul(2), { device: where })(sn.tensor([1, 2]));
    assert.equal(y.device, 'cpu');
    assert.deepEqual(y.toArray(), [2, 4]);
  }
  const x = sn.tensor([1, 2]).to('webgpu');
  assert.equal(x.device, 'cpu');
  const step = sn.trainStep((p) => p.square().sum(), sn.optim.sgd({ lr: 0.1 }), { device: 'webgpu' });
  assert.equal(step(step.init(x)).loss.item(), 5);
});
