// Functions whose arguments are one number or several: the core is called for each, or with them all.

import { asTensor, withTensor, type TensorLike } from './apply.js';
import { axisNumber, resolveAxis, type Axes } from './axes.js';
import { checkIntegers, fitsInt32, shown, shownList } from './check.js';
import { ShapeError, shapeText } from './errors.js';
import { runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { wrap, type Tensor } from './tensor.js';
import { MAX_RANK } from './upload.js';

/** Parts of an axis of size 0: as many as anybody wants, but no array that fills memory. */
const MAX_EMPTY_PARTS = 1000;

/** Numbers as the core reads those of 64 bits: two words each. */
const wideWords = (values: readonly number[]): number[] => values.flatMap((n) => [n, n < 0 ? -1 : 0]);

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
      throw new ShapeError('roll', `${shifts.length} shifts for ${axes.length} axes: a ${shapeText(t.shape)}`, { shapes: [t.shape] });
    const each = axes.map((at) => axisNumber('roll', t, at));
    const rt = runtime();
    rt.send([...wideWords(axes.map((_, i) => shifts[i] ?? shifts[0]!)), ...each]);
    return wrap(rt.exports.sinter_roll(t.use('roll'), Number(flat), each.length));
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
      throw new ShapeError('split', `axis ${at} does not divide into ${named(parts)}: a ${shapeText(t.shape)}`, { shapes: [t.shape] });
    const rt = runtime();
    rt.send(wideWords(sizes));
    rt.ok(rt.exports.sinter_split(t.use('split'), sizes.length, at));
    return rt.receive(0, sizes.length).map((address) => wrap(address));
  });
}

/** x as a tile, laid reps times along each axis; new axes come in front, as in NumPy. */
export const tile = (x: TensorLike, reps: number | readonly number[]): Tensor =>
  withTensor('tile', x, (core, t) => {
    const counts = checkIntegers('tile', 'reps', Array.isArray(reps) ? reps : [reps], 0);
    if (counts.length > MAX_RANK) throw new ShapeError('tile', `${counts.length} reps, at most ${MAX_RANK}`);
    runtime().send(counts);
    return core.sinter_tile(t.use('tile'), counts.length);
  });
