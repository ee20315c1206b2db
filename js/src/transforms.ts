// Derivatives. The arguments to differentiate by become variables, the function records its graph on
// them, and the core adds the graph of the derivative; nothing is computed until it is read. The
// result is an ordinary lazy tensor, so derivatives nest.

import { argumentNumbers, checkFunction, noArgument, shown } from './check.js';
import { SinterError } from './errors.js';
import { readOptions, type OptionSchema } from './options.js';
import { asTensor, type TensorLike } from './apply.js';
import { flatten, leavesWithPaths, rebuild, tensorsWithin, type TreeShape } from './pytree.js';
import { runtime } from './runtime/runtime.js';
import { refusePromise, tidy, tidyTraced } from './scope.js';
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

export interface GradOptions<N> {
  /** Which arguments to differentiate by; default 0. */
  argnums?: N;
}

interface Variables {
  args: unknown[];
  tensors: Tensor[];
  /** What the variables stand for, as far as it must not be used in their place. */
  bound: readonly Tensor[];
  rebuild: (leaves: Tensor[]) => unknown[];
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

function makeVariables(op: string, args: readonly unknown[], argnums: readonly number[]): Variables {
  const rt = runtime();
  const replaced = [...args];
  const chosen = argnums.map((n) => {
    if (n >= args.length) throw noArgument(op, n, args.length);
    return numbersAsTensors(op, args[n]);
  });
  const { tensors, bound, shape } = flatten(chosen, op, (array) => asTensor(array, op));
  if (tensors.length === 0) refuseStatic(op, shape);
  const variables = tensors.map((t) => wrap(rt.exports.sinter_variable(t.use(op)), t.meta));
  const trees = rebuild(shape, variables) as unknown[];
  argnums.forEach((n, i) => (replaced[n] = trees[i]));
  return { args: replaced, tensors: variables, bound, rebuild: (list) => rebuild(shape, list) as unknown[] };
}

function gradients(op: string, y: Tensor, wrt: readonly Tensor[]): Tensor[] {
  const rt = runtime();
  rt.scratch(2 * wrt.length);
  rt.send(wrt.map((t) => t.use(op)));
  rt.ok(rt.exports.sinter_gradients(y.use(op), wrt.length));
  return rt.receive(wrt.length, wrt.length).map((address, i) => wrap(address, wrt[i]!.meta));
}

type Scalar<A extends readonly unknown[]> = (...args: A) => Tensor;

function differentiate(
  op: string,
  f: (args: unknown[]) => unknown,
  args: readonly unknown[],
  argnums: readonly number[],
): { value: Tensor; grads: unknown[] } {
  const result = tidyTraced(() => {
    const variables = makeVariables(op, args, argnums);
    const value = replacing(variables.bound, () => tracing(() => f(variables.args)));
    refusePromise(op, value, 'the function to differentiate must be synchronous');
    if (!(value instanceof Tensor)) {
      throw new SinterError('argument', op, `the function must return one tensor, it returned ${shown(value)}`);
    }
    return { value, grads: variables.rebuild(gradients(op, value, variables.tensors)) };
  });
  // Nobody outside can differentiate by these variables: a loop of steps must not keep its past.
  if (!isTracing()) for (const t of tensorsWithin(result)) runtime().exports.sinter_untrack(t.use(op));
  return result;
}

/**
 * The function of the same arguments that returns the derivative of f, whose result is one float.
 * argnums: which argument, or which ones; pytrees give pytrees.
 */
export function grad<A extends readonly unknown[], const N extends number | readonly number[] = 0>(
  f: Scalar<A>,
  options?: GradOptions<N>,
): (...args: A) => Grads<A, N> {
  const both = derivative('grad', f, options);
  return (...args) =>
    tidy(() => {
      const [, derivative] = both(...args);
      return derivative as Grads<A, N>;
    });
}

/** As grad, returning [value, derivative]. */
export function valueAndGrad<A extends readonly unknown[], const N extends number | readonly number[] = 0>(
  f: Scalar<A>,
  options?: GradOptions<N>,
): (...args: A) => [Tensor, Grads<A, N>] {
  return derivative('valueAndGrad', f, options);
}

const GRAD: OptionSchema<GradOptions<unknown>> = { argnums: 'any' };

function derivative<A extends readonly unknown[], const N extends number | readonly number[]>(
  op: string,
  f: Scalar<A>,
  options: GradOptions<N> | undefined,
): (...args: A) => [Tensor, Grads<A, N>] {
  checkFunction(op, f, `${op}(f) is a function of the arguments of f`);
  const wanted = readOptions<GradOptions<unknown>>(op, options, GRAD).argnums ?? 0;
  const numbers = argumentNumbers(op, 'argnums', wanted);
  return (...args) => {
    const { value, grads } = differentiate(op, (list) => f(...(list as unknown as A)), args, numbers);
    return [value, (typeof wanted === 'number' ? grads[0] : grads) as Grads<A, N>];
  };
}
