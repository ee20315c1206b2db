// The race: one model, whose width a slider sets, is trained on the CPU and on the graphics processor in turns. Both curves are
// drawn over the widths on logarithmic axes, with the width where the faster one changes.

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { Rpc } from '../compiler/rpc.ts';
import { css, FONT } from '../views/chart.ts';
import { element, setText } from '../views/dom.ts';
import { count, milliseconds, plural, scaled, significant } from '../views/format.ts';
import { crossingOf, type Point } from './crossing.ts';
import { RACE, WIDTHS, type RaceMethods, type RaceOpened, type Racer } from './race-protocol.ts';

const ASK_MS = 60_000;
/** Turns per width during the sweep over all widths. */
const TURNS = 3;
const MARKS = [0.01, 0.1, 1, 10, 100, 1000, 10_000];
const LINES: Record<Racer, { name: string; colour: string }> = {
  cpu: { name: 'CPU', colour: '--accent' },
  webgpu: { name: 'GPU', colour: '--rate' },
};

export class Race {
  private readonly slider = element<HTMLInputElement>('race-width');
  private readonly button = element<HTMLButtonElement>('race-run');
  private readonly words = element('race-words');
  private readonly live = element('race-live');
  private readonly plot: uPlot;
  private readonly best: Record<Racer, Map<number, number>> = { cpu: new Map(), webgpu: new Map() };
  private rpc: Rpc<RaceMethods> | null = null;
  private opened: RaceOpened | null = null;
  /** Why the graphics processor dropped out of the race, or ''. */
  private fell = '';

  constructor(private readonly quiet: () => void) {
    this.slider.max = String(WIDTHS.length - 1);
    this.slider.addEventListener('input', () => this.sayWidth());
    this.button.addEventListener('click', () => {
      if (this.rpc === null) void this.run();
      else this.stop('Stopped.');
    });
    this.plot = this.draw(element('race-chart'));
    this.sayWidth();
  }

  /** Called when another tab is opened. */
  rest(): void {
    if (this.rpc !== null) this.stop('Stopped, as another tab was opened.');
  }

  private get width(): number {
    return WIDTHS[Number(this.slider.value)];
  }

  private sayWidth(): void {
    setText(element('race-width-value'), count(this.width));
    this.slider.setAttribute('aria-valuetext', `width ${this.width}`);
  }

  /** Runs first the slider's width, then all others, then the slider's width until it is stopped. */
  private async run(): Promise<void> {
    this.quiet();
    for (const times of Object.values(this.best)) times.clear();
    this.fell = '';
    const rpc = new Rpc<RaceMethods>(() => new Worker(new URL('./workers/race.ts', import.meta.url), { type: 'module', name: 'race' }));
    this.rpc = rpc;
    setText(this.button, 'Stop');
    setText(this.words, 'Looks for a graphics processor…');
    try {
      this.opened = await rpc.ask('open', [], ASK_MS);
      this.say();
      const asked = [this.width, ...WIDTHS];
      for (const width of [...new Set(asked)]) await this.at(rpc, width, TURNS);
      element('race').dataset.swept = 'true';
      while (this.rpc === rpc) await this.at(rpc, this.width, Infinity);
    } catch (error) {
      if (this.rpc === rpc) this.stop(`Stopped: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private stop(note: string): void {
    this.rpc?.end();
    this.rpc = null;
    setText(this.button, 'Race');
    setText(this.live, note);
  }

  /** Runs turns at a width. Ends early if the slider moves to a width that has no time yet, and runs that instead. */
  private async at(rpc: Rpc<RaceMethods>, width: number, turns: number): Promise<void> {
    const asked = this.width;
    const { flops, weights } = await this.orWithout(rpc, () => rpc.ask('prepare', [width], ASK_MS));
    const racers: Racer[] = this.hasGpu ? ['cpu', 'webgpu'] : ['cpu'];
    for (let turn = 0; turn < turns && this.rpc === rpc && (turns < Infinity || this.width === width); turn++) {
      for (const racer of racers) await this.take(rpc, racer, width);
      this.sayLive(width, flops, weights);
      this.say();
      if (turns < Infinity && this.width !== asked && !this.best.cpu.has(this.width)) return this.at(rpc, this.width, turns);
    }
  }

  private get hasGpu(): boolean {
    return this.opened !== null && this.opened.adapter !== null && this.fell === '';
  }

  /** If a question fails with the graphics processor, says so, and asks again without it. */
  private async orWithout<T>(rpc: Rpc<RaceMethods>, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (!this.hasGpu || this.rpc !== rpc) throw error;
      this.fell = error instanceof Error ? error.message : String(error);
      this.say();
      return ask();
    }
  }

  private async take(rpc: Rpc<RaceMethods>, racer: Racer, width: number): Promise<void> {
    if (racer === 'webgpu' && !this.hasGpu) return;
    let ms: number;
    try {
      ms = await rpc.ask('sample', [racer], ASK_MS);
    } catch (error) {
      if (racer === 'cpu' || this.rpc !== rpc) throw error;
      this.fell = error instanceof Error ? error.message : String(error);
      return;
    }
    const times = this.best[racer];
    times.set(width, Math.min(ms, times.get(width) ?? Infinity));
    this.plot.setData(this.data());
  }

  private sayLive(width: number, flops: number, weights: number): void {
    const each = (['cpu', 'webgpu'] as const).flatMap((racer) => {
      const ms = this.best[racer].get(width);
      return ms === undefined ? [] : [`${LINES[racer].name} ${milliseconds(ms)} ms (${significant(flops / ms / 1e6)} GFLOP/s)`];
    });
    setText(this.live, `Width ${count(width)}, ${scaled(weights)} weights, ${RACE.batch} rows: ${each.join(', ')} a step.`);
    this.live.dataset.width = String(width);
  }

  private get points(): Point[] {
    return WIDTHS.flatMap((width) => {
      const [cpu, gpu] = [this.best.cpu.get(width), this.best.webgpu.get(width)];
      return cpu === undefined || gpu === undefined ? [] : [{ width, cpu, gpu }];
    });
  }

  private say(): void {
    if (this.opened === null) return;
    const { adapter, threads, why } = this.opened;
    element('race').dataset.adapter = adapter ?? '';
    if (adapter === null) return setText(this.words, `There is no graphics processor for this page: ${why}. The curve is that of the CPU, on ${plural(threads, 'thread')}.`);
    if (this.fell !== '') return setText(this.words, `${adapter} is out: ${this.fell}. The CPU goes on, on ${plural(threads, 'thread')}.`);
    const { points } = this;
    const crossing = crossingOf(points);
    const pair = `the CPU on ${plural(threads, 'thread')} and ${adapter}`;
    if (points.length < 2) return setText(this.words, `Between ${pair}.`);
    if (crossing !== null) {
      const [below, above] = crossing.above === 'gpu' ? ['the CPU', adapter] : [adapter, 'the CPU'];
      return setText(this.words, `Between ${pair}: up to a width of about ${count(Number(crossing.width.toPrecision(2)))} ${below} is faster, above it ${above}.`);
    }
    const { cpu, gpu } = points[points.length - 1];
    const isCpu = cpu < gpu;
    const times = (isCpu ? gpu / cpu : cpu / gpu).toPrecision(2);
    setText(this.words, `Between ${pair}: at every width so far ${isCpu ? 'the CPU' : adapter} is faster, at ${count(points[points.length - 1].width)} by ${times} times. The curves do not cross.`);
  }

  private data(): uPlot.AlignedData {
    const of = (racer: Racer): (number | null)[] => WIDTHS.map((width) => this.best[racer].get(width) ?? null);
    return [[...WIDTHS], of('cpu'), of('webgpu')];
  }

  private draw(box: HTMLElement): uPlot {
    const size = (): { width: number; height: number } => ({ width: box.clientWidth, height: box.clientHeight });
    const line = (racer: Racer): uPlot.Series => {
      const { name, colour } = LINES[racer];
      return { label: name, stroke: () => css(colour), width: 2, spanGaps: true, points: { show: true, size: 6, fill: () => css(colour) } };
    };
    const axis = (values: readonly number[], sized: number, write: (value: number) => string): uPlot.Axis => ({
      font: FONT,
      size: sized,
      stroke: () => css('--muted'),
      grid: { stroke: () => css('--line'), width: 1 },
      ticks: { show: false },
      splits: () => [...values],
      filter: (_, splits) => splits,
      values: (_, splits) => splits.map(write),
    });
    const plot = new uPlot(
      {
        ...size(),
        padding: [10, 18, 0, 0],
        legend: { show: false },
        cursor: { drag: { x: false, y: false } },
        scales: {
          x: { time: false, distr: 3, range: () => [WIDTHS[0] * 0.9, WIDTHS[WIDTHS.length - 1] * 1.1] },
          y: { distr: 3, range: (_, min, max) => [10 ** Math.floor(Math.log10(min ?? 0.1)), 10 ** Math.ceil(Math.log10(max ?? 10))] },
        },
        axes: [axis(WIDTHS.filter((_, i) => i % 2 === 0), 24, count), axis(MARKS, 52, (value) => `${value} ms`)],
        series: [{}, line('cpu'), line('webgpu')],
        hooks: { draw: [(plot) => this.drawCrossing(plot)] },
      },
      this.data(),
      box,
    );
    new ResizeObserver(() => plot.setSize(size())).observe(box);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plot.redraw(false));
    return plot;
  }

  private drawCrossing({ ctx, bbox, valToPos }: uPlot): void {
    const crossing = crossingOf(this.points);
    element('race').dataset.crossing = crossing === null ? '' : String(Math.round(crossing.width));
    if (crossing === null) return;
    const [x, y] = [valToPos(crossing.width, 'x', true), valToPos(crossing.ms, 'y', true)];
    ctx.save();
    ctx.strokeStyle = css('--ink');
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.arc(x, y, 6 * devicePixelRatio, 0, 2 * Math.PI);
    ctx.stroke();
    ctx.restore();
  }
}
