// Training loss over steps, on a logarithmic axis: the late, small gains stay visible.

import type { LossHistory } from '../state/history.ts';
import { Chart } from './chart.ts';
import { element, perFrame } from './dom.ts';
import { significant } from './format.ts';

const MARKS = [[1], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]].map((list) =>
  [-4, -3, -2, -1, 0, 1, 2].flatMap((power) => list.map((n) => n * 10 ** power)),
);

export class LossChart {
  /** The axis reaches down to it at least. */
  private least = 1;
  private readonly chart = new Chart(element('loss-chart'), {
    x: { min: 0 },
    y: {
      distr: 3,
      range: (_, min, max) => [Math.min(min ?? 1, this.least) * 0.8, Math.max(max ?? 1, 2.5) * 1.1],
    },
    marks: MARKS,
    mark: (value) => String(Number(value.toPrecision(2))),
    value: (value) => significant(value),
    lines: [
      { label: 'batch', colour: '--faint', width: 1, points: false },
      { label: 'mean', colour: '--loss', width: 2, points: false },
    ],
  });

  readonly draw: () => void;

  /** `least`: a loss that the axis shows in any case. */
  clear(least: number): void {
    this.least = least;
    this.draw();
  }

  constructor(history: LossHistory) {
    this.draw = perFrame(() => this.chart.show(history.columns));
  }
}
