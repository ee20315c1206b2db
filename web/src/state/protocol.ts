// Every message between the page and the trainer. Both sides switch over `type`, so the TypeScript
// compiler finds a message that nobody handles.

import type { Problem } from '../compiler/protocol.ts';
import type { ConfusionReport, KeptReport, LayersReport, Looked } from './inside.ts';
import type { Settings } from './settings.ts';

/** `paused` is also the state before the first step; `failed`: there is no program that could be trained. */
export type Phase = 'loading' | 'paused' | 'running' | 'failed';

/** Where a program is to be trained; 'auto': where it is faster. */
export type TrainedOn = 'cpu' | 'webgpu' | 'auto';

/** A program as it is written, and of the list which one it is or was. */
export interface ProgramText {
  name: string;
  text: string;
}

/** What the page shows of a program. */
export interface About {
  /** The model in words. */
  text: string;
  /** What it learns from: of some data the page can show more. */
  data: 'digits' | 'text' | 'own';
  hasAccuracy: boolean;
  /** Of its settings, where their names do not say it. */
  labels: Record<string, string>;
  cards: { text: string; see: string | null; isChecked: boolean }[];
  views: { kind: string; title: string }[];
}

/** A view of a program at a moment. */
export type Drawing =
  | {
      kind: 'plane';
      extent: number;
      /** Values stand in rows of so many, from the top left. */
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

/** What one step found out. */
export interface Reading {
  /** Before the update. */
  loss: number;
  /** The length of the gradient. */
  norm: number;
  rate: number;
  /** NaN of a step that was compiled first. */
  ms: number;
}

/** Of parameters and of what a step keeps. */
export const PRECISIONS = ['float32', 'float16', 'bfloat16'] as const;
export type Precision = (typeof PRECISIONS)[number];

/** Steps in which precisions are compared. */
export const COMPARED_STEPS = 120;

/** The same training within one precision. */
export interface ComparedRun {
  precision: Precision;
  losses: number[];
  /** Bytes of a step. */
  memory: number;
  /** Of a step, the median; NaN before it is known. */
  ms: number;
  /** By which the loss is multiplied for its gradient. */
  scale: number;
  /** Steps whose gradient was not finite. */
  skipped: number;
}

export interface ComparisonReport {
  runs: ComparedRun[];
  /** That each has done. */
  step: number;
  /** No more steps follow: all are done, or it was stopped. */
  isEnded: boolean;
}

export interface Progress {
  /** Steps done since the last reset. */
  step: number;
  stepsPerEpoch: number;
  /** Of each step since the last message, oldest first. */
  readings: Reading[];
  /** By the wall clock, evaluation and profiling included; 0 before it is known. */
  stepsPerSecond: number;
  /** Time inside the training steps alone. */
  msPerStep: number;
  /** Floating-point operations of one step's products, as its kernels count them; 0 before they are measured. */
  flopsPerStep: number;
  bytesInUse: number;
  bytesPeak: number;
  tensors: number;
  /** Steps since bytesInUse last changed. */
  bytesSteady: number;
}

export interface Evaluation {
  step: number;
  /** Share of right answers, 0..1. */
  accuracy: number;
  count: number;
  /** True when the whole test set was used. */
  whole: boolean;
  /** Predicted digits of the sample, in its order; null where there are no digits. */
  sample: Uint8Array | null;
  /** On what was tested; null where it is not known. */
  loss: number | null;
}

export interface KernelTiming {
  name: string;
  kind: string;
  /** The engine that ran it: 'jit', 'vm', 'ready', or 'wgsl' of the shaders of a graphics processor. */
  engine: string;
  /** Per training step. */
  calls: number;
  ms: number;
  /** NaN where it is not known. */
  gflops: number;
  gbps: number;
}

export interface ProfileReport {
  /** Training steps that were measured. */
  steps: number;
  /** Wall time of one step, ms. */
  msPerStep: number;
  /** Of one step, in products. */
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
  /** The parameters as a file. */
  | { type: 'weights' }
  | { type: 'load'; file: Blob }
  /** From where it was saved last. */
  | { type: 'continue' }
  /** Trains anew in each precision, or stops that. */
  | { type: 'compare'; on: boolean }
  | { type: 'classify'; pixels: Float32Array }
  | { type: 'trace' }
  /** Which views inside of training are open. */
  | { type: 'look'; views: Looked[] }
  /** Back to a state that is kept. */
  | { type: 'rewind'; step: number }
  /** The same way once more, up to where the rewind was. */
  | { type: 'replay' }
  /** Somebody uses the page: its answer comes first. */
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
  /** Another program, with as many steps behind it: its description, how many numbers it learns, what it was made with. */
  | { type: 'network'; about: About; name: string; weights: number; settings: Settings; step: number; isLoaded: boolean }
  /** What is wrong with a program; kept: the settings with which the same text goes on, as others were refused. */
  | { type: 'problem'; problem: Problem; kept: Settings | null }
  /** A script has run to its end: there is nothing to train. */
  | { type: 'ran' }
  /** Lines that a program has printed, and how many more there were. */
  | { type: 'printed'; lines: Printed[]; more: number }
  | { type: 'figures'; step: number; values: { name: string; value: number }[] }
  | { type: 'views'; drawings: Drawing[] }
  /** Of each card of the lesson, whether its check has passed. */
  | { type: 'lesson'; passed: boolean[] }
  /** A training state as a file, and whether it is kept in this browser as well, or why not. */
  | { type: 'saved'; bytes: Uint8Array<ArrayBuffer>; name: string; step: number; kept: true | string }
  /** The parameters alone, as a file in the format safetensors. */
  | { type: 'weights'; bytes: Uint8Array<ArrayBuffer>; name: string; step: number }
  /** There is a state from before to go on from. */
  | { type: 'kept'; example: string; step: number }
  /** A file that could not be loaded; training goes on as it was. */
  | { type: 'refused'; failure: Failure }
  | { type: 'progress'; progress: Progress }
  | { type: 'evaluation'; evaluation: Evaluation }
  | { type: 'profile'; profile: ProfileReport }
  | { type: 'probabilities'; values: Float32Array }
  | { type: 'comparison'; report: ComparisonReport }
  /** What a network has written so far. */
  | { type: 'writing'; text: string; step: number; done: boolean }
  | { type: 'trace'; json: string }
  | { type: 'layers'; report: LayersReport }
  | { type: 'confusion'; report: ConfusionReport }
  | { type: 'kept-states'; report: KeptReport }
  /** Training stands where it stood at that step; rate: where it is a number. */
  | { type: 'rewound'; step: number; rate: number | null }
  /** What a view cannot show of this program, and why. */
  | { type: 'not-looked'; view: Looked; why: string }
  /** isLost: the graphics processor is gone. */
  | { type: 'failure'; failure: Failure; isLost?: boolean };
