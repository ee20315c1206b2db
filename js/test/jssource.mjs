// Shared by the tests of jsSource: written source is run, and held against the function it was written of, bit for bit.
import assert from 'node:assert/strict';
import * as sn from '../dist/index.js';

/** The function of written source. */
export const load = (source, name = 'program') => {
  const body = source.replace("import * as sn from 'sinter';", '').replace('export function', 'function');
  return new Function('sn', `'use strict';${body}\nreturn ${name};`)(sn);
};

/** The elements' bits; which NaN it is does not count. */
const bitsOf = (t) => {
  const bytes = t.dtype === 'float16' || t.dtype === 'bfloat16' ? t.astype('float32') : t;
  return Array.from(bytes.dataSync(), (value) => (Number.isNaN(value) ? 'NaN' : Object.is(value, -0) ? '-0' : String(value)));
};

/** Ops of the graphs that sources were written of. */
export const met = new Set();

/**
 * Writes f as source, runs both under jit on the arguments and compares all bits. captured: what the source takes behind
 * its arguments, tensors too large to be written down; spoil: what becomes of the source, to test this test. Returns the
 * source.
 */
export const roundTrip = (f, args, captured = [], spoil = (source) => source) => sn.tidy(() => {
  const seen = sn.inspect(f)(...args);
  const source = spoil(seen.jsSource());
  for (const [, op] of seen.stages[0].text.matchAll(/= (\w+) /g)) met.add(op);
  seen.dispose();
  try {
    const g = load(source);
    const [before, after] = [sn.jit(f), sn.jit((...list) => g(...list, ...captured))];
    const [want, got] = [before, after].map((each) => sn.tree.leaves(each(...args)));
    assert.deepEqual(got.map(String), want.map(String));
    want.forEach((t, i) => assert.deepEqual(bitsOf(got[i]), bitsOf(t), `result ${i}`));
    before.dispose();
    after.dispose();
  } catch (error) {
    error.message += `\n${source}`;
    throw error;
  }
  return source;
});
