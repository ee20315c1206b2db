// The end of memory is a typed error; everything before it stays usable.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertRejects, assertThrows } from './support.mjs';

const MIB = 2 ** 20;
await sn.init({ maxMemory: 64 * MIB });

const block = (mib) => sn.tensor(new Float32Array((mib * MIB) / 4));

test('memory runs out with an error, and comes back', async () => {
  const kept = [];
  assertThrows(() => {
    for (;;) kept.push(block(8));
  }, sn.OutOfMemoryError, { code: 'memory' });
  assert.ok(kept.length >= 5, `${kept.length} blocks`);

  // Full: small work goes on, large work is refused in every form.
  assert.equal(sn.tensor([1, 2]).add(1).sum().item(), 5);
  assertThrows(() => sn.ones([16 * MIB]).add(1).dataSync(), sn.OutOfMemoryError);
  await assertRejects(sn.ones([16 * MIB]).add(2).data(), sn.OutOfMemoryError);
  assertThrows(() => sn.jit((x) => x.broadcastTo([16 * MIB]).add(1))(sn.tensor([1])), sn.OutOfMemoryError);
  assert.equal(kept[0].dataSync().length, (8 * MIB) / 4);

  // Released: blocks of another size fit where the old ones lay.
  sn.dispose(kept);
  const large = block(40);
  assert.equal(large.sum().item(), 0);
  large.dispose();
});

test('nothing leaks over repeated failures', () => {
  const before = sn.memory();
  for (let i = 0; i < 50; i++) {
    sn.tidy(() => assertThrows(() => block(70), sn.OutOfMemoryError));
    sn.tidy(() => assertThrows(() => sn.ones([20 * MIB]).mul(3).dataSync(), sn.OutOfMemoryError));
  }
  const after = sn.memory();
  assert.equal(after.tensors, before.tensors);
  assert.ok(after.bytesInUse <= before.bytesInUse + 64 * 1024, `${after.bytesInUse - before.bytesInUse} bytes more`);
});
