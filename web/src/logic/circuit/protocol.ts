// Questions to the worker that runs a circuit on a large grid, each with its answer.

export type Tool = 'draw' | 'damage' | 'seed';

/** A square of the brush, around a cell. */
export interface Edit {
  tool: Tool;
  x: number;
  y: number;
  size: number;
}

/** random: all channels; soup: fewer cells are 1; seeds: single cells from which pictures grow. */
export type Start = 'random' | 'soup' | 'seeds';

/** Colours of 0 and 1 as a little-endian word of RGBA. */
export interface Palette {
  off: number;
  on: number;
}

export interface Turn {
  /** As many steps as fit in so long, but at most so many. */
  ms: number;
  most: number;
  /** Made before the steps. */
  edits: Edit[];
  /** The one that is painted. */
  channel: number;
  palette: Palette;
}

export interface Frame {
  side: number;
  steps: number;
  /** Steps and the look at them; null before the first step. */
  cellsPerSecond: number | null;
  pixels: Uint8ClampedArray<ArrayBuffer>;
}

export interface GridMethods {
  /** Opens the library, and takes a circuit as JSON; how many threads there are. */
  open(json: string): number;
  /** A grid of so many cells on a side; seeds are so far apart. */
  make(side: number, start: Start, apart: number, keep: boolean): void;
  advance(turn: Turn): Frame;
}
