// What the views inside of training are told: of layers, of answers, and of kept states. They are measured only while
// somebody looks.

/** Views that the trainer has to do something for. */
export type Looked = 'layers' | 'confusion' | 'rewind';

/** Bins of every histogram. */
export const BINS = 48;
/** Histograms of gradients are over powers of ten of their sizes: the exponents they begin and end with. */
export const LEAST_POWER = -10;
export const MOST_POWER = 2;

/** Of values: bins of equal width from -range to range. */
export interface Spread {
  range: number;
  counts: Float32Array;
}

/** Parameters that lie beside each other in the tree: a layer's weight and bias. */
export interface LayerReport {
  name: string;
  size: number;
  weights: Spread;
  /** By size, on a logarithmic axis; zeros are in the first bin. */
  gradients: Float32Array;
  /** The lengths of the weights, of their gradient, and of what a step adds to them. */
  length: number;
  norm: number;
  update: number;
  /** Numbers in the gradient that are not finite. */
  notFinite: number;
}

/** What a module or an activation function made of a batch. */
export interface ActivationReport {
  name: string;
  kind: string;
  units: number;
  values: Spread;
  /** Units that are 0 for every example. */
  dead: number;
  /** The share of values at an end of the function's range; NaN where it has none. */
  saturated: number;
}

export interface LayersReport {
  step: number;
  layers: LayerReport[];
  activations: ActivationReport[];
  /** Why there are no activations, or not all; '' otherwise. */
  note: string;
  /** Milliseconds that this look took. */
  ms: number;
}

/** An example that can be shown: as a picture, or as its numbers. */
export type Example = { pixels: Float32Array; height: number; width: number; colours: number } | { text: string };

export interface ConfusionReport {
  step: number;
  /** Where the examples are from, in words. */
  of: string;
  names: string[];
  truth: Int32Array;
  answers: Int32Array;
  /** As many as there are answers. */
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
  /** That they may take at most. */
  most: number;
  /** The step that was reached before the last rewind; null: there was none, or training went on another way. */
  until: number | null;
  /** What a replay has found so far; null outside of one. */
  replay: { from: number; losses: number; states: number; differ: number; isEnded: boolean } | null;
}
