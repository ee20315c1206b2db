// The data of the views inside of training: layers, answers, and kept states. They are measured only while a view is open.

/** The views for which the trainer has to do something. */
export type Looked = 'layers' | 'confusion' | 'rewind';

/** The number of bins of every histogram. */
export const BINS = 48;
/** Histograms of gradients have an axis of magnitudes: the exponents of ten at its ends. */
export const LEAST_POWER = -10;
export const MOST_POWER = 2;

/** A histogram of values, with bins of equal width from -range to range. */
export interface Spread {
  range: number;
  counts: Float32Array;
}

/** Parameters that are siblings in the tree: a layer's weight and bias. */
export interface LayerReport {
  name: string;
  size: number;
  weights: Spread;
  /** A histogram of magnitudes, on a logarithmic axis; zeros are in the first bin. */
  gradients: Float32Array;
  /** The norms of the weights, of their gradient, and of the change that a step makes to them. */
  length: number;
  norm: number;
  update: number;
  /** The number of elements of the gradient that are not finite. */
  notFinite: number;
}

/** The output of a module or an activation function for a batch. */
export interface ActivationReport {
  name: string;
  kind: string;
  units: number;
  values: Spread;
  /** The number of units that are 0 for every example. */
  dead: number;
  /** The share of values at an end of the function's range; NaN if it has none. */
  saturated: number;
}

export interface LayersReport {
  step: number;
  layers: LayerReport[];
  activations: ActivationReport[];
  /** Why activations are missing; '' if none are. */
  note: string;
  /** How long this measurement took, in ms. */
  ms: number;
}

/** An example in a form that can be shown: as a picture, or as its numbers. */
export type Example = { pixels: Float32Array; height: number; width: number; colours: number } | { text: string };

export interface ConfusionReport {
  step: number;
  /** Where the examples are from, in words. */
  of: string;
  names: string[];
  truth: Int32Array;
  answers: Int32Array;
  /** One for each answer. */
  examples: Example[];
}

export interface KeptState {
  step: number;
  bytes: number;
  loss: number;
}

export interface KeptReport {
  states: KeptState[];
  step: number;
  bytes: number;
  /** The most bytes that they may take. */
  most: number;
  /** The step that was reached before the last rewind. null if there was none, or training has since taken another course. */
  until: number | null;
  /** What a replay has found so far; null if there is none. */
  replay: { from: number; losses: number; states: number; differ: number; isEnded: boolean } | null;
}
