// The fitter: finds an equation's parameters from points of its solution. A search is one call of a compiled program: L-BFGS,
// each step of which solves the equation and differentiates back through the solver; at the end the Hessian and the curves.

import * as sn from 'sinter';
import 'sinter/source';
import { answer } from '../../compiler/workers/answer.ts';
import { describe } from '../../compiler/workers/source.ts';
import { EQUATIONS, STEPS, isPositive, type EquationName } from '../equations.ts';
import type { Code, Curves, Fit, FitMethods, Search } from '../protocol.ts';
import { SYSTEMS, type State } from './slopes.ts';
import { spread } from './spread.ts';

/** The warm-up: engines compile code a second time once it runs often. */
const WARM_UP_MS = 100;
const MOST_STEPS = 200;
const TOLERANCE = 1e-7;
/** A search from another start is taken only if its loss is lower by this factor, which is more than rounding. */
const LOWER = 0.99;

type Tensors = { values: State; weights: State };

const f64 = (data: Float64Array): sn.Tensor => sn.tensor(data, { dtype: 'float64' });
const pair = (data: Curves): State => [f64(data[0]), f64(data[1])];
const read = (state: State): Curves => [state[0].dataSync() as Float64Array, state[1].dataSync() as Float64Array];

/** The compiled programs of one equation. */
class Program {
  private readonly times: sn.Tensor;
  readonly curves = sn.jit((at: sn.Tensor) => this.solve(at));
  readonly search = sn.jit((start: sn.Tensor, seen: Tensors) => {
    const loss = (at: sn.Tensor): sn.Tensor => this.loss(at, seen);
    const found = sn.minimize(loss, start, { maxSteps: MOST_STEPS, tolerance: TOLERANCE });
    return { ...found, hessian: sn.hessian(loss)(found.x) as sn.Tensor, curves: this.solve(found.x) };
  });

  constructor(private readonly name: EquationName) {
    const { end } = EQUATIONS[name];
    this.times = f64(Float64Array.from({ length: STEPS + 1 }, (_, i) => (i * end) / STEPS));
  }

  readonly loss = (at: sn.Tensor, seen: Tensors): sn.Tensor => {
    const squares = this.solve(at).map((curve, i) => curve.sub(seen.values[i]).square().mul(seen.weights[i]).sum());
    return squares[0].add(squares[1]);
  };

  private solve(at: sn.Tensor): State {
    const { begin, slope } = SYSTEMS[this.name];
    const parameters = EQUATIONS[this.name].parameters.map((each, i) => {
      const coordinate = sn.take(at, i);
      return isPositive(each) ? sn.exp(coordinate) : coordinate;
    });
    return sn.odeint((state: State) => slope(state, parameters), begin(parameters), this.times, { method: 'rk4' }) as State;
  }
}

const programs = new Map<EquationName, Program>();

/** Must not be called within a tidy, which would dispose its tensor of times. */
function programOf(name: EquationName): Program {
  const program = programs.get(name) ?? new Program(name);
  programs.set(name, program);
  return program;
}

let opened: Promise<unknown> | null = null;

/** Called by every question, since any may be the first after a worker was replaced. */
async function openLibrary(): Promise<void> {
  opened ??= sn.init({ threads: 1 });
  try {
    await opened;
  } catch (error) {
    opened = null; // try again at the next question
    throw error;
  }
}

async function open(equation: EquationName, truth: Float64Array, start: Float64Array): Promise<Curves> {
  await openLibrary();
  const values = curves(equation, truth);
  const weights: Curves = [new Float64Array(STEPS + 1).fill(1 / STEPS), new Float64Array(STEPS + 1).fill(1 / STEPS)];
  const begin = performance.now();
  do search({ equation, seen: { values, weights }, starts: [start], from: false });
  while (performance.now() - begin < WARM_UP_MS);
  return values;
}

function curves(equation: EquationName, at: Float64Array): Curves {
  const { curves } = programOf(equation);
  return sn.tidy(() => read(curves(f64(at))));
}

async function fit(asked: Search): Promise<Fit> {
  await openLibrary();
  return search(asked);
}

function search({ equation, seen, starts, from }: Search): Fit {
  const { search: searchFrom, curves: curvesAt } = programOf(equation);
  return sn.tidy(() => {
    const tensors: Tensors = { values: pair(seen.values), weights: pair(seen.weights) };
    const begin = performance.now();
    const found = starts.map((start) => {
      const { value, ...rest } = searchFrom(f64(start), tensors);
      return { ...rest, loss: value.item() };
    });
    const ms = performance.now() - begin;
    let best = 0;
    found.forEach(({ loss }, i) => {
      const before = found[best].loss;
      if (loss < LOWER * before || (Number.isNaN(before) && !Number.isNaN(loss))) best = i;
    });
    const { x, loss, hessian, curves, converged } = found[best];
    const count = seen.weights.reduce((sum, weights) => sum + weights.filter((weight) => weight > 0).length, 0);
    return {
      at: x.dataSync() as Float64Array,
      spread: spread(hessian.dataSync() as Float64Array, loss, count),
      loss,
      curves: read(curves),
      from: from ? read(curvesAt(f64(starts[starts.length - 1]))) : null,
      converged: Boolean(converged.item()),
      steps: found.map(({ steps }) => steps.item()),
      ms,
    };
  });
}

async function code(equation: EquationName): Promise<Code> {
  await openLibrary();
  const { loss } = programOf(equation);
  return sn.tidy(() => {
    const zeros = (size: number): sn.Tensor => sn.zeros([size], { dtype: 'float64' });
    const curves = (): State => [zeros(STEPS + 1), zeros(STEPS + 1)];
    const at = zeros(EQUATIONS[equation].parameters.length);
    const gradient = sn.inspect(sn.grad(loss))(at, { values: curves(), weights: curves() });
    const text = { js: gradient.jsSource('gradient'), c: gradient.cSource() };
    gradient.dispose();
    return text;
  });
}

answer<FitMethods>({ library: openLibrary, open, fit, code }, describe);
