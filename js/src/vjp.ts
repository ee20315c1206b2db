// vjp, jvp and linearize: record a function once, and give its derivative as a linear function, to be called as often as
// one likes.
//
// The variables and the outputs, which pull and push need, belong to the scope that is active when they are made, or to the
// garbage collector: they live as long as that scope, or until dispose().

import { asTensor, type TensorLike } from './apply.js';
import { checkFunction, shown } from './check.js';
import { isFloat } from './dtype.js';
import { DTypeError, DisposedError, ShapeError, SinterError, shapeText } from './errors.js';
import { argumentName, flatten, rebuild, resultName, tensorNames, type TreeShape } from './pytree.js';
import { broadcastPrefix } from './prefix.js';
import { tidy, tidyTraced } from './scope.js';
import { Tensor } from './tensor.js';
import { handOut, pullBack, pushForward, record, share, type GradOf } from './variables.js';

/** A tree with a cotangent for each tensor of a result; for a single tensor, anything that makes one. */
export type CotangentOf<R> = R extends Tensor ? TensorLike : R;

/** A tangent for each tensor of an argument; null, also in the place of a whole part, stands for zeros. */
export type TangentOf<T> =
  | null
  | (T extends Tensor | number | boolean ? TensorLike : T extends object ? { readonly [K in keyof T]: TangentOf<T[K]> } : T);

export type TangentsOf<A extends readonly unknown[]> = { readonly [K in keyof A]: TangentOf<A[K]> };

/** The transpose of a derivative: takes the cotangent of the result, returns those of the arguments. */
export interface Pull<A extends readonly unknown[], R> {
  (cotangent: CotangentOf<R>): { -readonly [K in keyof A]: GradOf<A[K]> };
  /** Releases what it keeps. */
  dispose(): void;
}

/** A derivative: takes the tangents of the arguments, returns that of the result. */
export interface Push<A extends readonly unknown[], R> {
  (...tangents: TangentsOf<A>): R;
  /** Releases what it keeps. */
  dispose(): void;
}

interface Linear {
  variables: Tensor[];
  outputs: Tensor[];
  /** The shape of the array of arguments. */
  argsShape: TreeShape;
  resultShape: TreeShape;
}

function linearized(op: string, f: unknown, primals: readonly unknown[]): Linear {
  checkFunction(op, f, `write ${op}(f, ...)`);
  return tidyTraced(() => {
    const call = (args: unknown[]): unknown => (f as (...args: unknown[]) => unknown)(...args);
    const { variables, value, shape } = record(op, call, primals, primals.map((_, i) => i));
    const { tensors, shape: resultShape } = flatten(value, op);
    tensorNames(resultShape, resultName).forEach((name, i) => refuseWhole(op, name, tensors[i]!));
    // f may have returned a tensor of its caller.
    return { variables, outputs: tensors.map((t) => share(op, t)), argsShape: shape, resultShape };
  });
}

/** Integers and bools have no derivatives. */
function refuseWhole(op: string, name: string, { dtype }: Tensor): void {
  if (isFloat(dtype)) return;
  throw new DTypeError(op, `${name} is ${dtype}; only floats have derivatives`, {
    hint: name.startsWith('argument') ? 'let the function capture it: (w) => f(w, labels)' : '',
  });
}

/** The given derivative as a tensor of the leaf's dtype and shape; null if it is null. Throws if it does not fit. */
export function like(op: string, what: string, name: string, leaf: Tensor, given: unknown): Tensor | null {
  if (given === null) return null;
  if (given === undefined) throw new SinterError('argument', op, `there is no ${what} of ${name}`);
  const t = given instanceof Tensor ? given : asTensor(given as TensorLike, op).astype(leaf.dtype);
  const [is, want] = [shapeText(t.shape), shapeText(leaf.shape)];
  if (is !== want) throw new ShapeError(op, `the ${what} of ${name} has shape ${is}, expected ${want}`, { shapes: [t.shape, leaf.shape] });
  if (t.dtype !== leaf.dtype) throw new DTypeError(op, `the ${what} of ${name} is ${t.dtype}, expected ${leaf.dtype}`);
  return t;
}

function refuseDisposed(op: string, what: string, linear: Linear): void {
  if (![...linear.variables, ...linear.outputs].some((t) => t.isDisposed)) return;
  throw new DisposedError(op, `what ${what} is made of was disposed of, with the scope it was made in or by dispose()`, {
    hint: `call ${what} in the same scope`,
  });
}

function disposeOf({ variables, outputs }: Linear): void {
  for (const t of [...variables, ...outputs]) t.dispose();
}

/** The result, with handles of its own. */
const resultOf = (op: string, { outputs, resultShape }: Linear): unknown =>
  rebuild(resultShape, outputs.map((t) => handOut(op, t)));

function pulled(op: string, linear: Linear, given: unknown): unknown {
  refuseDisposed(op, 'pull', linear);
  const { variables, outputs, argsShape, resultShape } = linear;
  return tidy(() => {
    const names = tensorNames(resultShape, resultName);
    const cotangents = broadcastPrefix(op, 'the cotangent', resultShape, given, () => false).map((value, i) => {
      if (value === null) throw new SinterError('argument', op, `the cotangent of ${names[i]} is ${shown(value)}, expected a tensor`);
      return like(op, 'cotangent', names[i]!, outputs[i]!, value)!;
    });
    const made = pullBack(op, outputs, cotangents, variables);
    return rebuild(argsShape, made.map((t) => handOut(op, t)));
  });
}

function pushed(op: string, linear: Linear, given: readonly unknown[]): unknown {
  refuseDisposed(op, 'push', linear);
  const { variables, outputs, argsShape, resultShape } = linear;
  return tidy(() => {
    const names = tensorNames(argsShape, argumentName);
    const tangents = broadcastPrefix(op, 'tangents', argsShape, given, (value) => value === null).map((value, i) => {
      const t = like(op, 'tangent', names[i]!, variables[i]!, value);
      if (t) refuseWhole(op, names[i]!, variables[i]!);
      return t;
    });
    const made = pushForward(op, outputs, variables, tangents);
    return rebuild(resultShape, made.map((t) => handOut(op, t)));
  });
}

/**
 * Returns [y, pull]: y = f(...primals), and pull(cotangent of y) gives an array of cotangents, one per primal: u -> u^T J.
 * Arguments and results are trees. An argument that is no float has no derivative: let f capture it. pull may be called
 * several times, also after y was read. It computes again what it needs of f; within a compiled function that is computed
 * once.
 */
export function vjp<A extends readonly unknown[], R>(f: (...args: A) => R, ...primals: A): [R, Pull<A, R>] {
  const linear = linearized('vjp', f, primals);
  tensorNames(linear.argsShape, argumentName).forEach((name, i) => refuseWhole('vjp', name, linear.variables[i]!));
  const pull = (cotangent: unknown): unknown => pulled('vjp', linear, cotangent);
  return [resultOf('vjp', linear) as R, Object.assign(pull, { dispose: () => disposeOf(linear) }) as unknown as Pull<A, R>];
}

/**
 * Returns [y, dy]: y = f(...primals), and its tangent dy = J v, the derivative along the tangents v, an array with one per
 * primal. A tangent has the structure, shapes and dtypes of its primal; null stands for zeros, and is required for
 * integers.
 */
export function jvp<A extends readonly unknown[], R>(
  f: (...args: A) => R,
  primals: readonly [...A],
  tangents: TangentsOf<A>,
): [R, R] {
  if (!Array.isArray(primals) || !Array.isArray(tangents)) {
    const wrong = Array.isArray(primals) ? tangents : primals;
    throw new SinterError('argument', 'jvp', `expected an array, not ${shown(wrong)}`, { hint: 'write jvp(f, [x], [dx])' });
  }
  return tidy(() => {
    const linear = linearized('jvp', f, primals);
    return [resultOf('jvp', linear), pushed('jvp', linear, tangents)] as [R, R];
  });
}

/** Returns [y, push]: y = f(...primals), and push(...tangents) gives the tangent of y as jvp does. push is linear, and
 *  may be called several times. */
export function linearize<A extends readonly unknown[], R>(f: (...args: A) => R, ...primals: A): [R, Push<A, R>] {
  const linear = linearized('linearize', f, primals);
  const push = (...tangents: unknown[]): unknown => pushed('linearize', linear, tangents);
  return [resultOf('linearize', linear) as R, Object.assign(push, { dispose: () => disposeOf(linear) }) as unknown as Push<A, R>];
}
