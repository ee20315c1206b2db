// The loss of an automaton over epochs, with its running mean.

import type { History } from '../../state/history.ts';
import { Chart } from '../../views/chart.ts';
import { element, perFrame } from '../../views/dom.ts';

const POWERS = [-10, -9, -8, -7, -6, -5, -4, -3, -2, -1, 0];
const MARKS = [POWERS.filter((power) => power % 3 === 0), POWERS.filter((power) => power % 2 === 0), POWERS].map((list) => list.map((power) => 10 ** power));

const written = (value: number): string => (value >= 0.01 ? String(Number(value.toPrecision(2))) : value.toExponential(0));

export class AutomatonLossChart {
  private readonly chart = new Chart(element('automaton-loss-chart'), {
    group: 'automaton',
    y: { distr: 3, range: (_, min, max) => [Math.min(min ?? 1, 0.01) * 0.8, Math.max(max ?? 1, 0.5) * 1.1] },
    marks: MARKS,
    mark: written,
    value: (value) => value.toExponential(2),
    lines: [
      { label: 'loss', colour: '--faint', width: 1, points: false },
      { label: 'mean', colour: '--loss', width: 2, points: false },
    ],
    unit: 'epoch',
  });
  readonly draw: () => void;

  constructor(history: History) {
    this.draw = perFrame(() => this.chart.show([history.steps, history.loss, history.mean]));
  }
}
