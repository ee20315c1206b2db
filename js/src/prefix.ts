// Prefix trees: a value in the place of a container counts for everything in it. Axes of vmap and tangents of jvp are such
// trees.

import { shown } from './check.js';
import { SinterError } from './errors.js';
import { tensorCount, type TreeShape } from './pytree.js';
import { Tensor } from './tensor.js';

type Container = Exclude<TreeShape, { kind: 'tensor' | 'static' }>;

function expected(node: Container): string {
  if (node.kind === 'array') return `an array of ${node.items.length}`;
  if (node.kind === 'set') return `a Set of ${node.items.length}`;
  return `${node.kind === 'map' ? 'a Map' : 'an object'} with ${node.keys.map(String).join(', ') || 'nothing'}`;
}

/** The entries of value for the entries of a container; null if value is no such container. Entries without tensors may
 *  be missing. */
function entriesOf(node: Container, value: unknown): readonly unknown[] | null {
  const count = node.items.length;
  if (value instanceof Tensor) return null;
  const fits = (has: (key: unknown) => boolean, keys: readonly unknown[], own: readonly unknown[]): boolean =>
    keys.every((key, i) => has(key) || tensorCount(node.items[i]!) === 0) && own.every((key) => keys.includes(key));
  switch (node.kind) {
    case 'array':
      return Array.isArray(value) && value.length === count ? value : null;
    case 'set':
      return value instanceof Set && value.size === count ? [...value] : null;
    case 'map':
      return value instanceof Map && fits((key) => value.has(key), node.keys, [...value.keys()])
        ? node.keys.map((key) => value.get(key) as unknown)
        : null;
    default:
      return typeof value === 'object' && value !== null && fits((key) => Object.hasOwn(value, key as string), node.keys, Object.keys(value))
        ? node.keys.map((key) => (value as Record<string, unknown>)[key])
        : null;
  }
}

/** The value that a prefix tree gives each tensor of the tree, in their order. ends: tells values that count for all
 *  below them. */
export function broadcastPrefix(
  op: string,
  what: string,
  shape: TreeShape,
  prefix: unknown,
  ends: (value: unknown) => boolean,
): unknown[] {
  const said: unknown[] = [];
  const visit = (node: TreeShape, value: unknown, path: string): void => {
    if (node.kind === 'tensor') said.push(value);
    if (node.kind === 'tensor' || node.kind === 'static') return;
    const entries = ends(value) ? null : entriesOf(node, value);
    if (entries === null && !ends(value)) {
      throw new SinterError('argument', op, `${what}${path} is ${shown(value)}, expected ${expected(node)}`);
    }
    node.items.forEach((item, i) => {
      const key = 'keys' in node ? `.${String(node.keys[i])}` : `[${i}]`;
      visit(item, entries === null ? value : entries[i], `${path}${key}`);
    });
  };
  visit(shape, prefix, '');
  return said;
}
