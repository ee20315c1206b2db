// A small grid of cells that are large enough to point at. Cells are chosen by pointer or keyboard: one of them is the cursor,
// which the arrow keys move and the space bar presses.

import { css } from '../views/chart.ts';
import { perFrame } from '../views/dom.ts';

/** The content of a canvas: values from 0 to 255, row by row. */
export interface Cells {
  width: number;
  height: number;
  values: ArrayLike<number>;
  /** Target values. Cells that are on the other side of the middle than their target are marked. */
  wanted?: ArrayLike<number> | null;
  /** Not 0 for cells that are new. */
  fresh?: ArrayLike<number> | null;
}

export interface CellActions {
  /** A cell was pressed, or the pointer was moved to it while pressed. first: whether the press began here. */
  press(x: number, y: number, first: boolean): void;
  /** Whether the cursor, and the cells around it, are shown even without the focus. */
  marked: boolean;
  /** The description of a cell for screen readers. */
  describe(x: number, y: number): string;
}

const MIDDLE = 127.5;
const STEPS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export class CellCanvas {
  private cells: Cells | null = null;
  private x = 0;
  private y = 0;
  private pen: number | null = null;
  private readonly dark = matchMedia('(prefers-color-scheme: dark)');
  readonly draw = perFrame(() => this.paint());

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly actions: CellActions | null = null,
  ) {
    new ResizeObserver(this.draw).observe(canvas);
    this.dark.addEventListener('change', this.draw);
    if (actions === null) return;
    canvas.tabIndex = 0;
    canvas.addEventListener('pointerdown', (event) => this.down(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    for (const end of ['pointerup', 'pointercancel'] as const) canvas.addEventListener(end, () => (this.pen = null));
    canvas.addEventListener('keydown', (event) => this.key(event));
    for (const change of ['focus', 'blur']) canvas.addEventListener(change, this.draw);
  }

  /** Without it, the page keeps a canvas that it no longer shows. */
  dispose(): void {
    this.dark.removeEventListener('change', this.draw);
  }

  show(cells: Cells): void {
    this.cells = cells;
    this.x = Math.min(this.x, cells.width - 1);
    this.y = Math.min(this.y, cells.height - 1);
    this.canvas.style.aspectRatio = `${cells.width} / ${cells.height}`;
    this.draw();
  }

  get cursor(): { x: number; y: number } {
    return { x: this.x, y: this.y };
  }

  /** Moves the cursor without a press. */
  place(x: number, y: number): void {
    [this.x, this.y] = [x, y];
    this.draw();
  }

  private at(event: PointerEvent): { x: number; y: number } | null {
    if (this.cells === null) return null;
    const box = this.canvas.getBoundingClientRect();
    const place = (from: number, size: number, count: number): number => Math.min(count - 1, Math.max(0, Math.floor((from / size) * count)));
    return {
      x: place(event.clientX - box.left, box.width, this.cells.width),
      y: place(event.clientY - box.top, box.height, this.cells.height),
    };
  }

  private down(event: PointerEvent): void {
    const at = this.at(event);
    if (event.button !== 0 || at === null) return;
    this.pen = event.pointerId;
    this.canvas.setPointerCapture(event.pointerId);
    this.press(at.x, at.y, true);
  }

  private move(event: PointerEvent): void {
    const at = event.pointerId === this.pen ? this.at(event) : null;
    if (at !== null && (at.x !== this.x || at.y !== this.y)) this.press(at.x, at.y, false);
  }

  private press(x: number, y: number, first: boolean): void {
    this.place(x, y);
    this.actions?.press(x, y, first);
    this.say();
  }

  private key(event: KeyboardEvent): void {
    const step = STEPS[event.key];
    if (this.cells === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (step !== undefined) {
      const { width, height } = this.cells;
      this.place((this.x + step[0] + width) % width, (this.y + step[1] + height) % height);
      if (this.actions?.marked) this.actions.press(this.x, this.y, false);
      this.say();
    } else if (event.key === ' ' || event.key === 'Enter') this.press(this.x, this.y, true);
    else return;
    event.preventDefault();
  }

  private say(): void {
    const label = this.canvas.dataset.label ?? this.canvas.getAttribute('aria-label') ?? '';
    this.canvas.dataset.label = label;
    this.canvas.setAttribute('aria-label', `${label} ${this.actions?.describe(this.x, this.y) ?? ''}`);
  }

  private paint(): void {
    const { canvas, cells } = this;
    const context = canvas.getContext('2d');
    if (cells === null || context === null || canvas.clientWidth === 0) return;
    const { width, height, values, wanted, fresh } = cells;
    canvas.width = Math.round(canvas.clientWidth * devicePixelRatio);
    canvas.height = Math.round((canvas.width * height) / width);
    const edge = (i: number, count: number, size: number): number => Math.round((i * size) / count);
    const gap = canvas.width / width >= 8 ? 1 : 0;
    const [on, off, bad, accent] = [css('--ink'), css('--cell-off'), css('--bad'), css('--accent')];
    context.fillStyle = off;
    if (gap === 0) context.fillRect(0, 0, canvas.width, canvas.height);
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        const at = y * width + x;
        const value = values[at];
        const isWrong = wanted != null && value > MIDDLE !== wanted[at] > MIDDLE;
        if (gap === 0 && value === 0 && !isWrong) continue;
        const [left, top] = [edge(x, width, canvas.width), edge(y, height, canvas.height)];
        const [w, h] = [edge(x + 1, width, canvas.width) - left - gap, edge(y + 1, height, canvas.height) - top - gap];
        context.globalAlpha = 1;
        context.fillStyle = isWrong ? bad : off;
        context.fillRect(left, top, w, h);
        context.globalAlpha = (isWrong ? 0.45 : 1) * (value / 255);
        context.fillStyle = fresh != null && fresh[at] !== 0 ? accent : on;
        context.fillRect(left, top, w, h);
      }
    context.globalAlpha = 1;
    this.paintCursor(context);
  }

  private paintCursor(context: CanvasRenderingContext2D): void {
    const { canvas, cells, actions } = this;
    if (cells === null || actions === null || !(actions.marked || canvas.matches(':focus-visible'))) return;
    const [w, h] = [canvas.width / cells.width, canvas.height / cells.height];
    context.strokeStyle = css('--accent');
    const frame = (around: number, line: number): void => {
      context.lineWidth = line * devicePixelRatio;
      context.strokeRect((this.x - around) * w, (this.y - around) * h, (1 + 2 * around) * w, (1 + 2 * around) * h);
    };
    frame(0, 2.5);
    if (actions.marked) frame(1, 1);
  }
}
