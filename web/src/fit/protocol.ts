// Questions to the fitter, each with its answer. Parameters travel as their coordinates (equations.ts), curves as their
// values at the times of the solver's steps.

import type { EquationName } from './equations.ts';

export type Curves = [Float64Array, Float64Array];

/** For each variable and time: what was seen there, and how much it counts; 0 where nothing was. */
export interface Seen {
  values: Curves;
  weights: Curves;
}

export interface Search {
  equation: EquationName;
  seen: Seen;
  /** Where searches begin; what ends lowest is taken. */
  starts: readonly Float64Array[];
  /** Whether the curves at the last start are asked for. */
  from: boolean;
}

export interface Fit {
  at: Float64Array;
  /** The standard error of each coordinate; null where the points do not determine them all. */
  spread: Float64Array | null;
  /** The mean square of the distances, weighted. NaN: the solver came to no number from any start. */
  loss: number;
  curves: Curves;
  /** At the last start. */
  from: Curves | null;
  converged: boolean;
  /** L-BFGS steps of each search. */
  steps: number[];
  /** Of all searches. */
  ms: number;
}

/** The gradient of the loss. */
export interface Code {
  js: string;
  c: string;
}

export interface FitMethods {
  /** Loads it, which the others would do as well. */
  library(): void;
  /** Compiles what an equation needs, and lets it become warm; returns the curves at `truth`. */
  open(equation: EquationName, truth: Float64Array, start: Float64Array): Curves;
  fit(search: Search): Fit;
  code(equation: EquationName): Code;
}
