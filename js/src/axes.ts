// Axes as users write them (one, several, negative) and as the core takes them (bits, or 0 and up).

import { ShapeError, shapeText } from './errors.js';
import type { Tensor } from './tensor.js';

export type Axes = number | readonly number[];

/** 0 <= axis < rank. */
export function resolveAxis(op: string, axis: number, rank: number, shape: readonly number[]): number {
  const resolved = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(resolved) || resolved < 0 || resolved >= rank) {
    throw new ShapeError(`${op}: axis ${axis} is out of range: a ${shapeText(shape)}`);
  }
  return resolved;
}

/** Resolved axes without repetition. */
export function resolveAxes(op: string, axes: Axes, shape: readonly number[], rank = shape.length): number[] {
  const list = typeof axes === 'number' ? [axes] : axes;
  const resolved = list.map((axis) => resolveAxis(op, axis, rank, shape));
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
