// The memory of training over time: what is in use between steps, and the peak.

import type { Progress } from '../state/protocol.ts';
import { Chart } from '../views/chart.ts';
import { create, PAINT_MS, setText, spaced } from '../views/dom.ts';
import { bytes, plural, significant } from '../views/format.ts';

const CAPACITY = 500;
const MEGABYTE = 2 ** 20;
const MARKS = [[1, 10, 100, 1000], [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]];

export class MemoryView {
  readonly element = create('div', 'memory-over-time');
  private readonly words = create('p', '', 'Drawn from now on, while training runs.');
  private readonly chart: Chart;
  private columns: [number[], number[], number[]] = [[], [], []];
  private readonly draw = spaced(PAINT_MS, () => this.chart.show(this.columns));

  constructor() {
    const box = create('div', 'plot');
    this.words.dataset.testid = 'memory-words';
    this.element.append(this.words, create('p', 'key', create('i', 'faint'), 'peak ', create('i', 'accuracy'), 'in use, MB'), box);
    this.chart = new Chart(box, {
      group: 'memory',
      y: { distr: 3, range: (_, min, max) => [(min ?? 0.1) * 0.7, (max ?? 1) * 1.4] },
      marks: MARKS,
      mark: (value) => significant(value, 2),
      value: (value) => `${significant(value)} MB`,
      lines: [
        { label: 'peak', colour: '--faint', width: 2, points: false },
        { label: 'in use', colour: '--accuracy', width: 2, points: false },
      ],
    });
  }

  clear(step: number): void {
    for (const column of this.columns) column.length = 0;
    this.chart.begin(step);
    this.draw();
  }

  progress({ step, bytesInUse, bytesPeak, tensors, bytesSteady }: Progress): void {
    const [steps, peak, used] = this.columns;
    // After a rewind, steps repeat: later entries are removed.
    while ((steps.at(-1) ?? -1) >= step) for (const column of this.columns) column.pop();
    steps.push(step);
    peak.push(bytesPeak / MEGABYTE);
    used.push(bytesInUse / MEGABYTE);
    if (steps.length === CAPACITY) this.columns = this.columns.map((column) => column.filter((_, i) => i % 2 === 1)) as typeof this.columns;
    const steady = bytesSteady > 0 ? `unchanged for ${plural(bytesSteady, 'step')}` : 'it has just changed';
    setText(this.words, `${bytes(bytesInUse)} in ${plural(tensors, 'tensor')}, ${steady}; the peak was ${bytes(bytesPeak)}.`);
    this.draw();
  }
}
