// The random programs of tests/native/written.h, values and gradients as users write them, as JavaScript over the package:
// what differential_shown(engine, seed) gives, its source and its arguments.
import { moduleText } from '../../build/js/source/module.js';
import * as sn from '../../js/dist/index.js';
import { readTable } from '../../scripts/lib/op-table.mjs';

const rows = new Map(readTable().map((row) => [row.name, row]));
const LISTS = ['PERMUTATION', 'PER_AXIS', 'STEP_PER_AXIS', 'PER_SPATIAL'];

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
export const sourceOf = ({ nodes, results }, count, wide) => {
  const graph = { nodes: nodes.map((node) => nodeOf(node, nodes)), outputs: results.map(([id]) => id), regions: [] };
  if (wide) for (const node of graph.nodes) if (node.dtype === 'float32') node.dtype = 'float64';
  const array = (n) => ({ kind: 'array', items: Array.from({ length: n }, () => ({ kind: 'tensor' })) });
  const one = (n, each) => Array.from({ length: n }, () => each);
  return moduleText({
    graph, parameters: one(count, null), places: one(count, ['']), result: array(results.length), resultPlaces: one(results.length, ''),
    kind: { gradsOf: null, hasValue: false }, captured: [],
  }, 'program');
};

export const argumentsOf = ({ nodes, arguments: given }, wide) => {
  const list = [];
  for (const [op, dtype, shape, [number]] of nodes)
    if (op === 'input') list[number] = sn.tensor(given[number].map((x) => x ?? NaN), { shape, dtype: wide && dtype === 'float32' ? 'float64' : dtype });
  return Array.from(list, (t) => t ?? sn.zeros([]));
};
