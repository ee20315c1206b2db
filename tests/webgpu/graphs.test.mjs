// Random programs as users write them, values and gradients, on the device: tests/webgpu/programs.mjs.
//
//   SINTER_TEST_PROGRAMS=5000 SINTER_TEST_SEED=7 npm test -- webgpu
import { before, test } from 'node:test';
import { load } from '../../js/test/jssource.mjs';
import { start } from './device.mjs';
import { checkPrograms } from './programs.mjs';

const programs = Number(process.env.SINTER_TEST_PROGRAMS ?? 300);
const firstSeed = Number(process.env.SINTER_TEST_SEED ?? 1);

let sn;
before(async () => {
  sn = await start();
});

test(`${programs} random programs`, { timeout: 20 * 60_000 }, () => checkPrograms(firstSeed, programs, async (source, args) => {
  const f = load(source);
  const sides = ['cpu', 'webgpu'].map((device) => sn.jit((...x) => f(...x), { device }));
  const values = await Promise.all(sides.map((side) => Promise.all(side(...args).map((t) => t.data()))));
  for (const side of sides) side.dispose();
  return values;
}));
