// Tasks that automata learn: options of logic.automaton with starts and targets. Options given by the caller replace a task's
// own.

import * as sn from '../index.js';
import { ShapeError, SinterError, internals, type Tensor } from '../index.js';
import type { AutomatonOptions } from './automaton.js';

export type TaskOptions = Partial<AutomatonOptions>;

export interface CheckerboardOptions extends Omit<TaskOptions, 'update'> {
  /** The gates of each layer. 'full' (default): 10 layers of 256, then halving down to 8; 'small': 4 layers of 256 instead
   *  of 10. */
  update?: 'small' | 'full' | readonly number[];
}

/** The gates of each layer: `layers` layers of the width, then half as many each time, down to the last. */
function narrowing(width: number, layers: number, last: number): number[] {
  const widths = Array.from({ length: layers }, () => width);
  for (let next = width / 2; next > last; next /= 2) widths.push(next);
  return [...widths, last];
}

/** Learns squares of 2 x 2 in channel 0, on a grid of 16 x 16, within 20 steps from random bits. */
export function checkerboard(options: CheckerboardOptions = {}): AutomatonOptions {
  const op = 'tasks.checkerboard';
  if (!internals.isPlainObject(options)) throw new SinterError('argument', op, `${internals.shown(options)} is no object with options`);
  const { update = 'full', ...rest } = options;
  const widths = Array.isArray(update) ? (update as readonly number[]) : narrowing(256, [4, 10][internals.checkChoice(op, 'update', update, ['small', 'full'])]!, 8);
  return {
    channels: 8,
    update: widths,
    form: 'table',
    residual: 6,
    noise: 0.03,
    // The gradients of most gates, means through 20 steps, are below 1e-9: with the usual eps these gates would hardly learn.
    optimizer: sn.optim.adamw({ lr: 0.15, beta2: 0.99, eps: 1e-13, weightDecay: 0, clipNorm: 100 }),
    grid: [16, 16],
    steps: 20,
    batch: 2,
    target: (start) => {
      const [, batch, height, width] = start.shape as readonly [number, number, number, number];
      const square = (length: number, at: (i: number) => number): number[] => Array.from({ length }, (_, i) => at(i));
      const board = square(height, (y) => y >> 1).map((y) => square(width, (x) => (y + (x >> 1)) % 2));
      return sn.tensor(board).broadcastTo([1, batch, height, width]);
    },
    ...rest,
  };
}

/** A cyclic sequence of 8 bits in which every triple of consecutive bits occurs once (de Bruijn). */
const BITS = [0, 0, 0, 1, 0, 1, 1, 1];

/** A grid of 8 x 64 that wraps around and contains each of the 512 neighbourhoods once. Each column is BITS, rotated. The
 *  increments of the rotation form a cyclic sequence of 64 numbers in which every pair of consecutive ones occurs once. */
function allNeighbourhoods(): number[][] {
  const increments: number[] = [];
  for (let i = 0; i < 8; i++) {
    increments.push(i);
    for (let j = i + 1; j < 8; j++) increments.push(i, j);
  }
  let at = 0;
  const rotations = increments.map((increment) => (at += increment));
  return BITS.map((_, y) => rotations.map((rotation) => BITS[(y + rotation) % 8]!));
}

/** One step of Conway's Game of Life, on grids that wrap around. */
function lifeAfter(cells: Tensor): Tensor {
  const shifted = [-1, 0, 1].flatMap((dy) => [-1, 0, 1].map((dx) => cells.roll([dy, dx], { axis: [2, 3] })));
  const three = shifted.reduce((sum, each) => sum.add(each));
  // The sum includes the cell itself: it lives if the sum is 3, or if it is 4 and the cell was alive.
  return sn.where(three.equal(3), 1, sn.where(three.equal(4), cells, 0));
}

/** Learns one step of the Game of Life, from a grid that has all 512 neighbourhoods. */
export const gameOfLife = (options: TaskOptions = {}): AutomatonOptions => ({
  channels: 1,
  perception: { kernels: 16, layers: [8, 4, 2, 1] },
  update: [...Array.from({ length: 16 }, () => 128), 64, 32, 16, 8, 4, 2, 1],
  form: 'table',
  grid: [8, 64],
  boundary: 'wrap',
  steps: 1,
  start: (_, shape) => sn.tensor(allNeighbourhoods()).broadcastTo(shape),
  target: lifeAfter,
  ...options,
});

/** The pixels of a picture: rows of bits, or one such plane for each of the first channels. */
export type Pixels = readonly (readonly number[])[] | readonly (readonly (readonly number[])[])[];

function planesOf(op: string, pixels: Pixels): number[][][] {
  const planes = (Array.isArray(pixels?.[0]?.[0]) ? pixels : [pixels]) as number[][][];
  const [height, width] = [planes[0]?.length, planes[0]?.[0]?.length];
  for (const plane of planes) {
    if (!Array.isArray(plane) || !width || plane.length !== height || plane.some((row) => !Array.isArray(row) || row.length !== width))
      throw new ShapeError(op, 'pixels are no rows of one length', { hint: 'write [[0, 1], [1, 0]]' });
    for (const row of plane)
      for (const pixel of row)
        if (pixel !== 0 && pixel !== 1) throw new SinterError('argument', op, `a pixel is ${internals.shown(pixel)}, expected 0 or 1`);
  }
  return planes;
}

/** Learns to grow a picture from one cell in the middle within 12 steps. */
export function picture(pixels: Pixels, options: TaskOptions = {}): AutomatonOptions {
  const planes = planesOf('tasks.picture', pixels);
  const [height, width] = [planes[0]!.length, planes[0]![0]!.length];
  return {
    channels: 128,
    perception: { kernels: 4, layers: [8, 4, 2, 1] },
    update: [...narrowing(512, 8, 256), 128],
    form: 'table',
    grid: [height, width],
    steps: 12,
    start: (_, [channels, batch, h, w]) => {
      const middle = sn.iota([h!, w!], 0).equal(h! >> 1).logicalAnd(sn.iota([h!, w!], 1).equal(w! >> 1));
      return middle.astype('float32').broadcastTo([channels!, batch!, h!, w!]);
    },
    target: (start) => sn.tensor(planes).expandDims(1).broadcastTo([planes.length, start.shape[1]!, height, width]),
    ...options,
  };
}

/** Learns to grow a picture, and to grow it again after a square of half its height and width was cleared. */
export const healing = (pixels: Pixels, options: TaskOptions = {}): AutomatonOptions => ({
  ...picture(pixels, options),
  damage: (grids, key) => {
    const [, batch, height, width] = grids.shape as readonly [number, number, number, number];
    /** Whether a place along an axis is within the square, which begins at a random place: (batch, size). */
    const within = (size: number, k: Tensor): Tensor => {
      const half = size >> 1;
      const begin = sn.random.uniform(k, [batch, 1]).mul(size - half + 1).floor();
      const place = sn.iota([batch, size], 1).astype('float32').sub(begin);
      return place.greaterEqual(0).logicalAnd(place.less(half));
    };
    const [a, b] = sn.random.splitKeys(key, 2) as [Tensor, Tensor];
    const hit = within(height, a).reshape([batch, height, 1]).logicalAnd(within(width, b).reshape([batch, 1, width]));
    return sn.where(hit, 0, grids);
  },
  ...options,
});
