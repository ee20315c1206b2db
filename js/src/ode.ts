// Ordinary differential equations: dy/dt = f(y, t, args) by Runge-Kutta methods, as scans, so that gradients go through.
//
// rk4 takes steps of equal length. dopri5 (Dormand and Prince 1980) adapts their length to the difference from an embedded
// method of fourth order. Between two output times it has a fixed number of rounds: steps are cut so that the last one
// arrives exactly, and rounds after that do nothing. Derivatives take lengths of steps as constants.

import { type TensorLike } from './apply.js';
import { checkChoice, checkFunction, checkInteger } from './check.js';
import { cond, foriLoop, scan } from './control.js';
import { DTypeError, ShapeError, SinterError, shapeText } from './errors.js';
import { abs, clip, concat, expandDims, isnan, maximum, sign, slice, sqrt, stopGradient, tensor, where } from './functions.gen.js';
import { readOptions, type OptionSchema } from './options.js';
import { rebuild } from './pytree.js';
import { flattenWithNumbers, sameTree, sameTypes, withDTypes, type Returned, type TensorsOf } from './regions.js';
import { refusePromise, tidyTraced } from './scope.js';
import { Tensor } from './tensor.js';

export interface OdeOptions<A = unknown> {
  /** 'dopri5' (default): steps of adapted length; 'rk4': steps of equal length. */
  method?: 'rk4' | 'dopri5';
  /** The third argument of f, a tree. */
  args?: A;
  /** rk4: steps from one output time to the next. Default 1. */
  steps?: number;
  /** dopri5: error allowed per step, relative to y. Default 1e-6. */
  rtol?: number;
  /** dopri5: absolute error allowed in addition. Default 1e-8. */
  atol?: number;
  /** dopri5: most steps, rejected ones included, from one output time to the next; y is NaN where they do not suffice.
   *  Default 256. */
  maxSteps?: number;
}

const OPTIONS: OptionSchema<OdeOptions> = {
  method: 'string',
  args: 'any',
  steps: 'integer',
  rtol: 'number',
  atol: 'number',
  maxSteps: 'integer',
};

/** The tensors of y, or of its derivative by t. */
type Leaves = readonly Tensor[];
type Slope = (y: Leaves, t: Tensor) => Leaves;

/** y + h * sum of weights[j] * ks[j]; weights of 0 are left out. */
const along = (y: Leaves, h: Tensor, ks: readonly Leaves[], weights: readonly number[]): Leaves =>
  y.map((t, i) => {
    const terms = weights.flatMap((w, j) => (w === 0 ? [] : [ks[j]![i]!.mul(w)]));
    return t.add(terms.reduce((sum, term) => sum.add(term)).mul(h.astype(t.dtype)));
  });

function rk4(slope: Slope, y: Leaves, t: Tensor, h: Tensor): Leaves {
  const middle = t.add(h.mul(0.5));
  const k1 = slope(y, t);
  const k2 = slope(along(y, h, [k1], [0.5]), middle);
  const k3 = slope(along(y, h, [k2], [0.5]), middle);
  const k4 = slope(along(y, h, [k3], [1]), t.add(h));
  return along(y, h, [k1, k2, k3, k4], [1 / 6, 1 / 3, 1 / 3, 1 / 6]);
}

/** Rows of the Butcher tableau after the first: the time of the stage as a share of the step, and the weights of the
 *  stages before it. The weights of the last row are those of the result. */
const STAGES: readonly (readonly [number, readonly number[]])[] = [
  [1 / 5, [1 / 5]],
  [3 / 10, [3 / 40, 9 / 40]],
  [4 / 5, [44 / 45, -56 / 15, 32 / 9]],
  [8 / 9, [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729]],
  [1, [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656]],
  [1, [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]],
];
/** The weights of the result minus those of the embedded method: of the error estimate. */
const ERROR = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40];

/** The root of the mean square of all elements, each divided by its scale. */
function norm(list: Leaves, scales: Leaves, { dtype }: Tensor): Tensor {
  const squares = list.map((t, i) => t.div(scales[i]!).square().sum().astype(dtype));
  const size = list.reduce((sum, t) => sum + t.size, 0);
  return sqrt(squares.reduce((sum, t) => sum.add(t)).div(size));
}

/** The state of dopri5: y and its slope k at time t, and the length h of the next step. */
interface State {
  y: Leaves;
  k: Leaves;
  t: Tensor;
  h: Tensor;
}

interface Tolerance {
  rtol: number;
  atol: number;
}

/** One step towards the time end. A rejected step changes h only. */
function step(slope: Slope, { y, k, t, h }: State, end: Tensor, { rtol, atol }: Tolerance): State {
  const left = end.sub(t);
  // A shorter step would change y but, by rounding, not t.
  const length = maximum(h, stopGradient(abs(t)).mul(t.dtype === 'float64' ? 2 ** -52 : 2 ** -23));
  const arrives = length.greaterEqual(stopGradient(abs(left)));
  const after = where(arrives, end, t.add(length.mul(sign(left))));
  const dt = after.sub(t);
  const ks = [k];
  let next = y;
  for (const [time, weights] of STAGES) {
    next = along(y, dt, ks, weights);
    ks.push(slope(next, t.add(dt.mul(time))));
  }
  const wrong = along(y.map((each) => each.mul(0)), dt, ks, ERROR);
  const ratio = stopGradient(norm(wrong, y.map((each, i) => maximum(abs(each), abs(next[i]!)).mul(rtol).add(atol)), t));
  const accepted = ratio.lessEqual(1);
  const factor = where(isnan(ratio), 0.2, clip(ratio.pow(-0.2).mul(0.9), 0.2, 10));
  const proposed = stopGradient(abs(dt)).mul(factor);
  const choose = (a: Leaves, b: Leaves): Leaves => a.map((each, i) => where(accepted, each, b[i]!));
  return {
    y: choose(next, y),
    k: choose(ks[6]!, k),
    t: where(accepted, after, t),
    // A step that was cut to arrive says little about the next one.
    h: where(accepted.logicalAnd(arrives), maximum(h, proposed), proposed),
  };
}

/** The length of the first step: a hundredth of the norm of y over that of its slope (Hairer, Norsett, Wanner 1993, II.4). */
function firstLength(y: Leaves, k: Leaves, t: Tensor, { rtol, atol }: Tolerance): Tensor {
  const scales = y.map((each) => abs(each).mul(rtol).add(atol));
  const [size, speed] = [norm(y, scales, t), norm(k, scales, t)];
  const isSmall = size.less(1e-5).logicalOr(speed.less(1e-5));
  return stopGradient(where(isSmall, 1e-6, size.div(speed).mul(0.01)).astype(t.dtype));
}

/** Rounds that one condition leaves out together once the end time is reached. */
const ROUNDS = 16;

function dopri5(slope: Slope, y: Leaves, times: Tensor, maxSteps: number, tolerance: Tolerance): Leaves {
  const first = times.take(0);
  const k = slope(y, first);
  const start: State = { y, k, t: first, h: firstLength(y, k, first, tolerance) };
  const [, ys] = scan(
    (from: State, end: Tensor) => {
      const unless = (f: (state: State) => State) => (state: State) =>
        cond(state.t.equal(end), (s: State) => s, f, state);
      const one = unless((state) => step(slope, state, end, tolerance));
      const some = (count: number) => (state: State) => (count > 0 ? foriLoop(0, count, (_, s) => one(s), state) : state);
      const groups = Math.floor(maxSteps / ROUNDS);
      const few = some(maxSteps - groups * ROUNDS)(from);
      const last = groups > 0 ? foriLoop(0, groups, (_, s) => unless(some(ROUNDS))(s), few) : few;
      const arrived = last.t.equal(end);
      // Where the end was not reached, y is NaN here, and the state goes on as if it were.
      return [{ ...last, t: end }, last.y.map((each) => where(arrived, each, NaN))];
    },
    start,
    slice(times, [1], [-1]),
  );
  return ys;
}

function equalSteps(slope: Slope, y: Leaves, times: Tensor, steps: number): Leaves {
  const n = times.shape[0]! - 1;
  const [, ys] = scan(
    (from: Leaves, { begin, end }) => {
      const h = end.sub(begin).div(steps);
      const one = (i: Tensor, y: Leaves): Leaves => rk4(slope, y, begin.add(h.mul(i.astype(h.dtype))), h);
      const next = steps === 1 ? rk4(slope, from, begin, h) : foriLoop(0, steps, one, from);
      return [next, next];
    },
    y,
    { begin: slice(times, [0], [n]), end: slice(times, [1], [n]) },
  );
  return ys;
}

/**
 * Solves dy/dt = f(y, t, args) from y0 at ts[0] on. Returns y at the times ts: the tree of y0, all its tensors with an axis
 * of times in front. ts ascends or descends. Derivatives by y0, ts, args and what f captured go through the steps.
 */
export function odeint<Y, A = undefined>(
  f: (y: TensorsOf<Y>, t: Tensor, args: A) => Returned<Y>,
  y0: Y,
  ts: TensorLike,
  options?: OdeOptions<A>,
): TensorsOf<Y> {
  const op = 'odeint';
  checkFunction(op, f, 'odeint((y, t) => slope, y0, ts)');
  const given = readOptions<OdeOptions<A>>(op, options, OPTIONS);
  const { method = 'dopri5', args, steps = 1, rtol = 1e-6, atol = 1e-8, maxSteps = 256 } = given;
  checkChoice(op, 'method', method, ['rk4', 'dopri5']);
  checkInteger(op, 'steps', steps, 1);
  checkInteger(op, 'maxSteps', maxSteps, 1);
  if (rtol < 0 || atol < 0) throw new SinterError('argument', op, `rtol is ${rtol}, atol is ${atol}, expected 0 or more`);
  return tidyTraced(() => {
    const entered = flattenWithNumbers(op, y0);
    const times = ts instanceof Tensor ? ts : tensor(ts, { dtype: entered.tensors.some((t) => t.dtype === 'float64') ? 'float64' : 'float32' });
    if (times.ndim !== 1 || times.size === 0)
      throw new ShapeError(op, `ts has shape ${shapeText(times.shape)}, expected one axis of times`, { shapes: [times.shape] });
    const start = withDTypes(entered, entered.tensors.map(() => times.meta));
    if (start.length === 0) throw new SinterError('argument', op, 'there is no tensor in y0');
    const other = [...start, times].find((t) => !/^float(32|64)$/.test(t.dtype));
    if (other) throw new DTypeError(op, `y0 and ts are float32 or float64, not ${other.dtype}`);
    const metas = start.map((t) => t.meta);
    const slope: Slope = (y, t) => {
      const result = f(rebuild(entered.shape, y) as TensorsOf<Y>, t, args as A);
      refusePromise(op, result, 'f must be synchronous');
      const made = flattenWithNumbers(op, result);
      sameTree(op, 'y', entered.shape, 'the function returned', made.shape);
      const slopes = withDTypes(made, metas);
      sameTypes(op, 'y', entered.shape, metas, 'the function made its slope', slopes);
      return slopes;
    };
    const ys = method === 'rk4' ? equalSteps(slope, start, times, steps) : dopri5(slope, start, times, maxSteps, { rtol, atol });
    const all = start.map((t, i) => concat([expandDims(t, 0), ys[i]!]));
    return rebuild(entered.shape, all) as TensorsOf<Y>;
  });
}
