// The hot path: one call into the core per op. Anything that is not a tensor becomes an address for
// the length of the call; a number becomes a scalar that takes the dtype of what it meets.

import { carry, isElsewhere, tracingFor } from './device.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';
import { Tensor as TensorClass, wrap, type NestedArray } from './tensor.js';
import { upload, type NumericArray } from './upload.js';
import type { DType } from './dtype.js';
import type { Exports } from './runtime/exports.js';
import { runtime, type Runtime } from './runtime/runtime.js';

/** What is accepted wherever a tensor is. */
export type TensorLike = Tensor | NestedArray | NumericArray;

/** The address of an argument. To be followed by leave. */
function enter(rt: Runtime, x: TensorLike, op: string): number {
  if (x instanceof TensorClass) return x.use(op);
  if (typeof x === 'number') return rt.check(rt.exports.sinter_scalar(x));
  const { address } = upload(rt, op, x);
  if (!isElsewhere()) return address;
  const there = carry(address, 'webgpu');
  rt.exports.sinter_release(address);
  return there;
}

/** Gives back what enter made. */
function leave(rt: Runtime, x: TensorLike, address: number): void {
  if (!(x instanceof TensorClass)) rt.exports.sinter_release(address);
}

/** An elementwise op with one input, by its number in the interface to wasm. */
export function unary(op: number, name: string, x: TensorLike): Tensor {
  const rt = runtime();
  const a = enter(rt, x, name);
  const result = rt.exports.sinter_unary(op, a);
  leave(rt, x, a);
  return wrap(result);
}

/** One with two. */
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

/** One with three. */
export const ternary = (op: number, name: string, x: TensorLike, y: TensorLike, z: TensorLike): Tensor =>
  withTensors(name, [x, y, z], (core, [a, b, c]) => core.sinter_ternary(op, a!, b!, c!));

/** Calls f with x as a tensor, or one made of it for the length of the call; f returns a new address or 0. */
export function withTensor(name: string, x: TensorLike, f: (core: Exports, t: Tensor) => number): Tensor {
  const { exports } = runtime();
  if (x instanceof TensorClass) return wrap(f(exports, x));
  return tidy(() => wrap(f(exports, asTensor(x, name))));
}

/** Calls f with x as a tensor; f returns a status, and has put the results, of these names, into the scratch block. */
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

/** Calls f with the addresses of arguments, and behind them of those that may not be given, which are 0 then; f returns
 *  a new address or 0. */
export function withTensors(
  name: string,
  list: readonly TensorLike[],
  f: (core: Exports, addresses: readonly number[]) => number,
  others: readonly (TensorLike | null | undefined)[] = [],
): Tensor {
  const rt = runtime();
  if (!isElsewhere() && rt.device?.has([...list, ...others])) return tracingFor('webgpu', () => withTensors(name, list, f, others));
  const made: number[] = [];
  const addressOf = (x: TensorLike): number => {
    const address = enter(rt, x, name);
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

/** Calls f with the addresses of a list of arguments in the scratch block, and how many they are. */
export const withList = (
  name: string,
  list: readonly TensorLike[],
  f: (core: Exports, count: number) => number,
): Tensor =>
  withTensors(name, list, (core, addresses) => {
    runtime().send(addresses);
    return f(core, addresses.length);
  });

/** A tensor for an argument: itself, or a new one in the caller's scope, of the dtype if there is one. */
export function asTensor(x: TensorLike, op: string, dtype?: DType): Tensor {
  if (x instanceof TensorClass) {
    x.use(op);
    return x;
  }
  const rt = runtime();
  const { address, meta } = upload(rt, op, x, dtype && { dtype });
  const made = wrap(address, meta);
  rt.device?.loose.add(made);
  return made;
}
