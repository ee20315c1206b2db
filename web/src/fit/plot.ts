// The plot: fitted and true curves of two variables over time, with the values under the pointer. The points lie on top of it
// (handles.ts).

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { FONT, css } from '../views/chart.ts';
import { create } from '../views/dom.ts';
import { significant } from '../views/format.ts';
import { STEPS, type Equation } from './equations.ts';
import type { Curves } from './protocol.ts';

/** CSS variables with the colour of each variable. */
const COLOURS = ['--loss', '--accuracy'];
const FAINT = ['--fit-true-0', '--fit-true-1'];

/** Index of the first series of each kind, in the order of drawing; fitted curves are on top. */
const TRUE = 1;
const FROM = 3;
const FITTED = 5;

function axis(side: 'x' | 'y', label?: string): uPlot.Axis {
  return {
    font: FONT,
    stroke: () => css('--muted'),
    grid: { show: side === 'y', stroke: () => css('--line'), width: 1 },
    ticks: { show: false },
    size: side === 'x' ? 24 : 34,
    gap: 6,
    space: side === 'x' ? 60 : 36,
    label,
    labelSize: 16,
    labelFont: FONT,
    labelGap: -2,
  };
}

export class Plot {
  private readonly plot: uPlot;
  private readonly data: (Float64Array | null[])[];
  private readonly observer: ResizeObserver;
  private readonly readout = create('div', 'readout');
  private readonly repaint = (): void => this.plot.redraw(false);
  private readonly dark = matchMedia('(prefers-color-scheme: dark)');

  /** onSize: called when the plot's size has changed. */
  constructor(
    private readonly box: HTMLElement,
    private readonly equation: Equation,
    onSize: () => void,
  ) {
    const { end, range, unit } = equation;
    const none = (): null[] => new Array<null>(STEPS + 1).fill(null);
    this.data = [Float64Array.from({ length: STEPS + 1 }, (_, i) => (i * end) / STEPS), ...Array.from({ length: 6 }, none)];
    const lines = (colours: string[], width: number, dash?: number[]): uPlot.Series[] =>
      colours.map((colour) => ({ stroke: () => css(colour), width, dash, points: { show: false } }));
    this.plot = new uPlot(
      {
        ...this.size(),
        padding: [10, 14, 0, 0],
        // Curves are smooth only if coordinates are not rounded to pixels.
        pxAlign: 0,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { show: false } },
        scales: { x: { time: false, range: [0, end] }, y: { range: [range[0], range[1]] } },
        axes: [axis('x', `${unit}s`), axis('y')],
        series: [{}, ...lines(FAINT, 2), ...lines(COLOURS, 1.5, [1.5, 5]), ...lines(COLOURS, 2.5)],
        hooks: { setCursor: [() => this.read()] },
      },
      this.data as uPlot.AlignedData,
      box,
    );
    this.readout.hidden = true;
    this.plot.over.append(this.readout);
    this.observer = new ResizeObserver(() => {
      this.plot.setSize(this.size());
      onSize();
    });
    this.observer.observe(box);
    this.dark.addEventListener('change', this.repaint);
  }

  /** The area between the axes. */
  get area(): HTMLElement {
    return this.plot.over;
  }

  dispose(): void {
    this.observer.disconnect();
    this.dark.removeEventListener('change', this.repaint);
    this.plot.destroy();
  }

  setTrue(curves: Curves): void {
    this.set(TRUE, curves);
  }

  /** The curves at the start of a search; null for none. */
  setFrom(curves: Curves | null): void {
    this.set(FROM, curves);
  }

  setFitted(curves: Curves): void {
    this.set(FITTED, curves);
  }

  draw(): void {
    this.plot.setData(this.data as uPlot.AlignedData);
  }

  /** The value of the fitted curve; null before the first fit. */
  fitted(variable: 0 | 1, step: number): number | null {
    return this.data[FITTED + variable][step];
  }

  /** Converts steps to pixels from the left of the area, and back. */
  x(step: number): number {
    return (step / STEPS) * this.area.clientWidth;
  }
  step(x: number): number {
    return (x / this.area.clientWidth) * STEPS;
  }

  /** Converts values to pixels from the top of the area, and back. */
  y(value: number): number {
    const [low, high] = this.equation.range;
    return ((high - value) / (high - low)) * this.area.clientHeight;
  }
  value(y: number): number {
    const [low, high] = this.equation.range;
    return high - (y / this.area.clientHeight) * (high - low);
  }

  private set(place: number, curves: Curves | null): void {
    for (const i of [0, 1]) this.data[place + i] = curves?.[i] ?? new Array<null>(STEPS + 1).fill(null);
  }

  private size(): { width: number; height: number } {
    return { width: this.box.clientWidth, height: this.box.clientHeight };
  }

  private read(): void {
    const step = this.plot.cursor.idx;
    const values = [0, 1].map((i) => (typeof step === 'number' ? this.data[FITTED + i][step] : null));
    this.readout.hidden = values.includes(null);
    if (typeof step !== 'number') return;
    const { unit, variables } = this.equation;
    const parts = values.map((value, i) => `${variables[i].name} ${significant(value ?? NaN)}`);
    this.readout.textContent = [`${unit} ${significant(Number(this.data[0][step]))}`, ...parts].join(' · ');
  }
}
