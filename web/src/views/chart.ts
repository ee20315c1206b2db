// The base of all charts: a uPlot that fills its box, takes its colours from the style sheet, and shows the values at the
// pointer. uPlot is loaded with the first points, so a page that has drawn nothing does not load it.

import type uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { create } from './dom.ts';
import { count } from './format.ts';

export interface Line {
  label: string;
  /** The name of a custom property of the style sheet. */
  colour: string;
  width: number;
  dash?: number[];
  points: boolean;
}

export interface ChartOptions {
  /** Whether the x axis is drawn; false if a chart below has the same axis. Default true. */
  hasSteps?: boolean;
  /** Charts of a group show the values of the same step. Default 'training'. */
  group?: string;
  /** The least number of steps that is shown. Default 10. */
  least?: number;
  y: uPlot.Scale;
  /** Lists of possible marks of the y axis, from few marks to many. The longest list that fits is shown. */
  marks: Marks | ((max: number) => Marks);
  /** The text of a mark of the y axis, and that of a value at the pointer. */
  mark: (value: number) => string;
  value: (value: number) => string;
  lines: Line[];
  /** Called with the index of the point at the pointer, null outside. By default a text over the plot shows step and values. */
  point?: (at: number | null) => void;
  /** What the x axis counts. Default 'step'. */
  unit?: string;
}

type Marks = readonly (readonly number[])[];

export const FONT = '11px system-ui, sans-serif';
/** The distances between marks of the x axis: whole numbers of steps. */
const STEPS = [1, 2, 5]
  .flatMap((n) => [n, 10 * n, 100 * n, 1e3 * n, 1e4 * n, 1e5 * n, 1e6 * n])
  .sort((a, b) => a - b);

/** Memoizes what is read from a property of the style sheet, until the page changes between dark and light. It looks whether
 *  that has happened, as listeners to the change may draw before another listener forgets. */
export function remembered<T>(read: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  let dark: MediaQueryList | null = null;
  let wasDark = false;
  return (name) => {
    dark ??= matchMedia('(prefers-color-scheme: dark)'); // not when the module is loaded: a worker has no page
    if (dark.matches !== wasDark) known.clear();
    wasDark = dark.matches;
    const value = known.get(name) ?? read(name);
    known.set(name, value);
    return value;
  };
}

export const css = remembered((name) => getComputedStyle(document.documentElement).getPropertyValue(name));

/** The pause, in ms, before uPlot is loaded again after a failure. */
const AGAIN_MS = 3000;
/** The least distance of two marks of the y axis, in pixels. */
const ROOM = 18;

/** The marks in range, from the longest list in which no two are too close to each other. */
function inRange(marks: ChartOptions['marks']) {
  return (plot: uPlot, _axis: number, min: number, max: number): number[] => {
    const lists = typeof marks === 'function' ? marks(max) : marks;
    const shown = lists.map((list) => list.filter((mark) => mark >= min && mark <= max));
    const at = (mark: number): number => plot.valToPos(mark, 'y');
    const hasRoom = (list: number[]): boolean =>
      list.every((mark, i) => i === 0 || Math.abs(at(mark) - at(list[i - 1])) >= ROOM);
    return shown.reverse().find(hasRoom) ?? shown[shown.length - 1];
  };
}

function axis(side: 'x' | 'y', options: ChartOptions): uPlot.Axis {
  const write = side === 'x' ? count : options.mark;
  return {
    show: side === 'y' || options.hasSteps !== false,
    font: FONT,
    stroke: () => css('--muted'),
    grid: { show: side === 'y', stroke: () => css('--line'), width: 1 },
    ticks: { show: false },
    size: side === 'x' ? 24 : 46,
    gap: 6,
    space: side === 'x' ? 70 : 24,
    values: (_, splits) => splits.map((value) => (value === null ? '' : write(value))),
    ...(side === 'x'
      ? { incrs: STEPS }
      : { splits: inRange(options.marks), filter: (_, splits) => splits }),
  };
}

/** Whether a line has only one point, which would not be visible. */
function isAlone(plot: uPlot, place: number): boolean {
  return Array.from<unknown>(plot.data[place]).filter((y) => y !== null).length === 1;
}

function series({ label, colour, width, dash, points }: Line): uPlot.Series {
  return {
    label,
    stroke: () => css(colour),
    width,
    dash,
    spanGaps: !points && width > 1,
    paths: points ? () => null : undefined,
    points: points
      ? { show: true, size: 8, stroke: () => css(colour), fill: () => css(colour) }
      : { show: isAlone, size: 5, fill: () => css(colour) },
  };
}

/** Reports where the pointer is. */
function pointing(point: (at: number | null) => void): uPlot.Plugin {
  return { hooks: { setCursor: ({ cursor: { idx } }) => point(idx ?? null) } };
}

/** A line of text over the plot with the values at the pointer. */
function readout(options: ChartOptions): uPlot.Plugin {
  const box = create('div', 'readout');
  box.hidden = true;
  return {
    hooks: {
      init: (plot) => void plot.over.append(box),
      setCursor: (plot) => {
        const at = plot.cursor.idx;
        box.hidden = at === null || at === undefined;
        if (at === null || at === undefined) return;
        const parts = options.lines.flatMap((line, i) => {
          const value = plot.data[i + 1][at];
          return typeof value === 'number' ? [`${line.label} ${options.value(value)}`] : [];
        });
        box.textContent = [`${options.unit ?? 'step'} ${count(plot.data[0][at])}`, ...parts].join(' · ');
      },
    },
  };
}

export class Chart {
  private plot: Promise<uPlot> | null = null;
  private from = 0;
  private columns: uPlot.AlignedData = [[]];

  constructor(
    private readonly box: HTMLElement,
    private readonly options: ChartOptions,
  ) {}

  /** The step at which the x axis begins. */
  begin(step: number): void {
    this.from = step;
  }

  show(columns: uPlot.AlignedData): void {
    this.columns = columns;
    if (this.plot === null && columns[0].length === 0) return;
    if (this.plot === null) {
      this.plot = this.make();
      // uPlot cannot be loaded, for example without a network. Later points try again.
      this.plot.catch(() => setTimeout(() => (this.plot = null), AGAIN_MS));
    }
    this.plot.then((plot) => plot.setData(this.columns), () => undefined);
  }

  /** Without it, the page keeps a chart that it no longer shows. */
  dispose(): void {
    this.plot?.then((plot) => plot.destroy(), () => undefined);
  }

  private async make(): Promise<uPlot> {
    const { default: Plot } = await import('uplot');
    const { box, options } = this;
    const size = () => ({ width: box.clientWidth, height: box.clientHeight });
    const plot = new Plot(
      {
        ...size(),
        // On the right: half of the widest mark of the x axis.
        padding: [8, 22, options.hasSteps === false ? 6 : 0, 0],
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { size: 6 }, sync: { key: options.group ?? 'training' } },
        scales: {
          x: {
            time: false,
            range: (_, min, max) => [this.from, Math.max(max ?? 0, min ?? 0, this.from + (options.least ?? 10))],
          },
          y: options.y,
        },
        axes: [axis('x', options), axis('y', options)],
        series: [{}, ...options.lines.map(series)],
        plugins: [options.point ? pointing(options.point) : readout(options)],
      },
      [[], ...options.lines.map(() => [])],
      box,
    );
    new ResizeObserver(() => plot.setSize(size())).observe(box);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const redraw = (): void => plot.redraw(false);
    dark.addEventListener('change', redraw);
    plot.hooks.destroy = [() => dark.removeEventListener('change', redraw)];
    return plot;
  }
}
