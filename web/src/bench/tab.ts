// The Bench tab: what this browser reaches, case by case, as bars and as a table. Loaded when it is first opened.

import '../style/bench.css';
import { download } from '../views/download.ts';
import { create, element, inside, setText, setValue } from '../views/dom.ts';
import { NONE, plural, significant } from '../views/format.ts';
import { Bars } from './bars.ts';
import { CASES, type Case } from './cases.ts';
import { Measurement, type Figure, type Machine } from './measurement.ts';
import { Race } from './race.ts';
import panel from './panel.html?raw';

export interface Surroundings {
  /** Called before a measurement: nothing else should use the cores. */
  quiet(): void;
}

const NAMES = ['ms', 'gflops', 'of-peak', 'gain'] as const;

/** The table row of a case, with a cell per figure. */
class Row {
  readonly element: HTMLTableRowElement;
  private readonly cells = new Map(NAMES.map((name) => [name, create('td', name, NONE)]));

  constructor({ id, title }: Case) {
    const name = create('th', 'name', title);
    name.scope = 'row';
    this.element = create('tr', '', name, ...this.cells.values());
    this.element.dataset.case = id;
  }

  clear(): void {
    for (const cell of this.cells.values()) setValue(cell, NONE, null);
  }

  show({ ms, gflops, share, plainMs }: Figure): void {
    const gain = plainMs === null ? null : plainMs / ms;
    this.write('ms', significant(ms), ms);
    this.write('gflops', significant(gflops), gflops);
    this.write('of-peak', `${(100 * share).toFixed(0)} %`, share);
    this.write('gain', gain === null ? '' : `${gain.toFixed(2)}×`, gain);
  }

  private write(name: (typeof NAMES)[number], text: string, value: number | null): void {
    const cell = this.cells.get(name);
    if (cell !== undefined) setValue(cell, text, value);
  }
}

export class BenchTab {
  private readonly bars: Bars;
  private readonly rows = new Map(CASES.map((each) => [each, new Row(each)]));
  private readonly runButton: HTMLButtonElement;
  private readonly saveButton: HTMLButtonElement;
  private measurement: Measurement | null = null;
  private machine: Machine | null = null;
  private figures: Figure[] = [];
  private readonly race: Race;

  constructor(
    root: HTMLElement,
    private readonly surroundings: Surroundings,
  ) {
    root.innerHTML = panel;
    inside(element('bench-figures'), 'tbody').append(...[...this.rows.values()].map((row) => row.element));
    this.bars = new Bars(element('bench-chart'), CASES);
    this.race = new Race(() => {
      surroundings.quiet();
      if (this.measurement !== null) this.end('Stopped, as a race began.');
    });
    this.runButton = element<HTMLButtonElement>('bench-run');
    this.saveButton = element<HTMLButtonElement>('bench-save');
    this.runButton.addEventListener('click', () => {
      if (this.measurement === null) void this.run();
      else this.end('Stopped.');
    });
    this.saveButton.addEventListener('click', () => this.save());
  }

  /** Called when another tab is opened. */
  rest(): void {
    this.race.rest();
  }

  private async run(): Promise<void> {
    this.surroundings.quiet();
    this.race.rest();
    this.clear();
    const measurement = new Measurement();
    this.measurement = measurement;
    setText(this.runButton, 'Stop');
    try {
      this.progress('The peak of your processor…', 0);
      const machine = await measurement.open();
      this.setMachine(machine);
      for (const [i, each] of CASES.entries()) {
        this.progress(`${each.title}, ${i + 1} of ${CASES.length}…`, (i + 1) / (CASES.length + 1));
        this.add(await measurement.measure(each, machine));
      }
      if (this.measurement === measurement) this.end('Done: the best of short runs each. On a busy machine figures are lower.', 1);
    } catch (error) {
      if (this.measurement !== measurement) return;
      this.end(`Stopped: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private end(note: string, share = 0): void {
    this.measurement?.stop();
    this.measurement = null;
    setText(this.runButton, 'Measure');
    this.progress(note, share);
  }

  private clear(): void {
    this.figures = [];
    this.machine = null;
    this.bars.clear();
    for (const row of this.rows.values()) row.clear();
    setText(element('bench-machine'), '');
    this.saveButton.disabled = true;
  }

  private setMachine(machine: Machine): void {
    this.machine = machine;
    this.bars.setPeak(machine.peak);
    const { threads, relaxedSimd, jit, peak } = machine;
    const units = relaxedSimd ? 'fused multiply-adds (relaxed SIMD)' : 'multiplies and adds (no relaxed SIMD)';
    const line = element('bench-machine');
    line.dataset.peak = String(peak);
    setText(
      line,
      `Peak: ${significant(peak)} GFLOP/s, ${units} on ${plural(threads, 'thread')}.` +
        (jit ? '' : ' This page may not emit code: kernels are interpreted.'),
    );
  }

  private add(figure: Figure): void {
    this.figures.push(figure);
    this.bars.add(figure);
    this.rows.get(figure.case)?.show(figure);
    this.saveButton.disabled = false;
  }

  private progress(note: string, share: number): void {
    setText(element('bench-note'), note);
    const bar = element('bench-bar');
    bar.setAttribute('aria-valuenow', String(Math.round(100 * share)));
    inside<HTMLElement>(bar, 'i').style.transform = `scaleX(${share})`;
  }

  private save(): void {
    const figures = this.figures.map(({ case: { id, flops }, ...rest }) => ({ case: id, flops, ...rest }));
    const all = { machine: this.machine, browser: navigator.userAgent, figures };
    download('sinter-bench.json', 'application/json', `${JSON.stringify(all, null, 1)}\n`);
  }
}
