// Builds a graph of ONNX: generates names, and collects nodes and constants. Constants belong to the main graph.

import { UnsupportedError } from '../index.js';
import { Message } from './encode.js';

/** An attribute: a whole number, a float, a text, whole numbers, or a graph. */
export type Given = number | { float: number } | string | readonly number[] | Message;

/** Numbers of element types, by dtype of the package, or int64. */
const TYPES: Readonly<Record<string, number>> = { float32: 1, uint8: 2, int8: 3, int32: 6, int64: 7, bool: 9, float16: 10, float64: 11, bfloat16: 16 };

export function typeNumber(dtype: string): number {
  const type = TYPES[dtype];
  if (type !== undefined) return type;
  throw new UnsupportedError('onnx.export', `ONNX has no ${dtype}`);
}

const attribute = (name: string, given: Given): Message => {
  const message = new Message().text(1, name);
  if (typeof given === 'number') return message.int(3, given).int(20, 2);
  if (typeof given === 'string') return message.text(4, given).int(20, 3);
  if (given instanceof Message) return message.message(6, given).int(20, 5);
  if ('float' in given) return message.float(2, given.float).int(20, 1);
  for (const each of given) message.int(8, each);
  return message.int(20, 7);
};

export function tensorMessage(name: string, dtype: string, shape: readonly number[], bytes: Uint8Array): Message {
  const message = new Message();
  for (const size of shape) message.int(1, size);
  return message.int(2, typeNumber(dtype)).text(8, name).bytes(9, bytes);
}

/** type: the number of the element type. */
export function valueMessage(name: string, type: number, shape: readonly (number | string)[]): Message {
  const sizes = new Message();
  for (const size of shape) sizes.message(1, typeof size === 'number' ? new Message().int(1, size) : new Message().text(2, size));
  return new Message().text(1, name).message(2, new Message().message(1, new Message().int(1, type).message(2, sizes)));
}

/** The names, nodes and constants of all graphs of a file. Constants are shared; each graph within a node has its own nodes. */
export class Scribe {
  readonly constants = new Message();
  #nodes = new Message();
  #next = 0;
  readonly #known = new Map<string, string>();

  name(): string {
    return `v${this.#next++}`;
  }

  /** Adds a node; returns the names of its outputs. */
  nodes(type: string, inputs: readonly string[], count: number, attributes: Readonly<Record<string, Given>> = {}): string[] {
    const outputs = Array.from({ length: count }, () => this.name());
    const node = new Message();
    for (const input of inputs) node.text(1, input);
    for (const output of outputs) node.text(2, output);
    node.text(4, type);
    for (const [name, given] of Object.entries(attributes)) node.message(5, attribute(name, given));
    this.#nodes.message(1, node);
    return outputs;
  }

  node(type: string, inputs: readonly string[], attributes: Readonly<Record<string, Given>> = {}): string {
    return this.nodes(type, inputs, 1, attributes)[0]!;
  }

  /** Gives a value a fixed name, by an Identity node. */
  named(name: string, from: string): void {
    this.#nodes.message(1, new Message().text(1, from).text(2, name).text(4, 'Identity'));
  }

  constant(dtype: string, shape: readonly number[], bytes: Uint8Array): string {
    const name = this.name();
    this.constants.message(5, tensorMessage(name, dtype, shape, bytes));
    return name;
  }

  /** A constant of int64, as shapes and axes are; equal ones are shared. */
  ints(values: readonly number[], shape: readonly number[] = [values.length]): string {
    const key = `${shape.join()}:${values.join()}`;
    let name = this.#known.get(key);
    if (name === undefined) this.#known.set(key, (name = this.constant('int64', shape, new Uint8Array(BigInt64Array.from(values, BigInt).buffer))));
    return name;
  }

  /** A constant scalar of a dtype; equal ones are shared. */
  scalar(dtype: string, value: number): string {
    const key = `${dtype} ${Object.is(value, -0) ? '-0' : value}`;
    let name = this.#known.get(key);
    if (name !== undefined) return name;
    if (dtype === 'float16' || dtype === 'bfloat16') name = this.node('Cast', [this.scalar('float32', value)], { to: typeNumber(dtype) });
    else {
      const list = dtype === 'float64' ? Float64Array : dtype === 'float32' ? Float32Array : dtype === 'int32' ? Int32Array : Uint8Array;
      name = this.constant(dtype, [], new Uint8Array(list.of(value).buffer));
      this.#known.set(key, name);
    }
    return name;
  }

  /** Runs f, and returns its result and the nodes that it added, for a graph of their own. */
  inside<T>(f: () => T): { nodes: Message; result: T } {
    const outer = this.#nodes;
    this.#nodes = new Message();
    try {
      const result = f();
      return { nodes: this.#nodes, result };
    } finally {
      this.#nodes = outer;
    }
  }
}
