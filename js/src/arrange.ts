// roll, split, tile and repeat: functions that take one number or several. Each is one call into the core; repeat with several
// numbers takes elements by indices.

import { asTensor, withTensor, type TensorLike } from './apply.js';
import { axisNumber, flatAxis, resolveAxis, sizeOf, type Axes } from './axes.js';
import { checkInteger, checkIntegers, fitsInt32, shown, shownList } from './check.js';
import { OutOfMemoryError, ShapeError, shapeText } from './errors.js';
import { take } from './functions.gen.js';
import { runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { wrap, type Tensor } from './tensor.js';
import { MAX_RANK } from './upload.js';

/** Most parts of an axis of size 0, which any number would divide: bounds the array of results. */
const MAX_EMPTY_PARTS = 1000;

/** Whole numbers as the core reads 64-bit ones: two words each, the lower one first. */
const wideWords = (values: readonly number[]): number[] => values.flatMap((n) => [n, n < 0 ? -1 : 0]);

/** Moves elements by shift along an axis, or along several axes, each by its own shift; those that leave at one end come
 *  in at the other. With axis null all elements move, in row-major order. */
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
      throw new ShapeError('roll', `${shifts.length} shifts for ${axes.length} axes: a ${shapeText(t.shape)}`, { shapes: [t.shape] });
    const each = axes.map((at) => axisNumber('roll', t, at));
    const rt = runtime();
    rt.send([...wideWords(axes.map((_, i) => shifts[i] ?? shifts[0]!)), ...each]);
    return wrap(rt.exports.sinter_roll(t.use('roll'), Number(flat), each.length));
  });
}

const named = (parts: unknown): string => (Array.isArray(parts) ? shownList(parts) : shown(parts));

/** The sizes of the parts of an axis; null if they do not add up to its size. */
function partSizes(parts: number | readonly number[], size: number): readonly number[] | null {
  if (Array.isArray(parts)) {
    const sizes = parts as readonly number[];
    return sizes.every((n) => fitsInt32(n) && n >= 0) && sizes.reduce((a, b) => a + b, 0) === size ? sizes : null;
  }
  // The count is bounded before a list of that length is made: by size, or by MAX_EMPTY_PARTS where size is 0.
  const count = parts as number;
  const most = Math.max(size, MAX_EMPTY_PARTS);
  if (!fitsInt32(count) || count < 1 || count > most || size % count !== 0) return null;
  return new Array<number>(count).fill(size / count);
}

/** Splits x along an axis (default 0) into a number of equal parts, or into parts of the given sizes. */
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
      throw new ShapeError('split', `axis ${at} does not divide into ${named(parts)}: a ${shapeText(t.shape)}`, { shapes: [t.shape] });
    const rt = runtime();
    rt.send(wideWords(sizes));
    rt.ok(rt.exports.sinter_split(t.use('split'), sizes.length, at));
    return rt.receive(0, sizes.length).map((address) => wrap(address));
  });
}

/** Repeats x reps[i] times along each axis; where there are more reps than axes, new axes come in front, as in NumPy. */
export const tile = (x: TensorLike, reps: number | readonly number[]): Tensor =>
  withTensor('tile', x, (core, t) => {
    const counts = checkIntegers('tile', 'reps', Array.isArray(reps) ? reps : [reps], 0);
    if (counts.length > MAX_RANK) throw new ShapeError('tile', `${counts.length} reps, at most ${MAX_RANK}`);
    runtime().send(counts);
    return core.sinter_tile(t.use('tile'), counts.length);
  });

/** The indices of an axis, each as many times as its count says. */
function indicesOf(counts: readonly number[]): Int32Array {
  const size = counts.reduce((a, b) => a + b, 0);
  if (!fitsInt32(size)) throw new OutOfMemoryError('repeat', 'result is too large');
  const indices = new Int32Array(size);
  let at = 0;
  counts.forEach((count, i) => indices.fill(i, at, (at += count)));
  return indices;
}

/** Repeats each element along an axis (with null of all, in row-major order): count times, or each by a count of its own. */
export function repeat(x: TensorLike, count: number | readonly number[], { axis }: { axis: number | null }): Tensor {
  if (!Array.isArray(count))
    return withTensor('repeat', x, (core, t) =>
      core.sinter_repeat(t.use('repeat'), checkInteger('repeat', 'count', count), flatAxis('repeat', t, axis)),
    );
  return tidy(() => {
    const t = asTensor(x, 'repeat');
    const counts = checkIntegers('repeat', 'count', count, 0);
    const along = axis === null ? t.reshape([sizeOf(t.shape)]) : t;
    const at = resolveAxis('repeat', axis ?? 0, along.shape);
    if (counts.length !== along.shape[at])
      throw new ShapeError('repeat', `${counts.length} counts for the ${along.shape[at]} elements of axis ${at}: a ${shapeText(along.shape)}`, {
        shapes: [along.shape],
      });
    return take(along, indicesOf(counts), { axis: at });
  });
}
