// Shapes' sizes; axes as users write them (one, several, negative) and as the core takes them (bits, or 0 and up).

import { asTensor, type TensorLike } from './apply.js';
import { checkIntegers, fitsInt32, NOT_GIVEN, shown } from './check.js';
import { ShapeError, shapeText } from './errors.js';
import type { PadOptions } from './options.gen.js';
import { readOptions, type OptionSchema } from './options.js';
import { tidy } from './scope.js';
import { Tensor } from './tensor.js';

export type Axes = number | readonly number[];

/** Number of elements. */
export const sizeOf = (shape: readonly number[]): number => shape.reduce((size, dim) => size * dim, 1);

/** Options in whose place their axis may stand. */
export const axisOptions = <O extends object>(
  op: string,
  options: O | Axes | null | undefined,
  schema: OptionSchema<O>,
): O => {
  if (typeof options === 'number' || Array.isArray(options)) return { axis: options } as unknown as O;
  return readOptions<O>(op, options as O | undefined, schema);
};

/** 0 <= axis < rank. */
export function resolveAxis(op: string, axis: number, shape: readonly number[], rank = shape.length): number {
  const isWhole = Number.isInteger(axis);
  const resolved = isWhole && axis < 0 ? axis + rank : axis;
  if (isWhole && resolved >= 0 && resolved < rank) return resolved;
  const why = isWhole ? 'is out of range' : 'is no whole number';
  const allowed = rank > 0 ? `axes are ${-rank} to ${rank - 1}` : 'it has no axes';
  throw new ShapeError(op, `axis ${shown(axis)} ${why}: a ${shapeText(shape)} of rank ${shape.length}, ${allowed}`, { shapes: [shape] });
}

/** Resolved axes without repetition. */
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

/** Bit i for axis i; all bits when no axis is named. */
export function axisMask(op: string, x: TensorLike, axes: Axes | null | undefined): number {
  if (axes === null || axes === undefined) return ALL_AXES;
  const { shape } = x instanceof Tensor ? x : tidy(() => asTensor(x, op).meta);
  if (typeof axes === 'number') return 1 << resolveAxis(op, axes, shape);
  return resolveAxes(op, axes, shape).reduce((mask, axis) => mask | (1 << axis), 0);
}

/** An axis as the core takes it, which checks its range; x is what has it. */
export function axisNumber(op: string, x: TensorLike, axis: number): number {
  if (fitsInt32(axis)) return axis;
  return tidy(() => resolveAxis(op, axis, asTensor(x, op).shape));
}

/** The same of an axis that may be null. */
export const flatAxis = (op: string, x: TensorLike, axis: number | null): number =>
  axis === null ? NOT_GIVEN : axisNumber(op, x, axis);

export type PadMode = Required<PadOptions>['mode'];

/** [before, after] of each axis as the core takes them: before of all axes, and after. */
export function widthWords(op: string, x: Tensor, widths: readonly (readonly [number, number])[]): number[] {
  if (!Array.isArray(widths) || widths.length !== x.ndim || !widths.every(Array.isArray))
    throw new ShapeError(op, `expected [before, after] for each axis: a ${shapeText(x.shape)}`, { shapes: [x.shape] });
  widths.forEach((pair, i) => checkIntegers(op, `widths[${i}]`, pair, 0, 2));
  return [0, 1].flatMap((end) => widths.map((pair: readonly number[]) => pair[end]!));
}
