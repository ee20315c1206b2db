// Elements at indices of several axes at once.

import { asTensor, type TensorLike } from './apply.js';
import { sizeOf } from './axes.js';
import { DTypeError, ShapeError, shapeText } from './errors.js';
import { asIndices, checkAllowed, knownIndices, ofAxis, scatterAlong, type ScatterMode } from './indexing.js';
import { reshape, sum, take, tensor } from './functions.gen.js';
import { add, less, maximum, minimum, mul, where } from './ops.gen.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';

const everyNth = (values: ArrayLike<number>, first: number, step: number): number[] =>
  Array.from({ length: Math.ceil((values.length - first) / step) }, (_, i) => values[first + i * step]!);

/** x with its first axes as one, and the numbers along it of what indices (..., axes) name. */
function flatten(op: string, x: TensorLike, indices: TensorLike): { t: Tensor; rows: Tensor; places: Tensor } {
  const [t, index] = [asTensor(x, op), asIndices(indices, op)];
  const axes = index.shape.at(-1) ?? NaN;
  if (!(axes <= t.ndim)) {
    throw new ShapeError(op, `indices need (..., axes), at most ${t.ndim} of them: a ${shapeText(t.shape)}, indices ${shapeText(index.shape)}`, { shapes: [t.shape, index.shape] });
  }
  if (!['int32', 'int8', 'uint8'].includes(index.dtype)) throw new DTypeError(op, `indices must be int32, not ${index.dtype}`);
  const indexed = t.shape.slice(0, axes);
  const known = knownIndices(indices, op);
  if (known) indexed.forEach((size, axis) => checkAllowed(op, 'indices', everyNth(known, axis, axes), ofAxis(size)));
  const numbers = (list: readonly number[]): Tensor => tensor(list, { dtype: 'int32', shape: [axes] });
  const sizes = numbers(indexed);
  const fromEnd = where(less(index, 0), add(index, sizes), index);
  const inside = maximum(minimum(fromEnd, sizes.sub(1)), 0);
  const steps = numbers(indexed.map((_, i) => sizeOf(indexed.slice(i + 1))));
  return {
    t,
    rows: reshape(t, [sizeOf(indexed), ...t.shape.slice(axes)]),
    places: sum(mul(inside, steps), { axis: -1 }),
  };
}

/**
 * What lies at indices (..., axes) of the first axes of x: (..., x.shape[axes:]). Indices are int32; negative ones
 * count from the end. What is outside is an error where it is given as numbers, and clamped in a tensor.
 */
export function gatherNd(x: TensorLike, indices: TensorLike): Tensor {
  return tidy(() => {
    const { rows, places } = flatten('gatherNd', x, indices);
    return take(rows, places);
  });
}

/** x with updates, which broadcast to the shape that gatherNd(x, indices) has, put there or combined with what is
 *  there, as scatter does. */
export function scatterNd(x: TensorLike, indices: TensorLike, updates: TensorLike, { mode }: { mode: ScatterMode }): Tensor {
  return tidy(() => {
    const { t, rows, places } = flatten('scatterNd', x, indices);
    return reshape(scatterAlong('scatterNd', rows, places, updates, 0, mode), t.shape);
  });
}
