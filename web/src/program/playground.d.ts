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

/** What a loss gets behind its batch: the state of a model that has one, and a key of this step. */
export interface Context {
  state: any;
  key: sn.Tensor;
}

/** What a model learns from. */
export interface Data {
  /** The batch of a step, numbered from 0; the same one whenever it is asked for. */
  batch(step: number): readonly sn.Tensor[];
  /** Steps that go through all of it. Default 100. */
  stepsPerEpoch?: number;
}

export interface Program {
  /** The model in a few words. */
  about?: string;
  /** What is learnt: a module of sn.nn, or a function that makes the first parameters from a key. */
  model: sn.nn.AnyModule | ((key: sn.Tensor) => unknown);
  /** Of the parameters, a batch and a Context; a model with a state returns [loss, { state }]. */
  loss(params: any, ...batch: any[]): sn.Tensor | readonly [sn.Tensor, { state?: unknown }];
  data: Data | ((step: number) => readonly sn.Tensor[]);
  optimizer: sn.optim.Optimizer;
  /** Scores of an input, asked for between steps. Default: what the module makes of it. */
  predict?(params: any, x: sn.Tensor, context: { state: any }): sn.Tensor;
  /** Figures to watch, each of the parameters; one called accuracy, from 0 to 1, is drawn. */
  metrics?: Record<string, (params: any, context: { state: any }) => sn.Tensor>;
  /** Pictures to watch. */
  views?: readonly View[];
  /** Steps in a second, at most: what learns in the blink of an eye can be watched so. */
  pace?: number;
}

/** A part of a plane, coloured by a value from 0 to 1, with points on it. */
export interface Plane {
  kind: 'plane';
  title: string;
  /** Both axes go from -extent to extent. Default 1. */
  extent?: number;
  /** Of places (n, 2): values (n), of which 0.5 is the boundary. */
  values?: (params: any, places: sn.Tensor) => sn.Tensor;
  /** Places (n, 2), as they are or as the parameters make them. */
  points?: sn.Tensor | ((params: any) => sn.Tensor);
  /** Of each point 0 or 1. */
  classes?: sn.Tensor;
}

/** A picture of the parameters: (height, width) from 0 to 1, or with 3 colours (height, width, 3). */
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

/** What a check of a card is asked about. */
export interface Figures {
  step: number;
  /** The running mean. */
  loss: number;
  /** On data that are not trained on, from 0 to 1. */
  accuracy?: number;
  [metric: string]: number | undefined;
}

/** A card of a lesson. */
export interface Card {
  text: string;
  /** What one should see. */
  see?: string;
  /** Whether it is so; without one, the card is only read. */
  check?: (figures: Figures) => boolean;
}

export type Lesson = readonly Card[];

/** MNIST: images as rows of 784 numbers, or in another shape, and their digits. */
export function digits(options: { batch: number; seed?: number; shape?: readonly number[] }): Promise<Data>;

/** Shakespeare's sonnets: lines of `context` letters by number, and the letter after each of them. */
export function sonnets(options: { batch: number; context: number; seed?: number }): Promise<Data & { letters: readonly string[] }>;
