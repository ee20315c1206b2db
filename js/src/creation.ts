// Functions that make tensors from numbers.

import { asTensor, type TensorLike } from './apply.js';
import { equal } from './ops.gen.js';
import { resolveAxis } from './axes.js';
import { checkNumber, shown } from './check.js';
import { SinterError } from './errors.js';
import { dtypeNumber, parseDType, type DTypeName } from './dtype.js';
import { runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { makeMeta, wrap, type NestedArray, type Tensor } from './tensor.js';
import { checkHeld, checkShape, upload, type NumericArray } from './upload.js';

const INT32 = { dtype: 'int32' } as const;

interface Typed {
  dtype: DTypeName;
}

/**
 * A tensor of nested arrays, one number, or a typed array (copied). Default dtype: float32 for
 * numbers, bool for booleans, that of the typed array, int32 for arrays of integers of 16 bits. A
 * Uint16Array given as float16 or bfloat16 is their bits.
 */
export function tensor(data: NestedArray | NumericArray, { dtype, shape }: { dtype: DTypeName | undefined; shape: readonly number[] | undefined }): Tensor {
  const made = upload(runtime(), 'tensor', data, {
    ...(shape !== undefined && { shape }),
    ...(dtype !== undefined && { dtype: parseDType(dtype, 'tensor') }),
  });
  return wrap(made.address, made.meta);
}

/** value everywhere. Takes no memory until it is needed. */
export function full(shape: readonly number[], value: number, options: Typed): Tensor {
  return filled('full', shape, checkNumber('full', 'value', value), options);
}

export function zeros(shape: readonly number[], options: Typed): Tensor {
  return filled('zeros', shape, 0, options);
}

export function ones(shape: readonly number[], options: Typed): Tensor {
  return filled('ones', shape, 1, options);
}

export const zerosLike = (x: TensorLike): Tensor => like('zerosLike', x, 0);
export const onesLike = (x: TensorLike): Tensor => like('onesLike', x, 1);

const like = (op: string, x: TensorLike, value: number): Tensor =>
  tidy(() => {
    const { shape, dtype } = asTensor(x, op);
    return filled(op, shape, value, { dtype });
  });

function filled(
  op: string,
  shape: readonly number[],
  value: number,
  { dtype }: Typed,
): Tensor {
  const rt = runtime();
  const sizes = checkShape(op, shape);
  const meta = makeMeta(parseDType(dtype, op), sizes);
  checkHeld(op, [value], meta.dtype);
  rt.send(meta.shape);
  return wrap(rt.exports.sinter_full(dtypeNumber(meta.dtype), meta.shape.length, value), meta);
}

/** The index along axis. */
export function iota(
  shape: readonly number[],
  axis: number,
  { dtype }: Typed,
): Tensor {
  const rt = runtime();
  const meta = makeMeta(parseDType(dtype, 'iota'), checkShape('iota', shape));
  const along = resolveAxis('iota', axis, meta.shape);
  rt.send(meta.shape);
  return wrap(rt.exports.sinter_iota(dtypeNumber(meta.dtype), meta.shape.length, along), meta);
}

/** A number in a place where options are often put by mistake. */
function checkBound(op: string, what: string, value: unknown, order: string): void {
  if (typeof value === 'number') return;
  throw new SinterError('argument', `${op}: ${what} is ${shown(value)}, expected a number`, {
    hint: `the arguments are ${order}`,
  });
}

/** start, start + step, ... below stop; arange(n) counts from 0. */
export function arange(start: number, stop: number | undefined, step: number, options: Typed): Tensor {
  checkNumber('arange', 'start', start);
  if (stop !== undefined) checkBound('arange', 'stop', stop, '(start, stop, step, { dtype })');
  checkBound('arange', 'step', step, '(start, stop, step, { dtype })');
  const [from, to] = stop === undefined ? [0, start] : [start, stop];
  const count = Math.max(0, Math.ceil((to - from) / step));
  if (step === 0 || !Number.isFinite(count)) {
    throw new SinterError('argument', `arange: from ${from} to ${to} in steps of ${step} never ends`);
  }
  return ramp(checkShape('arange', [count]), from, step, options);
}

/** count numbers from start to stop, both included. */
export function linspace(start: number, stop: number, count: number, options: Typed): Tensor {
  checkNumber('linspace', 'start', start);
  checkNumber('linspace', 'stop', stop);
  return ramp(checkShape('linspace', [count]), start, count > 1 ? (stop - start) / (count - 1) : 0, options);
}

/** from + step * index. */
function ramp(
  shape: readonly number[],
  from: number,
  step: number,
  { dtype }: Typed,
): Tensor {
  return tidy(() => {
    const index = iota(shape, 0, { dtype });
    const scaled = step === 1 ? index : index.mul(step);
    return from === 0 ? scaled : scaled.add(from);
  });
}

/** The n x n identity matrix. */
export function eye(n: number, { dtype }: Typed): Tensor {
  const shape = checkShape('eye', [n, n]);
  return tidy(() => equal(iota(shape, 0, INT32), iota(shape, 1, INT32)).astype(dtype));
}
