// The course of training in bounded space. When the history is full, neighbouring points are replaced by their mean, and from
// then on each point stands for twice as many steps. A chart of it costs the same after a million steps as after a thousand.

import type { Reading } from './protocol.ts';

const CAPACITY = 1000;
/** The weight of the newest loss in the running mean. */
const FRESH = 0.03;
/** Early on the mean follows faster: it looks back over about a fifth of the steps so far. */
const EARLY = 5;

export type Column = (number | null)[];

export class History {
  /** One value per point, in the form that charts need. */
  readonly steps: number[] = [];
  readonly loss: Column = [];
  /** The running mean of the loss. */
  readonly mean: Column = [];
  readonly norm: Column = [];
  readonly rate: Column = [];
  readonly ms: Column = [];

  /** The newest reading. */
  last: Reading | null = null;
  private stride = 1;
  private pending: Reading[] = [];
  private count = 0;
  private running = 0;

  /** The running mean of the losses so far; null before the first. */
  get meanLoss(): number | null {
    return this.count > 0 ? this.running : null;
  }

  clear(): void {
    for (const column of this.columns) column.length = 0;
    this.last = null;
    this.stride = 1;
    this.pending = [];
    this.count = 0;
    this.running = 0;
  }

  /** Goes back to a step: drops all points after it. */
  cut(step: number): void {
    const end = this.steps.findIndex((each) => each > step);
    if (end >= 0) for (const column of this.columns) column.length = end;
    this.pending = [];
    this.running = this.mean.at(-1) ?? 0;
    this.count = Math.min(this.count, step);
  }

  push(step: number, reading: Reading): void {
    this.last = reading;
    this.count++;
    this.running += Math.min(1, Math.max(FRESH, EARLY / this.count)) * (reading.loss - this.running);
    this.pending.push(reading);
    if (this.pending.length < this.stride) return;
    this.steps.push(step);
    this.mean.push(plottable(this.running));
    for (const name of ['loss', 'norm', 'rate', 'ms'] as const) {
      const values = this.pending.map((each) => each[name]).filter((value) => !(name === 'ms' && Number.isNaN(value)));
      const value = values.reduce((sum, each) => sum + each, 0) / values.length;
      this[name].push(name === 'rate' && value === 0 ? 0 : plottable(value));
    }
    this.pending = [];
    if (this.steps.length >= CAPACITY) this.halve();
  }

  private get columns(): Column[] {
    return [this.steps, this.loss, this.mean, this.norm, this.rate, this.ms];
  }

  private halve(): void {
    const half = this.steps.length >> 1;
    for (let i = 0; i < half; i++) {
      this.steps[i] = this.steps[2 * i + 1];
      this.mean[i] = this.mean[2 * i + 1];
      for (const column of [this.loss, this.norm, this.rate, this.ms]) column[i] = join(column[2 * i], column[2 * i + 1]);
    }
    for (const column of this.columns) column.length = half;
    this.stride *= 2;
  }
}

/** A logarithmic axis cannot show zero, infinities and NaN: they become a gap in the line. */
function plottable(value: number): number | null {
  return value > 0 && Number.isFinite(value) ? value : null;
}

function join(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : (a + b) / 2;
}
