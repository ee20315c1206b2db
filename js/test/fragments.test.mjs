// Memory that has been full and is free again is there in one piece: at the real end of a memory, of which an
// engine grants 256 MiB here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertThrows } from './support.mjs';

const MIB = 2 ** 20;
const GRANTED = 256 * MIB;

const { Memory } = WebAssembly;
WebAssembly.Memory = function GrantedMemory(descriptor) {
  if (descriptor.maximum * 65536 > GRANTED) throw new RangeError('could not allocate memory');
  return new Memory(descriptor);
};
await sn.init({ threads: 2 });

/** A block that a program computes: one of its own for the first few values of `plus`, which stays in the cache. */
const block = (mib, plus) => {
  const made = sn.iota([Math.floor((mib * MIB) / 4)], 0, { dtype: 'float32' }).add(plus);
  sn.eval(made);
  return made;
};

/** Whether there is room for a block of so many MiB. */
const fits = (mib) => {
  try {
    block(mib, 1).dispose();
    return true;
  } catch (error) {
    assert.ok(error instanceof sn.OutOfMemoryError);
    return false;
  }
};

const largestBlock = () => {
  let [low, high] = [0, GRANTED / MIB];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
};

for (const size of [2, 16, 18.75, 40]) {
  test(`after blocks of ${size} MiB, with programs between them`, () => {
    const kept = [];
    assertThrows(() => {
      for (;;) kept.push(block(size, kept.length));
    }, sn.OutOfMemoryError);
    assert.ok(kept.length * size >= 190, `${kept.length} blocks`);
    assert.equal(sn.tidy(() => sn.jit((x) => x.mul(3).sum())(sn.ones([2])).item()), 6);
    sn.dispose(kept);
    const largest = largestBlock();
    assert.ok(largest >= 0.9 * (GRANTED / MIB), `${largest} MiB`);
  });
}
