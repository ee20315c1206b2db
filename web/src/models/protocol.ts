// The questions to the worker that holds the model, with their answers.

import type { Problem } from '../compiler/protocol.ts';

/** An input or an output, as the file describes it. */
export interface Port {
  name: string;
  dtype: string;
  /** Fixed sizes as numbers, free ones by name, '' if the file says nothing; null: any rank. */
  shape: readonly (number | string)[] | null;
}

/** A node of the file's graph. */
export interface FileNode {
  op: string;
  /** '' if the file gives none. */
  name: string;
  /** The parts of the model that contain it, the largest first. */
  scopes: string[];
  /** The number of elements in the weights that it reads. */
  parameters: number;
  /** Whether it depends on weights and constants only. */
  constant: boolean;
}

export interface FileGraph {
  nodes: FileNode[];
  /** Pairs of indices into nodes: from, to. */
  edges: Uint32Array;
}

/** The weights of one part of the model, which can be trained on their own. */
export interface Block {
  name: string;
  parameters: number;
}

export interface Facts {
  kind: 'onnx' | 'gguf';
  name: string;
  /** A description in a sentence or two. */
  words: string;
  facts: [name: string, value: string][];
  graph: FileGraph;
  inputs: Port[];
  outputs: Port[];
  /** From the first to the last; none for a GGUF file. */
  blocks: Block[];
  /** Whether it is a model that generates text. */
  writes: boolean;
  /** Why it does not run, if so; it is shown all the same. */
  problem: Problem | null;
}

/** The numbers for an input. */
export interface Given {
  name: string;
  shape: number[];
  values: Float32Array;
}

export interface Output {
  name: string;
  dtype: string;
  shape: number[];
  /** The first values. */
  values: Float32Array;
}

export interface Ran {
  outputs: Output[];
  /** The time of the first run, which compiles, and the best time of the following ones. */
  firstMs: number;
  ms: number;
}

/** The time of one node of the graph, run alone. */
export interface NodeTime {
  node: number;
  ms: number;
  /** The shape of its first output, as text. */
  shape: string;
}

/** The progress of training a small model in the page, which is done in slices of time. */
export interface Making {
  step: number;
  steps: number;
  loss: number;
  /** Whether the model is complete. */
  done: boolean;
}

export type Maker = 'digits' | 'writer';

/** What is trained, and how. */
export interface TuneSettings {
  /** The number of trained blocks, counted from the end. */
  blocks: number;
  learningRate: number;
  /** The number of examples in a step. */
  batch: number;
}

/** The examples of an input, one after the other. */
export interface Examples {
  input: string;
  /** The shape of one example, without the batch axis. */
  shape: number[];
  values: Float32Array;
  /** The class of each example. */
  labels: Uint32Array;
  classes: number;
}

export interface TuneFacts {
  parameters: number;
  frozen: number;
  train: number;
  held: number;
  /** A note on how classes map to outputs; '' if there is nothing to say. */
  note: string;
}

export interface TuneProgress {
  step: number;
  /** The loss of each step of this slice. */
  losses: number[];
  /** The share of the held-out examples that is classified correctly: before training, and now. */
  before: number;
  accuracy: number;
}

export interface Sampling {
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  maxTokens: number;
  /** null: a random one. */
  seed: number | null;
}

export interface Message {
  role: 'user' | 'assistant';
  content: string;
}

export interface Written {
  /** The text that was written since the last question. */
  text: string;
  tokens: number;
  promptTokens: number;
  /** The time from the question to the first text, null before that, and from then until now, in ms. */
  firstMs: number | null;
  restMs: number;
  /** Why generation ended; null while it goes on. */
  reason: string | null;
}

/** One part of the time that a model takes to write a token. */
export interface Part {
  name: string;
  ms: number;
}

export interface ModelsMethods {
  /** Returns the number of threads. */
  open(): number;
  load(name: string, file: Blob): Facts;
  /** Trains the page's own small model for the given time in ms, or until it is complete. */
  make(which: Maker, ms: number): Making;
  /** Opens the page's own model as it is now, like load with its file, which is returned, too. */
  take(which: Maker): { facts: Facts; file: Blob };
  run(given: Given[]): Ran;
  /** Runs the nodes one by one. */
  times(given: Given[]): NodeTime[];
  /** Some of the page's digits, for a model with one input of as many numbers. */
  digits(input: string, shape: number[], upsideDown: boolean): Examples;
  tune(settings: TuneSettings, examples: Examples): TuneFacts;
  tuneOn(ms: number): TuneProgress;
  /** The file with the current weights. From now on the loaded model runs with them. */
  tuned(): Uint8Array;
  write(messages: readonly Message[], sampling: Sampling): void;
  writeOn(ms: number): Written;
  writeEnd(): void;
  /** How the time of a token splits up, for the last text that was written. */
  parts(): Part[];
}
