// Programs saved natively run in WebAssembly, and the other way round, with the same bits.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as sn from 'sinter';

const TOOL = fileURLToPath(new URL('../../build/native/tests/native/test_saved', import.meta.url));
const N = 24;

let folder;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sinter-cross-'));
  await sn.init({ threads: 2, deterministic: true });
});
after(() => rmSync(folder, { recursive: true }));

const tool = (...args) => {
  const { stdout, status } = spawnSync(TOOL, args, { encoding: 'utf8' });
  assert.equal(status, 0);
  return stdout.trim();
};

/** The numbers of bits_of_run in test_saved.c. */
const inputs = () => {
  const f = Math.fround;
  const numbers = Float32Array.from({ length: N * N }, (_, i) => f(f(f(i % 23) * f(0.17)) - f(1.9)));
  return [sn.tensor(numbers, { shape: [N, N] }), sn.tensor(numbers.slice(0, N))];
};

const bitsOf = (tensors) => {
  let hash = 0xcbf29ce484222325n;
  for (const t of tensors)
    for (const byte of new Uint8Array(t.dataSync().buffer)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
};

test('a program saved natively runs in WebAssembly', () => {
  const file = join(folder, 'native.bin');
  const native = tool('save', file);
  assert.equal(bitsOf(sn.load(readFileSync(file))(...inputs())), native);
});

test('a program saved in WebAssembly runs natively', () => {
  const w = sn.iota([N, N], 1).mul(0.03).sin();
  const f = sn.jit((x, b) => {
    const h = x.matmul(w).add(b).sigmoid();
    const [last, all] = sn.scan((carry, row) => {
      const half = carry.mul(0.5);
      return [sn.maximum(half, row), sn.cond(row.sum().greater(12), (r) => r.neg(), (r) => r.mul(half), row)];
    }, sn.zeros([N]), h);
    return [sn.softmax(h, { axis: 0 }), sn.cumsum(h, { axis: 1 }), h.max({ axis: 0 }), h.square().mean(), last, all];
  });
  const file = join(folder, 'wasm.bin');
  writeFileSync(file, f.save(...inputs()));
  assert.equal(tool(file), bitsOf(f(...inputs())));
});
