// customVjp and customJvp: functions with a derivative rule of their own. A call is recorded as one node with two bodies,
// the function and its rule: derivatives use the rule, everything else the function.

import { asTensor } from './apply.js';
import { callDirectly } from './checkpoint.js';
import { checkFunction, shown } from './check.js';
import { isFloat } from './dtype.js';
import { DTypeError, SinterError } from './errors.js';
import { zerosLike } from './functions.gen.js';
import { readOptions, type OptionSchema } from './options.js';
import { derivedFrom } from './origin.js';
import { broadcastPrefix } from './prefix.js';
import { placeholder } from './program.js';
import { argumentName, rebuild, resultName, tensorNames } from './pytree.js';
import { callCore, flattenWithNumbers, sameTree, sameTypes, standIns, trace, traceCall, withDTypes, type FlatWithNumbers, type TensorsOf } from './regions.js';
import { tidyTraced } from './scope.js';
import type { Tensor } from './tensor.js';
import { isTracing } from './trace.js';
import { like, type CotangentOf, type TangentsOf } from './vjp.js';

type Call = (...args: unknown[]) => unknown;

export interface CustomVjpRule<A extends readonly unknown[], R, S> {
  /** Returns [y, residuals]: what f returns, and a tree of whatever backward needs. */
  forward: (...args: A) => readonly [R, S];
  /** Returns an array with the cotangent of each argument. null stands for zeros, and for an argument that is no float;
   *  cotangent has null where the result is no float. */
  backward: (residuals: S, cotangent: CotangentOf<R>) => TangentsOf<A>;
}

export interface CustomJvpRule<A extends readonly unknown[], R> {
  /** Returns [y, dy]: what f returns, and its tangent. tangents are those of the arguments, null for one that is no float. */
  jvp: (primals: A, tangents: { [K in keyof A]: A[K] }) => readonly [R, unknown];
}

const VJP: OptionSchema<{ forward: unknown; backward: unknown }> = { forward: 'any', backward: 'any' };
const JVP: OptionSchema<{ jvp: unknown }> = { jvp: 'any' };

/** A rule as it was traced: the placeholders of its arguments and of the given cotangents or tangents, and the
 *  derivatives that it made. Only floats have cotangents and tangents. */
interface Traced {
  inputs: Tensor[];
  given: Tensor[];
  made: Tensor[];
}

function pairOf(op: string, what: string, result: unknown, wanted: string): readonly [unknown, unknown] {
  if (Array.isArray(result) && result.length === 2) return result as [unknown, unknown];
  throw new SinterError('argument', op, `${what} returned ${shown(result)}, expected ${wanted}`);
}

/** Refuses a rule whose result differs from the function's in structure, dtypes or shapes. */
function checkSame(op: string, what: string, y: FlatWithNumbers, value: unknown): void {
  const again = flattenWithNumbers(op, value);
  const metas = withDTypes(y).map((t) => t.meta);
  sameTree(op, 'result', y.shape, `${what} returned`, again.shape);
  sameTypes(op, 'result', y.shape, metas, `${what} returned`, withDTypes(again, metas));
}

/** The derivatives that a rule returned, one for each float in the tree `of`; bare numbers there have none. value may
 *  end early: null in the place of a container means zeros for all in it. */
function derivatives(op: string, what: string, of: FlatWithNumbers, nameOf: Parameters<typeof tensorNames>[1], value: unknown): Tensor[] {
  const isNone = (part: unknown): boolean => part === null || part === undefined;
  const names = tensorNames(of.shape, nameOf);
  return broadcastPrefix(op, `the ${what}`, of.shape, value, isNone).flatMap((part, i) => {
    const leaf = of.tensors[i]!;
    if (of.numbers.has(leaf)) return [];
    if (isFloat(leaf.dtype)) return [isNone(part) ? zerosLike(leaf) : like(op, what, names[i]!, leaf, part)!];
    if (isNone(part)) return [];
    throw new DTypeError(op, `${names[i]} is ${leaf.dtype} and has no ${what}`, { hint: 'give null for it' });
  });
}

/** A placeholder for the derivative of each leaf; null for one that is no float. */
const placeholders = (leaves: readonly Tensor[]): (Tensor | null)[] => leaves.map((t) => (isFloat(t.dtype) ? placeholder(t.meta) : null));

const tensorsOf = (leaves: readonly (Tensor | null)[]): Tensor[] => leaves.filter((t) => t !== null);

function traceVjp(op: string, rule: CustomVjpRule<never, unknown, unknown>, args: FlatWithNumbers, y: FlatWithNumbers): Traced {
  const { inputs, list } = standIns(args);
  const cotangents = placeholders(withDTypes(y));
  const made = trace(op, args.bound, () => {
    const [value, residuals] = pairOf(op, 'forward', (rule.forward as Call)(...list), '[y, residuals]');
    checkSame(op, 'forward', y, value);
    const result = (rule.backward as Call)(residuals, rebuild(y.shape, cotangents));
    return derivatives(op, 'cotangent', args, argumentName, result);
  });
  return { inputs, given: tensorsOf(cotangents), made: made as Tensor[] };
}

function traceJvp(op: string, rule: CustomJvpRule<never, unknown>, args: FlatWithNumbers, y: FlatWithNumbers): Traced {
  const { inputs, given, list } = standIns(args);
  const tangents = placeholders(given);
  let next = 0;
  const leaves = args.tensors.map((t) => (args.numbers.has(t) ? asTensor(0, op) : tangents[next++]!));
  const made = trace(op, args.bound, () => {
    const result = (rule.jvp as Call)(list, rebuild(args.shape, leaves));
    const [value, tangent] = pairOf(op, 'jvp', result, '[y, dy]');
    checkSame(op, 'jvp', y, value);
    return derivatives(op, 'tangent', { ...y, tensors: withDTypes(y), numbers: new Map() }, resultName, tangent);
  });
  return { inputs, given: tensorsOf(tangents), made: made as Tensor[] };
}

/** Records f with its rule as one node; returns f's result. */
function recorded(op: string, f: Call, args: FlatWithNumbers, reverse: boolean, traceRule: (y: FlatWithNumbers) => Traced): unknown {
  const { inputs, given, made } = traceCall(op, args, f);
  const outputs = withDTypes(made);
  if (outputs.length === 0) return rebuild(made.shape, []);
  const rule = traceRule(made);
  const words = [rule.given.length, rule.made.length, ...inputs, ...outputs, ...rule.inputs, ...rule.given, ...rule.made, ...given];
  const call = [inputs.length, outputs.length, Number(reverse)] as const;
  return rebuild(made.shape, callCore(op, words, outputs.length, (core) => core.sinter_custom(...call)));
}

/** How deep traces of one rule may be nested. More has no end: the rule calls its own function, whose call is traced
 *  with the rule again. */
const MOST_WITHIN = 20;

function custom(op: string, f: unknown, reverse: boolean, traceRule: (args: FlatWithNumbers, y: FlatWithNumbers) => Traced): Call {
  const call = f as Call;
  let within = 0;
  const bounded = (args: FlatWithNumbers, y: FlatWithNumbers): Traced => {
    if (within === MOST_WITHIN)
      throw new SinterError('argument', op, 'the rule calls the function that it is the rule of, without an end', { hint: 'call the function that was given a rule, not the one that has it' });
    within++;
    try {
      return traceRule(args, y);
    } finally {
      within--;
    }
  };
  return (...list) =>
    tidyTraced(() => {
      const args = flattenWithNumbers(op, list);
      return isTracing() ? recorded(op, call, args, reverse, (y) => bounded(args, y)) : callDirectly(op, call, args);
    });
}

/**
 * f with a derivative of its own, given in reverse mode: forward(...args) -> [y, residuals], then backward(residuals,
 * cotangent of y) -> an array of cotangents, one per argument. Forward mode is the transpose of backward. Each call that is
 * traced, by grad, jit, vmap or a loop, traces f and the rule once, so the rule cannot call the function that is made here.
 * Tensors that f or the rule capture are not differentiated.
 */
export function customVjp<A extends readonly unknown[], R, S>(
  f: (...args: A) => R,
  rule: CustomVjpRule<A, R, S>,
): (...args: A) => TensorsOf<R> {
  const op = 'customVjp';
  const hint = 'customVjp(f, { forward: (...args) => [y, residuals], backward: (residuals, cotangent) => [...] })';
  checkFunction(op, f, hint);
  const given = readOptions(op, rule, VJP) as CustomVjpRule<never, unknown, unknown>;
  checkFunction(op, given.forward, hint);
  checkFunction(op, given.backward, hint);
  return derivedFrom(f, custom(op, f, true, (args, y) => traceVjp(op, given, args, y)) as unknown as (...args: A) => TensorsOf<R>);
}

/**
 * f with a derivative of its own, given in forward mode: jvp(primals, tangents) -> [y, dy], with dy linear in the tangents.
 * Reverse mode is its transpose. All else is as in customVjp.
 */
export function customJvp<A extends readonly unknown[], R>(
  f: (...args: A) => R,
  rule: CustomJvpRule<A, R>,
): (...args: A) => TensorsOf<R> {
  const op = 'customJvp';
  const hint = 'customJvp(f, { jvp: (primals, tangents) => [y, dy] })';
  checkFunction(op, f, hint);
  const given = readOptions(op, rule, JVP) as CustomJvpRule<never, unknown>;
  checkFunction(op, given.jvp, hint);
  return derivedFrom(f, custom(op, f, false, (args, y) => traceJvp(op, given, args, y)) as unknown as (...args: A) => TensorsOf<R>);
}
