// logic-worker.mjs - the rows of logic-page.mjs, which imports them in Node and runs them as a worker of a page. The make of a
// row returns a function that takes one sample; what it made is kept until the next row is requested.
import * as sn from '../js/dist/index.js';
import * as logic from '../js/dist/logic.js';
import { draw, gameOfLife, randomCells } from '../js/test/circuitcases.mjs';
import { closureProgram, genealogy, randomAutomaton, randomBits, randomGraph, randomNetwork } from './logic-cases.mjs';

const EPOCHS = 10;
const SOLVES = 3;
const CALLS = 5;

const timed = (f) => {
  const begin = performance.now();
  f();
  return performance.now() - begin;
};

const leastOf = (times, f) => Math.min(...Array.from({ length: times }, () => timed(f)));

/** The epochs of an automaton, one after the other. */
const trained = (options) => {
  const ca = logic.automaton(options);
  let state = ca.init(sn.random.key(1));
  let epoch = 0;
  return () => {
    const made = ca.step(state, sn.random.key(epoch++));
    state = made.state;
    made.loss.item();
    made.loss.dispose();
  };
};

const epochs = (options) => () => {
  const once = trained(options);
  once();
  return () => leastOf(EPOCHS, once);
};

/** Uses other wires each time, so that no call finds a program that an earlier one has compiled. */
const firstCalls = (update) => () => {
  let seed = 0;
  return () => timed(trained(logic.tasks.checkerboard({ update, seed: (seed += 100) })));
};

const closures = (pairs) => () => {
  const p = logic.program(closureProgram(2000, 'Edge(x, y), Way(y, z)')).set('Edge', pairs);
  p.solve();
  return () => leastOf(SOLVES, () => p.solve());
};

/** 10^9 cells per second on a square grid with this side. */
const cells = (circuitOf, side) => () => {
  const circuit = circuitOf();
  const runner = circuit.runner({ width: side, height: side });
  runner.write(randomCells(draw(1), circuit.automaton.channels * side * side));
  const steps = Math.round(4e8 / (side * side));
  const run = () => {
    runner.step(steps);
    runner.read(0);
  };
  run();
  return () => (side * side * steps) / (leastOf(CALLS, run) - leastOf(CALLS, () => runner.read(0))) / 1e6;
};

const inference = () => {
  const circuit = randomNetwork();
  const x = randomBits(32);
  const run = () => sn.tidy(() => sn.eval(circuit.evaluator.run(x)));
  run();
  return () => (32 * 512) / leastOf(CALLS, run) / 1e3;
};

const ROWS = [
  { name: 'checkerboard full, an epoch', unit: 'ms', make: epochs(logic.tasks.checkerboard()) },
  { name: 'checkerboard full, the first call', unit: 'ms', make: firstCalls('full') },
  { name: 'checkerboard small, an epoch', unit: 'ms', make: epochs(logic.tasks.checkerboard({ update: 'small' })) },
  { name: 'checkerboard small, the first call', unit: 'ms', make: firstCalls('small') },
  { name: 'closure, 2,000 people', unit: 'ms', make: closures(genealogy(2000, 1)) },
  { name: 'closure, random graph', unit: 'ms', make: closures(randomGraph(2000, 8000, 1)) },
  { name: 'cells, life 1,024 x 1,024', unit: 'G/s', more: true, make: cells(() => logic.circuitOf(gameOfLife('wrap')), 1024) },
  { name: 'cells, 37 gates, 8 channels 512 x 512', unit: 'G/s', more: true, make: cells(() => randomAutomaton(8, 40), 512) },
  { name: 'inference, 6 x 8,000 gates', unit: 'M/s', more: true, make: inference },
];

export const open = async () => {
  const { threads, isa } = await sn.init({ threads: 2 });
  return { threads, isa, rows: ROWS.map(({ name, unit, more = false }) => ({ name, unit, more })) };
};

let last = {};

export const sample = (name) => {
  if (last.name !== name) last = { name, take: ROWS.find((row) => row.name === name).make() };
  return last.take();
};

if (typeof WorkerGlobalScope !== 'undefined')
  onmessage = async ({ data: { name } }) => {
    try {
      postMessage({ value: name === undefined ? await open() : sample(name) });
    } catch (error) {
      postMessage({ error: String(error) });
    }
  };
