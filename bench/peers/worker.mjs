// worker.mjs - all libraries in one worker of the page, case by case in turns, so that they meet the same
// machine: { cases } in; { case, times: { library: { median, min } }, wrong } out, one message a case.
import * as jax from './jax.mjs';
import * as ort from './ort.mjs';
import * as sinter from './sinter.mjs';
import * as tfjs from './tfjs.mjs';

const LIBRARIES = { sinter, tfjs, ort, jax };
const WARM_MS = 2500; // engines compile hot code late, and one library behind the other
const ROUNDS = 9;
const ROUND_MS = 60;
const TOLERANCE = 2e-3; // of the largest value

const during = async (call, ms) => {
  const begin = performance.now();
  let calls = 0;
  do {
    await call();
    calls += 1;
  } while (performance.now() - begin < ms);
  return (performance.now() - begin) / calls;
};

const differs = (got, expected) => {
  const scale = expected.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  return got.length !== expected.length || got.some((x, i) => !(Math.abs(x - expected[i]) <= TOLERANCE * scale));
};

const compare = async (given, open) => {
  const prepared = {};
  const failed = {};
  for (const [name, library] of Object.entries(open)) {
    try {
      const made = await library.prepare(given);
      if (made) prepared[name] = made;
    } catch (error) {
      failed[name] = String(error);
    }
  }
  const times = Object.fromEntries(Object.keys(prepared).map((name) => [name, []]));
  const results = {};
  for (const [name, { call, result }] of Object.entries(prepared)) {
    if (given.op !== 'train') results[name] = Array.from(await result());
    await during(call, WARM_MS);
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, { call }] of Object.entries(prepared)) times[name].push(await during(call, ROUND_MS));
  }
  for (const { release } of Object.values(prepared)) await release();
  const reference = results.ort ?? results.tfjs;
  const wrong = Object.keys(results).filter((name) => differs(results[name], reference));
  const figures = Object.entries(times).map(([name, list]) => {
    list.sort((a, b) => a - b);
    return [name, { median: list[ROUNDS >> 1], min: list[0] }];
  });
  return { case: given.name, asked: given.asked, times: Object.fromEntries(figures), wrong, failed };
};

onmessage = async ({ data: { cases } }) => {
  const open = {};
  for (const [name, library] of Object.entries(LIBRARIES)) {
    try {
      open[name] = await library.open();
      postMessage({ library: name, info: open[name].info });
    } catch (error) {
      postMessage({ library: name, info: `not there: ${error}` });
    }
  }
  for (const given of cases) postMessage(await compare(given, open));
  postMessage({ done: true });
};
