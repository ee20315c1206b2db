// What programs of the playground are made of. A program is a module that exports
//
//   default    a function of the settings that returns a Program: a model, its loss, its data and its optimizer
//   settings   numbers that the page has fields for: sizes, batch, learningRate, seed
//   labels     what the fields are called, where their names do not say it
//   lesson     cards to go through, each with a check
//
// or, with nothing to train, a function `program` and its arguments `inputs`, which the Compiler tab takes apart.

import type * as sn from 'sinter';

export interface Settings {
  sizes?: readonly number[];
  batch?: number;
  learningRate?: number;
  seed?: number;
}

/** What a loss gets after its batch: the state of a model that has one, and a random key for this step. */
export interface Context {
  state: any;
  key: sn.Tensor;
}

/** The data that a model is trained on. */
export interface Data {
  /** The batch of a step, numbered from 0. The same step always gives the same batch. */
  batch(step: number): readonly sn.Tensor[];
  /** The number of steps that go through all of the data. Default 100. */
  stepsPerEpoch?: number;
}

export interface Program {
  /** The model in a few words. */
  about?: string;
  /** What is trained: a module of sn.nn, or a function that makes the initial parameters from a key. */
  model: sn.nn.AnyModule | ((key: sn.Tensor) => unknown);
  /** Gets the parameters, a batch and a Context. With a model that has a state, it returns [loss, { state }]. */
  loss(params: any, ...batch: any[]): sn.Tensor | readonly [sn.Tensor, { state?: unknown }];
  data: Data | ((step: number) => readonly sn.Tensor[]);
  optimizer: sn.optim.Optimizer;
  /** The scores for an input, requested between steps. Default: the module's output. */
  predict?(params: any, x: sn.Tensor, context: { state: any }): sn.Tensor;
  /** Figures to watch, each computed from the parameters. One called accuracy, from 0 to 1, is drawn as a chart. */
  metrics?: Record<string, (params: any, context: { state: any }) => sn.Tensor>;
  /** Pictures to watch. */
  views?: readonly View[];
  /** The most steps per second, so that a model that learns very fast can be watched. */
  pace?: number;
}

/** A part of a plane, coloured by a value from 0 to 1, with points on it. */
export interface Plane {
  kind: 'plane';
  title: string;
  /** Both axes go from -extent to extent. Default 1. */
  extent?: number;
  /** Returns a value (n) for each place (n, 2); the boundary is at 0.5. */
  values?: (params: any, places: sn.Tensor) => sn.Tensor;
  /** Places (n, 2), fixed or computed from the parameters. */
  points?: sn.Tensor | ((params: any) => sn.Tensor);
  /** 0 or 1 for each point. */
  classes?: sn.Tensor;
}

/** A picture computed from the parameters: (height, width) from 0 to 1, or (height, width, 3) in colour. */
export interface Picture {
  kind: 'picture';
  title: string;
  image: (params: any) => sn.Tensor;
}

/** Lines over one axis. */
export interface Curves {
  kind: 'curves';
  title: string;
  x: sn.Tensor;
  lines: Record<string, sn.Tensor | ((params: any) => sn.Tensor)>;
}

export type View = Plane | Picture | Curves;

/** The figures that the check of a card gets. */
export interface Figures {
  step: number;
  /** The running mean. */
  loss: number;
  /** On held-out data, from 0 to 1. */
  accuracy?: number;
  [metric: string]: number | undefined;
}

/** A card of a lesson. */
export interface Card {
  text: string;
  /** What the user should see. */
  see?: string;
  /** Whether that has happened. A card without a check is only read. */
  check?: (figures: Figures) => boolean;
}

export type Lesson = readonly Card[];

/** MNIST: images as rows of 784 numbers, or in another shape, and their digits. */
export function digits(options: { batch: number; seed?: number; shape?: readonly number[] }): Promise<Data>;

/** Shakespeare's sonnets: lines of `context` letters as numbers, and for each letter the one that follows it. */
export function sonnets(options: { batch: number; context: number; seed?: number }): Promise<Data & { letters: readonly string[] }>;
