// Test accuracy over steps. The axis is logarithmic in the share of wrong answers, so the distance from 98 % to 99 % - half of
// the mistakes gone - is as long as that from 80 % to 90 %.

import type { Evaluation } from '../state/protocol.ts';
import { Chart } from './chart.ts';
import { element, perFrame } from './dom.ts';

const MARKS = [
  [0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995],
  [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995],
];
/** Half a mistake in 10,000: a perfect score must still have a place on the axis. */
const LEAST_WRONG = 0.5e-4;

function position(accuracy: number): number {
  return -Math.log10(Math.max(1 - accuracy, LEAST_WRONG));
}

function write(place: number): string {
  const share = 100 * (1 - 10 ** -place);
  return `${Number(share.toFixed(2))} %`;
}

export class AccuracyChart {
  private readonly columns: [number[], (number | null)[], (number | null)[]] = [[], [], []];
  /** The least upper end of the axis. */
  private top = 0;
  private readonly chart = new Chart(element('accuracy-chart'), {
    y: { range: (_, _min, max) => [0, Math.max(max ?? 0, this.top)] },
    marks: MARKS.map((list) => list.map(position)),
    mark: write,
    value: write,
    lines: [
      { label: 'sample', colour: '--accuracy', width: 2, points: false },
      { label: 'all', colour: '--accuracy', width: 2, points: true },
    ],
  });
  private readonly draw = perFrame(() => this.chart.show(this.columns));

  /** `top`: an accuracy that the axis always reaches; `step`: where training begins. */
  clear(top: number, step: number): void {
    this.top = position(top);
    this.chart.begin(step);
    for (const column of this.columns) column.length = 0;
    this.draw();
  }

  /** Goes back to a step: drops what comes after it. */
  cut(step: number): void {
    const end = this.columns[0].findIndex((each) => each > step);
    if (end >= 0) for (const column of this.columns) column.length = end;
    this.draw();
  }

  add({ step, accuracy, whole }: Evaluation): void {
    const [steps, sample, all] = this.columns;
    steps.push(step);
    sample.push(whole ? null : position(accuracy));
    all.push(whole ? position(accuracy) : null);
    this.draw();
  }
}
