// Minima of functions, found in one loop of the core. The parameters, whatever their tree, become one vector.
//
// lbfgs: limited-memory BFGS (Nocedal 1980), with steps that satisfy the weak Wolfe conditions, found by bisection (Lewis
// and Overton 2013). newton and levenbergMarquardt: steps p with (A + lambda D) p = -g, where D is A's diagonal in size,
// and A is the Hessian, or J^T J of the residuals (Marquardt 1963); lambda falls after a step that lowers the value, and
// rises after one that does not.

import { checkChoice, checkFunction, checkInteger, shown } from './check.js';
import { cond, foriLoop, scan, whileLoop } from './control.js';
import { DTypeError, ShapeError, SinterError, shapeText } from './errors.js';
import { abs, concat, dot, expandDims, eye, full, iota, matmul, maximum, minimum, outer, reshape, slice, take, tensor, where, zeros } from './functions.gen.js';
import { valueAndGrad } from './grad.js';
import { hessian, jacobian } from './jacobian.js';
import { readOptions, type OptionSchema } from './options.js';
import { rebuild, tensorsWithin } from './pytree.js';
import { flattenWithNumbers, withDTypes, type TensorsOf } from './regions.js';
import { refusePromise, tidyTraced } from './scope.js';
import { Tensor } from './tensor.js';

const METHODS = ['lbfgs', 'newton', 'levenbergMarquardt'] as const;

export interface MinimizeOptions {
  /** Default 'lbfgs'. newton needs second derivatives. For levenbergMarquardt f returns residuals: half the sum of their
   *  squares is made least. */
  method?: (typeof METHODS)[number];
  /** Most steps. Default 100. */
  maxSteps?: number;
  /** The search has converged when no element of the gradient is larger in size. Default 1e-5. */
  tolerance?: number;
}

const OPTIONS: OptionSchema<MinimizeOptions> = { method: 'string', maxSteps: 'integer', tolerance: 'number' };

export interface Minimum<X> {
  /** The place where f is least, as far as found. */
  x: TensorsOf<X>;
  /** f at x; for levenbergMarquardt half the sum of the squares. */
  value: Tensor;
  /** Steps taken, int32. */
  steps: Tensor;
  /** Whether the gradient is small enough, a bool. */
  converged: Tensor;
}

/** What every method keeps in its loop: the place it has reached, with the value and the gradient g there. */
interface Place {
  x: Tensor;
  value: Tensor;
  g: Tensor;
  steps: Tensor;
  /** Whether no step that helps can be found any more. */
  stalled: Tensor;
}

type Goes = (place: Place) => Tensor;

const ravel = (list: readonly Tensor[]): Tensor => concat(list.map((t) => reshape(t, [-1])));

/* ---- L-BFGS ---------------------------------------------------------------------------------- */

/** How many steps are remembered. */
const MEMORY = 8;
const MOST_TRIES = 30;

interface Memory extends Place {
  /** The last steps s and the changes y of the gradient in each, (MEMORY, n); rho is 1 / (s . y) of each, 0 for none. */
  s: Tensor;
  y: Tensor;
  rho: Tensor;
  /** The initial guess at the inverse Hessian is this times the identity. */
  scale: Tensor;
}

/** Minus the approximate inverse Hessian times g: the two-loop recursion, as two scans. */
function direction({ g, s, y, rho, scale }: Memory): Tensor {
  const [q, alphas] = scan(
    (q: Tensor, { s, y, rho }) => {
      const alpha = dot(s, q).mul(rho);
      return [q.sub(y.mul(alpha)), alpha];
    },
    g,
    { s, y, rho },
    { reverse: true },
  );
  const back = (d: Tensor, { s, y, rho, alphas }: { s: Tensor; y: Tensor; rho: Tensor; alphas: Tensor }) =>
    [d.add(s.mul(alphas.sub(dot(y, d).mul(rho)))), null] as const;
  return scan(back, q.mul(scale), { s, y, rho, alphas })[0].neg();
}

/** Searches a step length t that satisfies the weak Wolfe conditions: it lowers the value enough, and flattens the slope
 *  enough. Returns t, with value and gradient at x + t d. first: the length to try first. */
function search(both: (x: Tensor) => [Tensor, Tensor], { x, value, g }: Place, d: Tensor, first: Tensor) {
  const slope = dot(g, d);
  const zero = first.mul(0);
  const start = { t: first, next: first, lo: zero, hi: zero.add(Infinity), value, g, tries: tensor(0, { dtype: 'int32' }), done: tensor(false) };
  return whileLoop(
    ({ tries, done }) => tries.less(MOST_TRIES).logicalAnd(done.logicalNot()),
    ({ next: t, lo, hi, tries }) => {
      const [v, h] = both(x.add(d.mul(t)));
      const lower = v.lessEqual(value.add(slope.mul(t).mul(1e-4)));
      const flat = dot(h, d).greaterEqual(slope.mul(0.9));
      const [from, to] = [where(lower, t, lo), where(lower, hi, t)];
      const next = where(to.less(Infinity), from.add(to).mul(0.5), t.mul(2));
      return { t, next, lo: from, hi: to, value: v, g: h, tries: tries.add(1), done: lower.logicalAnd(flat) };
    },
    start,
  );
}

const push = (list: Tensor, last: Tensor): Tensor => concat([slice(list, list.shape.map((_, i) => (i ? 0 : 1)), list.shape.map(() => -1)), expandDims(last, 0)]);

function lbfgs(both: (x: Tensor) => [Tensor, Tensor], at: Place, goes: Goes): Place {
  const { dtype } = at.x;
  const past = zeros([MEMORY, at.x.size], { dtype });
  const start: Memory = { ...at, s: past, y: past, rho: zeros([MEMORY], { dtype }), scale: full([], 1, { dtype }) };
  return whileLoop(
    goes,
    (state: Memory) => {
      const d = direction(state);
      const first = where(state.steps.equal(0), minimum(abs(d).sum().reciprocal(), 1), 1);
      const found = search(both, state, d, first);
      const helps = found.done.logicalOr(found.value.less(state.value));
      const s = d.mul(found.t);
      const y = found.g.sub(state.g);
      const product = dot(s, y);
      const counts = product.greater(0);
      const keep = (next: Tensor, before: Tensor): Tensor => where(helps, next, before);
      return {
        x: keep(state.x.add(s), state.x),
        value: keep(found.value, state.value),
        g: keep(found.g, state.g),
        steps: state.steps.add(1),
        stalled: helps.logicalNot(),
        s: push(state.s, s),
        y: push(state.y, y),
        rho: push(state.rho, where(counts, product.reciprocal(), 0)),
        scale: where(counts, product.div(dot(y, y)), state.scale),
      };
    },
    start,
  );
}

/* ---- damped Newton --------------------------------------------------------------------------- */

/** What a damped step is computed from: the value, its gradient, and a symmetric matrix A. */
interface Model {
  value: Tensor;
  g: Tensor;
  a: Tensor;
}

/** Solves a x = b by elimination without pivoting, which positive definite matrices allow. */
function solve(a: Tensor, b: Tensor): Tensor {
  const n = b.size;
  const rows = iota([n, 1], 0, { dtype: 'int32' });
  const eliminate = (k: Tensor, m: Tensor): Tensor => {
    const row = take(m, k);
    const pivot = row.div(take(row, k));
    return where(rows.equal(k), pivot, m.sub(outer(take(m, k, { axis: 1 }), pivot)));
  };
  return take(foriLoop(0, n, eliminate, concat([a, expandDims(b, 1)], { axis: 1 })), n, { axis: 1 });
}

const LEAST_DAMPING = 1e-12;
const MOST_DAMPING = 1e12;

function damped(modelAt: (x: Tensor) => Model, valueAt: (x: Tensor) => Tensor, at: Place, goes: Goes): Place {
  const { dtype, size } = at.x;
  const unit = eye(size, { dtype });
  const { a } = modelAt(at.x);
  return whileLoop(
    goes,
    (state: Place & { a: Tensor; lambda: Tensor }) => {
      const diagonal = abs(state.a.mul(unit).sum({ axis: 1 }));
      const most = diagonal.max();
      // Where f has no curvature at all, A is 0: with scales of 1 steps still go down the slope.
      const scales = maximum(diagonal, where(most.greater(0), most.mul(1e-6), 1));
      const x = state.x.add(solve(state.a.add(unit.mul(scales.mul(state.lambda))), state.g.neg()));
      const helps = valueAt(x).less(state.value);
      const before: Model = { value: state.value, g: state.g, a: state.a };
      const model = cond(helps, (x: Tensor) => modelAt(x), () => before, x);
      const lambda = where(helps, maximum(state.lambda.mul(0.25), LEAST_DAMPING), maximum(state.lambda.mul(3), 1e-6));
      return {
        ...model,
        x: where(helps, x, state.x),
        lambda,
        steps: state.steps.add(1),
        stalled: lambda.greater(MOST_DAMPING),
      };
    },
    { ...at, a, lambda: full([], 1e-3, { dtype }) },
  );
}

/* ---- public ---------------------------------------------------------------------------------- */

const op = 'minimize';

/** f's result, if it is one scalar tensor; throws otherwise. */
function valueOf(result: unknown): Tensor {
  refusePromise(op, result, 'f must be synchronous');
  if (!(result instanceof Tensor))
    throw new SinterError('argument', op, `the function must return one tensor, it returned ${shown(result)}`);
  if (result.ndim > 0)
    throw new ShapeError(op, `the function returned ${result.dtype} ${shapeText(result.shape)}, expected one float`, { shapes: [result.shape] });
  return result;
}

/**
 * The least value of f, and the place where it is, found from x0 on, a tree of floats; a number in it counts as float32.
 * Nothing is read on the way, so within jit it is part of the program. minimize itself has no derivative.
 */
export function minimize<X>(f: (x: TensorsOf<X>) => unknown, x0: X, options?: MinimizeOptions): Minimum<X> {
  checkFunction(op, f, 'minimize((x) => value, x0)');
  const { method = 'lbfgs', maxSteps = 100, tolerance = 1e-5 } = readOptions(op, options, OPTIONS);
  checkChoice(op, 'method', method, METHODS);
  checkInteger(op, 'maxSteps', maxSteps, 0);
  return tidyTraced(() => {
    const entered = flattenWithNumbers(op, x0);
    const parts = withDTypes(entered);
    if (parts.length === 0) throw new SinterError('argument', op, 'there is no tensor in x0');
    const other = parts.find((t) => !/^float(32|64)$/.test(t.dtype));
    if (other) throw new DTypeError(op, `x0 is float32 or float64, not ${other.dtype}`);
    if (parts.every((t) => t.size === 0)) throw new ShapeError(op, 'x0 has no elements', { shapes: parts.map((t) => t.shape) });
    const x = ravel(parts);
    const unravel = (v: Tensor): TensorsOf<X> => {
      let from = 0;
      const leaves = parts.map((t) => {
        from += t.size;
        return reshape(slice(v, [from - t.size], [t.size]), t.shape).astype(t.dtype);
      });
      return rebuild(entered.shape, leaves) as TensorsOf<X>;
    };
    const residuals = (v: Tensor): Tensor => {
      const result = f(unravel(v));
      refusePromise(op, result, 'f must be synchronous');
      const made = tensorsWithin(result);
      if (made.length > 0) return ravel(made).astype(v.dtype);
      throw new SinterError('argument', op, `the function must return residuals, it returned ${shown(result)}`);
    };
    const isSquares = method === 'levenbergMarquardt';
    const valueAt = (v: Tensor): Tensor => (isSquares ? residuals(v).square().sum().mul(0.5) : valueOf(f(unravel(v)))).astype(v.dtype);
    const both = valueAndGrad(valueAt) as (v: Tensor) => [Tensor, Tensor];
    const second = hessian(valueAt) as (v: Tensor) => Tensor;
    const slopes = jacobian(residuals) as (v: Tensor) => Tensor;
    const modelAt = (v: Tensor): Model => {
      if (!isSquares) {
        const [value, g] = both(v);
        return { value, g, a: second(v) };
      }
      const r = residuals(v);
      const j = slopes(v);
      return { value: r.square().sum().mul(0.5), g: matmul(r, j), a: matmul(j.transpose(), j) };
    };
    const [value, g] = both(x);
    const start: Place = { x, value, g, steps: tensor(0, { dtype: 'int32' }), stalled: tensor(false) };
    const isSmall = ({ g }: Place): Tensor => abs(g).max().lessEqual(tolerance);
    const goes: Goes = (at) => at.steps.less(maxSteps).logicalAnd(at.stalled.logicalOr(isSmall(at)).logicalNot());
    const end = method === 'lbfgs' ? lbfgs(both, start, goes) : damped(modelAt, valueAt, start, goes);
    return { x: unravel(end.x), value: end.value, steps: end.steps, converged: isSmall(end) };
  });
}
