// Loops and conditions. Their functions are traced on placeholders. The core finds the tensors that they capture; it runs a
// loop or condition as one program at once, or makes it a part of the function that is being traced.

import { recordCheckpoint } from './checkpoint.js';
import { checkFunction, checkInteger, shown } from './check.js';
import { DTypeError, ShapeError, SinterError, shapeText } from './errors.js';
import { arange, concat, less, reshape, slice, stack, take, tensor } from './functions.gen.js';
import { readOptions, type OptionSchema } from './options.js';
import { placeholder } from './program.js';
import { rebuild, tensorNames, type TreeShape } from './pytree.js';
import {
  callCore,
  flattenWithNumbers,
  returned,
  sameTree,
  sameTypes,
  sliceMetas,
  trace,
  traceCall,
  traceLoop,
  withDTypes,
  type FlatWithNumbers,
  type Returned,
  type SlicesOf,
  type TensorsOf,
  type TracedCall,
} from './regions.js';
import { tidyTraced } from './scope.js';
import { Tensor } from './tensor.js';

export interface ScanOptions {
  /** The number of rounds. Required where xs has no tensor. */
  length?: number;
  /** Goes through the slices from the last to the first. Default false. */
  reverse?: boolean;
  /** How many rounds the compiled body does at a time (loop unrolling). Default 1. */
  unroll?: number;
  /**
   * Cuts the loop into parts of this many rounds. A derivative keeps the carry at the start of each part alone, and
   * computes the rounds of one part at a time again. 'sqrt': parts of about the root of the number of rounds, which takes
   * least memory. Default: one part, so all carries are kept.
   */
  checkpoint?: 'sqrt' | number;
}

const SCAN: OptionSchema<ScanOptions> = { length: 'integer', reverse: 'boolean', unroll: 'integer', checkpoint: 'any' };

type Body = (carry: unknown, x: unknown) => unknown;

/** The tensors of a tree, and its shape. */
export interface Tree {
  tensors: Tensor[];
  shape: TreeShape;
}

export const treeOf = ({ tensors, shape }: Tree): unknown => rebuild(shape, tensors);

/** The number of rounds. All stacks of xs, and the option length, have to agree on it. */
function lengthOf(op: string, xs: FlatWithNumbers, given: number | undefined): number {
  const names = tensorNames(xs.shape, (path) => `xs${path}`);
  let [length, from] = [given, `option length is ${given}`];
  xs.tensors.forEach((t, i) => {
    const path = names[i]!;
    const [n] = t.shape;
    if (n === undefined) throw new ShapeError(op, `${path} is a single number and has no slices`);
    if (length !== undefined && n !== length)
      throw new ShapeError(op, `${path} has ${n} slices, shape ${shapeText(t.shape)}; ${from}`, { shapes: [t.shape] });
    [length, from] = [n, `${path} has ${n}`];
  });
  if (length !== undefined) return checkInteger(op, 'length', length, 0);
  throw new SinterError('argument', op, 'there is no tensor in xs', { hint: 'write { length: 10 }' });
}

function pairOf(op: string, result: unknown): readonly [unknown, unknown] {
  if (Array.isArray(result) && result.length === 2) return result as [unknown, unknown];
  throw new SinterError('argument', op, `the function returned ${shown(result)}, expected [carry, y]`);
}

/** Records a scan of the core over the slices of xs. Returns the last carry, and the ys stacked. */
function rounds(op: string, f: Body, init: FlatWithNumbers, xs: FlatWithNumbers, length: number, reverse: boolean): [Tree, Tree] {
  const metas = sliceMetas(xs);
  let slices: Tensor[] = [];
  const { body, inputs, start, made } = traceLoop(op, init, (carry) => {
    slices = metas.map(placeholder);
    const result = trace(op, [...init.bound, ...xs.bound], () => f(rebuild(init.shape, carry), rebuild(xs.shape, slices)));
    const [next, y] = pairOf(op, result);
    return { carry: flattenWithNumbers(op, next), y: flattenWithNumbers(op, y) };
  });
  const outputs = [...made, ...withDTypes(body.y)];
  const n = inputs.length;
  const results =
    outputs.length === 0
      ? []
      : callCore(
          op,
          [...inputs, ...slices, ...outputs, ...start, ...xs.tensors, length, Number(reverse)],
          outputs.length,
          (core) => core.sinter_scan(n + slices.length, outputs.length, n),
        );
  return [
    { tensors: results.slice(0, n), shape: init.shape },
    { tensors: results.slice(n), shape: body.y.shape },
  ];
}

/** A body that does n rounds of f; xs are the slices of all of them, stacked. */
const several =
  (op: string, f: Body, n: number, reverse: boolean): Body =>
  (first, xs) => {
    const stacks = flattenWithNumbers(op, xs);
    const ys: FlatWithNumbers[] = [];
    let carry = first;
    for (let k = 0; k < n; k++) {
      const i = reverse ? n - 1 - k : k;
      const x = rebuild(stacks.shape, stacks.tensors.map((t) => take(t, i)));
      const [next, y] = pairOf(op, f(carry, x));
      carry = treeOf(flattenWithNumbers(op, next));
      ys[i] = flattenWithNumbers(op, y);
      sameTree(op, 'y', ys[i]!.shape, 'in another round', ys[reverse ? n - 1 : 0]!.shape);
    }
    const made = ys.map((y) => withDTypes(y));
    return [carry, rebuild(ys[0]!.shape, made[0]!.map((_, leaf) => stack(made.map((y) => y[leaf]!))))];
  };

/** count slices of each stack, from begin on. */
const part = (xs: FlatWithNumbers, begin: number, count: number): FlatWithNumbers => ({
  ...xs,
  tensors: xs.tensors.map((t) => slice(t, t.shape.map((_, i) => (i ? 0 : begin)), t.shape.map((_, i) => (i ? -1 : count)))),
});

/** A loop over the slices of xs, length of them. Returns the last carry, and the ys stacked. */
export type Loop = (init: FlatWithNumbers, xs: FlatWithNumbers, length: number) => [Tree, Tree];

/** A loop whose body does n rounds at a time. The first length % n rounds, which fill no such part, are done by rest. */
function inParts(op: string, init: FlatWithNumbers, xs: FlatWithNumbers, length: number, reverse: boolean, n: number, rest: Loop, body: Body): [Tree, Tree] {
  const few = length % n;
  const many = length - few;
  const first = few > 0 ? rest(init, part(xs, reverse ? many : 0, few), few) : null;
  const others = part(xs, reverse ? 0 : few, many);
  others.tensors = others.tensors.map((t) => reshape(t, [many / n, n, ...t.shape.slice(1)]));
  const carry = first ? flattenWithNumbers(op, treeOf(first[0])) : init;
  const [last, ys] = rounds(op, body, carry, others, many / n, reverse);
  const flat = ys.tensors.map((t) => reshape(t, [many, ...t.shape.slice(2)]));
  const joined = first ? flat.map((t, i) => concat(reverse ? [t, first[1].tensors[i]!] : [first[1].tensors[i]!, t])) : flat;
  return [last, { tensors: joined, shape: ys.shape }];
}

/** A scan whose body does n rounds at a time; the first length % n rounds are done one by one. */
function unrolled(op: string, f: Body, init: FlatWithNumbers, xs: FlatWithNumbers, length: number, reverse: boolean, n: number): [Tree, Tree] {
  const plain: Loop = (from, slices, count) => rounds(op, f, from, slices, count, reverse);
  if (n === 1 || length < n) return plain(init, xs, length);
  return inParts(op, init, xs, length, reverse, n, plain, several(op, f, n, reverse));
}

/** How many rounds a part has, as option checkpoint says. */
function partLength(op: string, given: unknown, length: number): number {
  if (given === 'sqrt') return Math.ceil(Math.sqrt(length));
  if (typeof given === 'number') return checkInteger(op, 'checkpoint', given, 1);
  throw new SinterError('argument', op, `option checkpoint is ${shown(given)}, expected 'sqrt' or a number of rounds`);
}

/** A loop of parts as option checkpoint says, each recorded as a checkpoint: derivatives compute its values again. */
export function loopOfParts(
  op: string,
  init: FlatWithNumbers,
  xs: FlatWithNumbers,
  length: number,
  reverse: boolean,
  checkpoint: ScanOptions['checkpoint'],
  loop: Loop,
): [Tree, Tree] {
  const n = checkpoint === undefined ? length : partLength(op, checkpoint, length);
  if (n >= length) return loop(init, xs, length);
  const body = (carry: unknown, slices: unknown): unknown => loop(flattenWithNumbers(op, carry), flattenWithNumbers(op, slices), n).map(treeOf);
  return inParts(op, init, xs, length, reverse, n, loop, (carry, slices) => recordCheckpoint(op, body, flattenWithNumbers(op, [carry, slices])));
}

/**
 * A loop over the slices of xs along their first axes: f(carry, x) -> [carry, y]. Returns the last carry and the ys,
 * stacked. init, xs, carries and ys are trees; xs may be null, with { length } rounds, and y may be null. The carry keeps
 * its structure, dtypes and shapes. Numbers count as tensors; one in init takes the dtype that f makes of it, for which f
 * is traced once more. An array of numbers in xs is one tensor.
 */
export function scan<C, X, Y>(
  f: (carry: TensorsOf<C>, x: SlicesOf<X>) => readonly [Returned<C>, Y],
  init: C,
  xs: X,
  options?: ScanOptions,
): [TensorsOf<C>, TensorsOf<Y>] {
  checkFunction('scan', f, 'scan((carry, x) => [carry, y], init, xs)');
  const { length, reverse = false, unroll = 1, checkpoint } = readOptions('scan', options, SCAN);
  checkInteger('scan', 'unroll', unroll, 1);
  return tidyTraced(() => {
    const stacks = flattenWithNumbers('scan', xs, true);
    const n = lengthOf('scan', stacks, length);
    const loop: Loop = (from, slices, count) => unrolled('scan', f as unknown as Body, from, slices, count, reverse, unroll);
    const made = loopOfParts('scan', flattenWithNumbers('scan', init), stacks, n, reverse, checkpoint, loop);
    return made.map(treeOf) as [TensorsOf<C>, TensorsOf<Y>];
  });
}

/** Applies f to each slice of xs along their first axes, and stacks the results: a scan without a carry. */
export function map<X, Y>(f: (x: SlicesOf<X>) => Y, xs: X): TensorsOf<Y> {
  checkFunction('map', f, 'map((x) => y, xs)');
  return tidyTraced(() => {
    const stacks = flattenWithNumbers('map', xs, true);
    const n = lengthOf('map', stacks, undefined);
    const body: Body = (_, x) => [null, returned('map', f(x as SlicesOf<X>))];
    return treeOf(rounds('map', body, flattenWithNumbers('map', null), stacks, n, false)[1]) as TensorsOf<Y>;
  });
}

/** result, if it is one tensor; a boolean becomes a tensor. Throws for anything else; what: its name in the error. */
function single(op: string, what: string, result: unknown): Tensor {
  if (typeof result === 'boolean') return tensor(result);
  if (result instanceof Tensor) return result;
  throw new SinterError('argument', op, `${what} is ${shown(result)}, expected a bool tensor`);
}

/** Refuses a tensor that is no scalar of this dtype. */
function checkScalar(op: string, what: string, t: Tensor, dtype: 'bool' | 'int32'): void {
  if (t.dtype === dtype && t.ndim === 0) return;
  const text = `${what} is ${t.dtype} ${shapeText(t.shape)}, expected ${dtype} ()`;
  const Refusal = t.dtype === dtype ? ShapeError : DTypeError;
  throw new Refusal(op, text, { shapes: [t.shape] });
}

type Round = (carry: unknown) => unknown;

function loop(op: string, test: Round, body: Round, given: unknown): unknown {
  const init = flattenWithNumbers(op, given);
  if (init.tensors.length === 0) throw new SinterError('argument', op, 'there is no tensor in the carry');
  const traceOn = (f: Round, carry: readonly Tensor[]): unknown =>
    trace(op, init.bound, () => f(rebuild(init.shape, carry)));
  const { inputs, start, made } = traceLoop(op, init, (carry) => ({ carry: flattenWithNumbers(op, traceOn(body, carry)) }));
  const tested = inputs.map((t) => placeholder(t.meta));
  const holds = single(op, 'what the test returned', traceOn(test, tested));
  checkScalar(op, 'what the test returned', holds, 'bool');
  const words = [...tested, holds, ...inputs, ...made, ...start];
  return rebuild(init.shape, callCore(op, words, start.length, (core) => core.sinter_while(start.length)));
}

/**
 * Repeats carry = body(carry) as long as test(carry), a bool scalar, holds, and returns the last carry. Trees and numbers
 * are as in scan. It has no derivative in reverse mode, since the number of rounds is not known before: use scan or
 * foriLoop there.
 */
export function whileLoop<C>(
  test: (carry: TensorsOf<C>) => Tensor | boolean,
  body: (carry: TensorsOf<C>) => Returned<C>,
  init: C,
): TensorsOf<C> {
  const hint = 'whileLoop((carry) => goesOn, (carry) => carry, init)';
  checkFunction('whileLoop', test, hint);
  checkFunction('whileLoop', body, hint);
  return tidyTraced(() => loop('whileLoop', test as Round, body as Round, init) as TensorsOf<C>);
}

/**
 * Repeats carry = body(i, carry) for the int32 scalars i = lo, lo + 1 ... hi - 1, and returns the last carry. If both
 * bounds are numbers it is a scan, which can be differentiated; if one is a tensor, an int32 scalar, it is a whileLoop.
 */
export function foriLoop<C>(
  lo: number | Tensor,
  hi: number | Tensor,
  body: (i: Tensor, carry: TensorsOf<C>) => Returned<C>,
  init: C,
): TensorsOf<C> {
  const op = 'foriLoop';
  checkFunction(op, body, 'foriLoop(lo, hi, (i, carry) => carry, init)');
  return tidyTraced(() => {
    if (!(lo instanceof Tensor || hi instanceof Tensor)) {
      const count = checkInteger(op, 'hi', hi) - checkInteger(op, 'lo', lo);
      const numbers = arange(lo, lo + Math.max(count, 0), 1, { dtype: 'int32' });
      const f: Body = (carry, i) => [returned(op, body(i as Tensor, carry as TensorsOf<C>)), null];
      return treeOf(rounds(op, f, flattenWithNumbers(op, init), flattenWithNumbers(op, numbers), numbers.size, false)[0]) as TensorsOf<C>;
    }
    const [from, to] = [lo, hi].map((bound, k) => {
      const name = k ? 'hi' : 'lo';
      const t = bound instanceof Tensor ? bound : tensor(checkInteger(op, name, bound), { dtype: 'int32' });
      checkScalar(op, name, t, 'int32');
      return t;
    }) as [Tensor, Tensor];
    const test = ([i]: [Tensor]): Tensor => less(i, to);
    const round = ([i, carry]: [Tensor, TensorsOf<C>]): unknown => [i.add(1), returned(op, body(i, carry))];
    return (loop(op, test as Round, round as Round, [from, init]) as [Tensor, TensorsOf<C>])[1];
  });
}

type Operands<A extends readonly unknown[]> = { -readonly [K in keyof A]: TensorsOf<A[K]> };
type Branch = (...operands: unknown[]) => unknown;

/** Records a condition of the core with two branches over the operands. Their results must agree in structure, dtypes
 *  and shapes; a bare number takes the dtype of the other branch's tensor. */
function choose(op: string, pred: Tensor, branches: readonly Branch[], operands: FlatWithNumbers): unknown {
  const [first, second] = branches.map((branch) => traceCall(op, operands, branch, true)) as [TracedCall, TracedCall];
  const given = first.given;
  const [a, b] = [first.made, second.made];
  sameTree(op, 'result', a.shape, 'another branch returned', b.shape);
  const wanted = a.tensors.map((t, i) => (a.numbers.has(t) && !b.numbers.has(b.tensors[i]!) ? b.tensors[i]! : t).meta);
  const [left, right] = [withDTypes(a, wanted), withDTypes(b, wanted)];
  sameTypes(op, 'result', a.shape, left.map((t) => t.meta), 'another branch returned', right);
  const words = [pred, ...first.inputs, ...left, ...second.inputs, ...right, ...given];
  const count = left.length;
  const results = count === 0 ? [] : callCore(op, words, count, (core) => core.sinter_cond(given.length, count));
  return rebuild(a.shape, results);
}

/**
 * Returns onTrue(...operands) if pred, a bool scalar, holds, else onFalse(...operands); only that one is computed. Both
 * return trees of the same structure, dtypes and shapes. A number among the results has the dtype of the other branch's
 * tensor.
 */
export function cond<A extends readonly unknown[], R>(
  pred: Tensor | boolean,
  onTrue: (...operands: Operands<A>) => R,
  onFalse: (...operands: Operands<A>) => Returned<R>,
  ...operands: A
): TensorsOf<R> {
  const hint = 'cond(pred, (x) => y, (x) => y, x)';
  checkFunction('cond', onTrue, hint);
  checkFunction('cond', onFalse, hint);
  return tidyTraced(() => {
    const condition = single('cond', 'the condition', pred);
    checkScalar('cond', 'the condition', condition, 'bool');
    return choose('cond', condition, [onTrue as Branch, onFalse as Branch], flattenWithNumbers('cond', operands)) as TensorsOf<R>;
  });
}

/** Returns branches[index](...operands); only that branch is computed. index is an int32 scalar; one beyond the ends
 *  chooses the first or the last branch. */
export function switchCase<A extends readonly unknown[], R>(
  index: Tensor | number,
  branches: readonly ((...operands: Operands<A>) => R)[],
  ...operands: A
): TensorsOf<R> {
  const op = 'switchCase';
  if (!Array.isArray(branches) || branches.length === 0)
    throw new SinterError('argument', op, `the branches are ${shown(branches)}, expected functions in an array`);
  for (const branch of branches) checkFunction(op, branch, 'switchCase(index, [(x) => y, (x) => y], x)');
  return tidyTraced(() => {
    const at = index instanceof Tensor ? index : tensor(checkInteger(op, 'index', index), { dtype: 'int32' });
    checkScalar(op, 'index', at, 'int32');
    /** Chooses among branches first to end - 1, by halves. Only the outermost condition has operands (given); those
     *  within its branches capture them. */
    const among = (first: number, end: number, given?: FlatWithNumbers): Branch => {
      if (end - first === 1) return branches[first] as Branch;
      const middle = (first + end) >> 1;
      const halves = [among(first, middle), among(middle, end)];
      return (...list) => {
        const parts = given ? halves : halves.map((half) => () => half(...list));
        return choose(op, less(at, middle), parts, given ?? flattenWithNumbers(op, []));
      };
    };
    const given = flattenWithNumbers(op, operands);
    const result = trace(op, given.bound, () => among(0, branches.length, given)(...(treeOf(given) as unknown[])));
    const made = flattenWithNumbers(op, result);
    return rebuild(made.shape, withDTypes(made)) as TensorsOf<R>;
  });
}
