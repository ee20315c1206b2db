// Describes an ONNX file in words, and as a graph that the page can draw.

import type { OnnxFile } from 'sinter/onnx';
import { bytes as byteText, count, plural, scaled } from '../../views/format.ts';
import type { FileGraph, FileNode, Port } from '../protocol.ts';

/** In graphs with more than MANY nodes whose names have no scopes, nodes are grouped by position: TOGETHER per group, or
 *  more, so that there are at most MOST_TOGETHER groups. */
const MANY = 300;
const TOGETHER = 100;
const MOST_TOGETHER = 1000;
/** The most characters of a name from a file that are shown. */
const MOST_LETTERS = 200;

/** Ops that only move data, left out of the sentence. */
const MOVES = new Set(['Cast', 'Concat', 'Constant', 'Expand', 'Flatten', 'Gather', 'Identity', 'Reshape', 'Shape', 'Slice', 'Split', 'Squeeze', 'Transpose', 'Unsqueeze']);

const BITS: Record<string, number> = { double: 64, int64: 64, uint64: 64, float: 32, int32: 32, uint32: 32, float16: 16, bfloat16: 16, int16: 16, uint16: 16 };

const sizeOf = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

/** Counts of ops, the most frequent first. */
export function opCounts(file: OnnxFile): [op: string, count: number][] {
  const counts = new Map<string, number>();
  for (const { op } of file.nodes) counts.set(op, (counts.get(op) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function family(ops: ReadonlyMap<string, number>): string {
  const has = (...names: string[]): boolean => names.some((name) => ops.has(name));
  const isAttentive = has('Attention', 'MultiHeadAttention') || (has('Softmax') && (ops.get('MatMul') ?? 0) >= 4);
  if (isAttentive) return has('Conv') ? 'A network of convolutions and attention' : 'A transformer';
  if (has('Conv', 'ConvTranspose', 'QLinearConv', 'ConvInteger')) return has('LSTM', 'GRU', 'RNN') ? 'A network of convolutions and recurrent layers' : 'A convolutional network';
  if (has('LSTM', 'GRU', 'RNN')) return 'A recurrent network';
  if ([...ops.keys()].some((op) => op.includes('TreeEnsemble'))) return 'An ensemble of trees';
  if (has('Gemm', 'MatMul', 'MatMulNBits')) return 'A network of dense layers';
  return 'A graph';
}

export const shapeText = (shape: Port['shape']): string =>
  shape === null ? 'any shape' : shape.length === 0 ? 'one number' : shape.map((size) => (size === '' ? '?' : size)).join(' × ');

const portText = ({ name, dtype, shape }: Port): string => `${name.slice(0, MOST_LETTERS)}: ${shapeText(shape)}${dtype === 'float' ? '' : ` ${dtype}`}`;

/** The number of elements in all weights. int64 weights are left out: they are sizes and axes. */
const parametersOf = (file: OnnxFile): number => file.weights.reduce((sum, { dtype, shape }) => sum + (dtype === 'int64' ? 0 : sizeOf(shape)), 0);

export function words(file: OnnxFile): string {
  const counts = opCounts(file);
  const frequent = counts.filter(([op]) => !MOVES.has(op)).slice(0, 3).map(([op, n]) => `${n} × ${op}`).join(', ');
  const takes = file.inputs.map(portText).slice(0, 4).join('; ');
  const gives = file.outputs.map(portText).slice(0, 4).join('; ');
  const size = parametersOf(file);
  const numbers = size < 100_000 ? count(size) : scaled(size);
  return `${family(new Map(counts))} with ${numbers} parameters in ${plural(file.nodes.length, 'node')}${frequent && ` (${frequent})`}. It takes ${takes || 'nothing'}, and gives ${gives || 'nothing'}.`;
}

export function facts(file: OnnxFile, bytes: number): [string, string][] {
  const opsets = Object.entries(file.opsets).map(([domain, version]) => `${domain || 'ONNX'} ${version}`).join(', ');
  const dtypes = new Map<string, number>();
  for (const { dtype, shape } of file.weights) dtypes.set(dtype, (dtypes.get(dtype) ?? 0) + (sizeOf(shape) * (BITS[dtype] ?? 8)) / 8);
  const held = [...dtypes].sort((a, b) => b[1] - a[1]).map(([dtype, size]) => `${dtype} ${byteText(Math.round(size))}`);
  return [
    ['Format', 'ONNX'],
    ['Size', byteText(bytes)],
    ['Parameters', count(parametersOf(file))],
    ['Opset', opsets || 'not said'],
    ['Written by', file.producer.slice(0, MOST_LETTERS) || 'not said'],
    ['Weights', held.join(', ') || 'none'],
    ['Nodes', `${count(file.nodes.length)}, of ${plural(opCounts(file).length, 'op')}`],
    ...(file.functions.length > 0 ? [['Functions', file.functions.slice(0, 10).join(', ')] as [string, string]] : []),
  ];
}

/** The parts of a name like /features/features.3/conv/Conv, without the last. */
function scopesOf(name: string): string[] {
  const parts = name.slice(0, MOST_LETTERS).split('/').filter((part) => part !== '');
  return parts.slice(0, -1);
}

export function graphOf(file: OnnxFile): FileGraph {
  const sizes = new Map(file.weights.map(({ name, dtype, shape }) => [name, dtype === 'int64' ? 0 : sizeOf(shape)]));
  const makers = new Map<string, number>();
  const edges: number[] = [];
  /** The names of values that depend on an input. */
  const varying = new Set(file.inputs.map(({ name }) => name));
  const nodes = file.nodes.map(({ name, op, inputs, outputs, inside }, i): FileNode => {
    const names = new Set([...inputs, ...inside]);
    for (const input of names) {
      const from = makers.get(input);
      if (from !== undefined) edges.push(from, i);
    }
    const constant = ![...names].some((each) => varying.has(each));
    for (const output of outputs) {
      makers.set(output, i);
      if (!constant) varying.add(output);
    }
    return { op, constant, name: name.slice(0, MOST_LETTERS), scopes: scopesOf(name), parameters: [...new Set(inputs)].reduce((sum, input) => sum + (sizes.get(input) ?? 0), 0) };
  });
  if (nodes.length > MANY && nodes.every(({ scopes }) => scopes.length === 0)) {
    const together = Math.max(TOGETHER, Math.ceil(nodes.length / MOST_TOGETHER));
    nodes.forEach((node, i) => {
      const first = i - (i % together);
      node.scopes = [`nodes ${first + 1} to ${Math.min(first + together, nodes.length)}`];
    });
  }
  return { nodes, edges: Uint32Array.from(edges) };
}
