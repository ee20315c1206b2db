// Elements by index.
//
// Indices are int32; negative ones count from the end. Indices given as numbers are checked: one out of range is an error.
// Indices in a tensor may not be known yet, and a compiled program has no way to report one that is out of range: it is
// clamped to the first or the last element. setDebug(1) checks those too, wherever they have values at the call.

import { asTensor, withTensors, type TensorLike } from './apply.js';
import { resolveAxis } from './axes.js';
import { checkChoice, checkInteger, isPlainObject, MAX_INT32 } from './check.js';
import { debugLevel } from './debug.js';
import { dtypeNumber, parseDType, type DTypeName } from './dtype.js';
import { DTypeError, ShapeError, SinterError, shapeText } from './errors.js';
import { iota, reshape, slice, take as elementsAt } from './functions.gen.js';
import { SCATTER_MODES } from './options.gen.js';
import { readOptions, type OptionSchema } from './options.js';
import { runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { Tensor, wrap } from './tensor.js';
import { isCompiling } from './trace.js';
import { readElements } from './upload.js';

/** Which numbers are allowed as indices. */
interface Allowed {
  least: number;
  most: number;
  /** One more number that is allowed, such as a label to ignore. */
  also?: number | undefined;
}

export function checkAllowed(op: string, what: string, values: ArrayLike<number>, { least, most, also }: Allowed): void {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (!Number.isInteger(value)) throw new DTypeError(op, `${what} must be whole numbers`);
    if ((value >= least && value <= most) || value === also) continue;
    const range = most < least ? 'there are none' : `expected ${least} to ${most}`;
    throw new ShapeError(op, `${what}: ${value} is out of range, ${range}`);
  }
}

/** The values of indices that can be checked at the call: those given as numbers, and while debugging those in a tensor.
 *  Null for others. */
export function knownIndices(x: TensorLike, op: string, what = 'indices'): ArrayLike<number> | null {
  if (x instanceof Tensor) return debugLevel() >= 1 && !isCompiling() && x.dtype === 'int32' ? x.dataSync() : null;
  const { values, dtype } = readElements(op, x);
  if (dtype === 'bool') throw new DTypeError(op, `${what} must be whole numbers, not bools`);
  return values;
}

/** x as a tensor of indices; numbers become int32. Throws where known values are not whole, or not allowed. */
export function asIndices(x: TensorLike, op: string, allowed: Allowed = ANY, what = 'indices'): Tensor {
  const values = knownIndices(x, op, what);
  if (values) checkAllowed(op, what, values, allowed);
  return asTensor(x, op, 'int32');
}

const ANY: Allowed = { least: -MAX_INT32 - 1, most: MAX_INT32 };

/** The indices allowed for an axis of this size. */
export const ofAxis = (size: number): Allowed => ({ least: -size, most: size - 1 });

/** count elements along one axis, as a view. The gradients of many such parts are put together at once, instead of
 *  adding each to a tensor of the whole size. */
export function part(t: Tensor, axis: number, begin: number, count: number, stride = 1): Tensor {
  const along = <T>(there: T, elsewhere: (dim: number) => T): T[] =>
    t.shape.map((dim, i) => (i === axis ? there : elsewhere(dim)));
  return slice(t, along(begin, () => 0), along(count, (dim) => dim), { strides: along(stride, () => 1) });
}

/** The elements at one index of an axis, without that axis. */
const partAt = (t: Tensor, axis: number, at: number): Tensor =>
  reshape(part(t, axis, at, 1), t.shape.filter((_, i) => i !== axis));

interface AxisOf {
  axis: number;
}

/** The elements at indices along an axis (default 0). The dimensions of indices, which may have any shape, take the
 *  place of the axis; a number drops it. */
export function take(x: TensorLike, indices: TensorLike, { axis }: AxisOf): Tensor {
  return tidy(() => {
    const t = asTensor(x, 'take');
    const at = resolveAxis('take', axis, t.shape);
    const n = t.shape[at]!;
    if (typeof indices === 'number') {
      checkAllowed('take', 'indices', [indices], ofAxis(n));
      return partAt(t, at, indices < 0 ? indices + n : indices);
    }
    return withTensors('take', [t, asIndices(indices, 'take', ofAxis(n))], (core, [a, i]) =>
      core.sinter_take(a!, i!, at),
    );
  });
}

/** Elements along an axis (default the last), with an index for each element of the result. x and indices have the same
 *  rank, and broadcast to each other along all other axes, as in NumPy. */
export function takeAlongAxis(x: TensorLike, indices: TensorLike, { axis }: AxisOf): Tensor {
  return tidy(() => {
    const t = asTensor(x, 'takeAlongAxis');
    const at = resolveAxis('takeAlongAxis', axis, t.shape);
    return withTensors('takeAlongAxis', [t, asIndices(indices, 'takeAlongAxis', ofAxis(t.shape[at]!))], (core, [a, i]) =>
      core.sinter_take_along_axis(a!, i!, at),
    );
  });
}

export type ScatterMode = (typeof SCATTER_MODES)[number];

/** x with updates put in the place of the elements that take gives for these indices, or combined with them as mode
 *  says. A negative axis counts from the end. */
export function scatterAlong(
  op: string,
  x: TensorLike,
  indices: TensorLike,
  updates: TensorLike,
  axis: number,
  mode: ScatterMode,
): Tensor {
  const number = checkChoice(op, 'mode', mode, SCATTER_MODES);
  return tidy(() => {
    const t = asTensor(x, op);
    const at = resolveAxis(op, axis, t.shape);
    return withTensors(op, [t, asIndices(indices, op, ofAxis(t.shape[at]!)), updates], (core, [a, i, u]) =>
      core.sinter_scatter(a!, i!, u!, at, number),
    );
  });
}

export const scatter = (
  x: TensorLike,
  indices: TensorLike,
  updates: TensorLike,
  { axis, mode }: AxisOf & { mode: ScatterMode },
): Tensor => scatterAlong('scatter', x, indices, updates, axis, mode);

export const scatterAdd = (x: TensorLike, indices: TensorLike, updates: TensorLike, { axis }: AxisOf): Tensor =>
  scatterAlong('scatterAdd', x, indices, updates, axis, 'add');

/** Rows from begin to before end in steps of stride; negative bounds count from the end, as in Array.slice. */
export interface RowRange {
  /** The first row to take. Default: row 0, or the last one when stride is negative. */
  begin?: number;
  /** Where to stop: this row is not taken. Default: past the last row, or before the first when stride is negative. */
  end?: number;
  /** From each row taken to the next; below 0: backwards. Default 1. */
  stride?: number;
}

/** Which rows `at` means: one, some by their indices, or a range. */
export type RowIndex = TensorLike | RowRange;

/** Rows of a tensor: the elements at indices along its first axis. */
export interface Rows {
  /** The rows. */
  get(): Tensor;
  /** The tensor with values in the place of the rows, to which they broadcast; for a row given twice the last ones stay. */
  set(values: TensorLike): Tensor;
  /** The tensor with values added to the rows. */
  add(values: TensorLike): Tensor;
  /** The tensor with the rows multiplied by values. */
  mul(values: TensorLike): Tensor;
  /** The tensor with the smaller of rows and values. */
  min(values: TensorLike): Tensor;
  /** The tensor with the larger of rows and values. */
  max(values: TensorLike): Tensor;
}

const isRange = (index: RowIndex): index is RowRange => isPlainObject(index);

const RANGE: OptionSchema<RowRange> = { begin: 'integer', end: 'integer', stride: 'integer' };

function resolveRange(range: RowRange, rows: number): { first: number; count: number; stride: number } {
  const { begin, end, stride = 1 } = readOptions('at', range, RANGE);
  if (stride === 0) throw new SinterError('argument', 'at', 'stride 0, expected a whole number that is not 0');
  const [low, high] = stride > 0 ? [0, rows] : [-1, rows - 1];
  const bound = (at: number | undefined, otherwise: number): number =>
    at === undefined ? otherwise : Math.min(high, Math.max(low, at < 0 ? at + rows : at));
  const first = bound(begin, stride > 0 ? low : high);
  const count = Math.max(0, Math.ceil((bound(end, stride > 0 ? high : low) - first) / stride));
  return count > 0 ? { first, count, stride } : { first: 0, count: 0, stride: 1 };
}

function rangeIndices(range: RowRange, rows: number): Tensor {
  const { first, count, stride } = resolveRange(range, rows);
  const index = iota([count], 0);
  const stepped = stride === 1 ? index : index.mul(stride);
  return first === 0 ? stepped : stepped.add(first);
}

/** The number of rows of t. Throws if index is a number and none of theirs. */
function countRows(t: Tensor, index: RowIndex): number {
  const rows = t.shape[resolveAxis('at', 0, t.shape)]!;
  if (typeof index === 'number' && !(index >= -rows && index < rows)) {
    throw new ShapeError('at', `row ${index} is out of range: a ${shapeText(t.shape)}`, { shapes: [t.shape] });
  }
  return rows;
}

function rowIndices(t: Tensor, index: RowIndex): Tensor {
  const rows = countRows(t, index);
  if (!isRange(index)) return asIndices(index, 'at', ofAxis(rows));
  const places = rangeIndices(index, rows);
  return t.device === places.device ? places : places.to('webgpu');
}

function rowsAt(t: Tensor, index: RowIndex): Tensor {
  const rows = countRows(t, index);
  if (!isRange(index)) return elementsAt(t, typeof index === 'number' && Number.isInteger(index) ? index : asIndices(index, 'at', ofAxis(rows)));
  const { first, count, stride } = resolveRange(index, rows);
  return part(t, 0, first, count, stride);
}

/** Rows of x: at(x, 3).set(v), at(x, { begin: 1, end: 4 }).add(v), at(x, indices).get(). x itself never changes. */
export function at(x: TensorLike, index: RowIndex): Rows {
  const change = (mode: ScatterMode) => (values: TensorLike): Tensor =>
    tidy(() => {
      const t = asTensor(x, 'at');
      return scatterAlong('at', t, rowIndices(t, index), values, 0, mode);
    });
  return {
    get: () => tidy(() => rowsAt(asTensor(x, 'at'), index)),
    set: change('set'),
    add: change('add'),
    mul: change('mul'),
    min: change('min'),
    max: change('max'),
  };
}

/** (indices..., classes): 1 where the index is the class, 0 elsewhere; all 0 for an index outside. */
export function oneHot(
  indices: TensorLike,
  classes: number,
  { dtype }: { dtype: DTypeName },
): Tensor {
  checkInteger('oneHot', 'classes', classes, 0);
  const number = dtypeNumber(parseDType(dtype, 'oneHot'));
  return tidy(() =>
    wrap(runtime().exports.sinter_one_hot(asIndices(indices, 'oneHot').use('oneHot'), classes, number)),
  );
}
