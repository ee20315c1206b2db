// The course of training over steps, as four charts with one x axis: the loss on a logarithmic axis, on which the late, small
// gains stay visible; below it the norm of the gradient, the learning rate and the time of a step.

import type { Column, History } from '../state/history.ts';
import { Chart } from './chart.ts';
import { element, PAINT_MS, perFrame, setValue, spaced } from './dom.ts';
import { NONE, short, significant } from './format.ts';

const logarithmic = (...lists: number[][]): number[][] =>
  lists.map((list) => [-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4].flatMap((power) => list.map((n) => n * 10 ** power)));
const LOSS_MARKS = logarithmic([1], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]);
const MARKS = logarithmic([1], [1, 3], [1, 2, 5]);

/** The nearest of 1, 2 and 5 times a power of ten, below or above, so that axes seldom change. */
function round(value: number, up: boolean): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  const among = [1, 2, 5, 10].map((n) => n * unit);
  const slack = 1 + 1e-9;
  return up ? among.find((each) => each * slack >= value)! : among.filter((each) => each <= value * slack).pop()!;
}

/** The range of a logarithmic axis: from one round number to another that is at least twice as large. */
const wide = (_: unknown, min: number | null, max: number | null): [number, number] => {
  const low = round(min ?? 1, false);
  return [low, Math.max(round(max ?? 10, true), 2 * low)];
};

/** A chart below that of the loss. Its title shows the newest value, or the value at the pointer. */
class Strip {
  readonly chart: Chart;
  private readonly output: HTMLOutputElement;
  private column: Column = [];
  private last = NaN;
  private pointed: number | null = null;

  constructor(name: 'norm' | 'rate' | 'ms', colour: string) {
    const isRate = name === 'rate';
    this.output = element(`last-${name}`);
    this.chart = new Chart(element(`${name}-chart`), {
      hasSteps: name === 'ms',
      y: isRate
        ? { range: (_, _min, max) => [0, round(max || 0.001, true)] }
        : { distr: 3, range: wide },
      marks: isRate ? (max) => [[0, max], [0, max / 2, max]] : MARKS,
      mark: short,
      value: short,
      lines: [{ label: name, colour, width: 1.5, points: false }],
      point: (at) => {
        this.pointed = at;
        this.write();
      },
    });
  }

  /** undefined: there is no value yet; NaN: the value of an earlier step stays. */
  set newest(last: number | undefined) {
    if (last === undefined) this.last = NaN;
    else if (!Number.isNaN(last)) this.last = last;
    this.write();
  }

  draw(steps: number[], column: Column): void {
    this.column = column;
    this.chart.show([steps, column]);
  }

  private write(): void {
    const value = this.pointed === null ? this.last : (this.column[this.pointed] ?? NaN);
    if (Number.isNaN(value)) setValue(this.output, NONE, null);
    else setValue(this.output, short(value), value);
  }
}

export class LossChart {
  /** The axis always reaches down to this loss. */
  private least = 1;
  private readonly chart = new Chart(element('loss-chart'), {
    hasSteps: false,
    y: {
      distr: 3,
      range: (_, min, max) => [Math.min(min ?? 1, this.least) * 0.8, Math.max(max ?? 1, 2.5) * 1.1],
    },
    marks: LOSS_MARKS,
    mark: (value) => short(value, 2),
    value: (value) => significant(value),
    lines: [
      { label: 'batch', colour: '--faint', width: 1, points: false },
      { label: 'mean', colour: '--loss', width: 2, points: false },
    ],
  });
  private readonly norm = new Strip('norm', '--norm');
  private readonly rate = new Strip('rate', '--rate');
  private readonly ms = new Strip('ms', '--time');
  private readonly paint: () => void;

  /** `least`: a loss that the axis always shows; `step`: where training begins. */
  clear(least: number, step: number): void {
    this.least = least;
    for (const chart of [this.chart, this.norm.chart, this.rate.chart, this.ms.chart]) chart.begin(step);
    this.draw();
  }

  constructor(private readonly history: History) {
    const { steps, loss, mean, norm, rate, ms } = history;
    const paint = perFrame(() => {
      this.chart.show([steps, loss, mean]);
      this.norm.draw(steps, norm);
      this.rate.draw(steps, rate);
      this.ms.draw(steps, ms);
    });
    this.paint = spaced(PAINT_MS, paint);
  }

  draw(): void {
    const { last } = this.history;
    this.norm.newest = last?.norm;
    this.rate.newest = last?.rate;
    this.ms.newest = last?.ms;
    this.paint();
  }
}
