// Runs ops on elements that are known, in plain JavaScript: shapes are computed from these. The rules are those of the ops
// themselves. Floats are rounded to their type after each op, so the results have the same bits as those of kernels.

import { internals } from '../index.js';
import type { Node } from './plan.js';
import { countOf, type Elements } from './tensors.js';
import { BOOL, DOUBLE, FLOAT, INT64, isIntegerType, rangeOf, STRING } from './types.js';
import { known, type Value } from './value.js';

const { shapeText } = internals;

/** Larger constants are computed as tensors instead. */
const MOST_ELEMENTS = 4096;

/** Row-major strides, in elements. */
export function stridesOf(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length).fill(1);
  for (let i = shape.length - 2; i >= 0; i--) strides[i] = strides[i + 1]! * shape[i + 1]!;
  return strides;
}

/** Rearranges elements: for each place in the new shape, from(place, axis) gives the index along that axis of x. */
export function arranged(x: Value, shape: readonly number[], from: (place: readonly number[], axis: number) => number): Value {
  const [count, place, strides] = [countOf(shape), new Array<number>(shape.length).fill(0), stridesOf(x.shape)];
  const elements = x.host as ArrayLike<number>;
  const out = new Array<number>(count);
  for (let i = 0; i < count; i++) {
    out[i] = elements[strides.reduce((at, stride, axis) => at + stride * from(place, axis), 0)]!;
    for (let axis = shape.length - 1; axis >= 0 && ++place[axis]! === shape[axis]; axis--) place[axis] = 0;
  }
  return known(x.type, shape, out);
}

/** The shape that two shapes broadcast to. */
export function broadcastShape(n: Node, a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const [p, q] = [a[i - rank + a.length] ?? 1, b[i - rank + b.length] ?? 1];
    if (p !== q && p !== 1 && q !== 1) throw n.fail(`shapes ${shapeText(a)} and ${shapeText(b)} do not broadcast`);
    return p === 1 ? q : p;
  });
}

export function broadcast(x: Value, shape: readonly number[]): Value {
  const skip = shape.length - x.rank;
  return arranged(x, shape, (place, i) => (x.shape[i] === 1 ? 0 : place[i + skip]!));
}

const axisOf = (axis: number, rank: number): number => (axis < 0 ? axis + rank : axis);

/** A number as an element of a type: floats rounded, integers of less than 32 bits wrapped. */
export function rounded(type: number, value: number): number {
  if (type === FLOAT) return Math.fround(value);
  if (type === BOOL) return Number(value !== 0);
  if (!isIntegerType(type)) return value;
  const whole = Math.trunc(value);
  const [least, most] = rangeOf(type);
  return most - least < 2 ** 31 && (whole < least || whole > most) ? least + ((((whole - least) % (most - least + 1)) + most - least + 1) % (most - least + 1)) : whole;
}

type Rule = (n: Node, x: readonly Value[]) => Value | readonly Value[] | null;

const unary =
  (f: (a: number) => number): Rule =>
  (_, [x]) =>
    known(x!.type, x!.shape, Array.from(x!.numbers, (a) => rounded(x!.type, f(a))));

const binary =
  (f: (a: number, b: number, isWhole: boolean) => number, type?: number): Rule =>
  (n, [x, y]) => {
    if (x!.type === STRING || n.has('broadcast')) return null;
    const shape = broadcastShape(n, x!.shape, y!.shape);
    if (countOf(shape) > MOST_ELEMENTS) return null;
    const [a, b] = [broadcast(x!, shape).numbers, broadcast(y!, shape).numbers];
    const isWhole = isIntegerType(x!.type);
    if (isWhole && (n.type === 'Div' || n.type === 'Mod') && b.includes(0)) throw n.fail('a whole number is divided by 0');
    return known(type ?? x!.type, shape, a.map((value, i) => rounded(type ?? x!.type, f(value, b[i]!, isWhole))));
  };

/** Passes f only two arguments: Math.min would take the third one of binary as well. */
const variadic = (f: (a: number, b: number) => number): Rule => {
  const two = binary((a, b) => f(a, b));
  return (n, x) => x.slice(1).reduce<Value | null>((a, b) => a && (two(n, [a, b]) as Value | null), x[0]!);
};

const test = (f: (a: number, b: number) => boolean): Rule => binary((a, b) => Number(f(a, b)), BOOL);

const mod = (n: Node, a: number, b: number): number => (n.flag('fmod') || b === 0 ? a % b : a - b * Math.floor(a / b));

/** The axes of an op: an input, or an attribute before some opset. */
export function axesOf(n: Node, given: Value | undefined, rank: number, otherwise: readonly number[]): number[] {
  const axes = given ? given.numbers : n.ints('axes');
  return (axes && axes.length > 0 ? axes : otherwise).map((axis) => axisOf(axis, rank));
}

const reduction =
  (f: (a: number, b: number) => number, start: number): Rule =>
  (n, [x, given]) => {
    const named = given ? given.numbers : n.ints('axes');
    if (x!.rank > 1 || (!named?.length && n.flag('noop_with_empty_axes'))) return null;
    const value = x!.numbers.reduce((a, b) => f(a, b), start);
    return known(x!.type, n.flag('keepdims', true) && x!.rank ? [1] : [], [rounded(x!.type, value)]);
  };

export function unsqueezed(shape: readonly number[], axes: readonly number[]): number[] {
  const rank = shape.length + axes.length;
  const at = axes.map((axis) => axisOf(axis, rank));
  const rest = [...shape];
  return Array.from({ length: rank }, (_, i) => (at.includes(i) ? 1 : rest.shift()!));
}

/** The result's shape of a Reshape. */
export function reshaped(n: Node, x: Value, wanted: readonly number[]): number[] {
  const shape = wanted.map((size, i) => (size === 0 && !n.flag('allowzero') ? (x.shape[i] ?? 0) : size));
  const free = shape.indexOf(-1);
  if (free < 0) return shape;
  const others = shape.reduce((product, size, i) => (i === free ? product : product * size), 1);
  shape[free] = others === 0 ? 0 : x.size / others;
  return shape;
}

/** Begin, number of elements and step of a Slice along each axis. */
export function sliceOf(n: Node, [x, starts, ends, axes, steps]: readonly (Value | undefined)[]): { begin: number[]; size: number[]; step: number[] } {
  const { shape } = x!;
  const [begin, size, step] = [shape.map(() => 0), [...shape], shape.map(() => 1)];
  const from = starts ? starts.numbers : n.ints('starts')!;
  const to = ends ? ends.numbers : n.ints('ends')!;
  const along = axes ? axes.numbers : (n.ints('axes') ?? from.map((_, i) => i));
  const by = steps?.numbers;
  along.forEach((given, i) => {
    const axis = axisOf(given, shape.length);
    const length = shape[axis]!;
    const stride = by?.[i] ?? 1;
    const clamp = (at: number, least: number, most: number): number => Math.min(Math.max(at < 0 ? at + length : at, least), most);
    const first = stride > 0 ? clamp(from[i]!, 0, length) : clamp(from[i]!, 0, length - 1);
    const last = stride > 0 ? clamp(to[i]!, 0, length) : clamp(to[i]!, -1, length - 1);
    step[axis] = stride;
    begin[axis] = first;
    size[axis] = Math.max(Math.ceil((last - first) / stride), 0);
  });
  return { begin, size, step };
}

/** The number of elements in each part of a Split. */
export function splitSizes(n: Node, length: number, given: Value | undefined): number[] {
  const sizes = given ? given.numbers : n.ints('split');
  if (sizes) return sizes;
  const count = n.int('num_outputs', n.outputs);
  if (count < 1 || count > MOST_ELEMENTS) throw n.fail(`${count} parts`);
  const each = Math.ceil(length / count);
  return Array.from({ length: count }, (_, i) => Math.max(Math.min(each, length - i * each), 0));
}

const concat: Rule = (n, x) => {
  const axis = axisOf(n.int('axis'), x[0]!.rank);
  if (x.length === 0 || x[0]!.rank === 0) return null;
  const shape = [...x[0]!.shape];
  shape[axis] = x.reduce((sum, each) => sum + each.shape[axis]!, 0);
  const inner = countOf(shape.slice(axis + 1));
  const outer = countOf(shape.slice(0, axis));
  const out: (number | string)[] = [];
  for (let i = 0; i < outer; i++) {
    for (const each of x) {
      const width = each.shape[axis]! * inner;
      for (let k = 0; k < width; k++) out.push(each.host![i * width + k]!);
    }
  }
  return known(x[0]!.type, shape, out as Elements);
};

const gather: Rule = (n, [x, indices]) => {
  const axis = axisOf(n.int('axis'), x!.rank);
  const length = x!.shape[axis]!;
  const at = indices!.numbers.map((i) => axisOf(i, length));
  const wrong = at.findIndex((i) => i < 0 || i >= length);
  if (wrong >= 0) throw n.fail(`index ${indices!.numbers[wrong]} into ${length} elements`);
  const shape = [...x!.shape.slice(0, axis), ...indices!.shape, ...x!.shape.slice(axis + 1)];
  if (countOf(shape) > MOST_ELEMENTS) return null;
  const strides = stridesOf(indices!.shape);
  const { rank } = indices!;
  return arranged(x!, shape, (place, i) => {
    if (i !== axis) return place[i < axis ? i : i + rank - 1]!;
    return at[strides.reduce((sum, stride, k) => sum + stride * place[axis + k]!, 0)]!;
  });
};

const slice: Rule = (n, x) => {
  const { begin, size, step } = sliceOf(n, x);
  return arranged(x[0]!, size, (place, i) => begin[i]! + step[i]! * place[i]!);
};

const split: Rule = (n, [x, given]) => {
  const axis = axisOf(n.int('axis'), x!.rank);
  let begin = 0;
  return splitSizes(n, x!.shape[axis]!, given).map((count) => {
    const first = begin;
    begin += count;
    const shape = x!.shape.map((size, i) => (i === axis ? count : size));
    return arranged(x!, shape, (place, i) => place[i]! + (i === axis ? first : 0));
  });
};

const isFoldedType = (type: number): boolean => type === FLOAT || type === DOUBLE || type === BOOL || isIntegerType(type);

const same = (x: Value, shape: readonly number[]): Value => known(x.type, shape, x.host!);

const RULES: Readonly<Record<string, Rule>> = {
  Add: binary((a, b) => a + b),
  Sub: binary((a, b) => a - b),
  Mul: binary((a, b) => a * b),
  Div: binary((a, b, isWhole) => (isWhole ? Math.trunc(a / b) : a / b)),
  Mod: (n, x) => binary((a, b) => mod(n, a, b))(n, x),
  Min: variadic(Math.min),
  Max: variadic(Math.max),
  Pow: (n, x) => (x.every(({ type }) => isIntegerType(type)) ? binary((a, b) => a ** b)(n, x) : null),
  Neg: unary((a) => -a),
  Abs: unary(Math.abs),
  Floor: unary(Math.floor),
  Ceil: unary(Math.ceil),
  Sqrt: unary(Math.sqrt),
  Not: unary((a) => 1 - a),
  Equal: test((a, b) => a === b),
  Less: test((a, b) => a < b),
  LessOrEqual: test((a, b) => a <= b),
  Greater: test((a, b) => a > b),
  GreaterOrEqual: test((a, b) => a >= b),
  And: test((a, b) => a !== 0 && b !== 0),
  Or: test((a, b) => a !== 0 || b !== 0),
  Where: (n, [c, x, y]) => {
    const shape = broadcastShape(n, c!.shape, broadcastShape(n, x!.shape, y!.shape));
    if (countOf(shape) > MOST_ELEMENTS) return null;
    const [holds, a, b] = [c!, x!, y!].map((each) => broadcast(each, shape).host!) as [Elements, Elements, Elements];
    return known(x!.type, shape, Array.from(holds as ArrayLike<number>, (h, i) => (h ? a[i] : b[i])) as Elements);
  },
  Cast: (n, [x]) => {
    const to = n.int('to');
    const fits = to === FLOAT || to === DOUBLE || to === BOOL || isIntegerType(to);
    return fits && x!.type !== STRING ? known(to, x!.shape, x!.numbers.map((a) => rounded(to, a))) : null;
  },
  Identity: (_, [x]) => same(x!, x!.shape),
  Reshape: (n, [x, shape]) => same(x!, reshaped(n, x!, shape ? shape.numbers : n.ints('shape')!)),
  Squeeze: (n, [x, axes]) => {
    const at = axesOf(n, axes, x!.rank, [...x!.shape.keys()].filter((i) => x!.shape[i] === 1));
    return same(x!, x!.shape.filter((_, i) => !at.includes(i)));
  },
  Unsqueeze: (n, [x, axes]) => same(x!, unsqueezed(x!.shape, axes ? axes.numbers : n.ints('axes')!)),
  Concat: concat,
  Gather: gather,
  Slice: slice,
  Split: split,
  Expand: (n, [x, shape]) => broadcast(x!, broadcastShape(n, x!.shape, shape!.numbers)),
  ConstantOfShape: (n, [wanted]) => {
    const shape = wanted!.numbers;
    const value = n.tensor('value');
    const type = value?.type ?? FLOAT;
    const count = countOf(shape);
    if (!(count <= MOST_ELEMENTS) || !isFoldedType(type)) return null;
    return known(type, shape, new Array<number>(count).fill(Number(value?.elements[0] ?? 0)));
  },
  Flatten: (n, [x]) => {
    const axis = axisOf(n.int('axis', 1), x!.rank);
    return same(x!, [countOf(x!.shape.slice(0, axis)), countOf(x!.shape.slice(axis))]);
  },
  Transpose: (n, [x]) => {
    const perm = n.ints('perm') ?? x!.shape.map((_, i) => x!.rank - 1 - i);
    return arranged(x!, perm.map((axis) => x!.shape[axis]!), (place, i) => place[perm.indexOf(i)]!);
  },
  Range: (_, [start, limit, delta]) => {
    const [from, to, by] = [start, limit, delta].map((x) => x!.numbers[0]!) as [number, number, number];
    const count = Math.max(Math.ceil((to - from) / by), 0);
    return count > MOST_ELEMENTS ? null : known(start!.type, [count], Array.from({ length: count }, (_, i) => rounded(start!.type, from + i * by)));
  },
  ReduceProd: reduction((a, b) => a * b, 1),
  ReduceSum: reduction((a, b) => a + b, 0),
  ReduceMax: reduction(Math.max, -Infinity),
  ReduceMin: reduction(Math.min, Infinity),
};

const isFoldable = ({ host, type }: Value): boolean => host !== null && host.length <= MOST_ELEMENTS && (type === STRING || isFoldedType(type));

/** The result of an op whose inputs are known elements; null if some are not known, or there is no rule here. */
export function fold(n: Node, x: readonly (Value | undefined)[]): Value | readonly Value[] | null {
  const rule = x.length > 0 && Object.hasOwn(RULES, n.type) ? RULES[n.type]! : null;
  if (!rule || !x.every((each) => each === undefined || isFoldable(each))) return null;
  const isLarge = n.type === 'Expand' && countOf(x[1]!.numbers) > MOST_ELEMENTS;
  return isLarge ? null : rule(n, x as readonly Value[]);
}

/** A shape as a known value of int64, as ops return it. */
export const shapeValue = (shape: readonly number[]): Value => known(INT64, [shape.length], [...shape]);
