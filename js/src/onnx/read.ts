// Reads what a file says without running it, so files with unknown ops can be inspected, too.

import { internals } from '../index.js';
import { portOf, type Port } from './load.js';
import { readModel } from './model.js';
import { namesUsed } from './part.js';
import { keyOf } from './plan.js';
import { typeName } from './types.js';

export interface OnnxNode {
  /** '' if the file gives none. */
  name: string;
  /** Its op; outside ONNX's own domain it starts with the domain, as in onnx.ops. */
  op: string;
  /** Names of values and weights; '' for an input that is left out. */
  inputs: string[];
  outputs: string[];
  /** Names that graphs within this node use, both their own and outer ones. */
  inside: string[];
}

export interface OnnxWeight {
  name: string;
  /** As ONNX names it: 'float', 'int64'. */
  dtype: string;
  shape: number[];
}

export interface OnnxFile {
  /** The program that wrote the file, and its version; '' if the file does not say. */
  producer: string;
  /** The opset version of each domain; '' is ONNX's own. */
  opsets: Record<string, number>;
  /** The inputs that calls have to give. */
  inputs: Port[];
  outputs: Port[];
  /** The nodes of the main graph, without those of graphs within nodes. */
  nodes: OnnxNode[];
  weights: OnnxWeight[];
  /** Names of the functions defined in the file. */
  functions: string[];
}

/** Reads the description of a model from the bytes of an .onnx file. Nothing is run, and ops need not be known. */
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
