// The questions to the worker that runs a circuit on a large grid, with their answers.

export type Tool = 'draw' | 'damage' | 'seed';

/** A square of the brush's size, centred at a cell. */
export interface Edit {
  tool: Tool;
  x: number;
  y: number;
  size: number;
}

/** random: half of all cells in all channels; soup: fewer; seeds: single cells from which pictures grow. */
export type Start = 'random' | 'soup' | 'seeds';

/** The colours of 0 and 1 as little-endian RGBA words. */
export interface Palette {
  off: number;
  on: number;
}

export interface Turn {
  /** Runs steps for `ms` milliseconds, but at most `most`. */
  ms: number;
  most: number;
  /** Applied before the steps. */
  edits: Edit[];
  /** The channel that is painted. */
  channel: number;
  palette: Palette;
}

export interface Frame {
  side: number;
  steps: number;
  /** Including the time for painting; null before the first step. */
  cellsPerSecond: number | null;
  pixels: Uint8ClampedArray<ArrayBuffer>;
}

export interface GridMethods {
  /** Opens the library and a circuit from JSON; returns the number of threads. */
  open(json: string): number;
  /** Makes a grid with `side` cells per side; seeds are `apart` cells apart. keep: copies the old grid. */
  make(side: number, start: Start, apart: number, keep: boolean): void;
  advance(turn: Turn): Frame;
}
