// Pytrees: tensors in nested arrays, plain objects, Maps, Sets and instances of classes, in their own enumerable fields.
// Every other leaf is static and carried along as it is: numbers, strings, functions and other values that cannot change.
// Values that can change unseen (a Date, a typed array) are refused by name.
//
// flatten lists the tensors in a fixed order (keys of objects sorted) and keeps the rest as a TreeShape, from which rebuild
// makes an equal tree around other tensors. An instance is rebuilt with its prototype and fields, so that its methods work.
// Private (#) fields cannot be copied: a method that uses one throws. While the rebuilt instance is traced, a function in a
// field throws, too, if it uses the instance that it was made in (x => this.w.mul(x)).

import { className, isNumericArray, isPlainObject, shown } from './check.js';
import { SinterError } from './errors.js';
import { Tensor } from './tensor.js';
import type { NumericArray } from './upload.js';

type Node =
  | { kind: 'tensor' }
  | { kind: 'static'; value: unknown }
  | { kind: 'array'; items: Node[] }
  | { kind: 'object'; keys: string[]; items: Node[] }
  | { kind: 'instance'; prototype: object; keys: string[]; items: Node[] }
  | { kind: 'map'; keys: unknown[]; items: Node[] }
  | { kind: 'set'; items: Node[] };

export interface Flat {
  tensors: Tensor[];
  /** The tensors of instances with functions among their fields. Such a function may use them although the tree was
   *  rebuilt around others. */
  bound: Tensor[];
  shape: Node;
}

export type TreeShape = Node;

/** Most containers within each other; nobody writes deeper structures. */
const MAX_DEPTH = 200;

/** Objects whose state is not in their fields, so that a copy would not have it. */
const OPAQUE = [Date, RegExp, Promise, Error, ArrayBuffer, WeakMap, WeakSet, Number, String, Boolean];

interface Walk {
  op: string;
  tensors: Tensor[];
  bound: Tensor[];
  /** The containers around the current value. */
  around: object[];
  /** Makes a tensor of an array of numbers; without it such an array is refused. */
  convert: ((array: NumericArray) => Tensor) | undefined;
  /** Makes a tensor of a further kind of value; null for a value that is not of this kind. */
  toTensor: ((value: unknown) => Tensor | null) | undefined;
}

function refuse(op: string, value: object): never {
  const hint = ArrayBuffer.isView(value)
    ? 'sn.tensor(array) makes a tensor of it'
    : 'tensors, numbers and strings may be in arrays, plain objects, Maps, Sets and instances of classes';
  throw new SinterError('argument', op, `${shown(value)} cannot be part of an argument or a result`, { hint });
}

/** Visits the entries of a container and returns their nodes. */
function visitAll(values: readonly unknown[], container: object, walk: Walk): Node[] {
  const { around, op } = walk;
  if (around.length === MAX_DEPTH || around.includes(container))
    throw new SinterError('argument', op, 'a tree is nested too deeply, or in a cycle');
  around.push(container);
  const items: Node[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    // Checked at each index, so that a length of billions without elements is not walked.
    if (value === undefined && !(i in values))
      throw new SinterError('argument', op, `an array has no element ${i} of ${values.length}`);
    items.push(visit(value, walk));
  }
  around.pop();
  return items;
}

function visitMap(map: ReadonlyMap<unknown, unknown>, walk: Walk): Node {
  const keys = [...map.keys()];
  const object = keys.find((key) => typeof key === 'object' && key !== null);
  if (object)
    throw new SinterError('argument', walk.op, `${shown(object)} is a key of a Map, expected a number or a string`);
  return { kind: 'map', keys, items: visitAll([...map.values()], map, walk) };
}

function visitInstance(value: object, walk: Walk): Node {
  if (isNumericArray(value) && walk.convert) {
    walk.tensors.push(walk.convert(value));
    return { kind: 'tensor' };
  }
  if (value instanceof Map) return visitMap(value, walk);
  if (value instanceof Set) return { kind: 'set', items: visitAll([...value], value, walk) };
  if (ArrayBuffer.isView(value) || OPAQUE.some((type) => value instanceof type)) refuse(walk.op, value);
  const { keys, fields } = fieldsOf(value);
  const first = walk.tensors.length;
  const items = visitAll(fields, value, walk);
  if (fields.some((field) => typeof field === 'function')) walk.bound.push(...walk.tensors.slice(first));
  return { kind: 'instance', prototype: Object.getPrototypeOf(value) as object, keys, items };
}

function fieldsOf(value: object): { keys: string[]; fields: unknown[] } {
  const keys = Object.keys(value).sort();
  return { keys, fields: keys.map((key) => (value as Record<string, unknown>)[key]) };
}

function visit(value: unknown, walk: Walk): Node {
  const tensor = value instanceof Tensor ? value : walk.toTensor?.(value);
  if (tensor) {
    walk.tensors.push(tensor);
    return { kind: 'tensor' };
  }
  if (typeof value !== 'object' || value === null) return { kind: 'static', value };
  if (Array.isArray(value)) return { kind: 'array', items: visitAll(value, value, walk) };
  if (!isPlainObject(value)) return visitInstance(value, walk);
  const { keys, fields } = fieldsOf(value);
  return { kind: 'object', keys, items: visitAll(fields, value, walk) };
}

/** The tensors of a tree, and its shape. convert: makes a tensor of a typed array, which is refused otherwise; toTensor:
 *  makes a tensor of another value, or returns null. */
export function flatten(
  tree: unknown,
  op = 'tree',
  convert?: (array: NumericArray) => Tensor,
  toTensor?: (value: unknown) => Tensor | null,
): Flat {
  const walk: Walk = { op, tensors: [], bound: [], around: [], convert, toTensor };
  const shape = visit(tree, walk);
  return { tensors: walk.tensors, bound: walk.bound, shape };
}

/** Whether the values have the shapes of the nodes, one by one; appends their tensors to `found`. */
function allHave(nodes: readonly Node[], values: readonly unknown[], found: Tensor[]): boolean {
  if (values.length !== nodes.length) return false;
  for (let i = 0; i < nodes.length; i++) if (!has(nodes[i]!, values[i], found)) return false;
  return true;
}

function fieldsHave({ keys, items }: Extract<Node, { kind: 'object' | 'instance' }>, value: object, found: Tensor[]): boolean {
  if (Object.keys(value).length !== keys.length) return false;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    if (!Object.hasOwn(value, key) || !has(items[i]!, (value as Record<string, unknown>)[key], found)) return false;
  }
  return true;
}

function mapHas({ keys, items }: Extract<Node, { kind: 'map' }>, map: ReadonlyMap<unknown, unknown>, found: Tensor[]): boolean {
  const own = [...map.keys()];
  return own.every((key, i) => Object.is(key, keys[i])) && allHave(items, [...map.values()], found);
}

function has(node: Node, value: unknown, found: Tensor[]): boolean {
  if (node.kind === 'tensor') return value instanceof Tensor && found.push(value) > 0;
  if (node.kind === 'static') return Object.is(value, node.value);
  if (typeof value !== 'object' || value === null) return false;
  switch (node.kind) {
    case 'array':
      return Array.isArray(value) && allHave(node.items, value, found);
    case 'object':
      return isPlainObject(value) && fieldsHave(node, value, found);
    case 'instance':
      return Object.getPrototypeOf(value) === node.prototype && fieldsHave(node, value, found);
    case 'map':
      return value instanceof Map && mapHas(node, value, found);
    case 'set':
      return value instanceof Set && allHave(node.items, [...value], found);
  }
}

/** The tensors of a tree as flatten lists them, if it has this shape and its static values; else null. It allocates no
 *  nodes, for trees that come again and again. */
export function tensorsOf(tree: unknown, shape: TreeShape): Tensor[] | null {
  const found: Tensor[] = [];
  return has(shape, tree, found) ? found : null;
}

function makeInstance(prototype: object, keys: readonly string[], values: readonly unknown[]): object {
  const made = Object.create(prototype) as object;
  // Defined, not assigned: a setter of the class would have effects.
  keys.forEach((key, i) =>
    Object.defineProperty(made, key, { value: values[i], writable: true, enumerable: true, configurable: true }),
  );
  return made;
}

/** Rebuilds the tree of a shape around other leaves, taken in order. */
export function rebuild<L>(shape: TreeShape, leaves: readonly L[]): unknown {
  if (shape.kind === 'tensor') return leaves[0];
  let next = 0;
  const make = (node: Node): unknown => {
    if (node.kind === 'tensor') return leaves[next++];
    if (node.kind === 'static') return node.value;
    const items = node.items.map(make);
    switch (node.kind) {
      case 'array':
        return items;
      case 'object':
        return Object.fromEntries(node.keys.map((key, i) => [key, items[i]]));
      case 'instance':
        return makeInstance(node.prototype, node.keys, items);
      case 'map':
        return new Map(node.keys.map((key, i) => [key, items[i]]));
      case 'set':
        return new Set(items);
    }
  };
  return make(shape);
}

/** The tensors of a tree, in the order of flatten. */
export const leaves = (tree: unknown): Tensor[] => flatten(tree, 'tree.leaves').tensors;

/**
 * A tree with f(leaf, same leaf of the others ...) in the place of each tensor; the others must have the first one's
 * structure. f may return anything: `sn.tree.map((t) => t.toArray(), params)` is what can be saved as JSON.
 */
export function map<T, R = Tensor>(f: (...tensors: Tensor[]) => R, tree: T, ...others: unknown[]): MapOf<T, R> {
  if (typeof f !== 'function') {
    throw new SinterError('argument', 'tree.map', `expected a function, not ${shown(f)}`, { hint: 'write map(f, tree)' });
  }
  const first = flatten(tree, 'tree.map');
  const structure = structureKey(first.shape);
  const rest = others.map((other) => {
    const { tensors, shape } = flatten(other, 'tree.map');
    if (tensors.length !== first.tensors.length || structureKey(shape) !== structure) {
      throw new SinterError('argument', 'tree.map', `the trees differ in structure: ${differenceOf(first.shape, shape)}`);
    }
    return tensors;
  });
  const mapped = first.tensors.map((tensor, i) => f(tensor, ...rest.map((list) => list[i]!)));
  return rebuild(first.shape, mapped) as MapOf<T, R>;
}

/** The first place where two trees of different structure differ, as text. */
function differenceOf(a: TreeShape, b: TreeShape): string {
  const kinds = (shape: TreeShape): Map<string, string> =>
    new Map(leavesWithPaths(shape, 'tree').map(({ path, isTensor, empty }) => [path, isTensor ? 'a tensor' : (empty ?? 'no tensor')]));
  const [left, right] = [kinds(a), kinds(b)];
  const path = [...left.keys(), ...right.keys()].find((each) => left.get(each) !== right.get(each));
  if (path === undefined) return 'they have other containers';
  return `${path} is ${left.get(path) ?? 'nothing'} in one, ${right.get(path) ?? 'nothing'} in another`;
}

/** The type of a tree with R in the place of its tensors. */
export type MapOf<T, R> = R extends Tensor ? T : T extends Tensor ? R : T extends object ? { [K in keyof T]: MapOf<T[K], R> } : T;

/** Every tensor that a value leads to, once, also through objects that flatten refuses. */
export function tensorsWithin(value: unknown): Tensor[] {
  if (value instanceof Tensor) return [value];
  const found = new Set<Tensor>();
  const seen = new Set<object>();
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (next instanceof Tensor) found.add(next);
    else if (typeof next === 'object' && next !== null && !ArrayBuffer.isView(next) && !seen.has(next)) {
      seen.add(next);
      const entries: Iterable<unknown> = next instanceof Map || next instanceof Set ? next.values() : Object.values(next);
      for (const each of entries) if (typeof each === 'object') open.push(each);
    }
  }
  return [...found];
}

/** Disposes every tensor of a tree. */
export function dispose(tree: unknown): void {
  for (const tensor of tensorsWithin(tree)) tensor.dispose();
}

const identities = new WeakMap<object, number>();
/** A Map, since not every engine takes symbols as keys of a WeakMap. */
const symbols = new Map<symbol, number>();
let lastIdentity = 0;

function identity(value: object | symbol): number {
  const known = (typeof value === 'symbol' ? symbols : identities) as Map<unknown, number>;
  let id = known.get(value);
  if (id === undefined) known.set(value, (id = ++lastIdentity));
  return id;
}

function staticKey(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function' || typeof value === 'symbol') return `@${identity(value)}`;
  return Object.is(value, -0) ? '-0' : `${typeof value}:${String(value)}`;
}

/** The text that opens a container's key, another one for each kind. */
function openingOf(node: Exclude<Node, { kind: 'tensor' | 'static' }>): string {
  switch (node.kind) {
    case 'array':
      return '[';
    case 'object':
      return '{';
    case 'instance':
      return `#${identity(node.prototype)}{`;
    case 'map':
      return 'M{';
    case 'set':
      return 'S{';
  }
}

function keyOf(node: TreeShape, ofStatic: (value: unknown) => string): string {
  if (node.kind === 'tensor') return '*';
  if (node.kind === 'static') return ofStatic(node.value);
  let key = openingOf(node);
  for (let i = 0; i < node.items.length; i++) {
    if ('keys' in node) key += `${staticKey(node.keys[i])}:`;
    key += `${keyOf(node.items[i]!, ofStatic)},`;
  }
  return `${key}}`;
}

/** The number of tensors in a tree. */
export function tensorCount(node: TreeShape): number {
  if (node.kind === 'tensor') return 1;
  if (node.kind === 'static') return 0;
  return node.items.reduce((sum, item) => sum + tensorCount(item), 0);
}

/** Text that is equal for trees of equal structure and equal static values. */
export const shapeKey = (node: TreeShape): string => keyOf(node, staticKey);

/** As shapeKey, but equal for all static values. */
const structureKey = (node: TreeShape): string => keyOf(node, () => '.');

export interface Leaf {
  /** Its path from the tree's root: '.params[0].weight'. */
  path: string;
  /** The static value; undefined for a tensor, which is known by its place in the order. */
  value?: unknown;
  isTensor: boolean;
  /** For an empty container, which counts as a leaf: what messages call it. */
  empty?: string;
}

/** All leaves of a tree with their paths, for messages. An empty container counts as one leaf. */
export function leavesWithPaths(node: TreeShape, path = ''): Leaf[] {
  if (node.kind === 'tensor') return [{ path, isTensor: true }];
  if (node.kind === 'static') return [{ path, value: node.value, isTensor: false }];
  const name = (i: number): string => {
    if (node.kind === 'map') return `.get(${shown(node.keys[i])})`;
    if (node.kind === 'array' || node.kind === 'set') return `[${i}]`;
    const key = node.keys[i]!;
    return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${shown(key)}]`;
  };
  const kind = node.kind === 'instance' ? className(Object.create(node.prototype) as object) : node.kind;
  if (node.items.length === 0) return [{ path, isTensor: false, empty: `an empty ${kind || 'object'}` }];
  return node.items.flatMap((item, i) => leavesWithPaths(item, `${path}${name(i)}`));
}

/** The names of a tree's tensors: their paths, or what nameOf makes of these. */
export const tensorNames = (shape: TreeShape, nameOf: (path: string) => string = (path) => path): string[] =>
  leavesWithPaths(shape).flatMap(({ path, isTensor }) => (isTensor ? [nameOf(path)] : []));

/** Tensors and static values of a tree in its order, each with its path: the keys and numbers that lead to it, such
 *  as '0.weight'. */
export function leafPaths(node: TreeShape, path = ''): { path: string; leaf: TreeShape }[] {
  if (!('items' in node)) return [{ path, leaf: node }];
  return node.items.flatMap((item, i) => {
    const key = 'keys' in node ? String(node.keys[i]) : String(i);
    return leafPaths(item, path === '' ? key : `${path}.${key}`);
  });
}

/** The paths of a tree's tensors, by which files, saved steps and optimizers name them. */
export const tensorPaths = (shape: TreeShape, path = ''): string[] =>
  leafPaths(shape, path).flatMap(({ path: name, leaf }) => (leaf.kind === 'tensor' ? [name] : []));

/** The name for a path in a list of arguments: 'argument 0.w' for '[0].w'. */
export const argumentName = (path: string): string => path.replace(/^\[(\d+)\]/, 'argument $1');

/** The name for a path in a function's result. */
export const resultName = (path: string): string => `result${path}`;
