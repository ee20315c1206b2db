// The points that an equation is fitted to. Each lies at the time of a step of the solver, so the compiled program stays the
// same however many there are and wherever they are dragged.

import { generator } from '../trainer/random.ts';
import { STEPS, type Equation } from './equations.ts';
import type { Curves, Seen } from './protocol.ts';

export interface Point {
  readonly id: number;
  /** The index of the equation's variable. */
  readonly variable: 0 | 1;
  /** The step of the solver at which it lies. */
  step: number;
  value: number;
}

/** Significant digits of a value in a text. */
const DIGITS = 4;
/** The most points in a text. */
const MOST_READ = 1000;

export class Points {
  list: Point[] = [];
  private next = 0;

  constructor(private readonly equation: Equation) {}

  /** Makes points on the true curves with random errors, whose standard deviation is `noise` times the variable's size. */
  scatter(truth: Curves, noise: number, seed: number): void {
    const { points, variables } = this.equation;
    const draw = normal(seed);
    this.list = [];
    variables.forEach(({ size }, i) => {
      const variable = i === 0 ? 0 : 1;
      for (let k = 0; k < points; k++) {
        const step = Math.round(((k + (i === 0 ? 0.35 : 0.65)) / points) * STEPS);
        this.add(variable, step, truth[variable][step] + noise * size * draw());
      }
    });
  }

  add(variable: 0 | 1, step: number, value: number): Point {
    const point: Point = { id: this.next++, variable, step, value };
    this.move(point, step, value);
    this.list.push(point);
    return point;
  }

  /** Moves a point, but only within the plot; returns whether that stopped it. */
  move(point: Point, step: number, value: number): boolean {
    const [low, high] = this.equation.range;
    point.step = Math.min(STEPS, Math.max(0, Math.round(step)));
    point.value = Math.min(high, Math.max(low, value));
    return point.value !== value;
  }

  remove(point: Point): void {
    this.list = this.list.filter((each) => each !== point);
  }

  /** All points in characters that addresses do not escape: step_value, joined by * for a variable; variables joined by
   *  `..`. */
  get text(): string {
    const of = (variable: number): string =>
      this.list
        .filter((each) => each.variable === variable)
        .map(({ step, value }) => `${step}_${Number(value.toPrecision(DIGITS))}`)
        .join('*');
    return `${of(0)}..${of(1)}`;
  }

  /** Takes the points of a text; returns false, and changes nothing, if the text is not valid. */
  read(text: string): boolean {
    const variables = text.split('..').map((list) => (list === '' ? [] : list.split('*').map((each) => each.split('_').map(Number))));
    const isPoint = (each: number[]): boolean => each.length === 2 && each.every(Number.isFinite);
    if (variables.length !== 2 || !variables.flat().every(isPoint) || variables.flat().length > MOST_READ) return false;
    this.list = [];
    variables.forEach((list, variable) => {
      for (const [step, value] of list) this.add(variable === 0 ? 0 : 1, step, value);
    });
    return true;
  }

  /** A step in the middle of the widest gap between the points of a variable. */
  gap(variable: 0 | 1): number {
    const steps = this.list.filter((each) => each.variable === variable).map(({ step }) => step);
    const marks = [0, ...steps, STEPS].sort((a, b) => a - b);
    let widest = 1;
    for (let i = 1; i < marks.length; i++) if (marks[i] - marks[i - 1] > marks[widest] - marks[widest - 1]) widest = i;
    return Math.round((marks[widest] + marks[widest - 1]) / 2);
  }

  /** The points as data for the fit. Points at the same place count as their mean. The weights make the loss a mean of
   *  squares relative to the sizes. */
  seen(): Seen {
    const zeros = (): Curves => [new Float64Array(STEPS + 1), new Float64Array(STEPS + 1)];
    const [values, weights] = [zeros(), zeros()];
    for (const { variable, step, value } of this.list) {
      const weight = 1 / (this.list.length * this.equation.variables[variable].size ** 2);
      const before = weights[variable][step];
      weights[variable][step] += weight;
      values[variable][step] += ((value - values[variable][step]) * weight) / (before + weight);
    }
    return { values, weights };
  }
}

/** Normally distributed numbers (Box and Muller). */
function normal(seed: number): () => number {
  const next = generator(seed);
  const uniform = (): number => (next() + 0.5) / 2 ** 32;
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}
