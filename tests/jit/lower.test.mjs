// lower.test.mjs - random kernels as the JIT's modules: every module passes binaryen's validator and leaves in memory
// what the strip VM left, bit for bit (any two NaNs are the same), and touches nothing else.
//
// A failure names seed and case: JIT_SEED=... repeats it.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import binaryen from 'binaryen';
import makeWabt from 'wabt';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TOOL = join(ROOT, 'build/native/tests/native/jit_modules');
const SEED = Number(process.env.JIT_SEED ?? 20260101);
const CASES = Number(process.env.JIT_CASES ?? 1500);
const BATCH = 500; // cases in one file
const PAGE = 65536;

const records = (bytes) => {
  const out = [];
  for (let at = 0; at < bytes.length;) {
    const length = bytes.readUInt32LE(at);
    const header = JSON.parse(bytes.toString('utf8', at + 4, at + 4 + length));
    at += 4 + length;
    const take = (n) => bytes.subarray(at, (at += n));
    out.push({ ...header, module: take(header.module), text: take(header.text), before: take(header.bytes), after: take(header.bytes) });
  }
  return out;
};

const makeCases = (relaxed, first, count) => {
  const folder = mkdtempSync(join(tmpdir(), 'sinter-jit-'));
  try {
    const file = join(folder, 'cases');
    execFileSync(TOOL, [file, String(SEED), String(first), String(count), relaxed ? '1' : '0'], { stdio: ['ignore', 'ignore', 'inherit'] });
    return records(readFileSync(file));
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const isNaN32 = (bits) => (bits & 0x7fffffff) > 0x7f800000;
const isNaN64 = (bits) => (bits & 0x7fffffffffffffffn) > 0x7ff0000000000000n;

/** Makes every NaN of the typed regions one NaN, and forgets the worker's memory. */
const normalised = (memory, { regions, worker }) => {
  const copy = Buffer.from(memory);
  for (const [at, elements, dtype] of regions) {
    for (let i = 0; i < elements; i++) {
      if (dtype === 'float32' && isNaN32(copy.readUInt32LE(at + 4 * i))) copy.writeUInt32LE(0x7fc00000, at + 4 * i);
      if (dtype === 'float64' && isNaN64(copy.readBigUInt64LE(at + 8 * i)))
        copy.writeBigUInt64LE(0x7ff8000000000000n, at + 8 * i);
    }
  }
  copy.fill(0, worker[0], worker[0] + worker[1]);
  return copy;
};

const place = (at, { regions }) => {
  const index = regions.findIndex(([from, elements, dtype]) => at >= from && at < from + elements * (dtype === 'float64' ? 8 : dtype === 'bool' ? 1 : 4));
  return index < 0 ? `address ${at}, outside of all buffers` : `byte ${at - regions[index][0]} of buffer ${index} (${regions[index][2]})`;
};

const runCase = (record) => {
  const memory = new WebAssembly.Memory({ initial: record.bytes / PAGE });
  const view = Buffer.from(memory.buffer);
  record.before.copy(view);
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(record.module), { env: { memory } });
  for (const [number, ...args] of record.calls) {
    assert.ok(number >= 0, 'no function for this role');
    exports[number](...args);
  }
  const got = normalised(view, record);
  const wanted = normalised(record.after, record);
  if (got.equals(wanted)) return;
  const first = got.findIndex((byte, i) => byte !== wanted[i]);
  assert.fail(`differs at ${place(first, record)}`);
};

const validate = (module) => {
  const read = binaryen.readBinary(module);
  try {
    read.setFeatures(binaryen.Features.All);
    return read.validate();
  } finally {
    read.dispose();
  }
};

const wabt = await makeWabt();

/** The module's text, assembled by another tool. */
const assembled = (text) => {
  const module = wabt.parseWat('module.wat', text, { simd: true, relaxed_simd: true, threads: true });
  try {
    return Buffer.from(module.toBinary({}).buffer);
  } finally {
    module.destroy();
  }
};

const relaxedRuns = () => {
  const text = '(module (func (result v128) (f32x4.relaxed_madd (v128.const i32x4 0 0 0 0) (v128.const i32x4 0 0 0 0) (v128.const i32x4 0 0 0 0))))';
  const module = binaryen.parseText(text);
  module.setFeatures(binaryen.Features.All);
  const bytes = module.emitBinary();
  module.dispose();
  return WebAssembly.validate(bytes);
};

/** The fault of a case, or undefined. */
const judge = (record, number) => {
  try {
    assert.equal(validate(record.module), 1, 'not a valid module');
    if (number % 20 === 0) assert.ok(assembled(record.text.toString()).equals(record.module), 'its text makes another module');
    runCase(record);
    return undefined;
  } catch (error) {
    return `seed ${SEED} case ${number} ${record.name}: ${error.message}`;
  }
};

for (const relaxed of [false, true]) {
  const skip = relaxed && !relaxedRuns() && 'this engine has no relaxed SIMD';
  test(`${CASES} random kernels, ${relaxed ? 'relaxed' : 'plain'} SIMD`, { skip }, () => {
    const wrong = [];
    for (let first = 0; first < CASES; first += BATCH) {
      const cases = makeCases(relaxed, first, Math.min(BATCH, CASES - first));
      wrong.push(...cases.map((record, i) => judge(record, first + i)).filter((reason) => reason !== undefined));
    }
    assert.deepEqual(wrong.slice(0, 20), [], `${wrong.length} of ${CASES}`);
  });
}

test('planted faults are caught: a wrong instruction, a dropped tail', () => {
  const caught = { add: 0, tail: 0 };
  for (const record of makeCases(false, 0, 1000)) {
    const planted = Buffer.from(record.module);
    const at = planted.indexOf(Buffer.from([0xfd, 0xe4, 0x01])); // f32x4.add
    if (at >= 0) planted[at + 1] = 0xe5; // f32x4.sub
    const fails = (changed) => {
      try {
        runCase(changed);
        return 0;
      } catch {
        return 1;
      }
    };
    caught.add += at >= 0 && fails({ ...record, module: planted });
    caught.tail += fails({ ...record, calls: record.calls.map((call) => call.with(-1, call.at(-1) - 1)) });
  }
  assert.ok(caught.add >= 30, `${caught.add} wrong instructions`);
  assert.ok(caught.tail >= 200, `${caught.tail} dropped tails`);
});
