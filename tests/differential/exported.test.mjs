// Random programs as modules of their own (sinter/export): the bits of the program that each was made of.
//
//   SINTER_TEST_EXPORTS=2000 SINTER_TEST_SEED=7 npm test -- differential
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { exportWasm } from '../../js/dist/export.js';
import * as sn from '../../js/dist/index.js';
import { load as loadExported } from '../../js/dist/standalone.js';
import { load } from '../../js/test/jssource.mjs';
import { instantiate } from './engine.mjs';
import { argumentsOf, sourceOf } from './written.mjs';

const file = new URL('../../build/wasm/tests/differential/differential.wasm', import.meta.url);
const { exports, text } = instantiate(new WebAssembly.Module(readFileSync(file)));
const programs = Number(process.env.SINTER_TEST_EXPORTS ?? 40);
const firstSeed = Number(process.env.SINTER_TEST_SEED ?? 1);

await sn.init({ deterministic: true });
exports.differential_open(0);

const numbers = (values) => Array.from(values, (x) => (Number.isNaN(x) ? 'NaN' : Object.is(x, -0) ? '-0' : x));

const check = async (program) => {
  const args = argumentsOf(program, false);
  const source = sourceOf(program, args.length, false);
  const f = sn.jit(load(source));
  const { wasm, weights } = await exportWasm(f.save(...args));
  const run = await loadExported(wasm, weights);
  const want = f(...args);
  for (const turn of [1, 2]) {
    const have = run(...args.map((t) => t.dataSync()));
    want.forEach((t, k) => {
      if (t.dtype === 'float16' || t.dtype === 'bfloat16') return; // the module has their bits
      const values = typeof have[k] === 'number' ? [have[k]] : have[k];
      assert.deepEqual(numbers(values), numbers(t.dataSync()), `result ${k} of run ${turn}\n${source}`);
    });
  }
  for (const t of [...args, ...want]) t.dispose();
  f.dispose();
};

test(`${programs} exported programs have the bits of those in the package`, { timeout: 20 * 60_000 }, async () => {
  let checked = 0;
  for (let seed = firstSeed; seed < firstSeed + programs; seed += 1) {
    const json = text(exports.differential_shown(0, seed));
    if (!json) continue; // too long
    try {
      await check(JSON.parse(json));
    } catch (error) {
      error.message = `seed ${seed}: ${error.message}`;
      throw error;
    }
    checked += 1;
  }
  assert.ok(checked > 0.9 * programs, `${checked} programs`);
});
