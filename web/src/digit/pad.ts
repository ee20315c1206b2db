// The drawing area: collects the strokes of a pen, paints them, and passes on the digit as the network expects it. Points are
// shares of the pad's size, so they stay valid when it changes.

import { paintDigit } from './paint.ts';
import { rasterise, type Point } from './rasterise.ts';
import { element, perFrame } from '../views/dom.ts';

/** The width of the pen, as a share of the pad. */
const PEN = 0.075;

export class DrawPad {
  private readonly canvas = element<HTMLCanvasElement>('draw-pad');
  private readonly seen = element<HTMLCanvasElement>('seen');
  private readonly hint = element('pad-hint');
  private readonly context = this.canvas.getContext('2d');
  private strokes: Point[][] = [];
  private pen: number | null = null;
  private readonly update = perFrame(() => this.draw());

  /** onDigit: gets 784 values in [0, 1], or null if the pad is empty. */
  constructor(private readonly onDigit: (pixels: Float32Array | null) => void) {
    this.canvas.addEventListener('pointerdown', (event) => this.down(event));
    this.canvas.addEventListener('pointermove', (event) => this.move(event));
    this.canvas.addEventListener('pointerup', (event) => this.up(event));
    this.canvas.addEventListener('pointercancel', (event) => this.up(event));
    element('clear').addEventListener('click', () => {
      this.strokes = [];
      this.update();
    });
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', this.update);
  }

  private down(event: PointerEvent): void {
    if (this.pen !== null || event.button !== 0) return;
    this.pen = event.pointerId;
    this.canvas.setPointerCapture(event.pointerId);
    this.strokes.push([this.place(event)]);
    this.update();
  }

  private move(event: PointerEvent): void {
    if (event.pointerId !== this.pen) return;
    const stroke = this.strokes[this.strokes.length - 1];
    const events = event.getCoalescedEvents?.() ?? [];
    for (const each of events.length > 0 ? events : [event]) stroke?.push(this.place(each));
    this.update();
  }

  private up(event: PointerEvent): void {
    if (event.pointerId === this.pen) this.pen = null;
  }

  private place(event: PointerEvent): Point {
    const box = this.canvas.getBoundingClientRect();
    const share = (value: number, size: number): number => Math.min(1, Math.max(0, value / size));
    return {
      x: share(event.clientX - box.left, box.width),
      y: share(event.clientY - box.top, box.height),
    };
  }

  private resize(): void {
    const side = Math.round(this.canvas.clientWidth * devicePixelRatio);
    if (side === this.canvas.width) return;
    this.canvas.width = this.canvas.height = side;
    this.paint();
  }

  private draw(): void {
    this.paint();
    this.hint.hidden = this.strokes.length > 0;
    const pixels = rasterise(this.strokes);
    paintDigit(this.seen, pixels ?? new Float32Array(28 * 28), 1);
    this.onDigit(pixels);
  }

  private paint(): void {
    const { context, canvas } = this;
    if (context === null) return;
    const side = canvas.width;
    context.clearRect(0, 0, side, side);
    context.lineWidth = PEN * side;
    context.lineCap = context.lineJoin = 'round';
    context.strokeStyle = getComputedStyle(canvas).color;
    for (const [first, ...rest] of this.strokes) {
      context.beginPath();
      context.moveTo(first.x * side, first.y * side);
      for (const { x, y } of rest) context.lineTo(x * side, y * side);
      if (rest.length === 0) context.lineTo(first.x * side, first.y * side);
      context.stroke();
    }
  }
}
