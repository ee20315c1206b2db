// Runs a circuit on a large grid as fast as possible, and paints the result.

import * as sn from 'sinter';
import * as logic from 'sinter/logic';
import { answer } from '../../compiler/workers/answer.ts';
import { describe } from '../../compiler/workers/source.ts';
import type { Edit, Frame, GridMethods, Palette, Start, Turn } from '../circuit/protocol.ts';

/** The share of cells that are 1 in a soup. */
const SOUP = 0.35;
/** The number of turns over which the speed is averaged. */
const TURNS = 12;

/** The last turns: cells computed, and the time. */
let speeds: { cells: number; ms: number }[] = [];
let circuit: logic.Circuit | null = null;
let runner: logic.Runner | null = null;
/** The estimated time of a step, in ms. */
let stepMs = 1;

function current(): logic.Runner {
  if (runner === null) throw new Error('there is no grid');
  return runner;
}

async function open(json: string): Promise<number> {
  const { threads } = await sn.init();
  circuit = logic.circuit(json);
  return threads;
}

function cellsOf(start: Start, channels: number, side: number): Uint8Array {
  const cells = new Uint8Array(channels * side * side);
  if (start === 'seeds') return cells;
  const share = start === 'soup' ? SOUP : 0.5;
  for (let at = 0; at < cells.length; at++) cells[at] = Number(Math.random() < share);
  return cells;
}

/** Sets single cells in all channels, from each of which a picture grows; many of them on a large grid. */
function plant(grid: logic.Runner, apart: number): void {
  for (let y = apart >> 1; y < grid.height; y += apart)
    for (let x = apart >> 1; x < grid.width; x += apart)
      for (let channel = 0; channel < grid.channels; channel++) grid.set(x, y, 1, channel);
}

/** Makes a grid. keep: copies the part of the old one that fits. */
function make(side: number, start: Start, apart: number, keep: boolean): void {
  if (circuit === null) throw new Error('there is no circuit');
  const old = keep ? runner : null;
  const next = circuit.runner({ width: side, height: side });
  const cells = cellsOf(start, next.channels, side);
  if (old !== null) {
    const before = old.read();
    const both = Math.min(side, old.width);
    for (let row = 0; row < next.channels * both; row++) {
      const [channel, y] = [Math.floor(row / both), row % both];
      const from = (channel * old.height + y) * old.width;
      cells.set(before.subarray(from, from + both), (channel * side + y) * side);
    }
  }
  next.write(cells);
  if (start === 'seeds' && old === null) plant(next, apart);
  runner?.dispose();
  runner = next;
  speeds = [];
}

function edit(grid: logic.Runner, { tool, x, y, size }: Edit): void {
  const [left, top] = [x - (size >> 1), y - (size >> 1)];
  if (tool === 'draw') return grid.fill(left, top, size, size, 1);
  for (let channel = 0; channel < grid.channels; channel++)
    if (tool === 'damage') grid.fill(left, top, size, size, 0, channel);
    else grid.set(x, y, 1, channel);
}

function paint(cells: Uint8Array, { off, on }: Palette): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint32Array(cells.length);
  for (let at = 0; at < cells.length; at++) pixels[at] = cells[at] ? on : off;
  return new Uint8ClampedArray(pixels.buffer);
}

function advance({ ms, most, edits, channel, palette }: Turn): Frame {
  const grid = current();
  for (const each of edits) edit(grid, each);
  const steps = Math.min(most, Math.max(1, Math.floor(ms / stepMs)));
  const begin = performance.now();
  if (steps > 0) grid.step(steps);
  const cells = grid.read(channel);
  const spent = performance.now() - begin;
  if (steps > 0) {
    stepMs = Math.max(1e-4, spent / steps);
    speeds = [...speeds.slice(1 - TURNS), { cells: steps * grid.width * grid.height, ms: spent }];
  }
  const total = speeds.reduce((sum, each) => ({ cells: sum.cells + each.cells, ms: sum.ms + each.ms }), { cells: 0, ms: 0 });
  return {
    side: grid.width,
    steps: grid.steps,
    cellsPerSecond: total.ms > 0 ? (1000 * total.cells) / total.ms : null,
    pixels: paint(cells, palette),
  };
}

answer<GridMethods>({ open, make, advance }, describe, (value) =>
  typeof value === 'object' && value !== null && 'pixels' in value ? [(value as Frame).pixels.buffer] : [],
);
