// Functions that make tensors from numbers.

import { equal } from './ops.gen.js';
import { SinterError } from './errors.js';
import { dtypeNumber, parseDType, type DTypeName } from './dtype.js';
import { runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { makeMeta, wrap, type NestedArray, type Tensor } from './tensor.js';
import { checkShape, upload, type NumericArray } from './upload.js';

export interface CreationOptions {
  /** Default float32. */
  dtype?: DTypeName;
}

export interface TensorOptions extends CreationOptions {
  /** Default: that of the nesting, or one dimension. */
  shape?: readonly number[];
}

/**
 * A tensor of nested arrays, one number, or a typed array (copied). Default dtype: float32 for
 * numbers, bool for booleans, that of the typed array, int32 for arrays of integers of 16 bits. A
 * Uint16Array given as float16 or bfloat16 is their bits.
 */
export function tensor(data: NestedArray | NumericArray, { shape, dtype }: TensorOptions = {}): Tensor {
  const made = upload(runtime(), 'tensor', data, {
    ...(shape && { shape }),
    ...(dtype && { dtype: parseDType(dtype, 'tensor') }),
  });
  return wrap(made.address, made.meta);
}

/** value everywhere. Takes no memory until it is needed. */
export function full(shape: readonly number[], value: number, options: CreationOptions = {}): Tensor {
  return filled('full', shape, value, options);
}

export function zeros(shape: readonly number[], options: CreationOptions = {}): Tensor {
  return filled('zeros', shape, 0, options);
}

export function ones(shape: readonly number[], options: CreationOptions = {}): Tensor {
  return filled('ones', shape, 1, options);
}

export const zerosLike = (x: Tensor): Tensor => filled('zerosLike', x.shape, 0, { dtype: x.dtype });
export const onesLike = (x: Tensor): Tensor => filled('onesLike', x.shape, 1, { dtype: x.dtype });

function filled(
  op: string,
  shape: readonly number[],
  value: number,
  { dtype = 'float32' }: CreationOptions,
): Tensor {
  const rt = runtime();
  const meta = makeMeta(parseDType(dtype, op), checkShape(op, shape));
  rt.send(meta.shape);
  return wrap(rt.exports.sinter_full(dtypeNumber(meta.dtype), meta.shape.length, value), meta);
}

/** The index along axis. */
export function iota(
  shape: readonly number[],
  axis: number,
  { dtype = 'int32' }: CreationOptions = {},
): Tensor {
  const rt = runtime();
  const meta = makeMeta(parseDType(dtype, 'iota'), checkShape('iota', shape));
  rt.send(meta.shape);
  return wrap(rt.exports.sinter_iota(dtypeNumber(meta.dtype), meta.shape.length, axis), meta);
}

/** start, start + step, ... below stop; arange(n) counts from 0. */
export function arange(start: number, stop?: number, step = 1, options: CreationOptions = {}): Tensor {
  const [from, to] = stop === undefined ? [0, start] : [start, stop];
  const count = Math.max(0, Math.ceil((to - from) / step));
  if (step === 0 || !Number.isFinite(count)) {
    throw new SinterError('argument', `arange: from ${from} to ${to} in steps of ${step} never ends`);
  }
  return ramp([count], from, step, options);
}

/** count numbers from start to stop, both included. */
export function linspace(start: number, stop: number, count = 50, options: CreationOptions = {}): Tensor {
  return ramp(checkShape('linspace', [count]), start, count > 1 ? (stop - start) / (count - 1) : 0, options);
}

/** from + step * index. */
function ramp(
  shape: readonly number[],
  from: number,
  step: number,
  { dtype = 'float32' }: CreationOptions,
): Tensor {
  return tidy(() => {
    const index = iota(shape, 0, { dtype });
    const scaled = step === 1 ? index : index.mul(step);
    return from === 0 ? scaled : scaled.add(from);
  });
}

/** The n x n identity matrix. */
export function eye(n: number, { dtype = 'float32' }: CreationOptions = {}): Tensor {
  const shape = checkShape('eye', [n, n]);
  return tidy(() => equal(iota(shape, 0), iota(shape, 1)).astype(dtype));
}
