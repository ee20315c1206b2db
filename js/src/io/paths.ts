// The names of a tree's tensors in a file.

import { shown } from '../check.js';
import { SinterError } from '../errors.js';
import { tensorPaths, type TreeShape } from '../pytree.js';

/** The paths of a tree's tensors; throws if two are equal. */
export function uniqueTensorPaths(op: string, shape: TreeShape): string[] {
  const names = tensorPaths(shape);
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw new SinterError('argument', op, `two tensors of the tree are called ${shown(name)}`);
    seen.add(name);
  }
  return names;
}
