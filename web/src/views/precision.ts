// Compares the same training in each precision: the losses in one chart; memory and time of a step side by side.

import { COMPARED_STEPS, PRECISIONS, type ComparedRun, type ComparisonReport, type Precision } from '../state/protocol.ts';
import { Chart } from './chart.ts';
import { create, element, inside, perFrame, setText, setValue } from './dom.ts';
import { NONE, bytes, plural, short, significant } from './format.ts';

/** The weight of the newest loss in the running mean that is drawn. */
const FRESH = 0.1;
const MARKS = [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7]].map((list) =>
  [-5, -4, -3, -2, -1, 0, 1].flatMap((power) => list.map((n) => n * 10 ** power)),
);
const HINT = 'Trains the network of this page anew in each, side by side: the same seed, the same batches.';

/** Lower lines are wide and upper ones thin, so that lines that coincide are all visible. */
const LINES: Record<Precision, { colour: string; width: number; dash?: number[] }> = {
  float32: { colour: '--faint', width: 6 },
  float16: { colour: '--loss', width: 2 },
  bfloat16: { colour: '--rate', width: 2, dash: [3, 5] },
};

function smooth(losses: readonly number[]): (number | null)[] {
  let mean = losses[0] ?? 0;
  return losses.map((loss) => {
    mean += FRESH * (loss - mean);
    return mean > 0 && Number.isFinite(mean) ? mean : null;
  });
}

/** A figure with a bar whose length is its share of the largest figure. */
class Figure {
  readonly cell = create('td', '');
  private readonly text = create('span', 'value', NONE);
  private readonly bar = create('i', '');

  constructor(name: string) {
    this.cell.dataset.figure = name;
    this.cell.append(this.text, create('span', 'track', this.bar));
    this.show(NaN, 1, NONE);
  }

  show(value: number, largest: number, text: string): void {
    const isKnown = value > 0;
    setValue(this.text, isKnown ? text : NONE, isKnown ? value : null);
    this.bar.style.transform = `scaleX(${isKnown ? value / largest : 0})`;
  }
}

class Row {
  readonly element: HTMLTableRowElement;
  private readonly memory = new Figure('memory');
  private readonly ms = new Figure('ms');
  private readonly loss = create('td', 'loss', NONE);

  constructor(precision: Precision) {
    const name = create('th', 'name', create('i', ''), precision);
    name.scope = 'row';
    this.element = create('tr', precision, name, this.memory.cell, this.ms.cell, this.loss);
  }

  show(run: ComparedRun | undefined, most: { memory: number; ms: number }): void {
    const { memory = NaN, ms = NaN } = run ?? {};
    this.memory.show(memory, most.memory, bytes(memory));
    this.ms.show(ms, most.ms, significant(ms));
    const mean = smooth(run?.losses ?? []).at(-1) ?? null;
    setValue(this.loss, mean === null ? NONE : mean.toFixed(3), mean);
  }
}

export class PrecisionCard {
  private readonly button = element<HTMLButtonElement>('compare');
  private readonly foot = element('precision-foot');
  private readonly rows = PRECISIONS.map((precision) => new Row(precision));
  private readonly chart = new Chart(element('precision-chart'), {
    group: 'precision',
    least: COMPARED_STEPS,
    y: { distr: 3, range: (_, min, max) => [(min ?? 1) * 0.9, Math.max(max ?? 2, (min ?? 1) * 2) * 1.1] },
    marks: MARKS,
    mark: short,
    value: (value) => significant(value),
    lines: PRECISIONS.map((label) => ({ label, points: false, ...LINES[label] })),
  });
  private isOn = false;
  private runs: ComparedRun[] = [];
  private readonly draw = perFrame(() => this.paint());

  constructor(compare: (on: boolean) => void) {
    inside(element('precision-figures'), 'tbody').append(...this.rows.map((row) => row.element));
    this.button.addEventListener('click', () => compare(!this.isOn));
    this.clear();
  }

  set ready(on: boolean) {
    this.button.disabled = !on;
  }

  /** Shows another network, without results. */
  clear(): void {
    this.runs = [];
    setText(this.foot, HINT);
    this.draw();
  }

  show({ runs, step, isEnded }: ComparisonReport): void {
    this.runs = runs;
    this.isOn = !isEnded;
    setText(this.button, this.isOn ? 'Stop' : 'Compare');
    this.button.dataset.step = String(step);
    const scaled = runs.find(({ precision }) => precision === 'float16');
    const scale = scaled === undefined ? '' : ` Of float16 the loss is scaled by ${scaled.scale}, ${plural(scaled.skipped, 'step')} skipped.`;
    setText(this.foot, `${plural(step, 'step')} of ${COMPARED_STEPS}, one of each in turn. Parameters are kept in float32 as well.${scale}`);
    this.draw();
  }

  private paint(): void {
    const longest = Math.max(0, ...this.runs.map(({ losses }) => losses.length));
    const steps = Array.from({ length: longest }, (_, i) => i + 1);
    this.chart.show([steps, ...PRECISIONS.map((_, i) => smooth(this.runs[i]?.losses ?? steps.map(() => NaN)))]);
    const most = (of: (run: ComparedRun) => number): number => Math.max(...this.runs.map(of).filter((value) => value > 0));
    const largest = { memory: most(({ memory }) => memory), ms: most(({ ms }) => ms) };
    this.rows.forEach((row, i) => row.show(this.runs[i], largest));
  }
}
