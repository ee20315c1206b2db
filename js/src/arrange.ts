// Ops that arrange elements anew: compositions of the ones in shape.ts.

import { asTensor, type TensorLike } from './apply.js';
import { resolveAxis, sizeOf, type Axes } from './axes.js';
import { checkInteger, checkIntegers, fitsInt32, shown, shownList } from './check.js';
import { ShapeError, shapeText } from './errors.js';
import { broadcastTo, concat, iota, reshape, slice, zeros } from './functions.gen.js';
import { add, greaterEqual, where } from './ops.gen.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';
import { MAX_RANK } from './upload.js';

/** Parts of an axis of size 0: as many as anybody wants, but no array that fills memory. */
const MAX_EMPTY_PARTS = 1000;

/** size elements from begin on along one axis, all of the others. */
function part(t: Tensor, axis: number, begin: number, size: number): Tensor {
  return slice(
    t,
    t.shape.map((_, i) => (i === axis ? begin : 0)),
    t.shape.map((dim, i) => (i === axis ? size : dim)),
  );
}

/** Elements moved by shift along an axis (or several, each by its own), those that leave coming in at the
 *  other end; without an axis in row-major order. */
export function roll(
  x: TensorLike,
  shift: number | readonly number[],
  { axis }: { axis: Axes | null },
): Tensor {
  return tidy(() => {
    const t = asTensor(x, 'roll');
    const shifts = checkIntegers('roll', 'shift', Array.isArray(shift) ? shift : [shift]);
    const flat = axis === null;
    const axes = flat ? [0] : typeof axis === 'number' ? [axis] : axis;
    if (shifts.length !== axes.length && shifts.length !== 1)
      throw new ShapeError(`roll: ${shifts.length} shifts for ${axes.length} axes: a ${shapeText(t.shape)}`);
    let rolled = flat ? reshape(t, [-1]) : t;
    axes.forEach((given, i) => {
      const at = resolveAxis('roll', given, rolled.shape);
      const size = rolled.shape[at]!;
      const by = size ? (((shifts[i] ?? shifts[0]!) % size) + size) % size : 0;
      if (by) {
        const [front, back] = [part(rolled, at, 0, size - by), part(rolled, at, size - by, by)];
        rolled = concat([back, front], { axis: at });
      }
    });
    return reshape(rolled, t.shape);
  });
}

const named = (parts: unknown): string => (Array.isArray(parts) ? shownList(parts) : shown(parts));

/** The sizes of parts that make up size, or null. */
function partSizes(parts: number | readonly number[], size: number): readonly number[] | null {
  if (Array.isArray(parts)) {
    const sizes = parts as readonly number[];
    return sizes.every((n) => fitsInt32(n) && n >= 0) && sizes.reduce((a, b) => a + b, 0) === size ? sizes : null;
  }
  // No more parts than elements, before a list of them is made; of no elements as many as will do for anything.
  const count = parts as number;
  const most = Math.max(size, MAX_EMPTY_PARTS);
  if (!fitsInt32(count) || count < 1 || count > most || size % count !== 0) return null;
  return new Array<number>(count).fill(size / count);
}

/** Parts along an axis (default 0): a number of equal ones, or ones of the given sizes. */
export function split(
  x: TensorLike,
  parts: number | readonly number[],
  { axis }: { axis: number },
): Tensor[] {
  return tidy(() => {
    const t = asTensor(x, 'split');
    const at = resolveAxis('split', axis, t.shape);
    const size = t.shape[at]!;
    const sizes = partSizes(parts, size);
    if (!sizes)
      throw new ShapeError(`split: axis ${at} does not divide into ${named(parts)}: a ${shapeText(t.shape)}`);
    let begin = 0;
    return sizes.map((n) => part(t, at, (begin += n) - n, n));
  });
}

/** Each axis count times: whole blocks one after the other (inner false), or each element (inner true). */
function multiply(t: Tensor, axis: number, count: number, inner: boolean): Tensor {
  const before = sizeOf(t.shape.slice(0, axis));
  const size = t.shape[axis]!;
  const after = sizeOf(t.shape.slice(axis + 1));
  const [apart, together] = inner
    ? [[before, size, 1, after], [before, size, count, after]]
    : [[before, 1, size, after], [before, count, size, after]];
  const copies = broadcastTo(reshape(t, apart as number[]), together as number[]);
  return reshape(
    copies,
    t.shape.map((dim, i) => (i === axis ? dim * count : dim)),
  );
}

/** x as a tile, laid reps times along each axis; new axes come in front, as in NumPy. */
export function tile(x: TensorLike, reps: number | readonly number[]): Tensor {
  return tidy(() => {
    const given = asTensor(x, 'tile');
    const counts = checkIntegers('tile', 'reps', Array.isArray(reps) ? reps : [reps], 0);
    if (counts.length > MAX_RANK) throw new ShapeError(`tile: ${counts.length} reps, at most ${MAX_RANK}`);
    const rank = Math.max(given.ndim, counts.length);
    let t = reshape(given, [...new Array<number>(rank - given.ndim).fill(1), ...given.shape]);
    counts.forEach((count, i) => {
      if (count !== 1) t = multiply(t, rank - counts.length + i, count, false);
    });
    return t;
  });
}

/** Each element count times along an axis; without one in row-major order. */
export function repeat(x: TensorLike, count: number, { axis }: { axis: number | null }): Tensor {
  return tidy(() => {
    const given = asTensor(x, 'repeat');
    checkInteger('repeat', 'count', count, 0);
    const t = axis === null ? reshape(given, [-1]) : given;
    return multiply(t, resolveAxis('repeat', axis ?? 0, t.shape), count, true);
  });
}

interface Diagonal {
  k: number;
}

/** x on one side of a diagonal of the last two axes, 0 on the other. */
function triangle(op: string, x: TensorLike, { k }: Diagonal, lower: boolean): Tensor {
  return tidy(() => {
    const t = asTensor(x, op);
    if (t.ndim < 2) throw new ShapeError(`${op}: needs two axes: a ${shapeText(t.shape)}`);
    const matrix = t.shape.slice(-2);
    const [row, column] = [add(iota(matrix, 0), k), iota(matrix, 1)];
    return where(
      lower ? greaterEqual(row, column) : greaterEqual(column, row),
      t,
      zeros([], { dtype: t.dtype }),
    );
  });
}

/** The elements on and below a diagonal, 0 above. */
export const tril = (x: TensorLike, options: Diagonal): Tensor => triangle('tril', x, options, true);

/** The elements on and above a diagonal, 0 below. */
export const triu = (x: TensorLike, options: Diagonal): Tensor => triangle('triu', x, options, false);
