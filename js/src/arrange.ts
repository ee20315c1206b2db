// Ops that arrange elements anew: compositions of the ones in shape.ts.

import { asTensor, type TensorLike } from './apply.js';
import { resolveAxis, sizeOf, type Axes } from './axes.js';
import { iota, zeros } from './creation.js';
import { ShapeError, SinterError, shapeText } from './errors.js';
import { add, greaterEqual, where } from './ops.gen.js';
import { tidy } from './scope.js';
import { broadcastTo, concat, reshape, slice, type AxisOptions } from './shape.js';
import type { Tensor } from './tensor.js';

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
  { axis }: { axis?: Axes } = {},
): Tensor {
  return tidy(() => {
    const t = asTensor(x, 'roll');
    const shifts = typeof shift === 'number' ? [shift] : shift;
    const flat = axis === undefined;
    const axes = flat ? [0] : typeof axis === 'number' ? [axis] : axis;
    if (!shifts.every(Number.isInteger) || (shifts.length !== axes.length && shifts.length !== 1)) {
      throw new SinterError('argument', `roll: expected a whole number for each axis: a ${shapeText(t.shape)}`);
    }
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

/** Parts along an axis (default 0): a number of equal ones, or ones of the given sizes. */
export function split(
  x: TensorLike,
  parts: number | readonly number[],
  { axis = 0 }: AxisOptions = {},
): Tensor[] {
  return tidy(() => {
    const t = asTensor(x, 'split');
    const at = resolveAxis('split', axis, t.shape);
    const size = t.shape[at]!;
    const sizes = typeof parts === 'number' ? new Array<number>(parts).fill(size / parts) : parts;
    if (!sizes.every((n) => Number.isInteger(n) && n >= 0) || sizes.reduce((a, b) => a + b, 0) !== size) {
      throw new ShapeError(`split: axis ${at} does not divide into ${String(parts)}: a ${shapeText(t.shape)}`);
    }
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

const checkCounts = (op: string, counts: readonly number[], t: Tensor): void => {
  if (!counts.every((n) => Number.isInteger(n) && n >= 0)) {
    throw new SinterError('argument', `${op}: expected whole numbers from 0 on: a ${shapeText(t.shape)}`);
  }
};

/** x as a tile, laid reps times along each axis; new axes come in front, as in NumPy. */
export function tile(x: TensorLike, reps: number | readonly number[]): Tensor {
  return tidy(() => {
    const given = asTensor(x, 'tile');
    const counts = typeof reps === 'number' ? [reps] : reps;
    checkCounts('tile', counts, given);
    const rank = Math.max(given.ndim, counts.length);
    let t = reshape(given, [...new Array<number>(rank - given.ndim).fill(1), ...given.shape]);
    counts.forEach((count, i) => {
      if (count !== 1) t = multiply(t, rank - counts.length + i, count, false);
    });
    return t;
  });
}

/** Each element count times along an axis; without one in row-major order. */
export function repeat(x: TensorLike, count: number, { axis }: AxisOptions = {}): Tensor {
  return tidy(() => {
    const given = asTensor(x, 'repeat');
    checkCounts('repeat', [count], given);
    const t = axis === undefined ? reshape(given, [-1]) : given;
    return multiply(t, resolveAxis('repeat', axis ?? 0, t.shape), count, true);
  });
}

export interface TriangleOptions {
  /** The diagonal that bounds the triangle; above the main one when positive. Default 0. */
  k?: number;
}

/** x on one side of a diagonal of the last two axes, 0 on the other. */
function triangle(op: string, x: TensorLike, k: number, lower: boolean): Tensor {
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
export const tril = (x: TensorLike, { k = 0 }: TriangleOptions = {}): Tensor => triangle('tril', x, k, true);

/** The elements on and above a diagonal, 0 below. */
export const triu = (x: TensorLike, { k = 0 }: TriangleOptions = {}): Tensor => triangle('triu', x, k, false);
