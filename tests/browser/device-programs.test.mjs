// Random programs on the device in a page of Chromium, on a driver in software: those of tests/webgpu/graphs.test.mjs, fewer.
//
//   SINTER_TEST_PROGRAMS=1000 SINTER_TEST_SEED=7 npm test -- browser
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as sn from '../../js/dist/index.js';
import { checkPrograms } from '../webgpu/programs.mjs';
import { openWithWebgpu, watch } from './browsers.mjs';
import { POLICY, host } from './host.mjs';

const programs = Number(process.env.SINTER_TEST_PROGRAMS ?? 60);
const firstSeed = Number(process.env.SINTER_TEST_SEED ?? 1);

const SCRIPT = `import * as sn from '/dist/index.js';
import { webgpu } from '/dist/webgpu.js';
await sn.init({ device: webgpu() });
window.run = async ({ source, given }) => {
  const body = source.replace("import * as sn from 'sinter';", '').replace('export function', 'function');
  const f = new Function('sn', body + ';return program;')(sn);
  const args = given.map(({ values, ...kind }) => sn.tensor(values, kind));
  const sides = ['cpu', 'webgpu'].map((device) => sn.jit((...x) => f(...x), { device }));
  const read = async (side) => Promise.all(side(...args).map(async (t) => {
    const values = [...await t.data()];
    t.dispose();
    return values;
  }));
  const values = [await read(sides[0]), await read(sides[1])];
  for (const each of [...sides, ...args]) each.dispose();
  return values;
};
`;

let server;
let browser;
before(async () => {
  await sn.init({ threads: 1 }); // writes the programs
  server = await host({
    instead: { '/page.js': { body: SCRIPT, type: 'text/javascript' } },
    policy: POLICY.replace("'wasm-unsafe-eval'", "'wasm-unsafe-eval' 'unsafe-eval'"),
  });
  browser = await openWithWebgpu();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

test(`${programs} random programs`, { timeout: 20 * 60_000 }, async () => {
  const page = await browser.newPage();
  const faults = watch(page, server.url);
  await page.goto(server.url);
  await page.waitForFunction(() => window.run);
  await checkPrograms(firstSeed, programs, (source, args) => {
    const given = args.map((t) => ({ values: [...t.dataSync()], shape: t.shape, dtype: t.dtype }));
    return page.evaluate((one) => window.run(one), { source, given });
  });
  assert.deepEqual(faults, []);
});
