// The random programs of tests/native/written.h for a device without float64, and what of their results is wrong. The judge
// computes them in float64; of float32 the device may be off by what the CPU's roundings are off, some times over, as it sums
// in other orders. The CPU may be exact by luck where values cancel: so what is off by more is right, too, where the CPU's result
// changes as much with arguments that are a unit or two off.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as sn from '../../js/dist/index.js';
import { instantiate } from '../differential/engine.mjs';
import { argumentsOf, sourceOf } from '../differential/written.mjs';

const file = new URL('../../build/wasm/tests/differential/differential.wasm', import.meta.url);

/** Times that the device may be off what the CPU is; and units of the largest value. */
const TIMES = 16;
const UNITS = 64;
const MOST_SHOWN = 5;

const off = (x, want) => (Object.is(x, want) || x === want || (Number.isNaN(x) && Number.isNaN(want)) ? 0 : Math.abs(x - want));

const most = (list) => Math.max(0, ...list.filter(Number.isFinite));

/** Where a result is wrong, or ''. Elements that the judge leaves open, as roundings decide them, are null. nearby: what the CPU
 *  makes of arguments that are a little off. */
const difference = (want, here, there, nearby = here) => {
  const known = want.map((x, i) => i).filter((i) => want[i] !== null);
  const size = Math.max(1, most(known.map((i) => Math.abs(want[i]))));
  const bound = TIMES * (most(known.map((i) => off(here[i], want[i]))) + most(known.map((i) => off(here[i], nearby[i])))) + UNITS * 2 ** -24 * size;
  const at = known.find((i) => !(off(there[i], want[i]) <= bound) && !(off(there[i], here[i]) <= bound));
  return at === undefined ? '' : `[${at}] is ${there[at]}, on the CPU ${here[at]}, not ${want[at]}, bound ${bound}`;
};

/** Arguments whose floats are a unit or two off, in either direction. */
const nudged = (args) => args.map((t) => {
  const values = t.dataSync().map((x, i) => (t.dtype === 'float32' ? x * (1 + ((i * 7 + 3) % 5 - 2) * 2 ** -23) : x));
  return sn.tensor(values, { shape: t.shape, dtype: t.dtype });
});

/** The device has no float64: the program with float32. */
const narrowed = (program) => ({
  ...program,
  nodes: program.nodes.map(([op, dtype, ...rest]) => [op, dtype === 'float64' ? 'float32' : dtype, ...rest]),
});

/**
 * Has `count` programs from `first` on run, one after the other: run(source, args) resolves to the results on the CPU and on
 * the device, lists of lists of numbers. Asserts that none is wrong. The package is to be initialised here.
 */
export const checkPrograms = async (first, count, run) => {
  const { exports, text } = instantiate(new WebAssembly.Module(readFileSync(file)));
  exports.differential_open(0);
  const failures = [];
  let checked = 0;
  for (let seed = first; seed < first + count; seed += 1) {
    const json = text(exports.differential_shown(0, seed));
    if (!json) continue; // too long
    const program = narrowed(JSON.parse(json));
    const args = argumentsOf(program, false);
    const source = sourceOf(program, args.length, false).replaceAll("'float64'", "'float32'"); // a recurrence's carry
    try {
      const [here, there] = await run(source, args);
      const isRight = program.results.every(([, want], k) => !difference(want, here[k], there[k]));
      const near = isRight ? [] : nudged(args);
      const nearby = isRight ? here : (await run(source, near))[0];
      for (const t of near) t.dispose();
      program.results.forEach(([, want], k) => assert.equal(difference(want, here[k], there[k], nearby[k]), '', `result ${k}\n${source}`));
    } catch (error) {
      failures.push(`seed ${seed}: ${error.message}`);
    }
    for (const t of args) t.dispose();
    checked += 1;
  }
  assert.equal(failures.length, 0, `${failures.length} of ${checked}:\n${failures.slice(0, MOST_SHOWN).join('\n\n')}`);
  assert.ok(checked > 0.9 * count, `${checked} programs`);
};
