// Functions traced on placeholders: bodies of loops, branches of conditions. Their arguments and results are trees, whose
// numbers count as tensors; what must agree between two trees is checked here.

import { asTensor, type TensorLike } from './apply.js';
import { isNumericArray, shown } from './check.js';
import { DTypeError, ShapeError, SinterError, shapeText } from './errors.js';
import { full, zeros } from './functions.gen.js';
import { placeholder } from './program.js';
import { flatten, leavesWithPaths, rebuild, shapeKey, tensorNames, type Flat, type TreeShape } from './pytree.js';
import type { Exports } from './runtime/exports.js';
import { runtime } from './runtime/runtime.js';
import { noticePressure } from './pressure.js';
import { refusePromise } from './scope.js';
import { makeMeta, wrap, type Meta, type NestedArray, type Tensor } from './tensor.js';
import { compiling, replacing } from './trace.js';
import { MAX_RANK, type NumericArray } from './upload.js';

type Fixed = ((...args: never) => unknown) | null | undefined | string;

/** A tree with tensors in place of its numbers and typed arrays. */
export type TensorsOf<T> = T extends Tensor | Fixed
  ? T
  : T extends number | boolean | NumericArray
    ? Tensor
    : { [K in keyof T]: TensorsOf<T[K]> };

/** What a function may return in the place of TensorsOf<T>: numbers and booleans, too. */
export type Returned<T> = T extends Fixed
  ? T
  : T extends Tensor | number | boolean | NumericArray
    ? Tensor | number | boolean
    : { readonly [K in keyof T]: Returned<T[K]> };

/** As TensorsOf, but an array of numbers is one tensor. */
export type SlicesOf<X> = X extends NestedArray | NumericArray
  ? Tensor
  : X extends Tensor | Fixed
    ? X
    : { [K in keyof X]: SlicesOf<X[K]> };

/** A flattened tree whose numbers have become tensors. numbers: the value of each that was a bare number, and takes the
 *  dtype of what it meets. */
export interface FlatWithNumbers extends Flat {
  numbers: Map<Tensor, number>;
}

const isNumbers = (value: unknown, depth = 0): boolean =>
  Array.isArray(value)
    ? value.length > 0 && depth < MAX_RANK && value.every((each) => isNumbers(each, depth + 1))
    : typeof value === 'number' || typeof value === 'boolean';

/** Flattens a tree, with tensors for its numbers and typed arrays. lists: also with one tensor for each array of numbers. */
export function flattenWithNumbers(op: string, tree: unknown, lists = false): FlatWithNumbers {
  const numbers = new Map<Tensor, number>();
  const made = flatten(tree, op, undefined, (value) => {
    if (typeof value === 'number') {
      const t = wrap(runtime().exports.sinter_scalar(value));
      numbers.set(t, value);
      return t;
    }
    const isOne = typeof value === 'boolean' || isNumericArray(value) || (lists && isNumbers(value));
    return isOne ? asTensor(value as TensorLike, op) : null;
  });
  return { ...made, numbers };
}

/** Whether a bare number can be of this dtype. */
const isOf = (value: number, { dtype }: Meta): boolean =>
  /float/.test(dtype) || (/int/.test(dtype) && Number.isInteger(value));

/** The tensors, in which a bare number gets the dtype that is wanted, or float32 if it cannot be of that. */
export const withDTypes = ({ tensors, numbers }: FlatWithNumbers, wanted: readonly Meta[] = []): Tensor[] =>
  tensors.map((t, i) => {
    const value = numbers.get(t);
    if (value === undefined) return t;
    const meta = wanted[i];
    return full([], value, { dtype: meta && isOf(value, meta) ? meta.dtype : 'float32' });
  });

/** Returns what a traced function returned, unless that is a promise. */
export function returned<T>(op: string, result: T): T {
  refusePromise(op, result, 'what is traced must be synchronous');
  return result;
}

/** Traces f, whose inputs have no values. bound: tensors that f must not use, see Flat. */
export const trace = (op: string, bound: readonly Tensor[], f: () => unknown): unknown =>
  returned(op, replacing(bound, () => compiling(f)));

/** A function as traced on operands: its placeholders, the operands that these stand for (given), and its result. Bare
 *  numbers have no placeholder: they are captured, and take the dtype of what they meet. */
export interface TracedCall {
  inputs: Tensor[];
  given: Tensor[];
  made: FlatWithNumbers;
}

/** Placeholders for all operands but bare numbers, and the list of operands with placeholders in their places. */
export function standIns({ tensors, numbers, shape }: FlatWithNumbers): { inputs: Tensor[]; given: Tensor[]; list: unknown[] } {
  const given = tensors.filter((t) => !numbers.has(t));
  const inputs = given.map((t) => placeholder(t.meta));
  let next = 0;
  const leaves = tensors.map((t) => (numbers.has(t) ? t : inputs[next++]!));
  return { inputs, given, list: rebuild(shape, leaves) as unknown[] };
}

/** Traces f of a list of operands. owns: what f computes from captured tensors alone becomes a part of it. The core
 *  finds that by age, as nodes made later than the placeholders, so there has to be a placeholder. */
export function traceCall(op: string, operands: FlatWithNumbers, f: (...list: unknown[]) => unknown, owns = false): TracedCall {
  const { inputs, given, list } = standIns(operands);
  if (owns && !inputs.length) {
    given.push(zeros([]));
    inputs.push(placeholder(given[0]!.meta));
  }
  const made = flattenWithNumbers(op, trace(op, operands.bound, () => f(...list)));
  for (const [t, value] of operands.numbers) made.numbers.set(t, value);
  return { inputs, given, made };
}

/** The types of the slices of stacks along their first axis. */
export const sliceMetas = ({ tensors }: Flat): Meta[] => tensors.map((t) => makeMeta(t.dtype, t.shape.slice(1)));

const MOST_TRIES = 4;

/**
 * Traces a body on placeholders for its carry. A number in the first carry takes the dtype that the body makes of it: the
 * body is traced with the number itself first, and then until its result has the dtype of its argument.
 */
export function traceLoop<B extends { carry: FlatWithNumbers }>(
  op: string,
  init: FlatWithNumbers,
  make: (carry: readonly Tensor[]) => B,
): { body: B; inputs: readonly Tensor[]; start: Tensor[]; made: Tensor[] } {
  let inputs = init.tensors.map((t) => (init.numbers.has(t) ? t : placeholder(t.meta)));
  for (let tries = 0; ; tries++) {
    const body = make(inputs);
    sameTree(op, 'carry', init.shape, 'the function returned', body.carry.shape);
    const metas = inputs.map((t) => t.meta);
    const made = withDTypes(body.carry, metas);
    const settled = inputs.every((t, i) => !init.numbers.has(init.tensors[i]!) || (tries > 0 && t.dtype === made[i]!.dtype));
    if (settled || tries === MOST_TRIES) {
      sameTypes(op, 'carry', init.shape, metas, 'the function made it', made);
      return { body, inputs, start: withDTypes(init, metas), made };
    }
    inputs = init.tensors.map((t, i) => {
      const value = init.numbers.get(t);
      if (value === undefined) return placeholder(t.meta);
      const meta = makeMeta(made[i]!.dtype, []);
      return placeholder(isOf(value, meta) ? meta : makeMeta('float32', []));
    });
  }
}

const textOf = (leaf: { isTensor: boolean; empty?: string; value?: unknown }): string =>
  leaf.isTensor ? 'a tensor' : (leaf.empty ?? shown(leaf.value));

/** What a tree has at a path: a leaf, or what contains leaves. */
function placeText(leaves: ReadonlyMap<string, string>, path: string): string {
  const below = [...leaves.keys()].find((each) => /^[.[]/.test(each.slice(path.length)) && each.startsWith(path));
  return leaves.get(path) ?? (below === undefined ? 'nothing' : below[path.length] === '.' ? 'an object' : 'an array');
}

/** Refuses trees that differ in structure or in static values. */
export function sameTree(op: string, what: string, a: TreeShape, other: string, b: TreeShape): void {
  if (shapeKey(a) === shapeKey(b)) return;
  const places = (shape: TreeShape): Map<string, string> =>
    new Map(leavesWithPaths(shape, what).map((leaf) => [leaf.path, textOf(leaf)]));
  const [left, right] = [places(a), places(b)];
  const path = [...left.keys(), ...right.keys()].find((each) => left.get(each) !== right.get(each));
  const difference = path
    ? `${path} is ${placeText(left, path)}, ${other} ${placeText(right, path)} there`
    : `${what}: the trees have other containers`;
  throw new SinterError('argument', op, difference);
}

const typeText = ({ dtype, shape }: Meta): string => `${dtype} ${shapeText(shape)}`;

/** Refuses tensors whose dtypes or shapes are not those wanted; shape: of the tree they are in. */
export function sameTypes(
  op: string,
  what: string,
  shape: TreeShape,
  wanted: readonly Meta[],
  other: string,
  tensors: readonly Tensor[],
): void {
  const k = tensors.findIndex((t, i) => t.meta.key !== wanted[i]!.key);
  if (k < 0) return;
  const path = tensorNames(shape, (place) => what + place)[k]!;
  const [want, found] = [wanted[k]!, tensors[k]!.meta];
  const Refusal = want.dtype === found.dtype ? ShapeError : DTypeError;
  const text = `${path} is ${typeText(want)}, ${other} ${typeText(found)}`;
  throw new Refusal(op, text, { shapes: [want.shape, found.shape] });
}

/** Calls the core with tensors and numbers in the scratch block, behind which it writes count results; returns these. */
export function callCore(
  op: string,
  parts: readonly (Tensor | number)[],
  count: number,
  call: (core: Exports) => number,
): Tensor[] {
  const rt = runtime();
  const words = parts.map((part) => (typeof part === 'number' ? part : part.use(op)));
  rt.scratch(words.length + count);
  rt.send(words);
  rt.ok(call(rt.exports));
  const results = rt.receive(words.length, count).map((address) => wrap(address));
  noticePressure(rt, results.reduce((sum, t) => sum + t.size, 0));
  if (rt.runsAsync) rt.turns?.start();
  return results;
}
