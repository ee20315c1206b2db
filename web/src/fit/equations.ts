// The differential equations that can be fitted: their notation, the meaning of their parameters, and the true values.
// workers/slopes.ts computes them.

export type EquationName = 'prey' | 'pendulum' | 'epidemic';

export interface Variable {
  symbol: string;
  name: string;
  /** A typical value. Distances from a curve count relative to it. */
  size: number;
}

export interface Parameter {
  symbol: string;
  meaning: string;
  truth: number;
  /** The value at which the search begins. */
  start: number;
  /** The range of the gauge. If it is above zero the parameter is positive, and its logarithm is fitted. */
  range: readonly [low: number, high: number];
}

export interface Equation {
  /** The text on its button. */
  title: string;
  /** One line per equation, in the notation of formula.ts. */
  formulas: readonly string[];
  story: string;
  /** The time at the end, in units. */
  end: number;
  unit: string;
  /** The range of the value axis. */
  range: readonly [low: number, high: number];
  variables: readonly [Variable, Variable];
  parameters: readonly Parameter[];
  /** The number of points of each variable. */
  points: number;
}

/** Steps of the solver from 0 to the end. Points lie at the times between them. */
export const STEPS = 240;

export const EQUATIONS: Record<EquationName, Equation> = {
  prey: {
    title: 'Predator and prey',
    formulas: ['dx/dt = α x − β x y', 'dy/dt = δ x y − γ y'],
    story: 'Hares are born and eaten, lynxes live on hares: Lotka and Volterra’s equations go in circles.',
    end: 20,
    unit: 'year',
    range: [0, 16],
    variables: [
      { symbol: 'x', name: 'hares', size: 10 },
      { symbol: 'y', name: 'lynxes', size: 10 },
    ],
    parameters: [
      { symbol: 'α', meaning: 'hares are born', truth: 1.1, start: 0.8, range: [0.2, 5] },
      { symbol: 'β', meaning: 'hares are eaten', truth: 0.4, start: 0.6, range: [0.08, 2] },
      { symbol: 'γ', meaning: 'lynxes die', truth: 0.4, start: 0.55, range: [0.08, 2] },
      { symbol: 'δ', meaning: 'lynxes are born', truth: 0.1, start: 0.14, range: [0.02, 0.5] },
      { symbol: 'x₀', meaning: 'hares at first', truth: 10, start: 8, range: [2, 50] },
      { symbol: 'y₀', meaning: 'lynxes at first', truth: 5, start: 6, range: [1, 25] },
    ],
    points: 12,
  },
  pendulum: {
    title: 'Pendulum',
    formulas: ['dφ/dt = ω', 'dω/dt = − k sin φ − c ω'],
    story: 'A pendulum with friction: gravity pulls it back, each swing is shorter than the one before.',
    end: 12,
    unit: 'second',
    range: [-5, 5],
    variables: [
      { symbol: 'φ', name: 'angle', size: 2 },
      { symbol: 'ω', name: 'speed', size: 3 },
    ],
    parameters: [
      { symbol: 'k', meaning: 'gravity / length', truth: 4, start: 3.4, range: [0.8, 20] },
      { symbol: 'c', meaning: 'friction', truth: 0.25, start: 0.4, range: [0.05, 1.25] },
      { symbol: 'φ₀', meaning: 'angle at first', truth: 2.2, start: 1.6, range: [-3, 3] },
      { symbol: 'ω₀', meaning: 'speed at first', truth: 0.5, start: 0, range: [-4, 4] },
    ],
    points: 12,
  },
  epidemic: {
    title: 'Epidemic',
    formulas: ['dS/dt = − β S I', 'dI/dt = β S I − γ I', 'dR/dt = γ I'],
    story: 'Who is susceptible becomes infected, then recovers: the SIR model, in shares of all people.',
    end: 60,
    unit: 'day',
    range: [0, 1],
    variables: [
      { symbol: 'I', name: 'infected', size: 0.5 },
      { symbol: 'R', name: 'recovered', size: 0.5 },
    ],
    parameters: [
      { symbol: 'β', meaning: 'infections', truth: 0.5, start: 0.35, range: [0.1, 2.5] },
      { symbol: 'γ', meaning: 'recoveries', truth: 0.12, start: 0.2, range: [0.024, 0.6] },
      { symbol: 'I₀', meaning: 'infected at first', truth: 0.004, start: 0.01, range: [0.0008, 0.02] },
    ],
    points: 12,
  },
};

export function isEquation(name: string | null): name is EquationName {
  return name !== null && Object.hasOwn(EQUATIONS, name);
}

/** Whether the logarithm of a parameter is fitted. */
export function isPositive({ range: [low] }: Parameter): boolean {
  return low > 0;
}

/** The coordinate that is fitted, from a parameter's value. */
export function coordinate(parameter: Parameter, value: number): number {
  return isPositive(parameter) ? Math.log(value) : value;
}

/** A parameter's value, from the coordinate that is fitted. */
export function valueAt(parameter: Parameter, coordinate: number): number {
  return isPositive(parameter) ? Math.exp(coordinate) : coordinate;
}
