// What a file says, without running it: so a file can be looked at whose ops are not known.

import { internals } from '../index.js';
import { portOf, type Port } from './load.js';
import { readModel } from './model.js';
import { namesUsed } from './part.js';
import { keyOf } from './plan.js';
import { typeName } from './types.js';

export interface OnnxNode {
  /** '' where the file gives none. */
  name: string;
  /** Its op; of other domains than ONNX's own with the domain in front, as in onnx.ops. */
  op: string;
  /** Names of values and weights; '' where an input is left out. */
  inputs: string[];
  outputs: string[];
  /** Names that graphs inside of it use, their own and those from outside. */
  inside: string[];
}

export interface OnnxWeight {
  name: string;
  /** As ONNX names it: 'float', 'int64'. */
  dtype: string;
  shape: number[];
}

export interface OnnxFile {
  /** What wrote the file, with its version; '' where it does not say. */
  producer: string;
  /** The version of each set of ops, by its domain; '' is ONNX's own. */
  opsets: Record<string, number>;
  /** Those that calls bring. */
  inputs: Port[];
  outputs: Port[];
  /** Of the graph, not those of graphs inside of nodes. */
  nodes: OnnxNode[];
  weights: OnnxWeight[];
  /** Names of the functions that the file brings. */
  functions: string[];
}

/** What the bytes of an .onnx file say. Nothing is run, and ops need not be known. */
export function read(bytes: Uint8Array | ArrayBuffer): OnnxFile {
  const { producer, opsets, graph, functions } = readModel(internals.asBytes('onnx.read', bytes));
  const initial = new Set(graph.initializers.map(({ name }) => name));
  return {
    producer,
    opsets: Object.fromEntries(opsets),
    inputs: graph.inputs.filter(({ name }) => !initial.has(name)).map(portOf),
    outputs: graph.outputs.map(portOf),
    nodes: graph.nodes.map((node) => ({ name: node.name, op: keyOf(node), inputs: node.inputs, outputs: node.outputs, inside: namesUsed(node).slice(node.inputs.length) })),
    weights: graph.initializers.map(({ name, type, dims }) => ({ name, dtype: typeName(type), shape: dims })),
    functions: functions.map(({ name }) => name),
  };
}
