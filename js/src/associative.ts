// associativeScan: all prefixes under an associative function, in a logarithmic number of steps (Blelloch 1990, Prefix sums
// and their applications). Neighbours are combined in pairs; the scan of the pairs, by recursion, is every second result,
// and one more combination gives the others. All that is recorded is plain ops on slices, without a loop.

import { resolveAxis } from './axes.js';
import { checkFunction } from './check.js';
import { SinterError, shapesError } from './errors.js';
import { concat, flip, reshape, stack } from './functions.gen.js';
import { part } from './indexing.js';
import { readOptions, type OptionSchema } from './options.js';
import { rebuild, tensorNames } from './pytree.js';
import { flattenWithNumbers, sameTree, sameTypes, withDTypes, type FlatWithNumbers, type Returned, type SlicesOf } from './regions.js';
import { refusePromise, tidyTraced } from './scope.js';
import type { Tensor } from './tensor.js';

export interface AssociativeScanOptions {
  /** The axis to scan along. Default 0. */
  axis?: number;
  /** Scans from the last element to the first. Default false. */
  reverse?: boolean;
}

const OPTIONS: OptionSchema<AssociativeScanOptions> = { axis: 'axis', reverse: 'boolean' };

/** Interleaves slices along axis: a[0], b[0], a[1], b[1] ... a has as many as b, or one more. */
function interleave(a: Tensor, b: Tensor, axis: number): Tensor {
  const n = b.shape[axis]!;
  const pairs = stack([part(a, axis, 0, n), b], { axis: axis + 1 });
  const even = reshape(pairs, b.shape.map((dim, i) => (i === axis ? 2 * n : dim)));
  return a.shape[axis] === n ? even : concat([even, part(a, axis, n, 1)], { axis });
}

function sizeAlong(op: string, xs: FlatWithNumbers, axis: number): number {
  const names = tensorNames(xs.shape, (path) => `xs${path}`);
  const sizes = xs.tensors.map((t) => t.shape[resolveAxis(op, axis, t.shape)]!);
  const k = sizes.findIndex((n) => n !== sizes[0]);
  if (k > 0) throw shapesError(op, `sizes along axis ${axis} differ`, [0, k].map((i) => [names[i]!, xs.tensors[i]!.shape]));
  if (sizes[0] === undefined) throw new SinterError('argument', op, 'there is no tensor in xs');
  return sizes[0];
}

/**
 * Returns x0, f(x0, x1), f(f(x0, x1), x2) ... along an axis, in the structure and the shapes of xs. f must be associative;
 * it is called on many elements at once: f(a, b) gets two trees like xs, both with the same number of elements along the
 * axis, and returns such a tree.
 */
export function associativeScan<X>(
  f: (a: SlicesOf<X>, b: SlicesOf<X>) => Returned<SlicesOf<X>>,
  xs: X,
  options?: AssociativeScanOptions,
): SlicesOf<X> {
  const op = 'associativeScan';
  checkFunction(op, f, 'associativeScan((a, b) => a.add(b), xs)');
  const { axis = 0, reverse = false } = readOptions(op, options, OPTIONS);
  return tidyTraced(() => {
    const given = flattenWithNumbers(op, xs, true);
    sizeAlong(op, given, axis);
    const axes = given.tensors.map((t) => resolveAxis(op, axis, t.shape));
    const size = ([t]: readonly Tensor[]): number => t!.shape[axes[0]!]!;
    const parts = (list: readonly Tensor[], begin: number, count: number, stride?: number): Tensor[] =>
      list.map((t, i) => part(t, axes[i]!, begin, count, stride));
    const inOrder = (list: readonly Tensor[]): Tensor[] => (reverse ? list.map((t, i) => flip(t, { axis: axes[i]! })) : [...list]);
    const combine = (a: readonly Tensor[], b: readonly Tensor[]): Tensor[] => {
      const tree = (list: readonly Tensor[]): SlicesOf<X> => rebuild(given.shape, list) as SlicesOf<X>;
      const result = f(tree(a), tree(b));
      refusePromise(op, result, 'f must be synchronous');
      const made = flattenWithNumbers(op, result);
      sameTree(op, 'xs', given.shape, 'the function returned', made.shape);
      const wanted = a.map((t) => t.meta);
      const tensors = withDTypes(made, wanted);
      sameTypes(op, 'xs', given.shape, wanted, 'the function made it', tensors);
      return tensors;
    };
    const prefixes = (list: readonly Tensor[]): readonly Tensor[] => {
      const n = size(list);
      if (n < 2) return list;
      const half = n >> 1;
      const odd = prefixes(combine(parts(list, 0, half, 2), parts(list, 1, half, 2)));
      const rest = parts(list, 2, (n - 1) >> 1, 2);
      const before = n % 2 ? odd : parts(odd, 0, size(odd) - 1);
      const first = parts(list, 0, 1);
      const even = n === 2 ? first : combine(before, rest).map((t, i) => concat([first[i]!, t], { axis: axes[i]! }));
      return even.map((t, i) => interleave(t, odd[i]!, axes[i]!));
    };
    return rebuild(given.shape, inOrder(prefixes(inOrder(given.tensors)))) as SlicesOf<X>;
  });
}
