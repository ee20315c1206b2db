// worker.mjs - runs all libraries in one worker of the page, case by case and in turns, so that all of them meet the same
// conditions. In: { cases, libraries, onWebGpu, quick }. Out, a message per case:
// { case, times: { library: { median, min } }, wrong, failed }.
import { SIMULATED } from './cases.mjs';
import * as jax from './jax.mjs';
import * as ort from './ort.mjs';
import * as sinter from './sinter.mjs';
import * as tfjs from './tfjs.mjs';

const LIBRARIES = { sinter, tfjs, ort, jax };
const WARM_MS = 2500; // engines compile hot code late, and one library after the other
const ROUNDS = 9;
const ROUND_MS = 60;
/** Calls that take this long need fewer rounds, because noise is short. */
const SLOW_MS = 500;
const SLOW_ROUNDS = 3;
const BATCH_MS = 0.05;
/** The limits of a smoke run. */
const QUICK = { warmMs: 100, most: 1 };
const USUAL = { warmMs: WARM_MS, most: ROUNDS };
const REFERENCES = ['ort', 'tfjs', 'jax']; // the first of them that has a result is the reference
const TOLERANCE = 2e-3; // relative to the largest value

/** Milliseconds per call during `ms`; the clock is read once per `batch` calls. */
const during = async (call, ms, batch) => {
  const begin = performance.now();
  let calls = 0;
  let spent;
  do {
    for (let i = 0; i < batch; i += 1) {
      const pending = call();
      if (pending instanceof Promise) await pending;
    }
    calls += batch;
    spent = performance.now() - begin;
  } while (spent < ms);
  return { perCall: spent / calls, calls };
};

const differs = (got, expected) => {
  const scale = expected.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  return got.length !== expected.length || got.some((x, i) => !(Math.abs(x - expected[i]) <= TOLERANCE * scale));
};

/** All libraries, prepared for the case and warmed up, with their results: { name, call, release, batch, result, times }. */
const prepareAll = async (given, open, failed, { warmMs, most }) => {
  const prepared = [];
  for (const [name, library] of Object.entries(open)) {
    try {
      const made = await library.prepare(given);
      if (!made) continue;
      const result = Array.from(await made.result());
      const { perCall } = await during(made.call, warmMs, 1);
      const rounds = Math.min(most, perCall > SLOW_MS ? SLOW_ROUNDS : ROUNDS);
      prepared.push({ ...made, name, result, rounds, batch: Math.ceil(BATCH_MS / perCall), times: [] });
    } catch (error) {
      failed[name] = String(error);
    }
  }
  return prepared;
};

const expectedOf = (given, prepared) => {
  if (given.op === 'simulate') return SIMULATED;
  const found = REFERENCES.map((name) => prepared.find((library) => library.name === name)).find(Boolean);
  return found?.result;
};

const compare = async (given, open, pace) => {
  const failed = {};
  const prepared = await prepareAll(given, open, failed, pace);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { call, rounds, batch, times } of prepared) {
      if (round < rounds) times.push((await during(call, ROUND_MS, batch)).perCall);
    }
  }
  for (const { release } of prepared) await release();
  const expected = expectedOf(given, prepared);
  const wrong = prepared.filter(({ result }) => expected && differs(result, expected)).map(({ name }) => name);
  const times = prepared.map(({ name, times: list }) => {
    list.sort((a, b) => a - b);
    return [name, { median: list[list.length >> 1], min: list[0] }];
  });
  const { name, asked, askedMs, flops } = given;
  return { case: name, asked, askedMs, flops, times: Object.fromEntries(times), wrong, failed };
};

onmessage = async ({ data: { cases, libraries, onWebGpu, quick } }) => {
  const open = {};
  for (const name of libraries) {
    try {
      open[name] = await LIBRARIES[name].open(onWebGpu);
      postMessage({ library: name, info: open[name].info });
    } catch (error) {
      postMessage({ library: name, info: `not there: ${error}` });
    }
  }
  try {
    for (const given of cases) postMessage(await compare(given, open, quick ? QUICK : USUAL));
    postMessage({ done: true });
  } catch (error) {
    postMessage({ broken: String(error) });
  }
};
