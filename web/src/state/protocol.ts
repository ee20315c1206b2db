// All messages between the page and the trainer. Both sides switch over `type`, so the TypeScript compiler finds a message that
// nobody handles.

import type { Problem } from '../compiler/protocol.ts';
import type { ConfusionReport, KeptReport, LayersReport, Looked } from './inside.ts';
import type { Settings } from './settings.ts';

/** `paused` is also the state before the first step; `failed`: there is no program that can be trained. */
export type Phase = 'loading' | 'paused' | 'running' | 'failed';

/** Where a program is to be trained; 'auto': wherever it is faster. */
export type TrainedOn = 'cpu' | 'webgpu' | 'auto';

/** The text of a program, and its name in the list or the name of its original. */
export interface ProgramText {
  name: string;
  text: string;
}

/** What the page shows about a program. */
export interface About {
  /** The model in words. */
  text: string;
  /** The kind of its data; the page can show more for some of them. */
  data: 'digits' | 'text' | 'own';
  hasAccuracy: boolean;
  /** The labels of its settings, where their names do not say enough. */
  labels: Record<string, string>;
  cards: { text: string; see: string | null; isChecked: boolean }[];
  views: { kind: string; title: string }[];
}

/** A view of a program at one moment. */
export type Drawing =
  | {
      kind: 'plane';
      extent: number;
      /** The number of values in a row; rows start at the top left. */
      side: number;
      values: Float32Array | null;
      points: Float32Array | null;
      classes: Float32Array | null;
    }
  | { kind: 'picture'; height: number; width: number; colours: number; pixels: Float32Array }
  | { kind: 'curves'; x: Float32Array; lines: { name: string; values: Float32Array }[] };

/** A line that a program has printed. */
export interface Printed {
  level: 'log' | 'warn' | 'error';
  line: string;
}

export interface Capabilities {
  threads: number;
  simd: boolean;
  relaxedSimd: boolean;
  jit: boolean;
  crossOriginIsolated: boolean;
  reasons: string[];
  version: string;
}

/** The results of one step. */
export interface Reading {
  /** The loss before the update. */
  loss: number;
  /** The norm of the gradient. */
  norm: number;
  rate: number;
  /** NaN if the step was compiled first. */
  ms: number;
}

/** The dtype of the parameters and of what a step keeps. */
export const PRECISIONS = ['float32', 'float16', 'bfloat16'] as const;
export type Precision = (typeof PRECISIONS)[number];

/** The number of steps over which precisions are compared. */
export const COMPARED_STEPS = 120;

/** The same training in one precision. */
export interface ComparedRun {
  precision: Precision;
  losses: number[];
  /** The bytes that a step takes. */
  memory: number;
  /** The median time of a step, in ms; NaN before it is known. */
  ms: number;
  /** The factor by which the loss is multiplied for its gradient. */
  scale: number;
  /** The number of steps that were skipped because their gradient was not finite. */
  skipped: number;
}

export interface ComparisonReport {
  runs: ComparedRun[];
  /** The number of steps that each run has done. */
  step: number;
  /** Whether no more steps follow, because all are done or it was stopped. */
  isEnded: boolean;
}

export interface Progress {
  /** Steps done since the last reset. */
  step: number;
  stepsPerEpoch: number;
  /** The results of each step since the last message, oldest first. */
  readings: Reading[];
  /** By the wall clock, including evaluation and profiling; 0 before it is known. */
  stepsPerSecond: number;
  /** The time inside training steps only. */
  msPerStep: number;
  /** The floating-point operations of one step's products, as its kernels count them; 0 before they are measured. */
  flopsPerStep: number;
  bytesInUse: number;
  bytesPeak: number;
  tensors: number;
  /** The number of steps since bytesInUse last changed. */
  bytesSteady: number;
}

export interface Evaluation {
  step: number;
  /** The share of right answers, 0..1. */
  accuracy: number;
  count: number;
  /** Whether the whole test set was used. */
  whole: boolean;
  /** The predicted digits of the sample, in its order; null if there are no digits. */
  sample: Uint8Array | null;
  /** The loss on what was tested; null if it is not known. */
  loss: number | null;
}

export interface KernelTiming {
  name: string;
  kind: string;
  /** The engine that ran it: 'jit', 'vm', 'ready', or 'wgsl' for shaders of a graphics processor. */
  engine: string;
  /** Per training step. */
  calls: number;
  ms: number;
  /** NaN if it is not known. */
  gflops: number;
  gbps: number;
}

export interface ProfileReport {
  /** The number of training steps that were measured. */
  steps: number;
  /** The wall time of one step, in ms. */
  msPerStep: number;
  /** The floating-point operations of the products of one step. */
  flops: number;
  kernels: KernelTiming[];
}

/** Test digits that the page shows: 28 x 28 bytes each, and their labels. */
export interface DigitSample {
  images: Uint8Array;
  labels: Uint8Array;
}

export interface Failure {
  name: string;
  message: string;
  hint: string;
}

export type ToTrainer =
  /** null: only starts the library. */
  | { type: 'open'; program: ProgramText | null; settings: Settings; device: TrainedOn }
  | { type: 'start' }
  | { type: 'pause' }
  | { type: 'step' }
  /** settings: only those that differ from what the program declares. */
  | { type: 'reset'; program: ProgramText; settings: Settings }
  | { type: 'learningRate'; value: number }
  | { type: 'save' }
  /** Requests the parameters as a file. */
  | { type: 'weights' }
  | { type: 'load'; file: Blob }
  /** Continues from the last saved state. */
  | { type: 'continue' }
  /** Trains anew in each precision, or stops that. */
  | { type: 'compare'; on: boolean }
  | { type: 'classify'; pixels: Float32Array }
  | { type: 'trace' }
  /** Tells which views inside of training are open. */
  | { type: 'look'; views: Looked[] }
  /** Goes back to a kept state. */
  | { type: 'rewind'; step: number }
  /** Trains the same steps again, up to the step before the rewind. */
  | { type: 'replay' }
  /** The user acts on the page: the page's response comes first. */
  | { type: 'giveWay' }
  | { type: 'ping' };

export type FromTrainer =
  | { type: 'alive' }
  | { type: 'loading'; received: number; total: number }
  | { type: 'capabilities'; capabilities: Capabilities }
  | { type: 'digits'; sample: DigitSample }
  /** Where the program runs, and why there, in a sentence. */
  | { type: 'device'; text: string }
  | { type: 'phase'; phase: Phase }
  /** Another program that has done `step` steps: its description, its number of parameters, and its settings. */
  | { type: 'network'; about: About; name: string; weights: number; settings: Settings; step: number; isLoaded: boolean }
  /** What is wrong with a program. kept: the settings with which the same text continues, if only new settings were refused. */
  | { type: 'problem'; problem: Problem; kept: Settings | null }
  /** A script has run to its end: there is nothing to train. */
  | { type: 'ran' }
  /** Lines that a program has printed, and the number of further lines that are left out. */
  | { type: 'printed'; lines: Printed[]; more: number }
  | { type: 'figures'; step: number; values: { name: string; value: number }[] }
  | { type: 'views'; drawings: Drawing[] }
  /** For each card of the lesson, whether its check has passed. */
  | { type: 'lesson'; passed: boolean[] }
  /** A training state as a file, and whether it is also kept in this browser, or why not. */
  | { type: 'saved'; bytes: Uint8Array<ArrayBuffer>; name: string; step: number; kept: true | string }
  /** The parameters only, as a file in the safetensors format. */
  | { type: 'weights'; bytes: Uint8Array<ArrayBuffer>; name: string; step: number }
  /** A state from an earlier visit exists from which training can continue. */
  | { type: 'kept'; example: string; step: number }
  /** A file could not be loaded; training continues as before. */
  | { type: 'refused'; failure: Failure }
  | { type: 'progress'; progress: Progress }
  | { type: 'evaluation'; evaluation: Evaluation }
  | { type: 'profile'; profile: ProfileReport }
  | { type: 'probabilities'; values: Float32Array }
  | { type: 'comparison'; report: ComparisonReport }
  /** The text that a network has written so far. */
  | { type: 'writing'; text: string; step: number; done: boolean }
  | { type: 'trace'; json: string }
  | { type: 'layers'; report: LayersReport }
  | { type: 'confusion'; report: ConfusionReport }
  | { type: 'kept-states'; report: KeptReport }
  /** Training is back at that step; rate: the learning rate if it is a number. */
  | { type: 'rewound'; step: number; rate: number | null }
  /** Why a view cannot show this program. */
  | { type: 'not-looked'; view: Looked; why: string }
  /** isLost: the graphics processor is lost. */
  | { type: 'failure'; failure: Failure; isLost?: boolean };
