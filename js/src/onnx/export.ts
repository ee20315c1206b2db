// Writes a traced function as the bytes of an ONNX file: its graph op by op, loops and conditions as subgraphs. The shapes are
// those of the arguments. Tensors that the function captured, e.g. weights, are stored in the file.

import { internals, SinterError } from '../index.js';
import type { Graph, GraphNode } from '../source/graph.js';
import { Message } from './encode.js';
import { ELEMENTWISE, OTHERS, refuse } from './exportops.js';
import { Scribe, typeNumber, valueMessage } from './scribe.js';

const { shown, tracedGraph } = internals;

/** The opset of the files: the first one with Gelu. */
const OPSET = 20;
const IR_VERSION = 9;

/** The name of a node's value. Writes the node first if it is not written yet. */
type NameOf = (id: number) => string;

/** Names of the results of control flow, by the id of its node. */
type Results = Map<number, string[]>;

class Exporter {
  readonly #scribe: Scribe;

  constructor(scribe: Scribe) {
    this.#scribe = scribe;
  }

  /** Writes the nodes of a graph whose arguments have the given names; returns the names of its results. A broadcast is
   *  written only if some op reads its result: elementwise ops read its operand instead. */
  write(graph: Graph, given: readonly string[]): string[] {
    const names: string[] = [];
    const results: Results = new Map();
    const nameOf: NameOf = (id) => (names[id] ??= this.#node(graph, graph.nodes[id]!, id, nameOf, given, results));
    graph.nodes.forEach(({ op }, id) => op === 'broadcast' || nameOf(id));
    return graph.outputs.map(nameOf);
  }

  #node(graph: Graph, node: GraphNode, id: number, nameOf: NameOf, given: readonly string[], results: Results): string {
    const scribe = this.#scribe;
    const at = (name: string): number => Number(node.attrs[name]);
    if (node.op === 'input') return given[at('number')]!;
    if (node.op === 'result') return results.get(node.inputs[0]!)![at('number')]!;
    const control = CONTROL[node.op];
    if (control) {
      results.set(id, this.#control(control, graph, node, nameOf));
      return '';
    }
    if (node.op === 'constant') return scribe.scalar(node.dtype, Number(node.attrs['value']));
    const other = Object.hasOwn(OTHERS, node.op) ? OTHERS[node.op]! : null;
    const from = node.inputs.map((each) => graph.nodes[each]!);
    if (other) return other({ scribe, node, inputs: node.inputs.map(nameOf), from });
    const write = Object.hasOwn(ELEMENTWISE, node.op) ? ELEMENTWISE[node.op]! : null;
    if (!write) throw refuse(node.op);
    return write({ scribe, node, inputs: this.#operands(graph, node, nameOf), from });
  }

  /** The names of the operands of an elementwise op. ONNX broadcasts implicitly, so broadcasts are skipped as long as the
   *  operands together still yield the shape of the result. */
  #operands(graph: Graph, node: GraphNode, nameOf: NameOf): string[] {
    const sources = node.inputs.map((id) => (graph.nodes[id]!.op === 'broadcast' ? graph.nodes[id]!.inputs[0]! : id));
    const shapes = sources.map((id) => graph.nodes[id]!.shape);
    const rank = node.shape.length;
    const fits = node.shape.every((size, i) => size === 1 || shapes.some((shape) => shape[i - rank + shape.length] === size));
    return (fits ? sources : node.inputs).map(nameOf);
  }

  #control(write: Control, graph: Graph, node: GraphNode, nameOf: NameOf): string[] {
    const regions = (name: string): Graph => graph.regions[Number(node.attrs[name])]!;
    const inputs = node.inputs.map(nameOf);
    return write({ exporter: this, scribe: this.#scribe, node, inputs, from: node.inputs.map((id) => graph.nodes[id]!), region: regions });
  }

  /** A subgraph of a node. Its inputs have new names; it reads all other values from the enclosing graph. */
  graph(region: Graph, own: readonly (readonly [string, GraphNode])[], given: readonly string[], end: (outputs: string[]) => readonly (readonly [string, GraphNode])[]): Message {
    const { nodes, result } = this.#scribe.inside(() => {
      const outputs = end(this.write(region, given));
      // Identity, because an output may be a value of the enclosing graph, or the same value twice.
      return outputs.map(([name, node]): readonly [string, GraphNode] => [this.#scribe.node('Identity', [name]), node]);
    });
    const made = new Message().append(nodes).text(2, 'graph');
    for (const [name, { dtype, shape }] of own) made.message(11, valueMessage(name, typeNumber(dtype), shape));
    for (const [name, { dtype, shape }] of result) made.message(12, valueMessage(name, typeNumber(dtype), shape));
    return made;
  }
}

interface ControlSite {
  exporter: Exporter;
  scribe: Scribe;
  node: GraphNode;
  inputs: string[];
  from: GraphNode[];
  region: (name: string) => Graph;
}

type Control = (site: ControlSite) => string[];

const scalarOf = (dtype: string): GraphNode => ({ op: '', dtype, shape: [], attrs: {}, inputs: [] });

const withNodes = (region: Graph, names: readonly string[]): [string, GraphNode][] => names.map((name, i) => [name, region.nodes[region.outputs[i]!]!]);

const scan: Control = ({ exporter, scribe, node, inputs, from, region }) => {
  const body = region('body');
  const [carries, stacks, length] = ['carries', 'stacks', 'length'].map((name) => Number(node.attrs[name])) as [number, number, number];
  const own = inputs.slice(0, carries + stacks).map((_, i): [string, GraphNode] => {
    const { dtype, shape } = from[i]!;
    return [scribe.name(), { ...from[i]!, dtype, shape: i < carries ? shape : shape.slice(1) }];
  });
  // Scan runs one round per slice of its inputs. If there are none, it gets a list of counters that the body does not read.
  const counted: [string, GraphNode][] = stacks === 0 ? [[scribe.name(), scalarOf('int64')]] : [];
  const counts = stacks === 0 ? [scribe.ints(Array.from({ length }, (_, i) => i))] : [];
  const graph = exporter.graph(body, [...own, ...counted], [...own.map(([name]) => name), ...inputs.slice(carries + stacks)], (outputs) => withNodes(body, outputs));
  const [read, made] = [stacks + counts.length, body.outputs.length - carries];
  const isReverse = Number(node.attrs['reverse']) === 1;
  const ways = isReverse ? { scan_input_directions: new Array<number>(read).fill(1), scan_output_directions: new Array<number>(made).fill(1) } : {};
  return scribe.nodes('Scan', [...inputs.slice(0, carries + stacks), ...counts], body.outputs.length, { body: graph, num_scan_inputs: read, ...ways });
};

const cond: Control = ({ exporter, scribe, inputs, region }) => {
  const branches = ['on_true', 'on_false'].map((name) => {
    const branch = region(name);
    return exporter.graph(branch, [], inputs.slice(1), (outputs) => withNodes(branch, outputs));
  }) as [Message, Message];
  return scribe.nodes('If', [inputs[0]!], region('on_true').outputs.length, { then_branch: branches[0], else_branch: branches[1] });
};

const whileLoop: Control = ({ exporter, scribe, node, inputs, from, region }) => {
  const carries = Number(node.attrs['carries']);
  const [body, test] = [region('body'), region('test')];
  const rest = inputs.slice(carries);
  const begins = exporter.write(test, [...inputs.slice(0, carries), ...rest])[0]!;
  const own = from.slice(0, carries).map((each): [string, GraphNode] => [scribe.name(), each]);
  const all: [string, GraphNode][] = [[scribe.name(), scalarOf('int64')], [scribe.name(), scalarOf('bool')], ...own];
  const graph = exporter.graph(body, all, [...own.map(([name]) => name), ...rest], (outputs) => [
    [exporter.write(test, [...outputs, ...rest])[0]!, scalarOf('bool')],
    ...withNodes(body, outputs),
  ]);
  return scribe.nodes('Loop', ['', begins, ...inputs.slice(0, carries)], carries, { body: graph });
};

/** The body of a function with a rule of its own, or of a checkpoint, inlined without the rule. */
const inlined: Control = ({ exporter, inputs, region }) => exporter.write(region('body'), inputs);

const CONTROL: Readonly<Record<string, Control>> = { scan, cond, while_loop: whileLoop, checkpoint: inlined, custom: inlined };

/** The name of an input or output: its path as a word, made unique, and unlike the names v0, v1 ... of other values. */
function nameOf(path: string, otherwise: string, taken: Set<string>): string {
  const word = path.replace(/\]/g, '').replace(/[.[]+/g, '.').replace(/^\./, '') || otherwise;
  let name = word;
  for (let i = 1; taken.has(name) || /^v\d+$/.test(name); i++) name = `${word}_${i}`;
  taken.add(name);
  return name;
}

/**
 * What f computes for arguments of these shapes, as the bytes of an ONNX file. Its inputs are named after the parameters of f,
 * and its outputs after their place in the result. Tensors that f captured, e.g. weights, are part of the file.
 */
export function exportFunction<A extends readonly unknown[]>(f: (...args: A) => unknown, args: A): Uint8Array<ArrayBuffer> {
  const op = 'onnx.export';
  if (typeof f !== 'function') throw new SinterError('argument', op, `expected a function, not ${shown(f)}`, { hint: 'onnx.export((x) => y, [x])' });
  if (!Array.isArray(args)) throw new SinterError('argument', op, `args is ${shown(args)}, expected an array of arguments`);
  const traced = tracedGraph(op, f as (...args: never) => unknown, args);
  const graph = traced.graph as Graph;
  const scribe = new Scribe();
  const taken = new Set<string>();
  const inputs = traced.inputs.map(({ name, meta }) => ({ name: nameOf(name, 'x', taken), meta }));
  const given = [...inputs.map(({ name }) => name), ...traced.captured.map(({ dtype, shape, bytes }) => scribe.constant(dtype, shape, bytes))];
  const ends = traced.results.map((path) => nameOf(path, 'y', taken));
  const { nodes } = scribe.inside(() => new Exporter(scribe).write(graph, given).forEach((from, i) => scribe.named(ends[i]!, from)));
  const main = new Message().append(nodes).text(2, 'sinter').append(scribe.constants);
  for (const { name, meta } of inputs) main.message(11, valueMessage(name, typeNumber(meta.dtype), meta.shape));
  ends.forEach((name, i) => {
    const { dtype, shape } = graph.nodes[graph.outputs[i]!]!;
    main.message(12, valueMessage(name, typeNumber(dtype), shape));
  });
  const opset = new Message().text(1, '').int(2, OPSET);
  return new Message().int(1, IR_VERSION).text(2, 'sinter').message(7, main).message(8, opset).join(op);
}
