// Shapes' sizes; axes as users write them (one, several, negative) and as the core takes them (bits, or 0 and up).

import { shown } from './check.js';
import { ShapeError, shapeText } from './errors.js';
import { readOptions, type OptionSchema } from './options.js';
import type { Tensor } from './tensor.js';

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

/** Schema of options that are an axis, or several. */
export const AXIS = { axis: 'axis' } as const;
export const AXES = { axis: 'axes' } as const;

/** 0 <= axis < rank. */
export function resolveAxis(op: string, axis: number, shape: readonly number[], rank = shape.length): number {
  if (!Number.isInteger(axis)) {
    throw new ShapeError(`${op}: axis ${shown(axis)}, expected a whole number: a ${shapeText(shape)}`);
  }
  const resolved = axis < 0 ? axis + rank : axis;
  if (resolved < 0 || resolved >= rank) {
    throw new ShapeError(`${op}: axis ${axis} is out of range: a ${shapeText(shape)}`);
  }
  return resolved;
}

/** Resolved axes without repetition. */
export function resolveAxes(op: string, axes: Axes, shape: readonly number[], rank = shape.length): number[] {
  if (!Array.isArray(axes)) return [resolveAxis(op, axes as number, shape, rank)];
  if (axes.length > rank) throw new ShapeError(`${op}: ${axes.length} axes given: a ${shapeText(shape)}`);
  const resolved = Array.from(axes as readonly number[], (axis) => resolveAxis(op, axis, shape, rank));
  if (new Set(resolved).size !== resolved.length) {
    throw new ShapeError(`${op}: an axis is given twice: a ${shapeText(shape)}`);
  }
  return resolved;
}

const ALL_AXES = 0xffffffff;

/** Bit i for axis i; all bits when no axis is named. */
export function axisMask(op: string, x: Tensor, axes: Axes | null | undefined): number {
  if (axes === null || axes === undefined) return ALL_AXES;
  if (typeof axes === 'number') return 1 << resolveAxis(op, axes, x.shape);
  return resolveAxes(op, axes, x.shape).reduce((mask, axis) => mask | (1 << axis), 0);
}
