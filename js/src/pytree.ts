// Pytrees: tensors in nested arrays, plain objects, Maps, Sets and instances of classes, by their own enumerable
// fields. Every other leaf is static, carried along as it is: numbers, strings, functions and other values that
// cannot change. What can change without being seen here (a Date, a typed array) is refused by name.
//
// flatten lists the tensors in a fixed order (keys of objects sorted) and remembers the rest as a TreeShape, from
// which rebuild makes an equal tree around other tensors. An instance is rebuilt with its prototype and fields, so
// that its methods work; private (#) fields cannot be copied, and a method that uses one throws. So does a function
// in a field that uses the instance it was made in (x => this.w.mul(x)) while the rebuilt one is traced.

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
  /** Those of instances with functions among their fields, which may use them past a tree rebuilt around others. */
  bound: Tensor[];
  shape: Node;
}

export type TreeShape = Node;

/** Deeper than this is no structure that somebody wrote. */
const MAX_DEPTH = 200;

/** Objects whose state lies in no field that a copy would have. */
const OPAQUE = [Date, RegExp, Promise, Error, ArrayBuffer, WeakMap, WeakSet, Number, String, Boolean];

interface Walk {
  op: string;
  tensors: Tensor[];
  bound: Tensor[];
  /** The containers around the value at hand. */
  around: object[];
  /** Makes a tensor of an array of numbers; without it such an array is refused. */
  convert: ((array: NumericArray) => Tensor) | undefined;
  /** Makes tensors of further values, or null. */
  enter: ((value: unknown) => Tensor | null) | undefined;
}

function refuse(op: string, value: object): never {
  const hint = ArrayBuffer.isView(value)
    ? 'sn.tensor(array) makes a tensor of it'
    : 'tensors, numbers and strings may be in arrays, plain objects, Maps, Sets and instances of classes';
  throw new SinterError('argument', op, `${shown(value)} cannot be part of an argument or a result`, { hint });
}

/** The nodes of a container's entries. */
function visitAll(values: readonly unknown[], container: object, walk: Walk): Node[] {
  const { around, op } = walk;
  if (around.length === MAX_DEPTH || around.includes(container))
    throw new SinterError('argument', op, 'a tree is nested too deeply, or in a cycle');
  around.push(container);
  const items: Node[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    // Before all of a length without elements is walked.
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
  const tensor = value instanceof Tensor ? value : walk.enter?.(value);
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

/** The tensors of a tree and its shape. convert: what becomes of typed arrays, which are refused otherwise; enter: a
 *  tensor for another value, or null where it is none. */
export function flatten(
  tree: unknown,
  op = 'tree',
  convert?: (array: NumericArray) => Tensor,
  enter?: (value: unknown) => Tensor | null,
): Flat {
  const walk: Walk = { op, tensors: [], bound: [], around: [], convert, enter };
  const shape = visit(tree, walk);
  return { tensors: walk.tensors, bound: walk.bound, shape };
}

/** Whether these values have the shapes of the nodes, one by one; their tensors go into `found`. */
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

/** The tensors of a tree as flatten lists them if it has this shape, static values included; else null. It makes nothing of
 *  the tree, and is for trees that come again and again. */
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

/** The tree of a shape around other leaves, taken in order. */
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

/** The tensors of a tree. */
export const leaves = (tree: unknown): Tensor[] => flatten(tree, 'tree.leaves').tensors;

/**
 * A tree of f(leaf, same leaf of the others ...); the others must have the first one's structure. f may return
 * anything: `sn.tree.map((t) => t.toArray(), params)` is what can be saved as JSON.
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

/** Where two trees of other structure part. */
function differenceOf(a: TreeShape, b: TreeShape): string {
  const kinds = (shape: TreeShape): Map<string, string> =>
    new Map(leavesWithPaths(shape, 'tree').map(({ path, isTensor, empty }) => [path, isTensor ? 'a tensor' : (empty ?? 'no tensor')]));
  const [left, right] = [kinds(a), kinds(b)];
  const path = [...left.keys(), ...right.keys()].find((each) => left.get(each) !== right.get(each));
  if (path === undefined) return 'they have other containers';
  return `${path} is ${left.get(path) ?? 'nothing'} in one, ${right.get(path) ?? 'nothing'} in another`;
}

/** The type of a tree with something else in place of its tensors. */
export type MapOf<T, R> = R extends Tensor ? T : T extends Tensor ? R : T extends object ? { [K in keyof T]: MapOf<T[K], R> } : T;

/** Every tensor that a value leads to, once; also through what flatten refuses. */
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
/** Symbols can be no keys of WeakMaps everywhere. */
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

/** What opens the text of a container, so that no two kinds are taken for each other. */
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

/** Number of tensors. */
export function tensorCount(node: TreeShape): number {
  if (node.kind === 'tensor') return 1;
  if (node.kind === 'static') return 0;
  return node.items.reduce((sum, item) => sum + tensorCount(item), 0);
}

/** Text that is equal for trees of equal structure and equal static values. */
export const shapeKey = (node: TreeShape): string => keyOf(node, staticKey);

/** As shapeKey, whatever the static values. */
const structureKey = (node: TreeShape): string => keyOf(node, () => '.');

export interface Leaf {
  /** Where it is, from the tree's root: '.params[0].weight'. */
  path: string;
  /** A static value; undefined for a tensor, which is known by its place in the order. */
  value?: unknown;
  isTensor: boolean;
  /** What the container is called that stands for itself, since nothing is in it. */
  empty?: string;
}

/** All leaves of a tree with their places, for messages. Empty containers count as one. */
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

/** What the tensors of a tree are called: their places, or by them. */
export const tensorNames = (shape: TreeShape, nameOf: (path: string) => string = (path) => path): string[] =>
  leavesWithPaths(shape).flatMap(({ path, isTensor }) => (isTensor ? [nameOf(path)] : []));

/** Names of the tensors of a tree that programs use: the keys that lead to each, '0.weight'. */
export function tensorPaths(node: TreeShape, path = ''): string[] {
  if (node.kind === 'tensor') return [path];
  if (node.kind === 'static') return [];
  return node.items.flatMap((item, i) => {
    const key = String('keys' in node ? node.keys[i] : i);
    return tensorPaths(item, path === '' ? key : `${path}.${key}`);
  });
}

/** Of a tree of arguments: 'argument 0.w' for '[0].w'. */
export const argumentName = (path: string): string => path.replace(/^\[(\d+)\]/, 'argument $1');

/** Of what a function returned. */
export const resultName = (path: string): string => `result${path}`;
