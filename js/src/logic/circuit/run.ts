// Runs an automaton on a grid of any size, with 32 cells per word.
//
// Bit b of the word at (r, column) is the cell in row b * rows + r, where rows = ceil(height / 32). So the neighbours of a
// word's cells lie in the neighbouring words, and only the first and last row of words need shifts. A step copies the words
// that it reads into a frame of one word on each side, which contains the boundary, and computes the circuit from nine offsets
// into it: one kernel of loads, bitwise operations and stores, with 128 cells per instruction.
//
//   height 6 in 2 rows of 3 bits:   words row 0: rows 4 2 0     the frame's row -1: rows 3 1 -1
//                                   words row 1: rows 5 3 1     the frame's row 2:  rows 6 4 2
//
// Bits beyond the grid (row 6 and on) may have any value: of these, cells only read row `height`, which each frame sets anew.

import * as sn from '../../index.js';
import type { CircuitData } from './circuit.js';
import { signalsOf } from './simplify.js';
import { applyGate } from './words.js';

const { checkInteger, readOptions, shown } = sn.internals;

export interface GridOptions {
  width: number;
  height: number;
  /** If not all cells change in each step, this decides which. Default random.nextKey(). */
  key?: sn.Tensor | undefined;
}

export interface GridRunOptions extends GridOptions {
  /** Default 1. */
  steps?: number;
}

const RUNNER: sn.internals.OptionSchema<GridOptions> = { width: 'integer', height: 'integer', key: 'tensor' };
const RUN: sn.internals.OptionSchema<GridRunOptions> = { ...RUNNER, steps: 'integer' };

/** The longest side of a grid: its cells have to be countable in 32 bits. */
const MOST_SIDE = 1 << 15;
const BITS = 32;
const INT32 = { dtype: 'int32' } as const;

interface Grid {
  width: number;
  height: number;
  /** Rows of words. */
  rows: number;
}

interface Place {
  row: number;
  bit: number;
}

const placeOf = (y: number, { rows }: Grid): Place => ({ row: y % rows, bit: Math.floor(y / rows) });

function readGrid(op: string, { width, height }: GridOptions): Grid {
  checkInteger(op, 'width', width, 1, MOST_SIDE);
  checkInteger(op, 'height', height, 1, MOST_SIDE);
  return { width, height, rows: Math.ceil(height / BITS) };
}

/** Checks the options of circuit.run. */
export function readRun(op: string, options: GridRunOptions): Required<Omit<GridRunOptions, 'key'>> & Pick<GridRunOptions, 'key'> {
  const { steps = 1, ...grid } = readOptions(op, options, RUN);
  return { ...grid, steps: checkInteger(op, 'steps', steps, 0) };
}

/* ---- packing ---- */

const bitNumbers = (): sn.Tensor => sn.arange(0, BITS, 1, INT32).reshape([BITS, 1, 1]);

/** Packs uint8 (channels, height, width) of 0 and 1 into words (channels, rows, width). */
function packed(cells: sn.Tensor, { width, height, rows }: Grid): sn.Tensor {
  const [channels] = cells.shape as [number];
  const whole = cells.pad([[0, 0], [0, BITS * rows - height], [0, 0]]).reshape([channels, BITS, rows, width]);
  return whole.astype('int32').bitwiseLeftShift(bitNumbers()).bitwiseOrReduce(1);
}

/** The inverse of packed. */
function unpacked(words: sn.Tensor, { width, height, rows }: Grid): sn.Tensor {
  const [channels] = words.shape as [number];
  const bits = words.reshape([channels, 1, rows, width]).bitwiseRightShift(bitNumbers()).bitwiseAnd(1);
  return bits.astype('uint8').reshape([channels, BITS * rows, width]).slice([0, 0, 0], [channels, height, width]);
}

/* ---- a step ---- */

const oneRow = (words: sn.Tensor, row: number): sn.Tensor => words.slice([row, 0], [1, words.shape[1]!]);

const bitOf = (row: sn.Tensor, bit: number): sn.Tensor => row.shiftRightLogical(bit).bitwiseAnd(1);

/** Sets row `height` of a grid that does not fill its words to what the last row should see below itself. */
function withRowBelow(words: sn.Tensor, row: number, { bit }: Place, wraps: boolean): sn.Tensor {
  const cleared = oneRow(words, row).bitwiseAnd(~(1 << bit));
  return wraps ? cleared.bitwiseOr(bitOf(oneRow(words, 0), 0).bitwiseLeftShift(bit)) : cleared;
}

/** The rows of a channel's frame, from -1 to `rows`, without the side columns. */
function frameRows(words: sn.Tensor, grid: Grid, wraps: boolean): sn.Tensor[] {
  const { height, rows, width } = grid;
  const isFull = height === BITS * rows;
  const below = placeOf(height, grid);
  const fixed = isFull ? null : withRowBelow(words, below.row, below, wraps);
  const first = fixed && below.row === 0 ? fixed : oneRow(words, 0);
  let top = oneRow(words, rows - 1).bitwiseLeftShift(1);
  let bottom = first.shiftRightLogical(1);
  if (wraps) {
    const last = placeOf(height - 1, grid);
    top = top.bitwiseOr(bitOf(oneRow(words, last.row), last.bit));
    if (isFull) bottom = bottom.bitwiseOr(first.bitwiseLeftShift(BITS - 1));
  }
  if (!fixed) return [top, words, bottom];
  const parts = [words.slice([0, 0], [below.row, width]), fixed, words.slice([below.row + 1, 0], [rows - below.row - 1, width])];
  return [top, ...parts.filter(({ shape }) => shape[0]! > 0), bottom];
}

/** The frames of some channels: (channels, rows + 2, width + 2). */
function framed(channels: readonly sn.Tensor[], grid: Grid, wraps: boolean): sn.Tensor {
  const { rows, width } = grid;
  const tall = sn
    .concat(channels.flatMap((words) => frameRows(words, grid, wraps)).map((part) => part.reshape([-1])))
    .reshape([channels.length, rows + 2, width]);
  const column = (at: number): sn.Tensor => tall.slice([0, 0, at], [channels.length, rows + 2, 1]);
  const wide = wraps ? sn.concat([column(width - 1), tall, column(0)], { axis: 2 }) : tall.pad([[0, 0], [0, 0], [1, 1]]);
  return wide;
}

/** Binary digits of the share of cells that change. One word is drawn per digit. */
const FIRE_DIGITS = 12;

/** Words whose bits are set with probability p: for each binary digit of p, from the last one on, a random word is or-ed (1)
 *  or and-ed (0). */
function randomMask(key: sn.Tensor, p: number, { rows, width }: Grid): sn.Tensor {
  let digits = Math.max(Math.round(p * 2 ** FIRE_DIGITS), 1);
  let n = FIRE_DIGITS;
  for (; digits % 2 === 0; digits /= 2) n--;
  const words = sn.random.bits(key, [n, rows, width]);
  let mask: sn.Tensor | null = null;
  for (let i = 0; i < n; i++) {
    const word = words.take(i);
    const isSet = (digits >> i) & 1;
    if (!mask) mask = word;
    else mask = isSet ? mask.bitwiseOr(word) : mask.bitwiseAnd(word);
  }
  return mask!;
}

/** Computes the automaton's next state. Channels that never change keep their tensors. */
export class Step {
  readonly #data: CircuitData;
  readonly #grid: Grid;
  /** Channels that a gate or a changing channel reads, and channels that change. */
  readonly #read: number[];
  readonly moving: number[];

  constructor(data: CircuitData, grid: Grid) {
    this.#data = data;
    this.#grid = grid;
    const { gates, outputs, inputs } = data;
    this.moving = outputs.flatMap((signal, channel) => (signal === 9 * channel + 4 ? [] : [channel]));
    const used = [...gates.flatMap(signalsOf), ...this.moving.map((channel) => outputs[channel]!)];
    this.#read = [...new Set(used.filter((signal) => signal < inputs).map((signal) => Math.floor(signal / 9)))].sort((a, b) => a - b);
  }

  /** channels: words (rows, width) of each. key: decides which cells change; null if all do. */
  next(channels: readonly sn.Tensor[], key: sn.Tensor | null): sn.Tensor[] {
    const { inputs, gates, outputs, automaton } = this.#data;
    const { boundary, fire } = automaton!;
    const { rows, width } = this.#grid;
    const wide = this.#read.length
      ? framed(this.#read.map((channel) => channels[channel]!), this.#grid, boundary === 'wrap')
      : null;
    const signals = new Map<number, sn.Tensor>();
    const signal = (number: number): sn.Tensor => {
      let found = signals.get(number);
      if (found) return found;
      const place = number % 9;
      const at = [this.#read.indexOf(Math.floor(number / 9)), Math.floor(place / 3), place % 3];
      found = wide!.slice(at, [1, rows, width]).reshape([rows, width]);
      signals.set(number, found);
      return found;
    };
    gates.forEach(([f, a, b], i) => signals.set(inputs + i, applyGate(f, () => signal(a), () => signal(b), [rows, width])));
    const mask = key && randomMask(key, fire, this.#grid);
    return channels.map((words, channel) => {
      if (!this.moving.includes(channel)) return words;
      const next = signal(outputs[channel]!);
      return mask ? words.bitwiseXor(words.bitwiseXor(next).bitwiseAnd(mask)) : next;
    });
  }
}

/* ---- a grid in hand ---- */

type State = sn.Tensor[];
interface Functions {
  pack: sn.Jitted<[sn.Tensor], State>;
  unpack: sn.Jitted<[sn.Tensor[]], sn.Tensor>;
  steps: sn.Jitted<[State, sn.Tensor, sn.Tensor, sn.Tensor], State>;
  edit: sn.Jitted<[sn.Tensor, sn.Tensor, sn.Tensor, sn.Tensor], sn.Tensor>;
}

function functionsOf(data: CircuitData, grid: Grid): Functions {
  const step = new Step(data, grid);
  const { channels, fire } = data.automaton!;
  return {
    pack: sn.jit((cells) => {
      const words = packed(cells, grid);
      return Array.from({ length: channels }, (_, channel) => words.take(channel));
    }),
    unpack: sn.jit((state) => unpacked(sn.stack(state), grid)),
    steps: sn.jit(
      (state, from, to, key) =>
        sn.foriLoop(from, to, (i, now: State) => step.next(now, fire < 1 ? sn.random.foldIn(key, i) : null), state),
      { donate: 0 },
    ),
    edit: sn.jit((words, places, kept, set) => words.scatter(places, words.take(places, { axis: 0 }).bitwiseAnd(kept).bitwiseOr(set))),
  };
}

/** What an edit does to each word of a row: the bits to keep, and the bits to set. */
interface Edit {
  kept: Int32Array;
  set: Int32Array;
}

/**
 * An automaton on a grid. Its state is packed and stays where it is computed. Edits wait until the next step or read. The owner
 * has to dispose it.
 */
export class Runner {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly #grid: Grid;
  readonly #functions: Functions;
  readonly #key: sn.Tensor;
  #state: State;
  /** Of each channel, by the row of words. */
  #edits: Map<number, Edit>[];
  #steps = 0;
  #isDisposed = false;

  /** @internal */
  constructor(op: string, data: CircuitData, options: GridOptions) {
    if (!data.automaton)
      throw new sn.SinterError('argument', op, 'the circuit is no automaton', { hint: 'circuit.evaluate computes outputs from inputs' });
    const given = readOptions(op, options, RUNNER);
    this.#grid = readGrid(op, given);
    this.width = given.width;
    this.height = given.height;
    this.channels = data.automaton.channels;
    this.#functions = functionsOf(data, this.#grid);
    this.#edits = this.#noEdits();
    const fires = data.automaton.fire < 1;
    this.#key = sn.keep(sn.tidy(() => given.key?.add(0) ?? (fires ? sn.random.nextKey() : sn.random.key(0))));
    const { rows, width } = this.#grid;
    this.#state = sn.keep(Array.from({ length: this.channels }, () => sn.zeros([rows, width], INT32)));
  }

  /** The number of steps so far. */
  get steps(): number {
    return this.#steps;
  }

  #noEdits(): Map<number, Edit>[] {
    return Array.from({ length: this.channels }, () => new Map<number, Edit>());
  }

  #check(op: string): void {
    if (this.#isDisposed) throw new sn.DisposedError(op, 'the runner was disposed');
  }

  #replace(make: () => State): void {
    const state = sn.keep(sn.tidy(make));
    sn.dispose(this.#state);
    this.#state = state;
  }

  /** Sets the state to cells (channels, height, width), each 0 or 1. */
  write(cells: Uint8Array): void {
    const op = 'runner.write';
    this.#check(op);
    const { width, height, channels } = this;
    if (!(cells instanceof Uint8Array) || cells.length !== channels * height * width)
      throw new sn.ShapeError(op, `expected a Uint8Array of ${channels} x ${height} x ${width} cells, not ${cells instanceof Uint8Array ? `one of ${cells.length}` : shown(cells)}`);
    const wrong = cells.findIndex((cell) => cell > 1);
    if (wrong >= 0) throw new sn.SinterError('argument', op, `cells[${wrong}] is ${cells[wrong]}, expected 0 or 1`);
    this.#edits = this.#noEdits();
    this.#replace(() => this.#functions.pack(sn.tensor(cells, { shape: [channels, height, width] })));
  }

  /** The cells (channels, height, width), or (height, width) of one channel. */
  read(channel?: number): Uint8Array {
    const op = 'runner.read';
    this.#check(op);
    if (channel !== undefined) checkInteger(op, 'channel', channel, 0, this.channels - 1);
    this.#apply();
    const state = channel === undefined ? this.#state : [this.#state[channel]!];
    return sn.tidy(() => this.#functions.unpack(state).dataSync() as Uint8Array);
  }

  /** Runs so many steps. */
  step(count = 1): void {
    this.#check('runner.step');
    checkInteger('runner.step', 'count', count, 0, 0x7fffffff - this.#steps);
    this.#apply();
    const [from, to] = [this.#steps, this.#steps + count];
    this.#state = sn.keep(
      sn.tidy(() => this.#functions.steps(this.#state, sn.tensor(from, INT32), sn.tensor(to, INT32), this.#key)),
    );
    this.#steps = to;
  }

  /** Sets a cell of a channel to 0 or 1. */
  set(x: number, y: number, value: number, channel = 0): void {
    this.fill(x, y, 1, 1, value, channel);
  }

  /** Sets a rectangle of cells of a channel to 0 or 1. Cells beyond the grid are ignored. */
  fill(x: number, y: number, width: number, height: number, value: number, channel = 0): void {
    const op = 'runner.fill';
    this.#check(op);
    checkInteger(op, 'channel', channel, 0, this.channels - 1);
    checkInteger(op, 'value', value, 0, 1);
    Object.entries({ x, y, width, height }).forEach(([name, number]) => checkInteger(op, name, number, -MOST_SIDE, MOST_SIDE));
    const edits = this.#edits[channel]!;
    const { rows } = this.#grid;
    const [top, bottom] = [Math.max(y, 0), Math.min(y + height, this.height)];
    // The cells of one word are `rows` apart. Their bits are changed at once.
    for (let first = top; first < Math.min(bottom, top + rows); first++) {
      let bits = 0;
      for (let row = first; row < bottom; row += rows) bits |= 1 << placeOf(row, this.#grid).bit;
      const row = first % rows;
      const { kept, set } = edits.get(row) ?? { kept: new Int32Array(this.width).fill(-1), set: new Int32Array(this.width) };
      edits.set(row, { kept, set });
      for (let column = Math.max(x, 0); column < Math.min(x + width, this.width); column++) {
        kept[column]! &= ~bits;
        set[column] = value ? set[column]! | bits : set[column]! & ~bits;
      }
    }
  }

  /** Applies waiting edits, by rows. Their count is filled up to a power of two by repeating the first one, so that few
   *  programs are compiled. */
  #apply(): void {
    this.#edits.forEach((edits, channel) => {
      if (edits.size === 0) return;
      const list = [...edits];
      while (list.length & (list.length - 1)) list.push(list[0]!);
      const rows = (of: keyof Edit): sn.Tensor => {
        const words = new Int32Array(list.length * this.width);
        list.forEach(([, edit], i) => words.set(edit[of], i * this.width));
        return sn.tensor(words, { shape: [list.length, this.width] });
      };
      const old = this.#state[channel]!;
      this.#state[channel] = sn.keep(
        sn.tidy(() => this.#functions.edit(old, sn.tensor(Int32Array.from(list, ([row]) => row)), rows('kept'), rows('set'))),
      );
      old.dispose();
      edits.clear();
    });
  }

  /** Frees the state and the compiled programs. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    sn.dispose([this.#state, this.#key]);
    Object.values(this.#functions).forEach((f) => f.dispose());
  }
}
