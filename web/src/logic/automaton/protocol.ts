// The questions to the worker that trains an automaton, with their answers.

import type { Settings } from './targets.ts';

/** Two films: for each frame a grid, row by row, with values from 0 to 255. */
export interface Film {
  width: number;
  height: number;
  /** The number of grids: the start, and one after each step. */
  frames: number;
  soft: Uint8Array;
  hard: Uint8Array;
  /** The target for the last frame. */
  target: Uint8Array;
}

export interface Made {
  threads: number;
  /** The number of trained gates. */
  gates: number;
  film: Film;
}

export interface Progress {
  /** Epochs so far. */
  epoch: number;
  /** The losses of the epochs since the last answer. */
  losses: number[];
  /** Milliseconds per epoch, the median of the last ones; null before the first. */
  epochMs: number | null;
  /** The share of cells that the hard gates get right; null if it was not tested. */
  accuracy: number | null;
  /** Whether the hard gates also do the task on fresh grids. */
  solved: boolean;
  /** null if nothing was filmed. */
  film: Film | null;
}

/** Where a circuit comes from. */
export interface Taken {
  /** The number of gates that were trained, and that simplification left. */
  trained: number;
  simplified: number;
  /** The share of right cells in a test of the circuit. 1: it does its task; only then is it pruned. */
  accuracy: number;
}

export interface CircuitFacts {
  inputs: number;
  /** [function, signal, signal] for each gate, as in the package. */
  gates: (readonly [number, number, number])[];
  outputs: number[];
  /** Names of the functions, by number. */
  names: readonly string[];
  channels: number;
  boundary: 'zero' | 'wrap';
  /** Share of the cells that change in a step. */
  fire: number;
  counts: Record<string, number>;
  depth: number;
  /** null if the circuit was read from a file. */
  taken: Taken | null;
  /** The circuit in the form that logic.circuit reads. */
  json: string;
  /** A run of the circuit: the cells of all channels in each frame. */
  cells: { width: number; height: number; frames: number; bits: Uint8Array };
}

export type Form = 'c' | 'verilog' | 'svg' | 'json';

export interface AutomatonMethods {
  /** Opens the library; returns its number of threads. */
  open(): number;
  make(settings: Settings): Made;
  /** Trains for about so many milliseconds. */
  train(ms: number): Progress;
  /** The circuit of the gates as they are now. */
  circuit(): CircuitFacts;
  /** Reads a circuit from the JSON that was saved. */
  read(json: string): CircuitFacts;
  /** The last circuit as text. */
  write(form: Form): string;
}
