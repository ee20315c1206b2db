// Shapes' sizes; axes as users write them (one, several, negative) and as the core takes them (bits, or 0 and up).

import { ShapeError, shapeText } from './errors.js';
import type { Tensor } from './tensor.js';

export type Axes = number | readonly number[];

/** Number of elements. */
export const sizeOf = (shape: readonly number[]): number => shape.reduce((size, dim) => size * dim, 1);

/** Options in whose place their axis may stand. */
export const axisOptions = <O extends object>(options: O | Axes | undefined): O | { axis?: Axes } =>
  typeof options === 'number' || Array.isArray(options) ? { axis: options as Axes } : ((options ?? {}) as O);

/** 0 <= axis < rank. */
export function resolveAxis(op: string, axis: number, shape: readonly number[], rank = shape.length): number {
  const resolved = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(resolved) || resolved < 0 || resolved >= rank) {
    throw new ShapeError(`${op}: axis ${axis} is out of range: a ${shapeText(shape)}`);
  }
  return resolved;
}

/** Resolved axes without repetition. */
export function resolveAxes(op: string, axes: Axes, shape: readonly number[], rank = shape.length): number[] {
  const list = typeof axes === 'number' ? [axes] : axes;
  const resolved = list.map((axis) => resolveAxis(op, axis, shape, rank));
  if (new Set(resolved).size !== resolved.length) {
    throw new ShapeError(`${op}: an axis is given twice: a ${shapeText(shape)}`);
  }
  return resolved;
}

const ALL_AXES = 0xffffffff;

/** Bit i for axis i; all bits when no axis is named. */
export function axisMask(op: string, x: Tensor, axes: Axes | null | undefined): number {
  if (axes === null || axes === undefined) return ALL_AXES;
  return resolveAxes(op, axes, x.shape).reduce((mask, axis) => mask | (1 << axis), 0);
}
