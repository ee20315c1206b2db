// checkGrads: compares the derivatives of a function with central differences of its values, along one pseudo-random
// direction v of each argument.
//
//   forward   J v                against  (f(x + h v) - f(x - h v)) / 2 h, element by element
//   reverse   <J^T u, v>         against  <u, these differences>

import { checkChoice, checkFunction, checkInteger, shown } from './check.js';
import { isFloat } from './dtype.js';
import { SinterError } from './errors.js';
import { readOptions, type OptionSchema } from './options.js';
import { asTensor } from './apply.js';
import { argumentName, flatten, rebuild, resultName, tensorNames } from './pytree.js';
import { tidy } from './scope.js';
import { tensor, zeros } from './functions.gen.js';
import type { Tensor } from './tensor.js';
import { jvp, vjp } from './vjp.js';

export interface CheckGradsOptions {
  /** 1 checks first derivatives, 2 second ones as well. Default 1. */
  order?: number;
  /** The modes of differentiation to check. Default: both. */
  modes?: readonly ('forward' | 'reverse')[];
  /** Largest error of a derivative relative to the difference; default 1e-6 in float64, 1e-2 in float32, 0.1 in 16-bit
   *  floats. */
  rtol?: number;
  /** Error allowed in addition, relative to the function's largest absolute value or 1, whichever is more. Defaults as
   *  of rtol. */
  atol?: number;
}

/** A function from floats to floats, the point x where it is checked, and the names of arguments and results in errors. */
interface Point {
  f: (...x: Tensor[]) => Tensor[];
  x: readonly Tensor[];
  names: readonly string[];
  /** The names of the results. */
  results: readonly string[];
}

interface Tolerance {
  /** h of the differences. */
  step: number;
  rtol: number;
  atol: number;
}

const hasSlopes = ({ dtype }: Tensor): boolean => isFloat(dtype);
const SIZES: Readonly<Record<string, Tolerance>> = {
  float64: { step: 1e-5, rtol: 1e-6, atol: 1e-6 },
  float32: { step: 1e-2, rtol: 1e-2, atol: 1e-2 },
};
const SMALL: Tolerance = { step: 0.25, rtol: 0.1, atol: 0.1 };

/** Numbers of both signs, 0.5 to 1.5 in size. A seed always gives the same ones. */
function directionOf({ size, shape, dtype }: Tensor, seed: number): Tensor {
  let state = seed;
  const numbers = Float64Array.from({ length: size }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state / 2 ** 32 + 0.5) * (state & 65536 ? 1 : -1);
  });
  return tensor(numbers, { shape, dtype: 'float64' }).astype(dtype);
}

const valuesOf = (t: Tensor): Float64Array => Float64Array.from(t.dataSync());

/** The values of f at x with argument i moved by h v. */
const movedValues = ({ f, x }: Point, i: number, v: Tensor, h: number): Float64Array[] =>
  tidy(() => {
    const moved = x.map((t, k) => (k === i ? t.astype('float64').add(v.astype('float64').mul(h)).astype(t.dtype) : t));
    return f(...moved).map(valuesOf);
  });

const largest = (values: Float64Array): number => values.reduce((most, value) => Math.max(most, Math.abs(value)), 1);
const sum = (count: number, term: (i: number) => number): number => {
  let total = 0;
  for (let i = 0; i < count; i++) total += term(i);
  return total;
};

interface Differences {
  slopes: Float64Array[];
  /** Per result, the size that atol is relative to. */
  scales: number[];
}

function differences(point: Point, i: number, v: Tensor, { step }: Tolerance): Differences {
  const up = movedValues(point, i, v, step);
  const down = movedValues(point, i, v, -step);
  return {
    slopes: up.map((values, k) => values.map((value, j) => (value - down[k]![j]!) / (2 * step))),
    scales: up.map(largest),
  };
}

function differs(what: string, mode: string, got: number, want: number): SinterError {
  return new SinterError('argument', 'checkGrads', `${what} (${mode}) is ${got}, by differences ${want}`);
}

function checkForward(point: Point, i: number, v: Tensor, { slopes, scales }: Differences, { rtol, atol }: Tolerance): void {
  const tangents = point.x.map((_, k) => (k === i ? v : null));
  const [, dy] = jvp(point.f, [...point.x], tangents);
  dy.map(valuesOf).forEach((values, k) =>
    values.forEach((value, j) => {
      const want = slopes[k]![j]!;
      if (Math.abs(value - want) <= atol * scales[k]! + rtol * Math.abs(want) || Object.is(value, want)) return;
      throw differs(`the derivative of ${point.results[k]}, element ${j}, by ${point.names[i]}`, 'forward', value, want);
    }),
  );
}

function checkReverse(point: Point, i: number, v: Tensor, { slopes, scales }: Differences, { rtol, atol }: Tolerance): void {
  const [y, pull] = vjp(point.f, ...point.x);
  const along = valuesOf(v);
  y.forEach((result, k) => {
    const u = directionOf(result, 29 + k);
    const cotangents = y.map((other, n) => (n === k ? u : zeros(other.shape, { dtype: other.dtype })));
    const pulled = valuesOf((pull as unknown as (c: Tensor[]) => Tensor[])(cotangents)[i]!);
    const weights = valuesOf(u);
    const got = sum(along.length, (j) => pulled[j]! * along[j]!);
    const want = sum(weights.length, (j) => weights[j]! * slopes[k]![j]!);
    const size = sum(weights.length, (j) => Math.abs(weights[j]!) * (atol * scales[k]! + rtol * Math.abs(slopes[k]![j]!)));
    if (Math.abs(got - want) <= size || Object.is(got, want)) return;
    throw differs(`the derivative of ${point.results[k]}, weighted and summed, by ${point.names[i]}`, 'reverse', got, want);
  });
}

type Modes = readonly string[];

function checkPoint(point: Point, order: number, modes: Modes, tolerance: Tolerance): void {
  point.x.forEach((x, i) =>
    tidy(() => {
      const v = directionOf(x, 7 + i);
      const expected = differences(point, i, v, tolerance);
      if (modes.includes('forward')) checkForward(point, i, v, expected, tolerance);
      if (modes.includes('reverse')) checkReverse(point, i, v, expected, tolerance);
    }),
  );
  if (order > 1) for (const mode of modes) tidy(() => checkPoint(derivativeOf(point, mode), order - 1, modes, tolerance));
}

/** The derivative as a function of x, for fixed directions: J v in forward mode, J^T u in reverse mode. */
function derivativeOf(point: Point, mode: string): Point {
  const { f, x, names } = point;
  if (mode === 'forward') {
    const v = x.map((t, i) => directionOf(t, 53 + i));
    const results = point.results.map((name) => `the derivative of ${name}`);
    return { f: (...at) => jvp(f, at, v)[1], x, names, results };
  }
  const u = f(...x).map((t, k) => directionOf(t, 71 + k));
  return {
    f: (...at) => {
      const [, pull] = vjp(f, ...at);
      return (pull as unknown as (c: Tensor[]) => Tensor[])(u);
    },
    x,
    names,
    results: names.map((name) => `the derivative by ${name}`),
  };
}

/** f as a function of the float tensors among its arguments, which returns those among its results; the rest stays fixed. */
function pointOf(f: (...args: unknown[]) => unknown, args: readonly unknown[]): Point {
  const given = args.map((arg) => (typeof arg === 'number' ? asTensor(arg, 'checkGrads') : arg));
  const { tensors, shape } = flatten(given, 'checkGrads', (array) => asTensor(array, 'checkGrads'));
  const call = (...x: Tensor[]): unknown => {
    let next = 0;
    return f(...(rebuild(shape, tensors.map((t) => (hasSlopes(t) ? x[next++]! : t))) as unknown[]));
  };
  const x = tensors.filter(hasSlopes);
  const result = flatten(call(...x), 'checkGrads');
  return {
    f: (...at) => flatten(call(...at), 'checkGrads').tensors.filter(hasSlopes),
    x,
    names: tensorNames(shape, argumentName).filter((_, i) => hasSlopes(tensors[i]!)),
    results: tensorNames(result.shape, resultName).filter((_, i) => hasSlopes(result.tensors[i]!)),
  };
}

function toleranceOf({ f, x }: Point, { rtol, atol }: CheckGradsOptions): Tolerance {
  const dtypes = [...x, ...f(...x)].map(({ dtype }) => dtype);
  const least = dtypes.find((dtype) => dtype.endsWith('16')) ?? dtypes.find((dtype) => dtype === 'float32') ?? 'float64';
  const usual = SIZES[least] ?? SMALL;
  return { step: usual.step, rtol: rtol ?? usual.rtol, atol: atol ?? usual.atol };
}

const CHECK: OptionSchema<CheckGradsOptions> = { order: 'integer', modes: 'any', rtol: 'number', atol: 'number' };

/**
 * Throws a SinterError that names the place if the derivatives of f at these arguments differ from differences of its
 * values. Each tensor is checked along one direction, by a few calls of f whatever its size. Differences are far sharper in
 * float64.
 */
export function checkGrads<A extends readonly unknown[]>(
  f: (...args: A) => unknown,
  args: readonly [...A],
  options?: CheckGradsOptions,
): void {
  checkFunction('checkGrads', f, 'write checkGrads(f, [x])');
  if (!Array.isArray(args)) {
    throw new SinterError('argument', 'checkGrads', `expected an array, not ${shown(args)}`, { hint: 'write checkGrads(f, [x])' });
  }
  const { order = 1, modes = ['forward', 'reverse'], ...bounds } = readOptions('checkGrads', options, CHECK);
  checkInteger('checkGrads', 'order', order, 1, 2);
  if (!Array.isArray(modes) || modes.length === 0) {
    throw new SinterError('argument', 'checkGrads', `modes is ${shown(modes)}, expected an array`, { hint: "write ['forward', 'reverse']" });
  }
  for (const mode of modes) checkChoice('checkGrads', 'mode', mode, ['forward', 'reverse']);
  tidy(() => {
    const point = pointOf(f as unknown as (...args: unknown[]) => unknown, args);
    checkPoint(point, order, modes as Modes, toleranceOf(point, bounds));
  });
}
