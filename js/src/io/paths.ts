// The names of a tree's leaves in files: the keys and numbers that lead to them, joined by dots.

import { shown } from '../check.js';
import { SinterError } from '../errors.js';
import type { TreeShape } from '../pytree.js';

/** Tensors and static values of a tree in its order, each with its path. */
export function leafPaths(node: TreeShape, path = ''): { path: string; leaf: TreeShape }[] {
  if (!('items' in node)) return [{ path, leaf: node }];
  return node.items.flatMap((item, i) => {
    const key = 'keys' in node ? String(node.keys[i]) : String(i);
    return leafPaths(item, path === '' ? key : `${path}.${key}`);
  });
}

/** The names of a tree's tensors; throws if two are equal. */
export function tensorPaths(op: string, shape: TreeShape): string[] {
  const names = leafPaths(shape).flatMap(({ path, leaf }) => (leaf.kind === 'tensor' ? [path] : []));
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw new SinterError('argument', op, `two tensors of the tree are called ${shown(name)}`);
    seen.add(name);
  }
  return names;
}
