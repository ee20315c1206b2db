// Draws the figures as bars: GFLOP/s of each case, below it those without fusion, and the peak as a line.

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { significant } from '../views/format.ts';
import type { Case } from './cases.ts';
import type { Figure } from './measurement.ts';

const FONT = '12px system-ui, sans-serif';
const BAR = 0.78;
const NAMES_PX = 104;

function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}

export class Bars {
  private readonly plot: uPlot;
  private peak = 0;
  /** By case: the rate with fusion, and without. */
  private readonly rates: [(number | null)[], (number | null)[]];

  constructor(
    box: HTMLElement,
    private readonly cases: readonly Case[],
  ) {
    this.rates = [cases.map(() => null), cases.map(() => null)];
    const size = () => ({ width: box.clientWidth, height: box.clientHeight });
    const bars = (place: 0 | 1): uPlot.Series => ({
      stroke: 'transparent',
      width: 0,
      fill: () => css(place === 0 ? '--accent' : '--faint'),
      paths: this.paths(place),
      points: { show: false },
    });
    this.plot = new uPlot(
      {
        ...size(),
        padding: [22, 52, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: { time: false, ori: 1, dir: -1, range: [-0.5, cases.length - 0.5] },
          y: { ori: 0, range: (_, _min, max) => [0, Math.max(this.peak, max ?? 0, 1) * 1.02] },
        },
        axes: [
          {
            side: 3,
            size: NAMES_PX,
            gap: 8,
            font: FONT,
            stroke: () => css('--ink'),
            grid: { show: false },
            ticks: { show: false },
            splits: () => cases.map((_, i) => i),
            values: () => cases.map(({ short }) => short),
          },
          {
            side: 2,
            size: 26,
            font: FONT,
            stroke: () => css('--muted'),
            grid: { stroke: () => css('--line'), width: 1 },
            ticks: { show: false },
          },
        ],
        series: [{}, bars(0), bars(1)],
        hooks: { draw: [(plot) => this.drawPeak(plot), (plot) => this.drawValues(plot)] },
      },
      this.data(),
      box,
    );
    new ResizeObserver(() => this.plot.setSize(size())).observe(box);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.plot.redraw(false));
  }

  clear(): void {
    this.peak = 0;
    for (const column of this.rates) column.fill(null);
    this.plot.setData(this.data());
  }

  setPeak(peak: number): void {
    this.peak = peak;
    this.plot.setData(this.data());
  }

  add({ case: given, gflops, ms, plainMs }: Figure): void {
    const place = this.cases.indexOf(given);
    this.rates[0][place] = gflops;
    this.rates[1][place] = plainMs === null ? null : (gflops * ms) / plainMs;
    this.plot.setData(this.data());
  }

  private data(): uPlot.AlignedData {
    return [this.cases.map((_, i) => i), ...this.rates];
  }

  /** The two bars of a case share its band, one above the other. A single bar is centred in it. */
  private paths(place: 0 | 1): uPlot.Series.PathBuilder {
    return (plot) => {
      const path = new Path2D();
      const from = plot.valToPos(0, 'y', true);
      this.cases.forEach((given, i) => {
        const rate = this.rates[place][i];
        if (rate === null) return;
        const [top, bottom] = this.band(plot, i, given.fuses ? place : null);
        path.rect(from, top, plot.valToPos(rate, 'y', true) - from, bottom - top);
      });
      return { fill: path };
    };
  }

  /** The edges of a bar on the canvas. half: which of two bars; null: a single one. */
  private band(plot: uPlot, i: number, half: 0 | 1 | null): [number, number] {
    const at = (share: number): number => plot.valToPos(i + BAR * share, 'x', true);
    if (half === null) return [at(-0.3), at(0.3)];
    return half === 0 ? [at(-0.5), at(0.12)] : [at(0.15), at(0.5)];
  }

  private drawPeak({ ctx, bbox, valToPos }: uPlot): void {
    if (this.peak === 0) return;
    const x = Math.round(valToPos(this.peak, 'y', true));
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = css('--accuracy');
    ctx.lineWidth = 2 * devicePixelRatio;
    ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    this.font(ctx, 'right', 'bottom');
    ctx.fillText(`peak ${significant(this.peak)}`, x, bbox.top - 4 * devicePixelRatio);
    ctx.restore();
  }

  private drawValues(plot: uPlot): void {
    const { ctx } = plot;
    ctx.save();
    ctx.fillStyle = css('--ink');
    this.font(ctx, 'left', 'middle');
    this.cases.forEach((given, i) => {
      const rate = this.rates[0][i];
      if (rate === null) return;
      const [top, bottom] = this.band(plot, i, given.fuses ? 0 : null);
      ctx.fillText(significant(rate), plot.valToPos(rate, 'y', true) + 5 * devicePixelRatio, (top + bottom) / 2);
    });
    ctx.restore();
  }

  private font(ctx: CanvasRenderingContext2D, align: CanvasTextAlign, baseline: CanvasTextBaseline): void {
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = align;
    ctx.textBaseline = baseline;
  }
}
