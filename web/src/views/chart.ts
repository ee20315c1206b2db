// What all charts share: a uPlot that fills its box, takes its colours from the style sheet, and shows the values under the
// pointer. It is loaded with the first points: a page that has drawn nothing yet need not have it.

import type uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { create } from './dom.ts';
import { count } from './format.ts';

export interface Line {
  label: string;
  /** Name of a custom property of the style sheet. */
  colour: string;
  width: number;
  dash?: number[];
  points: boolean;
}

export interface ChartOptions {
  /** Whether the x axis is drawn; not where another chart below has the same one. Default true. */
  hasSteps?: boolean;
  /** Charts of a group show the values of the same step. Default 'training'. */
  group?: string;
  /** So many steps are shown at least. Default 10. */
  least?: number;
  y: uPlot.Scale;
  /** Where the y axis may be marked, from few marks to many; as many are shown as there is room for. */
  marks: Marks | ((max: number) => Marks);
  /** How a mark of the y axis is written, and how a value at the pointer. */
  mark: (value: number) => string;
  value: (value: number) => string;
  lines: Line[];
  /** Says the place of the pointer among the points, null outside; by default a text over the plot has step and values. */
  point?: (at: number | null) => void;
  /** What the x axis counts. Default 'step'. */
  unit?: string;
}

type Marks = readonly (readonly number[])[];

export const FONT = '11px system-ui, sans-serif';
/** Distances between marks of the x axis: whole numbers of steps. */
const STEPS = [1, 2, 5]
  .flatMap((n) => [n, 10 * n, 100 * n, 1e3 * n, 1e4 * n, 1e5 * n, 1e6 * n])
  .sort((a, b) => a - b);

/** What is read of a property of the style sheet, which is not asked for again until the page becomes dark or light. */
export function remembered<T>(read: (name: string) => T): (name: string) => T {
  let known: Map<string, T> | null = null;
  return (name) => {
    if (known === null) { // not when the module is loaded: a worker has no page
      const found = (known = new Map<string, T>());
      matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => found.clear());
    }
    const value = known.get(name) ?? read(name);
    known.set(name, value);
    return value;
  };
}

export const css = remembered((name) => getComputedStyle(document.documentElement).getPropertyValue(name));

/** After a uPlot that could not be loaded. */
const AGAIN_MS = 3000;
/** The least distance of two marks of the y axis, in pixels. */
const ROOM = 18;

/** The marks in range of the last list in which none is too close to its neighbour. */
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

/** A line of one point would not be seen. */
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

/** Tells where the pointer is. */
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
      // Without a network. Later points try again.
      this.plot.catch(() => setTimeout(() => (this.plot = null), AGAIN_MS));
    }
    this.plot.then((plot) => plot.setData(this.columns), () => undefined);
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
    dark.addEventListener('change', () => plot.redraw(false));
    return plot;
  }
}
