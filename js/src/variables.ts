// What transforms have in common: the arguments to differentiate by become variables, the function records its graph
// on them, and the core adds what is derived from it; nothing is computed until it is read. Results are ordinary lazy
// tensors, so transforms nest.
//
// Invariant: outside of a trace, what a transform hands out does not know the variables any more. So a loop of steps
// does not keep its past.

import { asTensor, type TensorLike } from './apply.js';
import { noArgument, shown } from './check.js';
import { SinterError } from './errors.js';
import { flatten, leavesWithPaths, map, rebuild, type TreeShape } from './pytree.js';
import { runtime } from './runtime/runtime.js';
import { refusePromise } from './scope.js';
import { Tensor, wrap } from './tensor.js';
import { isTracing, replacing, tracing } from './trace.js';

/** The derivative of an argument has its structure; that of a number is a tensor. */
export type GradOf<T> = T extends number | boolean ? Tensor : T;

/** One derivative, or one for each of several argument numbers. */
export type Grads<A extends readonly unknown[], N> = N extends readonly number[]
  ? { -readonly [K in keyof N]: GradOf<A[N[K] & number]> }
  : N extends number
    ? GradOf<A[N]>
    : never;

/** A function as it was recorded on variables. */
export interface Recorded {
  /** In place of the tensors of the chosen arguments. */
  variables: Tensor[];
  /** What the function returned. */
  value: unknown;
  /** The chosen arguments around other leaves than the variables, an array. */
  rebuild: (leaves: readonly unknown[]) => unknown[];
  /** That array's shape. */
  shape: TreeShape;
}

/** A number leaf of a differentiated argument counts as a tensor. */
const numbersAsTensors = (op: string, arg: unknown): unknown =>
  typeof arg === 'number' ? asTensor(arg as TensorLike, op) : arg;

/** Refuses arguments that nothing can be differentiated by; none at all and empty trees are fine. */
function refuseStatic(op: string, shape: TreeShape): void {
  const leaf = leavesWithPaths(shape).find(({ value }) => value !== undefined && value !== null);
  if (!leaf) return;
  throw new SinterError('argument', op, `there is no tensor in what to differentiate by, but ${shown(leaf.value)}`, {
    hint: 'make tensors of it: sn.tensor([1, 2])',
  });
}

/** Records f with variables in place of the tensors of the arguments with these numbers. */
export function record(
  op: string,
  f: (args: unknown[]) => unknown,
  args: readonly unknown[],
  numbers: readonly number[],
): Recorded {
  const rt = runtime();
  const chosen = numbers.map((n) => {
    if (n >= args.length) throw noArgument(op, n, args.length);
    return numbersAsTensors(op, args[n]);
  });
  const { tensors, bound, shape } = flatten(chosen, op, (array) => asTensor(array, op));
  if (tensors.length === 0) refuseStatic(op, shape);
  const variables = tensors.map((t) => wrap(rt.exports.sinter_variable(t.use(op)), t.meta));
  const trees = rebuild(shape, variables) as unknown[];
  const replaced = [...args];
  numbers.forEach((n, i) => (replaced[n] = trees[i]));
  const value = replacing(bound, () => tracing(() => f(replaced)));
  refusePromise(op, value, 'the function to differentiate must be synchronous');
  return { variables, value, rebuild: (leaves) => rebuild(shape, leaves) as unknown[], shape };
}

/** Another handle of the same tensor. */
export function share(op: string, t: Tensor): Tensor {
  runtime().exports.sinter_retain(t.use(op));
  return wrap(t.address, t.meta);
}

/** A tensor for the caller, with a handle of its own: see the head of this file. */
export const handOut = (op: string, t: Tensor): Tensor =>
  isTracing() ? share(op, t) : wrap(runtime().exports.sinter_untracked(t.use(op)), t.meta);

/** handOut for all tensors of a tree. */
export const handOutTree = <T>(op: string, tree: T): T => map((t) => handOut(op, t), tree) as T;

/** Calls the core with what it finds in the scratch block; results are behind the `sent` words there. */
function results(words: readonly number[], count: number, call: () => number): number[] {
  const rt = runtime();
  rt.scratch(words.length + count);
  rt.send(words);
  rt.ok(call());
  return rt.receive(words.length, count);
}

const addresses = (op: string, tensors: readonly (Tensor | null)[]): number[] =>
  tensors.map((t) => (t === null ? 0 : t.use(op)));

/** The derivatives of a number by the variables. */
export function gradients(op: string, y: Tensor, wrt: readonly Tensor[]): Tensor[] {
  const from = y.use(op);
  const made = results(addresses(op, wrt), wrt.length, () => runtime().exports.sinter_gradients(from, wrt.length));
  return made.map((address, i) => wrap(address, wrt[i]!.meta));
}

/** The cotangents of the variables from those of the outputs. */
export function pullBack(op: string, outputs: readonly Tensor[], cotangents: readonly Tensor[], wrt: readonly Tensor[]): Tensor[] {
  const words = addresses(op, [...outputs, ...cotangents, ...wrt]);
  const made = results(words, wrt.length, () => runtime().exports.sinter_vjp(outputs.length, wrt.length));
  return made.map((address, i) => wrap(address, wrt[i]!.meta));
}

/** The tangents of the outputs from those of the variables; null: zeros. */
export function pushForward(
  op: string,
  outputs: readonly Tensor[],
  wrt: readonly Tensor[],
  tangents: readonly (Tensor | null)[],
): Tensor[] {
  const words = addresses(op, [...outputs, ...wrt, ...tangents]);
  const made = results(words, outputs.length, () => runtime().exports.sinter_jvp(outputs.length, wrt.length));
  return made.map((address, i) => wrap(address, outputs[i]!.meta));
}

/** An example, the tensor that has all of them, and along which axis. */
export interface Mapped {
  example: Tensor;
  batch: Tensor;
  axis: number;
}

/** SN_NO_AXIS. */
const NO_AXIS = -0x7fffffff - 1;

/** The outputs for all examples, along these axes; null: an output that depends on none. */
export function mapExamples(
  op: string,
  outputs: readonly Tensor[],
  axes: readonly (number | null)[],
  mapped: readonly Mapped[],
): Tensor[] {
  const words = [
    ...addresses(op, outputs),
    ...axes.map((axis) => axis ?? NO_AXIS),
    ...addresses(op, mapped.map(({ example }) => example)),
    ...addresses(op, mapped.map(({ batch }) => batch)),
    ...mapped.map(({ axis }) => axis),
  ];
  const made = results(words, outputs.length, () => runtime().exports.sinter_vmap(outputs.length, mapped.length));
  return made.map((address) => wrap(address));
}
