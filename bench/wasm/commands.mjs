// commands.mjs - answers the commands of bench/run.mjs with the package, after sn.init. The head of
// bench/native/bench_workloads.c lists them.
import * as sn from '../../js/dist/index.js';
import { kinds } from './kinds.mjs';

// As in bench/native/bench_workloads.c.
const WARM_UP_MS = 200;
const SAMPLE_MS = 1;
const CHECKED_CALLS = 3;
const SETTLING_CALLS = 3;
const MIN_SAMPLES = 3;

const make = (text) => {
  const [name, ...words] = text.split(' ');
  if (!Object.hasOwn(kinds, name)) throw new Error(`no such kind: ${name}`);
  return kinds[name](...words.map((word) => (Number.isNaN(Number(word)) ? word : Number(word))));
};

const callsPerSample = new Map();

/** Calls for WARM_UP_MS, once per text: engines compile a function well only after it has run for a while. */
const warmUp = (text) => {
  if (callsPerSample.has(text)) return;
  const workload = make(text);
  const begin = performance.now();
  let calls = 0;
  let spent = 0;
  for (; spent < WARM_UP_MS; calls += 1, spent = performance.now() - begin) workload.call();
  workload.dispose();
  callsPerSample.set(text, Math.floor((SAMPLE_MS * calls) / spent) + 1);
};

/** A new workload that has run for some calls. It is never reused, because a network that has learnt its batch by heart has
 *  gradients of 0, and then Adam's means decay to subnormal numbers, which are far slower. */
const fresh = (text) => {
  warmUp(text);
  const workload = make(text);
  for (let i = 0; i < SETTLING_CALLS; i += 1) workload.call();
  return workload;
};

/** FNV-1a over 32-bit words. */
const addWords = (hash, words) => words.reduce((h, word) => Math.imul(h ^ word, 16777619), hash);

const check = async (text) => {
  const workload = make(text);
  let results;
  for (let i = 0; i < CHECKED_CALLS; i += 1) results = workload.call();
  let hash = 2166136261;
  for (const t of results) {
    const data = await t.data();
    hash = addWords(hash, new Int32Array(data.buffer, data.byteOffset, data.byteLength / 4));
  }
  workload.dispose();
  return { checksum: (hash >>> 0).toString(16).padStart(8, '0') };
};

const time = (ms, text) => {
  const workload = fresh(text);
  const calls = callsPerSample.get(text);
  const samples = [];
  const begin = performance.now();
  for (let from = begin; samples.length < MIN_SAMPLES || from - begin < ms;) {
    for (let i = 0; i < calls; i += 1) workload.call();
    const to = performance.now();
    samples.push((to - from) / calls);
    from = to;
  }
  workload.dispose();
  return { ms: samples };
};

const profile = async (calls, text) => {
  const workload = fresh(text);
  const { kernels } = await sn.profile(() => {
    for (let i = 0; i < calls; i += 1) workload.call();
  });
  workload.dispose();
  return { kernels };
};

const split = (text) => [Number.parseFloat(text), text.slice(text.indexOf(' ') + 1)];

const COMMANDS = {
  info: () => sn.info(),
  check,
  time: (text) => time(...split(text)),
  profile: (text) => profile(...split(text)),
};

/** Answers one command line; failures are answers too. */
export const answer = async (line) => {
  const [command] = line.split(' ', 1);
  try {
    return await COMMANDS[command](line.slice(command.length + 1));
  } catch (error) {
    return { error: String(error) };
  }
};
