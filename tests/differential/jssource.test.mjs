// Random programs, values and gradients as users write them (tests/native/written.h), as JavaScript: the source that is
// written of a graph computes what the judge says, and the source that is written of that source has the same bits.
//
//   SINTER_TEST_SOURCES=20000 SINTER_TEST_SEED=7 npm test -- differential
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { moduleText } from '../../build/js/source/module.js';
import * as sn from '../../js/dist/index.js';
import { load, roundTrip } from '../../js/test/jssource.mjs';
import { readTable } from '../../scripts/lib/op-table.mjs';
import { instantiate } from './engine.mjs';

const file = new URL('../../build/wasm/tests/differential/differential.wasm', import.meta.url);
const { exports, text } = instantiate(new WebAssembly.Module(readFileSync(file)));
const programs = Number(process.env.SINTER_TEST_SOURCES ?? 600);
const firstSeed = Number(process.env.SINTER_TEST_SEED ?? 1);
const rows = new Map(readTable().map((row) => [row.name, row]));
const LISTS = ['PERMUTATION', 'PER_AXIS', 'STEP_PER_AXIS', 'PER_SPATIAL'];

await sn.init();
exports.differential_open(0);

/** The double that has the bits of a whole number. */
const doubleOf = (bits) => new Float64Array(new BigInt64Array([BigInt(bits)]).buffer)[0];

/** A node of the module's form in that of sn_program_graph. */
const nodeOf = ([op, dtype, shape, raw, inputs], nodes) => {
  const rank = (inputs.length > 0 ? nodes[inputs[0]][2] : shape).length;
  const attrs = {};
  let at = 0;
  for (const [kind, name] of rows.get(op).attributes) {
    const length = kind === 'PER_SPATIAL' ? rank - 2 : LISTS.includes(kind) ? rank : 1;
    const values = raw.slice(at, (at += length)).map(kind === 'VALUE' ? doubleOf : Number);
    attrs[name] = LISTS.includes(kind) ? values : values[0];
  }
  return { op, dtype, shape, attrs, inputs };
};

/** The program as source; wide: with float64 for float32. */
const sourceOf = ({ nodes, results }, count, wide) => {
  const graph = { nodes: nodes.map((node) => nodeOf(node, nodes)), outputs: results.map(([id]) => id), regions: [] };
  if (wide) for (const node of graph.nodes) if (node.dtype === 'float32') node.dtype = 'float64';
  const array = (n) => ({ kind: 'array', items: Array.from({ length: n }, () => ({ kind: 'tensor' })) });
  const one = (n, each) => Array.from({ length: n }, () => each);
  return moduleText({
    graph, parameters: one(count, null), places: one(count, ['']), result: array(results.length), resultPlaces: one(results.length, ''),
    kind: { gradsOf: null, hasValue: false }, captured: [],
  }, 'program');
};

const argumentsOf = ({ nodes, arguments: given }, wide) => {
  const list = [];
  for (const [op, dtype, shape, [number]] of nodes)
    if (op === 'input') list[number] = sn.tensor(given[number].map((x) => x ?? NaN), { shape, dtype: wide && dtype === 'float32' ? 'float64' : dtype });
  return Array.from(list, (t) => t ?? sn.zeros([]));
};

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
