// Functions that make tensors from numbers.

import { resolveAxis } from './axes.js';
import { checkNumber, shown } from './check.js';
import { SinterError } from './errors.js';
import { dtypeNumber, parseDType, type DTypeName } from './dtype.js';
import type { Exports } from './runtime/exports.js';
import { runtime } from './runtime/runtime.js';
import { makeMeta, wrap, type Meta, type NestedArray, type Tensor } from './tensor.js';
import { checkInRange, checkShape, upload, type NumericArray } from './upload.js';

interface Typed {
  dtype: DTypeName;
}

/**
 * Makes a tensor of a number, of nested arrays, or of a typed array, whose elements are copied. Default dtype: float32 for
 * numbers; bool if all are booleans; that of a typed array, or int32 for Int16Array and Uint16Array. With dtype float16 or
 * bfloat16 the elements of a Uint16Array are taken as their bits.
 */
export function tensor(data: NestedArray | NumericArray, { dtype, shape }: { dtype: DTypeName | undefined; shape: readonly number[] | undefined }): Tensor {
  const made = upload(runtime(), 'tensor', data, {
    ...(shape !== undefined && { shape }),
    ...(dtype !== undefined && { dtype: parseDType(dtype, 'tensor') }),
  });
  return wrap(made.address, made.meta);
}

/** Makes a tensor of a shape by run, which gets the number of the dtype and the rank, and finds the sizes in the scratch
 *  block. */
function shaped(
  op: string,
  shape: readonly number[],
  dtype: DTypeName,
  run: (core: Exports, dtype: number, rank: number, meta: Meta) => number,
): Tensor {
  const rt = runtime();
  const sizes = checkShape(op, shape);
  const meta = makeMeta(parseDType(dtype, op), sizes);
  rt.send(meta.shape);
  return wrap(run(rt.exports, dtypeNumber(meta.dtype), meta.shape.length, meta), meta);
}

export const full = (shape: readonly number[], value: number, { dtype }: Typed): Tensor =>
  shaped('full', shape, dtype, (core, number, rank, meta) => {
    checkInRange('full', [checkNumber('full', 'value', value)], meta.dtype);
    return core.sinter_full(number, rank, value);
  });

export const zeros = (shape: readonly number[], { dtype }: Typed): Tensor =>
  shaped('zeros', shape, dtype, (core, number, rank) => core.sinter_zeros(number, rank));

export const ones = (shape: readonly number[], { dtype }: Typed): Tensor =>
  shaped('ones', shape, dtype, (core, number, rank) => core.sinter_ones(number, rank));

export const iota = (shape: readonly number[], axis: number, { dtype }: Typed): Tensor =>
  shaped('iota', shape, dtype, (core, number, rank, meta) =>
    core.sinter_iota(number, rank, resolveAxis('iota', axis, meta.shape)),
  );

const numberOf = (op: string, dtype: DTypeName): number => dtypeNumber(parseDType(dtype, op));

/** Refuses what is no number, in a place where options are often put by mistake; order: the arguments, for the hint. */
function checkBound(op: string, what: string, value: unknown, order: string): void {
  if (typeof value === 'number') return;
  throw new SinterError('argument', op, `${what} is ${shown(value)}, expected a number`, {
    hint: `the arguments are ${order}`,
  });
}

export function arange(start: number, stop: number | undefined, step: number, { dtype }: Typed): Tensor {
  checkNumber('arange', 'start', start);
  if (stop !== undefined) checkBound('arange', 'stop', stop, '(start, stop, step, { dtype })');
  checkBound('arange', 'step', step, '(start, stop, step, { dtype })');
  const [from, to] = stop === undefined ? [0, start] : [start, stop];
  const own = parseDType(dtype, 'arange');
  const count = Math.ceil((to - from) / step);
  if (count > 0) checkInRange('arange', [from, from + step * (count - 1)], own);
  return wrap(runtime().exports.sinter_arange(dtypeNumber(own), from, to, step));
}

export function linspace(start: number, stop: number, count: number, { dtype }: Typed): Tensor {
  checkNumber('linspace', 'start', start);
  checkNumber('linspace', 'stop', stop);
  checkShape('linspace', [count]);
  const own = parseDType(dtype, 'linspace');
  checkInRange('linspace', [start, stop].slice(0, count), own);
  return wrap(runtime().exports.sinter_linspace(dtypeNumber(own), start, stop, count));
}

export function eye(n: number, { dtype }: Typed): Tensor {
  checkShape('eye', [n, n]);
  return wrap(runtime().exports.sinter_eye(numberOf('eye', dtype), n));
}
