// Lanes of slices that can be moved by dragging, wheel, pinching or keyboard. Slices that share a pixel are drawn as one, in
// the colour of the longest, so a frame costs what is visible rather than what exists.

import { perFrame } from '../../views/dom.ts';
import { kernelHue } from '../graph/painter.ts';
import { Lanes, type Found, type Gap } from './slices.ts';

export interface TimelineEvents {
  hover(found: Found | null, at: { x: number; y: number }): void;
  select(found: Found | null): void;
}

const AXIS = 22;
const LANE = 34;
const SPACE = 6;
const CLICK_PIXELS = 4;
const ZOOM_STEP = 1.4;
/** The room that the name of a slice, and of a gap, needs. */
const LABEL_PIXELS = 34;
const GAP_PIXELS = 52;
/** The shortest time visible at once, in ms. */
const LEAST_MS = 0.002;
const MARKS = [1, 2, 5];

export class TimelineCanvas {
  private lanes: Lanes | null = null;
  private from = 0;
  private to = 1;
  private hovered: Found | null = null;
  private lit: ReadonlySet<number> | null = null;
  private cursor: Found | null = null;
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private moved = 0;
  private readonly draw = perFrame(() => this.paint());

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly events: TimelineEvents,
  ) {
    canvas.addEventListener('pointerdown', (event) => this.down(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.up(event));
    canvas.addEventListener('pointercancel', (event) => void this.pointers.delete(event.pointerId));
    canvas.addEventListener('pointerleave', () => this.hover(null, { x: 0, y: 0 }));
    canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    canvas.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  show(lanes: Lanes): void {
    this.lanes = lanes;
    this.cursor = null;
    this.canvas.style.height = `${AXIS + lanes.lanes.length * (LANE + SPACE)}px`;
    this.look(0, lanes.data.totalMs);
    this.resize();
  }

  /** Shows the time between two moments, in ms. */
  look(from: number, to: number): void {
    if (this.lanes === null) return;
    const { totalMs } = this.lanes.data;
    const span = Math.min(totalMs, Math.max(LEAST_MS, to - from));
    this.from = Math.min(totalMs - span, Math.max(0, from));
    this.to = this.from + span;
    this.canvas.dataset.from = String(this.from);
    this.canvas.dataset.to = String(this.to);
    this.draw();
  }

  light(kernels: ReadonlySet<number> | null): void {
    this.lit = kernels;
    this.draw();
  }

  zoom(factor: number, x = this.canvas.clientWidth / 2): void {
    const t = this.time(x);
    this.look(t - (t - this.from) / factor, t + (this.to - t) / factor);
  }

  private time(x: number): number {
    return this.from + (x / Math.max(1, this.canvas.clientWidth)) * (this.to - this.from);
  }

  private found(event: MouseEvent): Found | null {
    const { left, top } = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const worker = Math.floor((y - AXIS) / (LANE + SPACE));
    if (this.lanes === null || worker < 0 || worker >= this.lanes.lanes.length) return null;
    return this.lanes.at(worker, this.time(x));
  }

  /* ---- input ---- */

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.pointers.size === 1) this.moved = 0;
  }

  private move(event: PointerEvent): void {
    const was = this.pointers.get(event.pointerId);
    if (was === undefined) {
      const { left, top } = this.canvas.getBoundingClientRect();
      return this.hover(this.found(event), { x: event.clientX - left, y: event.clientY - top });
    }
    const spread = (): number => {
      const [a, b] = [...this.pointers.values()];
      return b === undefined ? 0 : Math.abs(a.x - b.x);
    };
    const before = spread();
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    const dx = (event.clientX - was.x) / this.pointers.size;
    this.moved += Math.abs(dx) + Math.abs(event.clientY - was.y);
    if (this.moved < CLICK_PIXELS) return;
    this.hover(null, { x: 0, y: 0 });
    const by = (dx / this.canvas.clientWidth) * (this.to - this.from);
    this.look(this.from - by, this.to - by);
    if (this.pointers.size === 2 && before > 0) {
      const [a, b] = [...this.pointers.values()];
      this.zoom(Math.max(0.2, spread() / before), (a.x + b.x) / 2 - this.canvas.getBoundingClientRect().left);
    }
  }

  private up(event: PointerEvent): void {
    if (!this.pointers.delete(event.pointerId) || this.moved >= CLICK_PIXELS || this.pointers.size > 0) return;
    this.choose(this.found(event));
  }

  private choose(found: Found | null): void {
    this.events.select(found);
    this.outline(found);
  }

  outline(found: Found | null): void {
    this.cursor = found;
    this.draw();
  }

  private hover(found: Found | null, at: { x: number; y: number }): void {
    if (found?.slice !== this.hovered?.slice) this.draw();
    this.hovered = found;
    this.canvas.style.cursor = found?.slice == null ? 'grab' : 'pointer';
    this.events.hover(found, at);
  }

  private wheel(event: WheelEvent): void {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!sideways && !event.ctrlKey && !event.metaKey && document.activeElement !== this.canvas) return;
    event.preventDefault();
    if (sideways) {
      const by = (event.deltaX / this.canvas.clientWidth) * (this.to - this.from);
      return this.look(this.from + by, this.to + by);
    }
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 * event.deltaY : event.deltaY;
    this.zoom(Math.exp(-pixels * 0.0025), event.clientX - this.canvas.getBoundingClientRect().left);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || this.lanes === null) return;
    const part = 0.15 * (this.to - this.from);
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.look(this.from - part, this.to - part),
      ArrowRight: () => this.look(this.from + part, this.to + part),
      '+': () => this.zoom(ZOOM_STEP),
      '=': () => this.zoom(ZOOM_STEP),
      '-': () => this.zoom(1 / ZOOM_STEP),
      '0': () => this.look(0, (this.lanes as Lanes).data.totalMs),
      n: () => this.walk(1),
      p: () => this.walk(-1),
      Escape: () => this.choose(null),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  }

  /** Selects the next or previous slice in the lane. */
  private walk(by: 1 | -1): void {
    const lanes = this.lanes as Lanes;
    const worker = this.cursor?.worker ?? 0;
    const lane = lanes.lanes[worker];
    const now = this.cursor?.slice ?? null;
    const at = now === null ? lanes.from(worker, this.from) : lane.indexOf(now) + by;
    const slice = lane[at];
    if (slice === undefined) return;
    const [begin, end] = [lanes.data.begin[slice], lanes.data.end[slice]];
    if (begin < this.from || end > this.to) {
      const half = Math.max((this.to - this.from) / 2, end - begin);
      this.look((begin + end) / 2 - half, (begin + end) / 2 + half);
    }
    this.choose({ worker, slice, begin, end });
  }

  /* ---- painting ---- */

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || height === 0) return;
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(height * devicePixelRatio);
    this.paint();
  }

  private paint(): void {
    const context = this.canvas.getContext('2d');
    const { lanes } = this;
    if (context === null || lanes === null) return;
    const begin = performance.now();
    const style = getComputedStyle(this.canvas);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    const width = this.canvas.clientWidth;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, width, this.canvas.clientHeight);
    context.font = `11px ${colour('--mono')}`;
    context.textBaseline = 'middle';
    this.paintAxis(context, width, colour('--muted'), colour('--line'));
    const paint = { context, width, ink: colour('--ink'), muted: colour('--muted'), well: colour('--card'), accent: colour('--accent'),
      dark: matchMedia('(prefers-color-scheme: dark)').matches };
    lanes.lanes.forEach((_, worker) => this.paintLane(paint, lanes, worker));
    this.canvas.dataset.frameMs = String(performance.now() - begin);
  }

  private paintAxis(context: CanvasRenderingContext2D, width: number, ink: string, line: string): void {
    const span = this.to - this.from;
    const least = (80 / width) * span;
    const size = 10 ** Math.floor(Math.log10(least));
    const step = (MARKS.find((mark) => mark * size >= least) ?? 10) * size;
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) {
      const x = ((t - this.from) / span) * width;
      context.fillStyle = line;
      context.fillRect(x, 0, 1, this.canvas.clientHeight);
      context.fillStyle = ink;
      context.fillText(step < 0.01 ? `${(1000 * t).toFixed(1)} µs` : `${Number(t.toFixed(3))} ms`, x + 4, AXIS / 2);
    }
  }

  private paintLane(paint: Paint, lanes: Lanes, worker: number): void {
    const { context, width, well } = paint;
    const y = AXIS + worker * (LANE + SPACE);
    const lane = lanes.lanes[worker];
    const { begin, end, step } = lanes.data;
    const perMs = width / (this.to - this.from);
    context.fillStyle = well;
    context.fillRect(0, y, width, LANE);
    let column = -1;
    let covered = 0;
    let longest = 0;
    let of = 0;
    const flush = (): void => {
      if (column >= 0) this.box(paint, column, 1, y, of, Math.min(1, 0.35 + covered));
      column = -1;
    };
    let until = this.from;
    for (let i = lanes.from(worker, this.from); i < lane.length; i++) {
      const slice = lane[i];
      if (begin[slice] >= this.to) break;
      this.gap(paint, lanes, worker, y, until, begin[slice], perMs);
      until = end[slice];
      const x = (begin[slice] - this.from) * perMs;
      const pixels = (end[slice] - begin[slice]) * perMs;
      if (pixels >= 1) {
        flush();
        this.box(paint, x, pixels, y, step[slice], 1);
        this.name(paint, lanes, slice, x, pixels, y);
        continue;
      }
      if (Math.floor(x) !== column) {
        flush();
        column = Math.floor(x);
        covered = longest = 0;
      }
      covered += pixels;
      if (pixels > longest) [longest, of] = [pixels, step[slice]];
    }
    flush();
    this.gap(paint, lanes, worker, y, until, this.to, perMs);
    const { cursor } = this;
    if (cursor?.worker !== worker || cursor.slice === null) return;
    context.strokeStyle = paint.accent;
    context.lineWidth = 2;
    context.strokeRect((cursor.begin - this.from) * perMs, y + 1, Math.max(2, (cursor.end - cursor.begin) * perMs), LANE - 2);
  }

  private box({ context, dark }: Paint, x: number, pixels: number, y: number, kernel: number, alpha: number): void {
    const isLit = this.lit === null || this.lit.has(kernel);
    context.globalAlpha = isLit ? alpha : 0.22 * alpha;
    context.fillStyle = `oklch(${dark ? 0.55 : 0.8} 0.1 ${kernelHue(kernel)})`;
    const left = Math.max(0, x);
    context.fillRect(left, y, Math.max(0.5, x + pixels - left - (pixels > 3 ? 1 : 0)), LANE);
    context.globalAlpha = 1;
  }

  private name({ context, width, ink }: Paint, lanes: Lanes, slice: number, x: number, pixels: number, y: number): void {
    const left = Math.max(0, x);
    const room = Math.min(width, x + pixels) - left - 10;
    if (room < LABEL_PIXELS) return;
    const { kernels, kernel } = lanes.data;
    const text = kernels[kernel[slice]]?.name ?? '';
    const most = Math.floor(room / 6.7);
    context.fillStyle = ink;
    context.fillText(text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text, left + 5, y + LANE / 2);
  }

  private gap({ context, width, muted }: Paint, lanes: Lanes, worker: number, y: number, from: number, to: number, perMs: number): void {
    const left = Math.max(0, (from - this.from) * perMs);
    const right = Math.min(width, (to - this.from) * perMs);
    if (right - left < GAP_PIXELS) return;
    const name: Gap = lanes.nameGap(lanes.at(worker, (Math.max(from, this.from) + Math.min(to, this.to)) / 2));
    context.fillStyle = muted;
    context.fillText(name, left + 6, y + LANE / 2);
  }
}

interface Paint {
  context: CanvasRenderingContext2D;
  width: number;
  ink: string;
  muted: string;
  well: string;
  accent: string;
  dark: boolean;
}
