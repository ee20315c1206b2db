// Compiled functions as bytes: equal bits here and in another process, damaged ones are errors.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import * as sn from 'sinter';

before(() => sn.init({ threads: 2, deterministic: true }));

const weights = () => sn.tensor(Float32Array.from({ length: 32 * 16 }, (_, i) => Math.sin(i)), { shape: [32, 16] });
const input = () => sn.tensor(Float32Array.from({ length: 8 * 32 }, (_, i) => Math.cos(i)), { shape: [8, 32] });

/** A function that captures, takes a tree with static values and returns one. */
const sample = () => {
  const w = weights();
  return sn.jit(({ x, scale }, parts) => {
    const h = x.matmul(w).add(parts[0]).mul(scale).tanh();
    return { h: sn.softmax(h, { axis: 1 }), list: [h.sum(), sn.argmax(h, { axis: 0 })], note: 'fixed', none: undefined };
  });
};
const args = () => [{ x: input(), scale: 0.5 }, [sn.ones([16])]];
const bitsOf = ({ h, list }) => [h, ...list].map((t) => Buffer.from(t.dataSync().buffer).toString('hex'));

test('a saved function has the same results, tree and bits', () => {
  const f = sample();
  const bytes = f.save(...args());
  assert.ok(bytes instanceof Uint8Array);
  const g = sn.load(bytes);
  const expected = f(...args());
  for (let i = 0; i < 2; i += 1) {
    const got = g(...args());
    assert.deepEqual(bitsOf(got), bitsOf(expected));
    assert.deepEqual(Object.keys(got), Object.keys(expected));
    assert.equal(got.note, 'fixed');
    assert.deepEqual(got.h.shape, [8, 16]);
  }
  g.dispose();
  assert.throws(() => g(...args()), sn.SinterError);
});

test('another process runs it to the same bits', () => {
  const f = sample();
  const folder = mkdtempSync(join(tmpdir(), 'sinter-saved-'));
  const file = join(folder, 'program.bin');
  writeFileSync(file, f.save(...args()));
  const code = `
    import { readFileSync } from 'node:fs';
    import * as sn from ${JSON.stringify(import.meta.resolve('sinter'))};
    await sn.init({ threads: 1, deterministic: true });
    const f = sn.load(readFileSync(${JSON.stringify(file)}));
    const x = sn.tensor(Float32Array.from({ length: 8 * 32 }, (_, i) => Math.cos(i)), { shape: [8, 32] });
    const { h, list } = f({ x, scale: 0.5 }, [sn.ones([16])]);
    console.log(JSON.stringify([h, ...list].map((t) => Buffer.from(t.dataSync().buffer).toString('hex'))));
    process.exit(0);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  assert.equal(stderr, '');
  assert.deepEqual(JSON.parse(stdout), bitsOf(f(...args())));
});

test('a training step that uses up its state can be saved', () => {
  const step = sn.jit((s, g) => ({ s: s.sub(g.mul(0.1)) }), { donate: 0 });
  const g = sn.load(step.save(sn.ones([4]), sn.ones([4])));
  const s = sn.ones([4]);
  const next = g(s, sn.ones([4]));
  assert.deepEqual([...next.s.dataSync()], Array(4).fill(Math.fround(0.9)));
  assert.throws(() => s.dataSync(), sn.SinterError);
});

test('arguments that differ are refused by name', () => {
  const g = sn.load(sample().save(...args()));
  const [first, second] = args();
  assert.throws(() => g({ ...first, scale: 2 }, second), /load: the arguments differ in structure or static values/);
  assert.throws(() => g(first), sn.SinterError);
  assert.throws(() => g({ ...first, x: sn.ones([8, 31]) }, second), /argument 0 has shape \(8, 31\)/);
  class Own {}
  assert.throws(() => sn.jit((o, x) => x).save(new Own(), sn.ones([1])), /save: an instance of a class cannot be saved/);
});

test('bytes that are damaged or no program are errors, and nothing is lost', () => {
  const bytes = sample().save(...args());
  const { tensors } = sn.memory();
  assert.throws(() => sn.load(new Uint8Array(0)), /load: these bytes are not a saved program/);
  assert.throws(() => sn.load('file'), /load: expected a Uint8Array/);
  assert.throws(() => sn.load(bytes.subarray(0, 100)), /load: damaged/);
  for (let i = 0; i < bytes.length; i += 37) {
    const wrong = bytes.slice();
    wrong[i] ^= 1 + (i % 255);
    assert.throws(() => sn.load(wrong), (error) => error instanceof sn.SinterError && /^load: /.test(error.message));
  }
  assert.equal(sn.memory().tensors, tensors);
  sn.load(bytes).dispose();
});
