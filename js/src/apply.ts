// The hot path: one call into the core per op. Anything that is not a tensor becomes an address for
// the length of the call; a number becomes a scalar that takes the dtype of what it meets.

import type { Tensor } from './tensor.js';
import { Tensor as TensorClass, wrap, type NestedArray } from './tensor.js';
import { upload, type NumericArray } from './upload.js';
import { runtime, type Runtime } from './runtime/runtime.js';

/** What is accepted wherever a tensor is. */
export type TensorLike = Tensor | NestedArray | NumericArray;

/** The address of an argument. To be followed by leave. */
export function enter(rt: Runtime, x: TensorLike, op: string): number {
  if (x instanceof TensorClass) return x.use(op);
  if (typeof x === 'number') return rt.check(rt.exports.sinter_scalar(x));
  return upload(rt, op, x).address;
}

/** Gives back what enter made. */
export function leave(rt: Runtime, x: TensorLike, address: number): void {
  if (!(x instanceof TensorClass)) rt.exports.sinter_release(address);
}

/** The function of an op with one input, by the op's number in the interface to wasm. */
export const unary =
  (op: number, name: string) =>
  (x: TensorLike): Tensor => {
    const rt = runtime();
    const a = enter(rt, x, name);
    const result = rt.exports.sinter_unary(op, a);
    leave(rt, x, a);
    return wrap(result);
  };

export const binary =
  (op: number, name: string) =>
  (x: TensorLike, y: TensorLike): Tensor => {
    const rt = runtime();
    if (x instanceof TensorClass) {
      if (y instanceof TensorClass) return wrap(rt.exports.sinter_binary(op, x.use(name), y.use(name)));
      if (typeof y === 'number') return wrap(rt.exports.sinter_binary_scalar(op, x.use(name), y));
    } else if (typeof x === 'number' && y instanceof TensorClass) {
      return wrap(rt.exports.sinter_scalar_binary(op, x, y.use(name)));
    }
    const a = enter(rt, x, name);
    try {
      const b = enter(rt, y, name);
      const result = rt.exports.sinter_binary(op, a, b);
      leave(rt, y, b);
      return wrap(result);
    } finally {
      leave(rt, x, a);
    }
  };

export const ternary =
  (op: number, name: string) =>
  (x: TensorLike, y: TensorLike, z: TensorLike): Tensor =>
    withAddresses(name, [x, y, z], (rt, [a, b, c]) => rt.exports.sinter_ternary(op, a!, b!, c!));

/** Calls f with the addresses of arguments; f returns a new address or 0. */
export function withAddresses(
  name: string,
  arguments_: readonly TensorLike[],
  f: (rt: Runtime, addresses: number[]) => number,
): Tensor {
  const rt = runtime();
  const addresses: number[] = [];
  try {
    for (const x of arguments_) addresses.push(enter(rt, x, name));
    return wrap(f(rt, addresses));
  } finally {
    addresses.forEach((address, i) => leave(rt, arguments_[i]!, address));
  }
}

/** A tensor for an argument: itself, or a new one in the caller's scope. */
export function asTensor(x: TensorLike, op: string): Tensor {
  if (x instanceof TensorClass) {
    x.use(op);
    return x;
  }
  const made = upload(runtime(), op, x);
  return wrap(made.address, made.meta);
}
