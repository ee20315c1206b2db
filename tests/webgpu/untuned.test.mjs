// With { tune: false } a product has the first of its shaders: no other one is made, and none is timed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asked, settings, start } from './device.mjs';

test('without tuning a product has one shader, which is not timed', async () => {
  Object.assign(settings, { sharesMemory: true, tune: false });
  const sn = await start();
  const [x, y] = [1, 2].map((seed) => sn.random.normal(sn.random.key(seed), [130, 130]));
  const before = asked.shaders.length;
  const got = await sn.jit((a, b) => sn.matmul(a, b), { device: 'webgpu' })(x, y).data();
  assert.equal(asked.shaders.slice(before).filter((code) => code.includes('tile_a')).length, 1);
  assert.deepEqual(sn.info().device.shaders, []);
  const want = await sn.matmul(x, y).data();
  got.forEach((value, i) => assert.ok(Math.abs(value - want[i]) < 1e-3));
});
