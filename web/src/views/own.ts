// What a program itself wants to show: planes, pictures, curves, and figures.

import type { About, Drawing } from '../state/protocol.ts';
import { Chart } from './chart.ts';
import { rgb } from './colour.ts';
import { create, element, setText } from './dom.ts';
import { short, significant } from './format.ts';

type Of<K extends Drawing['kind']> = Extract<Drawing, { kind: K }>;
type Draw = (drawing: Drawing) => void;

const LINE_COLOURS = ['--loss', '--accuracy', '--norm', '--rate', '--time'];
/** The side of a plane, in pixels. */
const PLANE_SIDE = 288;
const DOT = 2.6;
/** Multiples of each step, from few marks to many. */
const TICKS = [100, 50, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1].map((step) => Array.from({ length: 201 }, (_, i) => Number(((i - 100) * step).toPrecision(6))));
/** If the least value is above this share of the largest, the axis does not include 0. */
const FAR_FROM_0 = 0.5;

/** The colours of a plane's two sides, and the colour between them. */
function palette(): { sides: [number[], number[]]; middle: number[] } {
  return { sides: [rgb('--side-0'), rgb('--side-1')], middle: rgb('--card') };
}

function paintPlane(canvas: HTMLCanvasElement): Draw {
  const context = canvas.getContext('2d');
  const field = document.createElement('canvas');
  return (drawing) => {
    const { side, values, points, classes, extent } = drawing as Of<'plane'>;
    if (context === null) return;
    const colours = palette();
    canvas.width = canvas.height = PLANE_SIDE;
    if (values !== null) {
      field.width = field.height = side;
      const image = new ImageData(side, side);
      values.forEach((value, i) => {
        const share = Math.min(1, Math.abs(2 * value - 1)) * 0.55;
        const colour = colours.sides[value > 0.5 ? 1 : 0];
        for (let c = 0; c < 3; c++) image.data[4 * i + c] = colours.middle[c] + share * (colour[c] - colours.middle[c]);
        image.data[4 * i + 3] = 255;
      });
      field.getContext('2d')?.putImageData(image, 0, 0);
      context.drawImage(field, 0, 0, PLANE_SIDE, PLANE_SIDE);
    }
    if (points === null) return;
    for (let i = 0; 2 * i < points.length; i++) {
      const [x, y] = [points[2 * i], points[2 * i + 1]].map((at) => ((at / extent + 1) / 2) * PLANE_SIDE);
      context.beginPath();
      context.arc(x, PLANE_SIDE - y, DOT, 0, 2 * Math.PI);
      const [r, g, b] = colours.sides[(classes?.[i] ?? 1) > 0.5 ? 1 : 0];
      context.fillStyle = `rgb(${r} ${g} ${b})`;
      context.fill();
    }
  };
}

function paintPicture(canvas: HTMLCanvasElement): Draw {
  const context = canvas.getContext('2d');
  return (drawing) => {
    const { height, width, colours, pixels } = drawing as Of<'picture'>;
    if (height === 0 || width === 0) return;
    canvas.width = width;
    canvas.height = height;
    const image = new ImageData(width, height);
    for (let i = 0; i < height * width; i++) {
      for (let c = 0; c < 3; c++) image.data[4 * i + c] = 255 * pixels[colours === 3 ? 3 * i + c : i];
      image.data[4 * i + 3] = 255;
    }
    context?.putImageData(image, 0, 0);
  };
}

const colourOf = (i: number): string => LINE_COLOURS[i % LINE_COLOURS.length];

/** The legend of the lines. */
function keyOf(names: string[]): HTMLElement {
  const parts = names.map((name, i) => {
    const mark = create('i', '');
    mark.style.background = `var(${colourOf(i)})`;
    return create('span', '', mark, ` ${name}`);
  });
  return create('p', 'key', ...parts);
}

/** The range includes 0 unless all values are far from it. */
function rangeOf(min: number, max: number): [number, number] {
  const room = 0.1 * (max - min);
  return min > FAR_FROM_0 * max && room > 0 ? [min - room, max + room] : [Math.min(min, -0.1), Math.max(max, 0.1)];
}

/** charts: gets the chart, which is made with the first drawing. */
function drawCurves(box: HTMLElement, charts: Chart[]): Draw {
  let chart: Chart | null = null;
  return (drawing) => {
    const { x, lines } = drawing as Of<'curves'>;
    if (chart === null) {
      box.after(keyOf(lines.map(({ name }) => name)));
      chart = new Chart(box, {
        group: 'own',
        hasSteps: false,
        least: 0,
        y: { range: (_, min, max) => rangeOf(min ?? 0, max ?? 0) },
        marks: (max) => TICKS.filter((list) => list[list.length - 1] >= max),
        mark: (value) => short(value),
        value: (value) => significant(value, 3),
        unit: 'at',
        lines: lines.map(({ name }, i) => ({ label: name, colour: colourOf(i), width: 2, points: false })),
      });
      charts.push(chart);
    }
    chart.begin(x[0] ?? 0);
    chart.show([[...x], ...lines.map(({ values }) => Array.from(values, (y) => (Number.isFinite(y) ? y : null)))] as never);
  };
}

export class OwnViews {
  private readonly box = element('own');
  private readonly figures = element('figures');
  private draws: Draw[] = [];
  private charts: Chart[] = [];
  private last: readonly Drawing[] = [];

  constructor() {
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  /** Makes the views of another program. */
  clear({ views }: About): void {
    setText(this.figures, '');
    this.box.hidden = views.length === 0;
    this.draws = [];
    this.last = [];
    for (const chart of this.charts) chart.dispose();
    const charts: Chart[] = (this.charts = []);
    const made = views.map(({ kind, title }) => {
      const canvas = create('canvas', kind);
      const plot = create('div', 'plot');
      canvas.setAttribute('role', 'img');
      canvas.setAttribute('aria-label', title);
      this.draws.push(kind === 'plane' ? paintPlane(canvas) : kind === 'picture' ? paintPicture(canvas) : drawCurves(plot, charts));
      return create('figure', kind, kind === 'curves' ? plot : canvas, create('figcaption', '', title));
    });
    element('drawings').replaceChildren(...made);
    this.box.dataset.drawn = '0';
  }

  private draw(): void {
    this.last.forEach((drawing, i) => this.draws[i]?.(drawing));
  }

  show(drawings: Drawing[]): void {
    this.last = drawings;
    this.draw();
    this.box.dataset.drawn = String(Number(this.box.dataset.drawn) + 1);
  }

  showFigures(values: { name: string; value: number }[]): void {
    setText(this.figures, values.map(({ name, value }) => `${name} ${significant(value, 3)}`).join(' · '));
  }
}
