// Pytrees: tensors in nested arrays and plain objects. Everything that is neither is a leaf: a tensor,
// or a static value that is carried along as it is.
//
// flatten lists the tensors in a fixed order (keys of objects sorted) and remembers the rest as a
// TreeShape, from which rebuild makes an equal tree around other tensors.

import { SinterError } from './errors.js';
import { Tensor } from './tensor.js';

type Node =
  | { kind: 'tensor' }
  | { kind: 'static'; value: unknown }
  | { kind: 'array'; items: Node[] }
  | { kind: 'object'; keys: string[]; items: Node[] };

export interface Flat {
  tensors: Tensor[];
  shape: Node;
}

export type TreeShape = Node;

/** Deeper than this is a cycle. */
const MAX_DEPTH = 200;

const isPlainObject = (value: unknown): value is Record<string, unknown> => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

function visit(value: unknown, tensors: Tensor[], depth: number): Node {
  if (value instanceof Tensor) {
    tensors.push(value);
    return { kind: 'tensor' };
  }
  if (depth > MAX_DEPTH) throw new SinterError('argument', 'tree: nested too deeply, or in a cycle');
  if (Array.isArray(value)) {
    return { kind: 'array', items: value.map((item: unknown) => visit(item, tensors, depth + 1)) };
  }
  if (isPlainObject(value)) {
    const keys = Object.keys(value).sort();
    return { kind: 'object', keys, items: keys.map((key) => visit(value[key], tensors, depth + 1)) };
  }
  return { kind: 'static', value };
}

export function flatten(tree: unknown): Flat {
  const tensors: Tensor[] = [];
  const shape = visit(tree, tensors, 0);
  return { tensors, shape };
}

/** The tree of a shape around other leaves, taken in order. */
export function rebuild<L>(shape: TreeShape, leaves: readonly L[]): unknown {
  if (shape.kind === 'tensor') return leaves[0];
  let next = 0;
  const make = (node: Node): unknown => {
    switch (node.kind) {
      case 'tensor':
        return leaves[next++];
      case 'static':
        return node.value;
      case 'array':
        return node.items.map(make);
      case 'object':
        return Object.fromEntries(node.keys.map((key, i) => [key, make(node.items[i]!)]));
    }
  };
  return make(shape);
}

/** The tensors of a tree. */
export const leaves = (tree: unknown): Tensor[] => flatten(tree).tensors;

/** A tree of f(leaf, same leaf of the others ...); the others must have the first one's structure. */
export function map<T>(f: (...tensors: Tensor[]) => Tensor, tree: T, ...others: unknown[]): T {
  const first = flatten(tree);
  const rest = others.map(leaves);
  for (const { length } of rest) {
    if (length !== first.tensors.length) {
      throw new SinterError(
        'argument',
        `tree.map: ${first.tensors.length} tensors in one tree, ${length} in another`,
      );
    }
  }
  const mapped = first.tensors.map((tensor, i) => f(tensor, ...rest.map((list) => list[i]!)));
  return rebuild(first.shape, mapped) as T;
}

/** Disposes every tensor of a tree. */
export function dispose(tree: unknown): void {
  for (const tensor of leaves(tree)) tensor.dispose();
}

const identities = new WeakMap<object, number>();
let lastIdentity = 0;

const identity = (value: object): number => {
  let id = identities.get(value);
  if (id === undefined) identities.set(value, (id = ++lastIdentity));
  return id;
};

function staticKey(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if ((typeof value === 'object' && value !== null) || typeof value === 'function')
    return `@${identity(value)}`;
  return Object.is(value, -0) ? '-0' : `${typeof value}:${String(value)}`;
}

/** Text that is equal for trees of equal structure and equal static values. */
export function shapeKey(node: TreeShape): string {
  switch (node.kind) {
    case 'tensor':
      return '*';
    case 'static':
      return staticKey(node.value);
    case 'array':
      return `[${node.items.map(shapeKey).join()}]`;
    case 'object':
      return `{${node.keys.map((key, i) => `${JSON.stringify(key)}:${shapeKey(node.items[i]!)}`).join()}}`;
  }
}
