// Shows where the time goes. The program runs a few times under the profiler; shown are the lanes of all threads, the bounds in
// words, a flame graph and a roofline, all linked to the selection.

import { boundOf, report as reportOf, type Change, type ProfileReport, type Roof } from 'sinter/report';
import { create, element, setText } from '../../views/dom.ts';
import { download } from '../../views/download.ts';
import { bytes, plural, scaled, significant } from '../../views/format.ts';
import type { Lab } from '../lab.ts';
import type { Profiled } from '../protocol.ts';
import { isForDevice, type Kernel, type Report } from '../report.ts';
import type { Chosen, Selection } from '../selection.ts';
import { calibrate } from '../timeline/calibrate.ts';
import { TimelineCanvas } from '../timeline/canvas.ts';
import { writeTracks } from '../timeline/devtools.ts';
import { flame } from '../timeline/flame.ts';
import { roofline, type Point } from '../timeline/roofline.ts';
import { GAPS, Lanes, type Found } from '../timeline/slices.ts';

/** The number of recorded runs: enough to see how they differ. */
const RUNS = 20;

const mean = (times: readonly number[]): number => times.reduce((sum, each) => sum + each, 0) / (times.length || 1);

/** The mean of the middle half, because a busy machine delays single runs. If times are so short for the page's clock that
 *  most are 0, the mean of all says more. */
function usual(times: readonly number[]): number {
  const quarter = times.length >> 2;
  const middle = [...times].sort((a, b) => a - b).slice(quarter, times.length - quarter);
  return mean(middle) || mean(times);
}

export interface TimeOf {
  lab(): Lab;
  /** Profiles the program with the current switches. */
  profile(runs: number): Promise<Profiled>;
  /** Called before a measurement. */
  quiet(): void;
  /** Measures a change: the median of the times with it divided by those without. */
  measure(change: Change): Promise<number>;
}

export class TimeView {
  private report: Report | null = null;
  private lanes: Lanes | null = null;
  private roof: Roof | null = null;
  /** The lab whose roof this is: another engine has another roof. */
  private roofOf: Lab | null = null;
  private busy = false;
  /** What was chosen in the timeline: its slice is outlined and described, until something else is chosen. */
  private own: Chosen | null = null;
  private readonly canvas: TimelineCanvas;
  private readonly button = element<HTMLButtonElement>('time-run');
  private readonly step = element<HTMLSelectElement>('time-step');
  private readonly tip = element('timeline-tip');
  private readonly flame = element('flame');
  private readonly roofline = element('roofline');

  constructor(
    private readonly of: TimeOf,
    private readonly selection: Selection,
  ) {
    this.canvas = new TimelineCanvas(element<HTMLCanvasElement>('timeline'), {
      hover: (found, at) => this.hover(found, at),
      select: (found) => this.select(found),
    });
    this.button.addEventListener('click', () => void this.run());
    this.step.addEventListener('change', () => this.chooseStep());
    element('time-in').addEventListener('click', () => this.canvas.zoom(1.6));
    element('time-out').addEventListener('click', () => this.canvas.zoom(1 / 1.6));
    element('time-chrome').addEventListener('click', () => void this.save('chrome'));
    element('time-speedscope').addEventListener('click', () => void this.save('speedscope'));
    element('time-devtools').addEventListener('click', () => this.writeTracks());
    selection.listen((lit) => {
      if (lit === null || lit.chosen !== this.own) {
        this.canvas.outline(null);
        setText(element('time-details'), '');
      }
      this.light(lit === null ? null : lit.kernels);
    });
    new ResizeObserver(() => this.drawRoofline()).observe(this.roofline);
  }

  /** Called after a program is compiled. The recorded times belong to another program now. */
  show(report: Report): void {
    this.report = report;
    this.lanes = null;
    element('time-found').hidden = true;
    this.button.disabled = isForDevice(report);
    if (isForDevice(report)) return setText(element('time-note'), 'What each thread does is recorded on the CPU: switch the graphics processor off.');
    setText(element('time-note'), `Runs the program ${RUNS} times, and records what each thread does.`);
  }

  private async run(): Promise<void> {
    if (this.busy || this.report === null) return;
    const { report } = this;
    this.busy = this.button.disabled = true;
    this.of.quiet();
    const note = element('time-note');
    try {
      const lab = this.of.lab();
      if (this.roof === null || this.roofOf !== lab) {
        setText(note, 'Finding out what this machine can do…');
        this.roof = await calibrate(lab);
        this.roofOf = lab;
      }
      setText(note, 'Running…');
      const data = await this.of.profile(RUNS);
      if (this.report === report) this.present(data);
    } catch (error) {
      if (this.report === report) setText(note, `Not profiled: ${error instanceof Error ? error.message : String(error)}`);
    }
    this.busy = false;
    this.button.disabled = isForDevice(this.report);
  }

  private present(data: Profiled): void {
    this.lanes = new Lanes(data);
    element('time-found').hidden = false;
    const runs = data.runs.length / 2;
    const lost = data.lostSpans > 0 ? `, ${plural(data.lostSpans, 'slice')} did not fit` : '';
    setText(element('time-note'), `${plural(runs, 'run')} in ${significant(data.totalMs)} ms: ${plural(data.begin.length, 'slice')} on ${plural(data.workers.length, 'thread')}${lost}.`);
    const option = (value: string, text: string): HTMLOptionElement => Object.assign(create('option', '', text), { value });
    this.step.replaceChildren(
      option('all', 'All runs'),
      ...Array.from({ length: runs }, (_, i) => option(String(i), `Run ${i + 1}: ${significant(data.runs[2 * i + 1] - data.runs[2 * i], 2)} ms`)),
    );
    this.canvas.show(this.lanes);
    setText(element('time-details'), '');
    const canvas = element('timeline');
    canvas.dataset.slices = String(data.begin.length);
    canvas.dataset.lanes = String(data.workers.length);
    this.tell(data);
    this.flame.replaceChildren(...flame(this.report as Report, this.msOfKernels(data), (chosen) => this.selection.choose(chosen)));
    this.drawRoofline();
    this.light(this.selection.lit?.kernels ?? null);
  }

  /** For each kernel of the program its time in a usual run, from the first thread's begin to the last one's end. */
  private msOfKernels(data: Profiled): number[] {
    return this.usualTimes(data).kernels;
  }

  /** The same, and for a usual run the time outside kernels, and the time until the next run. */
  private usualTimes({ begin, end, runs }: Profiled): { kernels: number[]; dispatch: number; host: number } {
    const { kernels } = this.report as Report;
    const found: number[][] = kernels.map(() => []);
    const outside: number[] = [];
    const between: number[] = [];
    const order = Uint32Array.from(begin, (_, i) => i).sort((a, b) => begin[a] - begin[b]);
    let next = 0;
    for (let run = 0; run < runs.length; run += 2) {
      const seen = new Map<number, [number, number]>();
      let [inside, until] = [0, runs[run]];
      for (; next < order.length && begin[order[next]] < runs[run + 1]; next++) {
        const slice = order[next];
        if (begin[slice] >= runs[run]) {
          inside += Math.max(0, end[slice] - Math.max(until, begin[slice]));
          until = Math.max(until, end[slice]);
        }
        const kernel = begin[slice] < runs[run] ? null : this.kernelOf(slice);
        if (kernel === null) continue;
        const known = seen.get(kernel.id);
        seen.set(kernel.id, [known?.[0] ?? begin[slice], Math.max(known?.[1] ?? 0, end[slice])]);
      }
      for (const [id, [from, to]] of seen) found[id].push(to - from);
      outside.push(Math.max(0, runs[run + 1] - runs[run] - inside));
      if (run + 2 < runs.length) between.push(runs[run + 2] - runs[run + 1]);
    }
    return { kernels: found.map(usual), dispatch: usual(outside), host: usual(between) };
  }

  /** The profile with a row for each kernel of the program, and the times of a usual run. */
  private usual(data: Profiled): Parameters<typeof reportOf>[0] {
    const { kernels: ms, dispatch, host } = this.usualTimes(data);
    const runs = Math.max(1, data.runs.length / 2);
    const { kernels } = this.report as Report;
    const rows = kernels.flatMap(({ id, name, kind, flops, bytes: moved }) => {
      const row = data.kernels.find((each) => each.name === name && each.kind === kind);
      if (row === undefined || ms[id] === 0) return [];
      return [{ ...row, calls: 1, ms: ms[id], flops, bytes: moved, gflops: flops / ms[id] / 1e6, gbps: moved / ms[id] / 1e6 }];
    });
    const known = new Set(rows.map(({ name, kind }) => `${kind} ${name}`));
    // Kernels that loops run in their rounds.
    for (const row of data.kernels) if (!known.has(`${row.kind} ${row.name}`)) rows.push({ ...row, ms: row.ms / runs, calls: row.calls / runs });
    const workers = data.workers.map((worker) => ({ ...worker, gaps: { waiting: worker.gaps.waiting / runs, dispatch, compile: 0, host } }));
    const totalMs = rows.reduce((sum, row) => sum + row.ms, dispatch + host);
    return { totalMs, kernels: rows, workers } as unknown as Parameters<typeof reportOf>[0];
  }

  /** The kernel of a slice; null if it is inside a loop. */
  private kernelOf(slice: number): Kernel | null {
    const { step, kernel, kernels } = (this.lanes as Lanes).data;
    const found = this.report?.kernels[step[slice]];
    return found?.name === kernels[kernel[slice]]?.name ? found : null;
  }

  private tell(data: Profiled): void {
    const profile = this.usual(data);
    const { totalMs } = profile;
    const said: ProfileReport = reportOf(profile, { roof: this.roof as Roof });
    const [first, ...rest] = said.text.split('\n').filter((line) => !/^\d\. /.test(line));
    const changes = said.changes.map((change) => this.change(change, totalMs));
    element('time-report').replaceChildren(
      create('p', 'bound', first),
      ...rest.map((line) => create('p', 'muted', line)),
      create('ol', 'changes', ...changes),
    );
    element('time-report').dataset.bound = said.bound;
  }

  private change(change: Change, totalMs: number): HTMLElement {
    const saves = create('span', 'muted', ` about ${Math.round((100 * change.savesMs) / totalMs)} %, estimated`);
    const item = create('li', '', change.text, saves);
    if (change.options === undefined) return item;
    const button = create('button', 'quiet', 'Measure');
    button.type = 'button';
    button.addEventListener('click', () => {
      button.disabled = true;
      setText(saves, ' measuring…');
      this.of.measure(change).then(
        (ratio) => setText(saves, ratio <= 1 ? ` ${Math.round(100 * (1 - ratio))} % less, measured` : ` ${Math.round(100 * (ratio - 1))} % more, measured: not here`),
        (error: unknown) => setText(saves, ` not measured: ${error instanceof Error ? error.message : String(error)}`),
      );
    });
    item.append(' ', button);
    return item;
  }

  private points(): Point[] {
    const { lanes, report } = this;
    if (lanes === null || report === null) return [];
    const ms = this.msOfKernels(lanes.data);
    const total = ms.reduce((sum, each) => sum + each, 0);
    return report.kernels.map(({ id, name, flops, bytes: moved }) => ({ kernel: id, name, flops, bytes: moved, ms: ms[id], share: ms[id] / (total || 1) }));
  }

  private drawRoofline(): void {
    if (this.roof !== null && this.lanes !== null)
      roofline(this.roofline, this.points(), this.roof, (kernel) => this.selection.choose({ what: 'kernel', kernel }));
    this.light(this.selection.lit?.kernels ?? null);
  }

  private light(kernels: ReadonlySet<number> | null): void {
    this.canvas.light(kernels);
    for (const frame of [this.flame, this.roofline]) {
      frame.classList.toggle('dimmed', kernels !== null);
      for (const part of frame.querySelectorAll<HTMLElement | SVGElement>('[data-kernel]'))
        part.classList.toggle('lit', kernels?.has(Number(part.dataset.kernel)) ?? false);
    }
  }

  private chooseStep(): void {
    if (this.lanes === null) return;
    const { runs, totalMs } = this.lanes.data;
    const i = Number(this.step.value);
    if (this.step.value === 'all') return this.canvas.look(0, totalMs);
    const margin = 0.03 * (runs[2 * i + 1] - runs[2 * i]);
    this.canvas.look(runs[2 * i] - margin, runs[2 * i + 1] + margin);
  }

  private async save(form: 'chrome' | 'speedscope'): Promise<void> {
    const text = await this.of.lab().trace(form);
    download(form === 'chrome' ? 'sinter-trace.json' : 'sinter.speedscope.json', 'application/json', text);
  }

  /** Writes the tracks of the chosen run, or of all runs. */
  private writeTracks(): void {
    if (this.lanes === null) return;
    const { data } = this.lanes;
    const run = Number(this.step.value);
    const [from, to] = Number.isNaN(run) ? [0, data.totalMs] : [data.runs[2 * run], data.runs[2 * run + 1]];
    const properties = (slice: number): [string, string][] => {
      const { kind, engine, gflops, gbps } = data.kernels[data.kernel[slice]];
      return [['Kind', `${kind}, ${engine}`], ['GFLOP/s', significant(gflops)], ['GB/s', significant(gbps)]];
    };
    const written = writeTracks(data, from, to, properties);
    setText(element('time-note'), `${plural(written, 'slice')} are tracks of a recording in the Performance panel that has been running since before the profile.`);
  }

  private select(found: Found | null): void {
    const kernel = found?.slice == null ? null : this.kernelOf(found.slice);
    this.own = kernel === null ? null : { what: 'kernel', kernel: kernel.id };
    this.selection.choose(this.own);
    setText(element('time-details'), found === null ? '' : this.sentences(found).join(' · '));
  }

  /** Describes a slice or a gap. */
  private sentences(found: Found): string[] {
    const lanes = this.lanes as Lanes;
    const took = `${significant(1000 * (found.end - found.begin))} µs`;
    if (found.slice === null) return [GAPS[lanes.nameGap(found)], took];
    const { kernels, kernel } = lanes.data;
    const row = kernels[kernel[found.slice]];
    const known = this.kernelOf(found.slice);
    if (known === null) return [row.name, `${row.kind}, inside of a loop`, took];
    const roof = this.roof as Roof;
    const reach = Math.min(roof.gflops, row.bytes > 0 ? (row.flops / row.bytes) * roof.gbps : roof.gflops);
    return [
      `k${known.id} ${known.name}`,
      took,
      this.shapes(known),
      `${known.kind}, ${row.engine}, ${scaled(known.flops, 'FLOP')}, ${bytes(known.bytes)}`,
      `${significant(row.gflops)} GFLOP/s, ${significant(row.gbps)} GB/s`,
      row.flops > 0 ? `${Math.round((100 * row.gflops) / reach)} % of the roof, bounded by ${boundOf(row, roof, lanes.lanes.length)}` : '',
    ].filter(Boolean);
  }

  /** The types of what a kernel writes. */
  private shapes({ writes }: Kernel): string {
    const blocks = (this.report as Report).memory.blocks.filter(({ value }) => writes.includes(value));
    return blocks.map(({ dtype, shape }) => `${dtype}(${shape.join(', ')})`).join(', ');
  }

  private hover(found: Found | null, { x, y }: { x: number; y: number }): void {
    this.tip.hidden = found === null;
    if (found === null) return;
    const [title, ...rest] = this.sentences(found);
    this.tip.replaceChildren(create('strong', '', title), ...rest.map((line) => create('p', '', line)));
    const frame = this.tip.parentElement as HTMLElement;
    const left = Math.min(x + 14, frame.clientWidth - this.tip.offsetWidth - 8);
    this.tip.style.transform = `translate(${Math.max(8, left)}px, ${y + 18}px)`;
  }
}
