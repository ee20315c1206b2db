// Matrices of derivatives: the derivative as a linear function, applied to all unit vectors at once.

import { argumentNumbers, checkChoice, checkFunction } from './check.js';
import { eye } from './functions.gen.js';
import { readOptions, type OptionSchema } from './options.js';
import { derivedFrom } from './origin.js';
import { placeholder } from './program.js';
import { flatten, rebuild, type MapOf } from './pytree.js';
import { tidyTraced } from './scope.js';
import type { Tensor } from './tensor.js';
import { handOut, mapExamples, pullBack, pushForward, record, type Grads } from './variables.js';

/** The tree of results, with a tensor's derivatives by the arguments in the place of each tensor. */
export type JacobianOf<A extends readonly unknown[], R, N> = R extends Tensor ? Grads<A, N> : MapOf<R, Grads<A, N>>;

export interface ArgnumsOptions<N> {
  /** Which arguments to differentiate by; default 0. */
  argnums?: N;
}

export interface JacobianOptions<N> extends ArgnumsOptions<N> {
  /** 'forward': by jvp, a column for each element of the arguments; 'reverse': by vjp, a row for each element of the
   *  results; 'auto' (default): whichever takes fewer. */
  mode?: 'auto' | 'forward' | 'reverse';
}

type Mode = 'auto' | 'forward' | 'reverse';

/** The unit vectors for t's elements, stacked along a new first axis of t.size. */
const basis = (t: Tensor): Tensor => eye(t.size, { dtype: t.dtype }).reshape([t.size, ...t.shape]);

/** The derivatives of each output by variable number `by`. */
function columns(op: string, outputs: readonly Tensor[], variables: readonly Tensor[], by: number): Tensor[] {
  const x = variables[by]!;
  const example = placeholder(x.meta);
  const tangents = variables.map((_, i) => (i === by ? example : null));
  const made = pushForward(op, outputs, variables, tangents);
  const all = mapExamples(op, made, outputs.map(() => -1), [{ example, batch: basis(x), axis: 0 }]);
  return all.map((t, k) => t.reshape([...outputs[k]!.shape, ...x.shape]));
}

/** The derivatives of output y by each variable. */
function rows(op: string, y: Tensor, variables: readonly Tensor[]): Tensor[] {
  const example = placeholder(y.meta);
  const made = pullBack(op, [y], [example], variables);
  const all = mapExamples(op, made, variables.map(() => 0), [{ example, batch: basis(y), axis: 0 }]);
  return all.map((t, i) => t.reshape([...y.shape, ...variables[i]!.shape]));
}

const sizeOf = (tensors: readonly Tensor[]): number => tensors.reduce((sum, t) => sum + t.size, 0);

/** The derivatives as [output][variable]. */
function matrices(op: string, outputs: readonly Tensor[], variables: readonly Tensor[], mode: Mode): Tensor[][] {
  const forward = mode === 'auto' ? sizeOf(variables) <= sizeOf(outputs) : mode === 'forward';
  if (!forward) return outputs.map((y) => rows(op, y, variables));
  const byVariable = variables.map((_, i) => columns(op, outputs, variables, i));
  return outputs.map((_, k) => byVariable.map((list) => list[k]!));
}

function jacobianFunction<A extends readonly unknown[], J>(
  op: string,
  f: (...args: A) => unknown,
  argnums: unknown,
  mode: Mode,
): (...args: A) => J {
  checkFunction(op, f, `${op}(f) is a function of the arguments of f`);
  const numbers = argumentNumbers(op, 'argnums', argnums);
  const made = (...args: A): J =>
    tidyTraced(() => {
      const recorded = record(op, (list) => f(...(list as unknown as A)), args, numbers);
      const { tensors, shape } = flatten(recorded.value, op);
      const trees = matrices(op, tensors, recorded.variables, mode).map((list) => {
        const derivatives = recorded.rebuild(list.map((t) => handOut(op, t)));
        return typeof argnums === 'number' ? derivatives[0] : derivatives;
      });
      return rebuild(shape, trees) as J;
    });
  return derivedFrom(f, made);
}

const JACOBIAN: OptionSchema<JacobianOptions<unknown>> = { argnums: 'any', mode: 'any' };
const ARGNUMS: OptionSchema<ArgnumsOptions<unknown>> = { argnums: 'any' };
const MODES: readonly Mode[] = ['auto', 'forward', 'reverse'];

/**
 * Returns a function of f's arguments that gives all derivatives of f's results by the elements of an argument: for a
 * result and an argument a tensor with the dimensions of the result, then those of the argument. Trees give trees of trees.
 */
export function jacobian<A extends readonly unknown[], R, const N extends number | readonly number[] = 0>(
  f: (...args: A) => R,
  options?: JacobianOptions<N>,
): (...args: A) => JacobianOf<A, R, N> {
  const { argnums = 0, mode = 'auto' } = readOptions<JacobianOptions<unknown>>('jacobian', options, JACOBIAN);
  checkChoice('jacobian', 'mode', mode, MODES);
  return jacobianFunction('jacobian', f, argnums, mode);
}

/** jacobian in forward mode: best where the arguments have few elements. */
export function jacfwd<A extends readonly unknown[], R, const N extends number | readonly number[] = 0>(
  f: (...args: A) => R,
  options?: ArgnumsOptions<N>,
): (...args: A) => JacobianOf<A, R, N> {
  const { argnums = 0 } = readOptions<ArgnumsOptions<unknown>>('jacfwd', options, ARGNUMS);
  return jacobianFunction('jacfwd', f, argnums, 'forward');
}

/** jacobian in reverse mode: best where the results have few elements. */
export function jacrev<A extends readonly unknown[], R, const N extends number | readonly number[] = 0>(
  f: (...args: A) => R,
  options?: ArgnumsOptions<N>,
): (...args: A) => JacobianOf<A, R, N> {
  const { argnums = 0 } = readOptions<ArgnumsOptions<unknown>>('jacrev', options, ARGNUMS);
  return jacobianFunction('jacrev', f, argnums, 'reverse');
}

/** The second derivatives of f by an argument: jacfwd of jacrev. For an f of one number each has the argument's
 *  dimensions twice; trees give trees of trees. */
export function hessian<A extends readonly unknown[], R, const N extends number | readonly number[] = 0>(
  f: (...args: A) => R,
  options?: ArgnumsOptions<N>,
): (...args: A) => JacobianOf<A, JacobianOf<A, R, N>, N> {
  const { argnums = 0 } = readOptions<ArgnumsOptions<unknown>>('hessian', options, ARGNUMS);
  const slopes = jacobianFunction<A, JacobianOf<A, R, N>>('hessian', f, argnums, 'reverse');
  return jacobianFunction('hessian', slopes, argnums, 'forward');
}
