// Random programs as users write them (tests/native/written.h), values and gradients, on the device. The judge computes them in
// float64; of float32 the device may be off by what the CPU's roundings are off, some times over, as it sums in other orders.
//
//   SINTER_TEST_PROGRAMS=5000 SINTER_TEST_SEED=7 npm test -- webgpu
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { load } from '../../js/test/jssource.mjs';
import { instantiate } from '../differential/engine.mjs';
import { argumentsOf, sourceOf } from '../differential/written.mjs';
import { start } from './device.mjs';

const file = new URL('../../build/wasm/tests/differential/differential.wasm', import.meta.url);
const programs = Number(process.env.SINTER_TEST_PROGRAMS ?? 300);
const firstSeed = Number(process.env.SINTER_TEST_SEED ?? 1);

/** Times that the device may be off what the CPU is; and units of the largest value. */
const TIMES = 16;
const UNITS = 64;
const MOST_SHOWN = 5;

let sn;
let exports;
let text;
before(async () => {
  sn = await start();
  ({ exports, text } = instantiate(new WebAssembly.Module(readFileSync(file))));
  exports.differential_open(0);
});

const off = (x, want) => (Object.is(x, want) || x === want || (Number.isNaN(x) && Number.isNaN(want)) ? 0 : Math.abs(x - want));

/** Where a result is wrong, or ''. Elements that the judge leaves open, as roundings decide them, are null. */
const difference = (want, here, there) => {
  const known = want.map((x, i) => i).filter((i) => want[i] !== null);
  const size = Math.max(1, ...known.map((i) => Math.abs(want[i])).filter(Number.isFinite));
  const bound = TIMES * Math.max(0, ...known.map((i) => off(here[i], want[i])).filter(Number.isFinite)) + UNITS * 2 ** -24 * size;
  const at = known.find((i) => !(off(there[i], want[i]) <= bound) && !(off(there[i], here[i]) <= bound));
  return at === undefined ? '' : `[${at}] is ${there[at]}, on the CPU ${here[at]}, not ${want[at]}, bound ${bound}`;
};

/** The device has no float64: the program with float32. */
const narrowed = (program) => ({
  ...program,
  nodes: program.nodes.map(([op, dtype, ...rest]) => [op, dtype === 'float64' ? 'float32' : dtype, ...rest]),
});

const check = async (program) => {
  const args = argumentsOf(program, false);
  const source = sourceOf(program, args.length, false).replaceAll("'float64'", "'float32'"); // a recurrence's carry
  const f = load(source);
  const sides = ['cpu', 'webgpu'].map((device) => sn.jit((...x) => f(...x), { device }));
  const [here, there] = await Promise.all(sides.map((side) => Promise.all(side(...args).map((t) => t.data()))));
  program.results.forEach(([, want], k) => {
    const wrong = difference(want, here[k], there[k]);
    assert.equal(wrong, '', `result ${k}${wrong}\n${source}`);
  });
  for (const side of sides) side.dispose();
};

test(`${programs} random programs`, { timeout: 20 * 60_000 }, async () => {
  let checked = 0;
  const failures = [];
  for (let seed = firstSeed; seed < firstSeed + programs; seed += 1) {
    const json = text(exports.differential_shown(0, seed));
    if (!json) continue; // too long
    try {
      await check(narrowed(JSON.parse(json)));
    } catch (error) {
      failures.push(`seed ${seed}: ${error.message}`);
    }
    checked += 1;
  }
  assert.equal(failures.length, 0, `${failures.length} of ${checked}:\n${failures.slice(0, MOST_SHOWN).join('\n\n')}`);
  assert.ok(checked > 0.9 * programs, `${checked} programs`);
});
