// Questions to the worker that trains an automaton, each with its answer.

import type { Settings } from './targets.ts';

/** Grids of some channels one after the other, row by row: values from 0 to 255. */
export interface Film {
  width: number;
  height: number;
  /** Grids after each step, the start first. */
  frames: number;
  soft: Uint8Array;
  hard: Uint8Array;
  /** What the last frame is to be. */
  target: Uint8Array;
}

export interface Made {
  threads: number;
  /** Gates that are trained. */
  gates: number;
  film: Film;
}

export interface Progress {
  /** Epochs so far. */
  epoch: number;
  /** Of the epochs since the last answer. */
  losses: number[];
  /** Milliseconds of an epoch, the median of the last ones; null before the first. */
  epochMs: number | null;
  /** Share of the cells that the hard gates get right; null where it was not looked at. */
  accuracy: number | null;
  /** Whether the hard gates do the task on fresh grids as well. */
  solved: boolean;
  /** Null where nothing was filmed. */
  film: Film | null;
}

/** What a circuit was taken out of. */
export interface Taken {
  /** Gates that were trained, and how many of them simplification leaves. */
  trained: number;
  simplified: number;
  /** Of the cells that the circuit was tried on; 1: it does its task, and only then is it pruned. */
  accuracy: number;
}

export interface CircuitFacts {
  inputs: number;
  /** [function, signal, signal] of each gate, as the package has it. */
  gates: (readonly [number, number, number])[];
  outputs: number[];
  /** Of the functions, by their numbers. */
  names: readonly string[];
  channels: number;
  boundary: 'zero' | 'wrap';
  counts: Record<string, number>;
  depth: number;
  /** Null where the circuit was read from a file. */
  taken: Taken | null;
  /** As logic.circuit reads it. */
  json: string;
  /** A run of the circuit: all channels of each frame. */
  cells: { width: number; height: number; frames: number; bits: Uint8Array };
}

export type Form = 'c' | 'verilog' | 'svg' | 'json';

export interface AutomatonMethods {
  /** Opens the library: how many threads it has. */
  open(): number;
  make(settings: Settings): Made;
  /** Trains for so long. */
  train(ms: number): Progress;
  /** The circuit as it is now. */
  circuit(): CircuitFacts;
  /** A circuit from the JSON that was saved of it. */
  read(json: string): CircuitFacts;
  /** The last circuit as a text. */
  write(form: Form): string;
}
