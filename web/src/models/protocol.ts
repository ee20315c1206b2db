// Questions to the worker that has the model, each with its answer.

import type { Problem } from '../compiler/protocol.ts';

/** An input or an output, as the file describes it. */
export interface Port {
  name: string;
  dtype: string;
  /** Numbers, names of sizes that are free, '' where nothing is said; null: of any rank. */
  shape: readonly (number | string)[] | null;
}

/** A step of the file's graph. */
export interface FileNode {
  op: string;
  /** '' where the file gives none. */
  name: string;
  /** The parts of the model that it is in, from the largest on. */
  scopes: string[];
  /** Numbers in the weights that it reads. */
  parameters: number;
  /** It reads weights and constants alone. */
  constant: boolean;
}

export interface FileGraph {
  nodes: FileNode[];
  /** Pairs of places in nodes: from, to. */
  edges: Uint32Array;
}

/** What can be trained by itself: weights of one part of the model. */
export interface Block {
  name: string;
  parameters: number;
}

export interface Facts {
  kind: 'onnx' | 'gguf';
  name: string;
  /** What it is, in a sentence or two. */
  words: string;
  facts: [name: string, value: string][];
  graph: FileGraph;
  inputs: Port[];
  outputs: Port[];
  /** From the first to the last; of a GGUF file none. */
  blocks: Block[];
  /** Whether it writes text. */
  writes: boolean;
  /** Why it does not run; it is shown all the same. */
  problem: Problem | null;
}

/** Numbers for an input. */
export interface Given {
  name: string;
  shape: number[];
  values: Float32Array;
}

export interface Output {
  name: string;
  dtype: string;
  shape: number[];
  /** The first ones. */
  values: Float32Array;
}

export interface Ran {
  outputs: Output[];
  /** The run that compiles, and the best of those behind it. */
  firstMs: number;
  ms: number;
}

/** Of a node of the graph, run by itself. */
export interface NodeTime {
  node: number;
  ms: number;
  /** Of its first output, in words. */
  shape: string;
}

/** Training of small models in the page, a slice of time after the other. */
export interface Making {
  step: number;
  steps: number;
  loss: number;
  /** The model is there. */
  done: boolean;
}

export type Maker = 'digits' | 'writer';

/** What is trained, with what. */
export interface TuneSettings {
  /** Weights of so many blocks, from the end. */
  blocks: number;
  learningRate: number;
  /** Examples in a step. */
  batch: number;
}

/** Examples of an input, one behind the other. */
export interface Examples {
  input: string;
  /** Of one example, without its place in a batch. */
  shape: number[];
  values: Float32Array;
  /** The class of each. */
  labels: Uint32Array;
  classes: number;
}

export interface TuneFacts {
  parameters: number;
  frozen: number;
  train: number;
  held: number;
  /** What is said of how classes meet outputs. */
  note: string;
}

export interface TuneProgress {
  step: number;
  /** Of each step of this slice. */
  losses: number[];
  /** Share of the held-out examples that is right: before, and now. */
  before: number;
  accuracy: number;
}

export interface Sampling {
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  maxTokens: number;
  /** null: by chance. */
  seed: number | null;
}

export interface Message {
  role: 'user' | 'assistant';
  content: string;
}

export interface Written {
  /** What is new. */
  text: string;
  tokens: number;
  promptTokens: number;
  /** From the question to the first token, and all since then, in ms. */
  firstMs: number;
  restMs: number;
  /** Why it ended; null: it goes on. */
  reason: string | null;
}

/** Where time goes while a model writes: a share of it all. */
export interface Part {
  name: string;
  ms: number;
}

export interface ModelsMethods {
  /** Threads. */
  open(): number;
  load(name: string, file: Blob): Facts;
  /** Trains the page's own small model for so many ms, at most to its end. */
  make(which: Maker, ms: number): Making;
  /** Takes it as it is: the same as load of its file. */
  take(which: Maker): Facts;
  /** The file of what is loaded, where the page made it. */
  file(): Uint8Array;
  run(given: Given[]): Ran;
  /** Op by op. */
  times(given: Given[]): NodeTime[];
  /** Some of the digits that the page has, for a model of one input of as many numbers. */
  digits(input: string, shape: number[], upsideDown: boolean): Examples;
  tune(settings: TuneSettings, examples: Examples): TuneFacts;
  tuneOn(ms: number): TuneProgress;
  /** The file with the weights as they are now; the loaded model runs with them from now on. */
  tuned(): Uint8Array;
  write(messages: readonly Message[], sampling: Sampling): void;
  writeOn(ms: number): Written;
  writeEnd(): void;
  /** Of a token of the text that was written last. */
  parts(): Part[];
}
