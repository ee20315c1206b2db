// The hot path: one call into the core per op. An argument that is not a tensor becomes a temporary tensor of the core for
// the length of the call; a bare number becomes a scalar without a dtype of its own, which takes that of the operand it
// meets.

import { copyToDevice, isTracingForDevice, tracingFor } from './device.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';
import { Tensor as TensorClass, wrap, type NestedArray } from './tensor.js';
import { upload, type NumericArray } from './upload.js';
import type { DType } from './dtype.js';
import type { Exports } from './runtime/exports.js';
import { runtime, type Runtime } from './runtime/runtime.js';

/** Any argument that an op takes as a tensor: a tensor, a number or boolean, nested arrays of these, or a typed array. */
export type TensorLike = Tensor | NestedArray | NumericArray;

/** The core's address of an argument, which the caller gives back by releaseAddress(). That of a tensor is only borrowed. */
function acquireAddress(rt: Runtime, x: TensorLike, op: string): number {
  if (x instanceof TensorClass) return x.use(op);
  if (typeof x === 'number') return rt.check(rt.exports.sinter_scalar(x));
  const { address } = upload(rt, op, x);
  if (!isTracingForDevice()) return address;
  const there = copyToDevice(address, 'webgpu');
  rt.exports.sinter_release(address);
  return there;
}

/** Releases the temporary tensor that acquireAddress made, if it made one. */
function releaseAddress(rt: Runtime, x: TensorLike, address: number): void {
  if (!(x instanceof TensorClass)) rt.exports.sinter_release(address);
}

/** An elementwise op with one input, by its number in the interface to wasm. */
export function unary(op: number, name: string, x: TensorLike): Tensor {
  const rt = runtime();
  const a = acquireAddress(rt, x, name);
  const result = rt.exports.sinter_unary(op, a);
  releaseAddress(rt, x, a);
  return wrap(result);
}

/** An elementwise op with two inputs. */
export function binary(op: number, name: string, x: TensorLike, y: TensorLike): Tensor {
  const rt = runtime();
  if (x instanceof TensorClass) {
    if (y instanceof TensorClass && !rt.device) return wrap(rt.exports.sinter_binary(op, x.use(name), y.use(name)));
    if (typeof y === 'number') return wrap(rt.exports.sinter_binary_scalar(op, x.use(name), y));
  } else if (typeof x === 'number' && y instanceof TensorClass) {
    return wrap(rt.exports.sinter_scalar_binary(op, x, y.use(name)));
  }
  return withTensors(name, [x, y], (core, [a, b]) => core.sinter_binary(op, a!, b!));
}

/** An elementwise op with three inputs. */
export const ternary = (op: number, name: string, x: TensorLike, y: TensorLike, z: TensorLike): Tensor =>
  withTensors(name, [x, y, z], (core, [a, b, c]) => core.sinter_ternary(op, a!, b!, c!));

/** Calls f with x, or with a temporary tensor made of x. f returns the address of a new tensor, or 0 for the core's error. */
export function withTensor(name: string, x: TensorLike, f: (core: Exports, t: Tensor) => number): Tensor {
  const { exports } = runtime();
  if (x instanceof TensorClass) return wrap(f(exports, x));
  return tidy(() => wrap(f(exports, asTensor(x, name))));
}

/** Calls f with x as a tensor. f returns a status of the core and leaves the addresses of its results in the scratch
 *  block, in the order of names; they are returned under these names. */
export const withResults = <Name extends string>(
  name: string,
  x: TensorLike,
  names: readonly Name[],
  f: (core: Exports, t: Tensor) => number,
): Record<Name, Tensor> =>
  tidy(() => {
    const rt = runtime();
    rt.ok(f(rt.exports, asTensor(x, name)));
    const made = rt.receive(0, names.length).map((address) => wrap(address));
    return Object.fromEntries(names.map((each, i) => [each, made[i]])) as Record<Name, Tensor>;
  });

/** Calls f with the addresses of the arguments in list, then of those in others, where 0 stands for one that is not
 *  given. f returns the address of a new tensor, or 0. */
export function withTensors(
  name: string,
  list: readonly TensorLike[],
  f: (core: Exports, addresses: readonly number[]) => number,
  others: readonly (TensorLike | null | undefined)[] = [],
): Tensor {
  const rt = runtime();
  if (!isTracingForDevice() && rt.device?.has([...list, ...others])) return tracingFor('webgpu', () => withTensors(name, list, f, others));
  const made: number[] = [];
  const addressOf = (x: TensorLike): number => {
    const address = acquireAddress(rt, x, name);
    if (!(x instanceof TensorClass)) made.push(address);
    return address;
  };
  try {
    const addresses = list.map(addressOf);
    for (const x of others) addresses.push(x === null || x === undefined ? 0 : addressOf(x));
    return wrap(f(rt.exports, addresses));
  } finally {
    for (const address of made) rt.exports.sinter_release(address);
  }
}

/** Calls f with the number of arguments in list, whose addresses lie in the scratch block. */
export const withList = (
  name: string,
  list: readonly TensorLike[],
  f: (core: Exports, count: number) => number,
): Tensor =>
  withTensors(name, list, (core, addresses) => {
    runtime().send(addresses);
    return f(core, addresses.length);
  });

/** x if it is a tensor, else a new tensor made of it, owned by the active scope; dtype: of the new tensor. */
export function asTensor(x: TensorLike, op: string, dtype?: DType): Tensor {
  if (x instanceof TensorClass) {
    x.use(op);
    return x;
  }
  const rt = runtime();
  const { address, meta } = upload(rt, op, x, dtype && { dtype });
  const made = wrap(address, meta);
  rt.device?.uncommitted.add(made);
  return made;
}
