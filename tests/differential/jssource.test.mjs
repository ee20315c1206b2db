// Random programs, values and gradients as users write them (tests/native/written.h), as JavaScript: the source that is
// written of a graph computes what the judge says, and the source that is written of that source has the same bits.
//
//   SINTER_TEST_SOURCES=20000 SINTER_TEST_SEED=7 npm test -- differential
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as sn from '../../js/dist/index.js';
import { load, roundTrip } from '../../js/test/jssource.mjs';
import { instantiate } from './engine.mjs';
import { argumentsOf, sourceOf } from './written.mjs';

const file = new URL('../../build/wasm/tests/differential/differential.wasm', import.meta.url);
const { exports, text } = instantiate(new WebAssembly.Module(readFileSync(file)));
const programs = Number(process.env.SINTER_TEST_SOURCES ?? 600);
const firstSeed = Number(process.env.SINTER_TEST_SEED ?? 1);

await sn.init();
exports.differential_open(0);

/** Holds the source, in float64, against the judge's values. */
const checkValues = (program) => sn.tidy(() => {
  const args = argumentsOf(program, true);
  const source = sourceOf(program, args.length, true);
  const made = load(source)(...args);
  program.results.forEach(([, elements], k) => {
    const values = made[k].dataSync();
    elements.forEach((want, i) => assert.ok(want === null || Math.abs(values[i] - want) <= 1e-7 * Math.max(1, Math.abs(want)),
      `result ${k}[${i}] is ${values[i]}, not ${want}\n${source}`));
  });
});

test(`${programs} written programs as source are right, and what is written of them has equal bits`, () => {
  let checked = 0;
  for (let seed = firstSeed; seed < firstSeed + programs; seed += 1) {
    const json = text(exports.differential_shown(0, seed));
    if (!json) continue; // too long
    const program = JSON.parse(json);
    try {
      checkValues(program);
      const args = argumentsOf(program, false);
      roundTrip(load(sourceOf(program, args.length, false)), args);
      for (const t of args) t.dispose();
    } catch (error) {
      error.message = `seed ${seed}: ${error.message}`;
      throw error;
    }
    checked += 1;
  }
  assert.ok(checked > 0.9 * programs, `${checked} programs`);
});
