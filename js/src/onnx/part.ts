// Cuts a part out of a graph: the nodes and weights, in the file's order, that compute the values asked for from the values
// that calls give.

import { internals, SinterError } from '../index.js';
import type { GraphProto, NodeProto, ValueInfo } from './model.js';

const { shown } = internals;

/** The names that a node uses: its inputs, then all names that graphs within it use. */
export function namesUsed(node: NodeProto): string[] {
  const names: string[] = [];
  for (const pending = [node]; pending.length > 0; ) {
    const { inputs, attributes } = pending.pop()!;
    names.push(...inputs);
    for (const { graph } of attributes) {
      if (!graph) continue;
      pending.push(...graph.nodes);
      names.push(...graph.outputs.map(({ name }) => name));
    }
  }
  return names;
}

/** Checks a list of names: each must be a value of the graph, and occur once. */
function checkNames(op: string, option: string, names: unknown, isThere: (name: string) => boolean): readonly string[] {
  if (!Array.isArray(names) || names.length === 0 || new Set(names).size < names.length)
    throw new SinterError('argument', op, `${option} is ${shown(names)}, expected names of values`);
  const wrong = (names as unknown[]).find((name) => typeof name !== 'string' || !isThere(name));
  if (wrong !== undefined) throw new SinterError('argument', op, `${option}: there is no value ${shown(wrong)} in the graph`, { hint: 'onnx.read(bytes).nodes has the names' });
  return names as string[];
}

/** The part of a graph between inputs and outputs, which are names of values; null: those of the graph. */
export function partOf(op: string, graph: GraphProto, inputs: unknown, outputs: unknown): GraphProto {
  const makers = new Map<string, NodeProto>();
  for (const node of graph.nodes) for (const name of node.outputs) if (name) makers.set(name, node);
  const known = new Map([...graph.outputs, ...graph.inputs].map((info) => [info.name, info]));
  const isThere = (name: string): boolean => makers.has(name) || graph.inputs.some((info) => info.name === name);
  // The file's type information about inner values is not read, so these have any type and shape.
  const infosOf = (names: readonly string[]): ValueInfo[] => names.map((name) => known.get(name) ?? { name, kind: 'tensor', type: 0, shape: null });
  const begins = inputs === null ? [] : checkNames(op, 'inputs', inputs, isThere);
  const ends = outputs === null ? graph.outputs : infosOf(checkNames(op, 'outputs', outputs, isThere));
  const used = new Set<string>(begins);
  const needed = new Set<NodeProto>();
  for (const pending = ends.map(({ name }) => name); pending.length > 0; ) {
    const name = pending.pop()!;
    if (used.has(name)) continue;
    used.add(name);
    const maker = makers.get(name);
    if (!maker || needed.has(maker)) continue;
    needed.add(maker);
    for (const each of namesUsed(maker)) pending.push(each);
  }
  const rest = graph.inputs.filter(({ name }) => used.has(name) && !begins.includes(name));
  return {
    name: graph.name,
    nodes: graph.nodes.filter((node) => needed.has(node)),
    initializers: graph.initializers.filter(({ name }) => used.has(name) && !begins.includes(name)),
    inputs: [...infosOf(begins), ...rest],
    outputs: ends,
  };
}
