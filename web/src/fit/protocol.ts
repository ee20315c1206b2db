// The questions to the fitter, with their answers. Parameters are sent as coordinates (equations.ts), curves as their values at
// the solver's steps.

import type { EquationName } from './equations.ts';

export type Curves = [Float64Array, Float64Array];

/** For each variable and step the observed value and its weight; the weight is 0 where nothing was observed. */
export interface Seen {
  values: Curves;
  weights: Curves;
}

export interface Search {
  equation: EquationName;
  seen: Seen;
  /** Where searches begin; the one that ends lowest is taken. */
  starts: readonly Float64Array[];
  /** Whether to return the curves at the last start. */
  from: boolean;
}

export interface Fit {
  at: Float64Array;
  /** The standard error of each coordinate; null if the points do not determine all of them. */
  spread: Float64Array | null;
  /** The weighted mean square of the distances. NaN: the solver reached no finite result from any start. */
  loss: number;
  curves: Curves;
  /** The curves at the last start. */
  from: Curves | null;
  converged: boolean;
  /** The number of L-BFGS steps of each search. */
  steps: number[];
  /** The duration of all searches. */
  ms: number;
}

/** The gradient of the loss as code. */
export interface Code {
  js: string;
  c: string;
}

export interface FitMethods {
  /** Loads the library; the other methods do so, too. */
  library(): void;
  /** Compiles an equation and lets it warm up; returns the curves at `truth`. */
  open(equation: EquationName, truth: Float64Array, start: Float64Array): Curves;
  fit(search: Search): Fit;
  code(equation: EquationName): Code;
}
