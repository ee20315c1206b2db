// engine.mjs - a worker: one instance of the differential module, running recipes on every engine.
//
// workerData: { module, first, count, kind }. When done it posts { failures: [{ engine, text }], graphs } for the recipes
// (kind 'run'), for the nested programs, or for the written ones, each of which runs on one engine.
import { parentPort, workerData } from 'node:worker_threads';
import { CodeTable } from '../../build/js/runtime/code.js';

export const ENGINES = ['strip VM', 'emitted SIMD128', 'emitted relaxed SIMD'];

const text = (memory, address) => {
  const bytes = new Uint8Array(memory.buffer, address >>> 0);
  return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
};

/** An instance; every module that it emits goes through check(bytes) before it is installed. */
export const instantiate = (module, check = () => {}) => {
  const memory = new WebAssembly.Memory({ initial: 256, maximum: 32768 });
  const messages = [];
  const code = new CodeTable(memory);
  const host = {
    now: () => performance.now(),
    log: (address) => messages.push(text(memory, address)),
    job_done: () => {},
    code_first: code.first,
    code_install: (address, size, ...rest) => {
      check(new Uint8Array(memory.buffer, address >>> 0, size).slice());
      return code.install(address, size, ...rest);
    },
  };
  const instance = new WebAssembly.Instance(module, {
    env: { memory },
    host,
  });
  code.attach(instance);
  instance.exports._initialize?.();
  return { exports: instance.exports, memory, messages, text: (address) => text(memory, address) };
};

/** The lines "NAME HASH" of tests/bits on an engine. */
export const bits = (module, engine) => {
  const { exports, text: read } = instantiate(module);
  if (!exports.differential_open(engine)) throw new Error(`no ${ENGINES[engine]}`);
  const lines = [];
  for (let line = read(exports.differential_bits(engine, 0)); line; ) {
    lines.push(line);
    line = read(exports.differential_bits(engine, lines.length));
  }
  return lines;
};

const run = ({ module, first, count, kind }) => {
  const { exports, messages, text: read } = instantiate(module);
  const failures = [];
  ENGINES.forEach((_, engine) => exports.differential_open(engine));
  const agrees = exports[`differential_${kind}`];
  for (let seed = first; seed < first + count && failures.length < 3; seed += 1) {
    ENGINES.forEach((engine, number) => {
      if (kind === 'written' && number !== seed % ENGINES.length) return;
      try {
        if (agrees(number, seed)) return;
        failures.push({ engine, text: read(exports.differential_text()) });
      } catch (error) {
        failures.push({ engine, text: `seed ${seed}: ${error.message} ${messages.join('\n')}` });
      }
    });
  }
  return { failures, graphs: count };
};

if (parentPort && workerData?.module) parentPort.postMessage(run(workerData));
