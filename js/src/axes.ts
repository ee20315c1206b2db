// Sizes of shapes; and axes, from what users write (one or several, negative ones too) to what the core takes (a mask of
// bits, or a number).

import { asTensor, type TensorLike } from './apply.js';
import { checkIntegers, fitsInt32, NOT_GIVEN, shown } from './check.js';
import { ShapeError, shapeText } from './errors.js';
import type { PadOptions } from './options.gen.js';
import { readOptions, type OptionSchema } from './options.js';
import { tidy } from './scope.js';
import { Tensor } from './tensor.js';

/** One axis, or several in an array; negative ones count from the end. */
export type Axes = number | readonly number[];

/** Number of elements. */
export const sizeOf = (shape: readonly number[]): number => shape.reduce((size, dim) => size * dim, 1);

/** Reads options, in whose place the caller may give the axis alone. */
export const axisOptions = <O extends object>(
  op: string,
  options: O | Axes | null | undefined,
  schema: OptionSchema<O>,
): O => {
  if (typeof options === 'number' || Array.isArray(options)) return { axis: options } as unknown as O;
  return readOptions<O>(op, options as O | undefined, schema);
};

/** The axis counted from 0, where negative ones count from the end. Throws a ShapeError for one that the shape does not
 *  have. */
export function resolveAxis(op: string, axis: number, shape: readonly number[], rank = shape.length): number {
  const isWhole = Number.isInteger(axis);
  const resolved = isWhole && axis < 0 ? axis + rank : axis;
  if (isWhole && resolved >= 0 && resolved < rank) return resolved;
  const why = isWhole ? 'is out of range' : 'is no whole number';
  const allowed = rank > 0 ? `axes are ${-rank} to ${rank - 1}` : 'it has no axes';
  throw new ShapeError(op, `axis ${shown(axis)} ${why}: a ${shapeText(shape)} of rank ${shape.length}, ${allowed}`, { shapes: [shape] });
}

/** The axes counted from 0, in the order given. Throws a ShapeError for one that is out of range or given twice. */
export function resolveAxes(op: string, axes: Axes, shape: readonly number[], rank = shape.length): number[] {
  if (!Array.isArray(axes)) return [resolveAxis(op, axes as number, shape, rank)];
  if (axes.length > rank) throw new ShapeError(op, `${axes.length} axes given: a ${shapeText(shape)}`, { shapes: [shape] });
  const resolved = Array.from(axes as readonly number[], (axis) => resolveAxis(op, axis, shape, rank));
  if (new Set(resolved).size !== resolved.length) {
    throw new ShapeError(op, `an axis is given twice: a ${shapeText(shape)}`, { shapes: [shape] });
  }
  return resolved;
}

const ALL_AXES = 0xffffffff;

/** A mask with bit i set for axis i; all bits are set when no axis is given. */
export function axisMask(op: string, x: TensorLike, axes: Axes | null | undefined): number {
  if (axes === null || axes === undefined) return ALL_AXES;
  const { shape } = x instanceof Tensor ? x : tidy(() => asTensor(x, op).meta);
  if (typeof axes === 'number') return 1 << resolveAxis(op, axes, shape);
  return resolveAxes(op, axes, shape).reduce((mask, axis) => mask | (1 << axis), 0);
}

/** An axis as the core takes it, which resolves negative ones and checks their range for x. Refuses what is no 32-bit
 *  integer. */
export function axisNumber(op: string, x: TensorLike, axis: number): number {
  if (fitsInt32(axis)) return axis;
  return tidy(() => resolveAxis(op, axis, asTensor(x, op).shape));
}

/** As axisNumber, where null stands for all elements in row-major order. */
export const flatAxis = (op: string, x: TensorLike, axis: number | null): number =>
  axis === null ? NOT_GIVEN : axisNumber(op, x, axis);

export type PadMode = Required<PadOptions>['mode'];

/** Widths [before, after] for each axis as words of the core: first before of all axes, then after of all axes. */
export function widthWords(op: string, x: Tensor, widths: readonly (readonly [number, number])[]): number[] {
  if (!Array.isArray(widths) || widths.length !== x.ndim || !widths.every(Array.isArray))
    throw new ShapeError(op, `expected [before, after] for each axis: a ${shapeText(x.shape)}`, { shapes: [x.shape] });
  widths.forEach((pair, i) => checkIntegers(op, `widths[${i}]`, pair, 0, 2));
  return [0, 1].flatMap((end) => widths.map((pair: readonly number[]) => pair[end]!));
}
