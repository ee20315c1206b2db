// What transforms have in common. The arguments to differentiate by become variables, on which the function records its
// graph, and the core adds the derivatives to it; nothing is computed until it is read. Results are ordinary lazy tensors,
// so transforms nest.
//
// Invariant: outside of a trace, tensors that a transform hands out are not connected to the variables any more. So a loop
// of steps does not keep its past.

import { asTensor, type TensorLike } from './apply.js';
import { noArgument, shown } from './check.js';
import { SinterError } from './errors.js';
import { flatten, leavesWithPaths, map, rebuild, type TreeShape } from './pytree.js';
import { runtime } from './runtime/runtime.js';
import { refusePromise } from './scope.js';
import { Tensor, wrap } from './tensor.js';
import { isTracing, replacing, tracing } from './trace.js';

/** The type of an argument's derivative: it has the argument's structure, and a tensor for a number. */
export type GradOf<T> = T extends number | boolean ? Tensor : T;

/** One derivative, or one for each of several argument numbers. */
export type Grads<A extends readonly unknown[], N> = N extends readonly number[]
  ? { -readonly [K in keyof N]: GradOf<A[N[K] & number]> }
  : N extends number
    ? GradOf<A[N]>
    : never;

/** A function as it was recorded on variables. */
export interface Recorded {
  /** The variables that stand for the tensors of the chosen arguments. */
  variables: Tensor[];
  /** What the function returned. */
  value: unknown;
  /** The array of the chosen arguments, with other leaves in the places of the variables. */
  rebuild: (leaves: readonly unknown[]) => unknown[];
  /** The shape of that array. */
  shape: TreeShape;
}

/** An argument to differentiate by that is a number counts as a tensor. */
const numbersAsTensors = (op: string, arg: unknown): unknown =>
  typeof arg === 'number' ? asTensor(arg as TensorLike, op) : arg;

/** Refuses arguments with static values but no tensor to differentiate by; no arguments, or empty trees, are fine. */
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

/** Another handle for the same tensor. */
export function share(op: string, t: Tensor): Tensor {
  runtime().exports.sinter_retain(t.use(op));
  return wrap(t.address, t.meta);
}

/** A tensor for the caller, with a handle of its own and outside of a trace without the variables: see the head of this
 *  file. */
export const handOut = (op: string, t: Tensor): Tensor =>
  isTracing() ? share(op, t) : wrap(runtime().exports.sinter_untracked(t.use(op)), t.meta);

/** handOut for all tensors of a tree. */
export const handOutTree = <T>(op: string, tree: T): T => map((t) => handOut(op, t), tree) as T;

/** Calls the core with words in the scratch block, behind which it writes count results; returns these. */
function results(words: readonly number[], count: number, call: () => number): number[] {
  const rt = runtime();
  rt.scratch(words.length + count);
  rt.send(words);
  rt.ok(call());
  return rt.receive(words.length, count);
}

const addresses = (op: string, tensors: readonly (Tensor | null)[]): number[] =>
  tensors.map((t) => (t === null ? 0 : t.use(op)));

/** The derivatives of the scalar y by the variables. */
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

/** The tangents of the outputs from those of the variables, where null stands for zeros. */
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

/** The placeholder of one example, the tensor with all examples, and the axis along which they lie. */
export interface Mapped {
  example: Tensor;
  batch: Tensor;
  axis: number;
}

/** SN_NO_AXIS. */
const NO_AXIS = -0x7fffffff - 1;

/** The outputs for all examples, which lie along the given axes; null: the output does not depend on the example. */
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
