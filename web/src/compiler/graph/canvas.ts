// A drawing that can be moved by dragging, wheel, pinching or keyboard. It is painted at most once per frame.

import { perFrame } from '../../views/dom.ts';
import type { Scene } from './arrange.ts';
import { Camera, type Place } from './camera.ts';
import { Painter } from './painter.ts';

export interface GraphEvents {
  /** The box under the pointer, and where to put a note about it. */
  hover(box: number | null, at: Place): void;
  select(box: number | null): void;
}

/** Puts a note on a box beside the pointer, inside the frame. */
export function placeTip(tip: HTMLElement, frame: HTMLElement, { x, y }: Place): void {
  const left = Math.min(x + 14, frame.clientWidth - tip.offsetWidth - 8);
  const below = y + 18 + tip.offsetHeight < frame.clientHeight;
  tip.style.transform = `translate(${Math.max(8, left)}px, ${below ? y + 18 : y - tip.offsetHeight - 10}px)`;
}

/** A press that moves by less counts as a click. */
const CLICK_PIXELS = 4;
const PAN_PIXELS = 60;
const ZOOM_STEP = 1.3;

export class GraphCanvas {
  private readonly camera = new Camera();
  private readonly painter: Painter;
  private readonly pointers = new Map<number, Place>();
  private moved = 0;
  private pinch = 0;
  private scene: Scene | null = null;
  private hovered: number | null = null;
  private selected: number | null = null;
  private lit: Uint8Array | null = null;
  /** Whether the initial view is shown; true until the user moves the drawing. */
  private untouched = true;
  private readonly draw = perFrame(() => {
    this.painter.paint(this.camera, devicePixelRatio, {
      hovered: this.hovered,
      selected: this.selected,
      lit: this.lit,
    });
  });

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly events: GraphEvents,
  ) {
    this.painter = new Painter(canvas);
    canvas.addEventListener('pointerdown', (event) => this.down(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.up(event, true));
    canvas.addEventListener('pointercancel', (event) => this.up(event, false));
    canvas.addEventListener('pointerleave', () => this.hover(null, { x: 0, y: 0 }));
    canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    canvas.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.painter.refresh();
      this.draw();
    });
  }

  /** keep: the same drawing in other colours, so the view and the selection stay. */
  show(scene: Scene | null, keep: boolean): void {
    this.scene = scene;
    this.painter.setScene(scene);
    this.hover(null, { x: 0, y: 0 }); // what was under the pointer may lie elsewhere
    if (!keep) this.selected = null;
    this.lit = null;
    if (scene !== null) {
      this.camera.world = { width: scene.layout.width, height: scene.layout.height };
      if (!keep || this.untouched) this.begin();
    }
    this.draw();
  }

  select(box: number | null): void {
    this.selected = box;
    if (box !== null && this.scene !== null) this.bringIntoSight(this.centreOf(box));
    this.draw();
  }

  /** Highlights the boxes that belong to the selection. brought: scrolls the first of them into view. */
  light(lit: Uint8Array | null, brought: boolean): void {
    this.lit = lit;
    const first = lit?.indexOf(1) ?? -1;
    if (brought && first >= 0 && this.scene !== null) this.bringIntoSight(this.centreOf(first));
    this.draw();
  }

  fit(): void {
    this.untouched = false;
    this.camera.fit();
    this.draw();
  }

  /** The initial view: the whole graph if it is readable; otherwise around the first box that the pass changed, or the first
   *  box. */
  private begin(): void {
    this.untouched = true;
    const marked = this.scene?.boxes.findIndex(({ mark }) => mark !== 'none') ?? -1;
    if (this.scene !== null && this.scene.boxes.length > 0) this.camera.begin(this.centreOf(Math.max(0, marked)));
  }

  zoom(factor: number, at?: Place): void {
    this.untouched = false;
    this.camera.zoom(factor, at);
    this.draw();
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || height === 0) return;
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(height * devicePixelRatio);
    this.camera.view = { width, height };
    if (this.untouched) this.begin();
    // Paints at once, because a resized canvas is empty.
    this.painter.paint(this.camera, devicePixelRatio, {
      hovered: this.hovered,
      selected: this.selected,
      lit: this.lit,
    });
  }

  private place(event: MouseEvent): Place {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  private centreOf(box: number): Place {
    const { centres } = (this.scene as Scene).layout;
    return { x: centres[2 * box], y: centres[2 * box + 1] };
  }

  private bringIntoSight(world: Place): void {
    const { x, y } = this.camera.toScreen(world);
    const { width, height } = this.camera.view;
    if (x > 40 && y > 30 && x < width - 40 && y < height - 30) return;
    this.untouched = false;
    this.camera.centre(world);
  }

  private boxAt(at: Place): number | null {
    if (this.scene === null) return null;
    const { layout, widths, heights } = this.scene;
    const { x, y } = this.camera.toWorld(at);
    // Boxes come before their contents, so the search goes backwards to find the innermost.
    for (let i = widths.length - 1; i >= 0; i--)
      if (
        Math.abs(layout.centres[2 * i] - x) <= widths[i] / 2 &&
        Math.abs(layout.centres[2 * i + 1] - y) <= heights[i] / 2
      )
        return i;
    return null;
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.place(event));
    if (this.pointers.size === 1) this.moved = 0;
    this.pinch = this.spread();
  }

  /** The distance between two fingers; 0 if there are not two. */
  private spread(): number {
    const [a, b] = [...this.pointers.values()];
    return b === undefined ? 0 : Math.hypot(a.x - b.x, a.y - b.y);
  }

  private move(event: PointerEvent): void {
    const now = this.place(event);
    const was = this.pointers.get(event.pointerId);
    if (was === undefined) {
      if (event.pointerType === 'mouse') this.hover(this.boxAt(now), now);
      return;
    }
    this.pointers.set(event.pointerId, now);
    const share = 1 / this.pointers.size;
    const [dx, dy] = [(now.x - was.x) * share, (now.y - was.y) * share];
    this.moved += Math.abs(dx) + Math.abs(dy);
    if (this.moved < CLICK_PIXELS) return;
    this.untouched = false;
    this.hover(null, now);
    this.camera.pan(dx, dy);
    const spread = this.spread();
    if (this.pointers.size === 2 && this.pinch > 0) this.camera.zoom(spread / this.pinch, this.middle());
    this.pinch = spread;
    this.draw();
  }

  private middle(): Place {
    const [a, b] = [...this.pointers.values()];
    return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  }

  private up(event: PointerEvent, mayClick: boolean): void {
    if (!this.pointers.delete(event.pointerId)) return;
    this.pinch = this.spread();
    if (!mayClick || this.moved >= CLICK_PIXELS || this.pointers.size > 0) return;
    this.choose(this.boxAt(this.place(event)));
  }

  private hover(box: number | null, at: Place): void {
    if (box !== this.hovered) this.draw();
    this.hovered = box;
    this.canvas.style.cursor = box === null ? 'grab' : 'pointer';
    this.events.hover(box, at);
  }

  private choose(box: number | null): void {
    this.select(box);
    this.events.select(box);
  }

  /** The wheel scrolls the page; with Ctrl, or if the graph has the focus, it zooms. */
  private wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== this.canvas) return;
    event.preventDefault();
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 * event.deltaY : event.deltaY;
    this.zoom(Math.exp(-pixels * 0.0022), this.place(event));
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || this.scene === null) return;
    const pans: Record<string, [number, number]> = {
      ArrowLeft: [PAN_PIXELS, 0],
      ArrowRight: [-PAN_PIXELS, 0],
      ArrowUp: [0, PAN_PIXELS],
      ArrowDown: [0, -PAN_PIXELS],
    };
    const pan = pans[event.key];
    if (pan !== undefined) {
      this.untouched = false;
      this.camera.pan(...pan);
      this.draw();
    } else if (event.key === '+' || event.key === '=') this.zoom(ZOOM_STEP);
    else if (event.key === '-') this.zoom(1 / ZOOM_STEP);
    else if (event.key === '0') this.fit();
    else if (event.key === 'n' || event.key === 'p') this.step(event.key === 'n' ? 1 : -1);
    else if (event.key === 'Escape' && this.selected !== null) this.choose(null);
    else return;
    event.preventDefault();
  }

  /** Selects the next or previous box in the order of the program. */
  private step(by: number): void {
    const count = this.scene?.boxes.length ?? 0;
    if (count === 0) return;
    const from = this.selected ?? (by > 0 ? -1 : count);
    this.choose((from + by + count) % count);
  }
}
