// Who owns a tensor, and that nothing is left behind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as sn from '../dist/index.js';
import { assertRejects, assertThrows } from './support.mjs';

await sn.init();

const live = () => sn.memory().tensors;

test('dispose gives the memory back at once', () => {
  const before = sn.memory();
  const x = sn.tensor(new Float32Array(250_000));
  assert.ok(sn.memory().bytesInUse >= before.bytesInUse + 1e6);
  x.dispose();
  assert.equal(live(), before.tensors);
  assert.ok(sn.memory().bytesInUse < before.bytesInUse + 1e6);
  assert.equal(x.isDisposed, true);
});

test('Symbol.dispose is dispose', () => {
  const x = sn.tensor([1]);
  x[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
  assert.equal(x.isDisposed, true);
});

test('tidy keeps the result and disposes the rest', () => {
  const before = live();
  const kept = sn.tidy(() => {
    const x = sn.tensor([1, 2, 3]);
    const y = x.mul(2).add(1);
    return { y, list: [x.neg()], text: 'static' };
  });
  assert.deepEqual(kept.y.toArray(), [3, 5, 7]);
  sn.eval(kept); // evaluated tensors let go of what they were made of
  assert.equal(live(), before + 2);
  assert.equal(kept.text, 'static');
  sn.dispose(kept);
  assert.equal(live(), before);
});

test('tidy nests: an inner result belongs to the outer scope', () => {
  const before = live();
  sn.tidy(() => {
    const inner = sn.tidy(() => sn.tensor([1]).add(1));
    assert.equal(inner.item(), 2);
  });
  assert.equal(live(), before);
});

test('tidy leaves tensors from outside alone, and disposes when f throws', () => {
  const x = sn.tensor([1]);
  const before = live();
  assert.throws(() => sn.tidy(() => {
    x.add(1).mul(3);
    throw new Error('mine');
  }), /mine/);
  assert.equal(live(), before);
  assert.equal(x.item(), 1);
  x.dispose();
});

test('tidy refuses async functions', () => {
  assertThrows(() => sn.tidy(async () => 1), sn.SinterError, { code: 'argument', op: 'tidy' });
});

test('keep takes a tensor out of the active tidy', () => {
  const before = live();
  let kept;
  sn.tidy(() => {
    kept = sn.keep(sn.tensor([5]).add(1));
  });
  assert.equal(kept.item(), 6);
  kept.dispose();
  assert.equal(live(), before);
});

test('scope serves async code', async () => {
  const before = live();
  const scope = sn.scope();
  const x = scope.track(sn.tensor([1, 2]));
  const y = scope.run(() => x.mul(2).add(1));
  assert.deepEqual(await y.data(), Float32Array.of(3, 5));
  const z = scope.keep(y);
  scope.dispose();
  assert.equal(x.isDisposed, true);
  assert.equal(z.isDisposed, false);
  z.dispose();
  assert.equal(live(), before);
});

test('an expression outlives the tensors it was made of', () => {
  const x = sn.tensor([1, 2]);
  const y = x.add(1);
  x.dispose();
  assert.deepEqual(y.toArray(), [2, 3]);
  y.dispose();
});

test('data keeps its tensor until it is read', async () => {
  const x = sn.ones([1000]).mul(2);
  const promise = x.data();
  x.dispose();
  assert.equal((await promise)[999], 2);
});

test('a loop that never reads does not grow without end', () => {
  let x = sn.zeros([1000]);
  const one = sn.tensor([1]);
  let peak = 0;
  for (let i = 0; i < 20_000; i++) {
    const next = x.add(one);
    x.dispose();
    x = next;
    if (i % 1000 === 0) peak = Math.max(peak, sn.memory().bytesInUse);
  }
  assert.equal(x.toArray()[0], 20_000);
  assert.ok(peak < 64e6, `${peak} bytes`);
  sn.dispose([x, one]);
});

test('the garbage collector is the net', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc');
  collectGarbage();
  const before = live();
  (() => {
    for (let i = 0; i < 100; i++) sn.tensor([i]).add(1);
  })();
  for (let i = 0; i < 20 && live() > before; i++) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.ok(live() <= before, `${live()} tensors, before ${before}`);
});

test('a rejected read leaks nothing', async () => {
  const before = live();
  const x = sn.tensor([1]);
  x.dispose();
  await assertRejects(x.data(), sn.DisposedError);
  assert.equal(live(), before);
});
