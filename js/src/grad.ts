// grad and valueAndGrad: reverse-mode derivatives of functions that return one number.

import { argumentNumbers, checkFunction, shown } from './check.js';
import { SinterError } from './errors.js';
import { readOptions, type OptionSchema } from './options.js';
import { derivedFrom } from './origin.js';
import { tidyTraced } from './scope.js';
import { Tensor } from './tensor.js';
import { gradients, handOut, handOutTree, record, type Grads } from './variables.js';

export interface GradOptions<N> {
  /** Which arguments to differentiate by; default 0. */
  argnums?: N;
  /** Whether f returns [loss, aux], where aux is a tree that is returned along and not differentiated; default false. */
  hasAux?: boolean;
}

type WithAux<N> = GradOptions<N> & { hasAux: true };
type Scalar<A extends readonly unknown[]> = (...args: A) => Tensor;
type ScalarWithAux<A extends readonly unknown[], X> = (...args: A) => readonly [Tensor, X];

interface Derived {
  value: Tensor;
  aux: unknown;
  grads: unknown[];
}

const oneTensor = (op: string, value: unknown, hint = ''): SinterError =>
  new SinterError('argument', op, `the function must return one tensor, it returned ${shown(value)}`, { hint });

function lossOf(op: string, value: unknown, hasAux: boolean): Tensor {
  if (!hasAux) {
    if (value instanceof Tensor) return value;
    const hint = Array.isArray(value) && value[0] instanceof Tensor ? 'for a function that returns [loss, aux] write { hasAux: true }' : '';
    throw oneTensor(op, value, hint);
  }
  if (Array.isArray(value) && value.length === 2 && value[0] instanceof Tensor) return value[0];
  throw new SinterError('argument', op, `with hasAux the function must return [loss, aux], it returned ${shown(value)}`);
}

function differentiate(
  op: string,
  f: (args: unknown[]) => unknown,
  args: readonly unknown[],
  numbers: readonly number[],
  hasAux: boolean,
): Derived {
  return tidyTraced(() => {
    const recorded = record(op, f, args, numbers);
    const loss = lossOf(op, recorded.value, hasAux);
    const grads = gradients(op, loss, recorded.variables).map((t) => handOut(op, t));
    const aux = hasAux ? handOutTree(op, (recorded.value as [Tensor, unknown])[1]) : undefined;
    return { value: handOut(op, loss), aux, grads: recorded.rebuild(grads) };
  });
}

/**
 * Returns a function of f's arguments that gives the derivative of f, whose result must be one float. argnums: the argument
 * to differentiate by, or an array of several; a tree gives a tree of derivatives. With hasAux f returns [loss, aux], and
 * the function that is made [derivative, aux].
 */
export function grad<A extends readonly unknown[], X, const N extends number | readonly number[] = 0>(
  f: ScalarWithAux<A, X>,
  options: WithAux<N>,
): (...args: A) => [Grads<A, N>, X];
export function grad<A extends readonly unknown[], const N extends number | readonly number[] = 0>(
  f: Scalar<A>,
  options?: GradOptions<N> & { hasAux?: false },
): (...args: A) => Grads<A, N>;
export function grad(f: (...args: unknown[]) => unknown, options?: GradOptions<unknown>): (...args: unknown[]) => unknown {
  const { derive, pick, hasAux, gradsOf } = derivative('grad', f, options);
  const made = (...args: unknown[]): unknown => {
    const { value, aux, grads } = derive(args);
    value.dispose();
    return hasAux ? [pick(grads), aux] : pick(grads);
  };
  return derivedFrom(f, made, { gradsOf });
}

/** As grad, but the function that is made returns [value, derivative]; with hasAux [[value, aux], derivative]. */
export function valueAndGrad<A extends readonly unknown[], X, const N extends number | readonly number[] = 0>(
  f: ScalarWithAux<A, X>,
  options: WithAux<N>,
): (...args: A) => [[Tensor, X], Grads<A, N>];
export function valueAndGrad<A extends readonly unknown[], const N extends number | readonly number[] = 0>(
  f: Scalar<A>,
  options?: GradOptions<N> & { hasAux?: false },
): (...args: A) => [Tensor, Grads<A, N>];
export function valueAndGrad(
  f: (...args: unknown[]) => unknown,
  options?: GradOptions<unknown>,
): (...args: unknown[]) => unknown {
  const { derive, pick, hasAux, gradsOf } = derivative('valueAndGrad', f, options);
  const made = (...args: unknown[]): unknown => {
    const { value, aux, grads } = derive(args);
    return [hasAux ? [value, aux] : value, pick(grads)];
  };
  return derivedFrom(f, made, { gradsOf, hasValue: !hasAux });
}

const GRAD: OptionSchema<GradOptions<unknown>> = { argnums: 'any', hasAux: 'boolean' };

interface Derivative {
  derive: (args: readonly unknown[]) => Derived;
  /** Takes from the list of derivatives what argnums asks for: one, or all. */
  pick: (grads: unknown[]) => unknown;
  hasAux: boolean;
  /** The argument number, or numbers, that argnums gives. */
  gradsOf: number | readonly number[];
}

function derivative(op: string, f: (...args: unknown[]) => unknown, options: GradOptions<unknown> | undefined): Derivative {
  checkFunction(op, f, `${op}(f) is a function of the arguments of f`);
  const { argnums = 0, hasAux = false } = readOptions<GradOptions<unknown>>(op, options, GRAD);
  const numbers = argumentNumbers(op, 'argnums', argnums);
  return {
    derive: (args) => differentiate(op, (list) => f(...list), args, numbers, hasAux),
    pick: (grads) => (typeof argnums === 'number' ? grads[0] : grads),
    hasAux,
    gradsOf: typeof argnums === 'number' ? argnums : numbers,
  };
}
