// Functions that make tensors from numbers.

import { asTensor, type TensorLike } from './apply.js';
import { equal } from './ops.gen.js';
import { resolveAxis } from './axes.js';
import { checkNumber, shown } from './check.js';
import { SinterError } from './errors.js';
import { readOptions, type OptionSchema } from './options.js';
import { dtypeNumber, parseDType, type DTypeName } from './dtype.js';
import { runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { makeMeta, wrap, type NestedArray, type Tensor } from './tensor.js';
import { checkHeld, checkShape, upload, type NumericArray } from './upload.js';

export interface CreationOptions {
  /** Default float32. */
  dtype?: DTypeName;
}

export interface TensorOptions extends CreationOptions {
  /** Default: that of the nesting, or one dimension. */
  shape?: readonly number[];
}

// Names of dtypes are checked where they are parsed.
const CREATION: OptionSchema<CreationOptions> = { dtype: 'string' };
const TENSOR: OptionSchema<TensorOptions> = { dtype: 'string', shape: 'any' };

/**
 * A tensor of nested arrays, one number, or a typed array (copied). Default dtype: float32 for
 * numbers, bool for booleans, that of the typed array, int32 for arrays of integers of 16 bits. A
 * Uint16Array given as float16 or bfloat16 is their bits.
 */
export function tensor(data: NestedArray | NumericArray, options?: TensorOptions): Tensor {
  const { shape, dtype } = readOptions('tensor', options, TENSOR);
  const made = upload(runtime(), 'tensor', data, {
    ...(shape !== undefined && { shape }),
    ...(dtype !== undefined && { dtype: parseDType(dtype, 'tensor') }),
  });
  return wrap(made.address, made.meta);
}

/** value everywhere. Takes no memory until it is needed. */
export function full(shape: readonly number[], value: number, options?: CreationOptions): Tensor {
  return filled('full', shape, checkNumber('full', 'value', value), options);
}

export function zeros(shape: readonly number[], options?: CreationOptions): Tensor {
  return filled('zeros', shape, 0, options);
}

export function ones(shape: readonly number[], options?: CreationOptions): Tensor {
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
  options: CreationOptions | undefined,
): Tensor {
  const rt = runtime();
  const sizes = checkShape(op, shape);
  const { dtype = 'float32' } = readOptions(op, options, CREATION);
  const meta = makeMeta(parseDType(dtype, op), sizes);
  checkHeld(op, [value], meta.dtype);
  rt.send(meta.shape);
  return wrap(rt.exports.sinter_full(dtypeNumber(meta.dtype), meta.shape.length, value), meta);
}

/** The index along axis. */
export function iota(
  shape: readonly number[],
  axis: number,
  options?: CreationOptions,
): Tensor {
  const rt = runtime();
  const { dtype = 'int32' } = readOptions('iota', options, CREATION);
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
export function arange(start: number, stop?: number, step = 1, options?: CreationOptions): Tensor {
  checkNumber('arange', 'start', start);
  if (stop !== undefined) checkBound('arange', 'stop', stop, '(start, stop, step, { dtype })');
  checkBound('arange', 'step', step, '(start, stop, step, { dtype })');
  const [from, to] = stop === undefined ? [0, start] : [start, stop];
  const count = Math.max(0, Math.ceil((to - from) / step));
  if (step === 0 || !Number.isFinite(count)) {
    throw new SinterError('argument', `arange: from ${from} to ${to} in steps of ${step} never ends`);
  }
  return ramp('arange', checkShape('arange', [count]), from, step, options);
}

/** count numbers from start to stop, both included. */
export function linspace(start: number, stop: number, count = 50, options?: CreationOptions): Tensor {
  checkNumber('linspace', 'start', start);
  checkNumber('linspace', 'stop', stop);
  return ramp('linspace', checkShape('linspace', [count]), start, count > 1 ? (stop - start) / (count - 1) : 0, options);
}

/** from + step * index. */
function ramp(
  op: string,
  shape: readonly number[],
  from: number,
  step: number,
  options: CreationOptions | undefined,
): Tensor {
  const { dtype = 'float32' } = readOptions(op, options, CREATION);
  return tidy(() => {
    const index = iota(shape, 0, { dtype });
    const scaled = step === 1 ? index : index.mul(step);
    return from === 0 ? scaled : scaled.add(from);
  });
}

/** The n x n identity matrix. */
export function eye(n: number, options?: CreationOptions): Tensor {
  const { dtype = 'float32' } = readOptions('eye', options, CREATION);
  const shape = checkShape('eye', [n, n]);
  return tidy(() => equal(iota(shape, 0), iota(shape, 1)).astype(dtype));
}
