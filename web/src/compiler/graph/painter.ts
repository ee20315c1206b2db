// Paints a scene on a canvas. Lines are kept as paths in world coordinates, and boxes out of sight or
// too small to read get no text, so a frame of 1,500 nodes takes a few milliseconds.

import type { Frame, Scene } from './arrange.ts';
import type { Camera } from './camera.ts';
import { shorten } from './scene.ts';

/** Below these scales there are no second lines, and no texts at all. */
const SUBTITLES = 0.55;
const TITLES = 0.32;
const DOTS = 0.15;
const RADIUS = 8;

export interface Highlight {
  hovered: number | null;
  selected: number | null;
  /** Per box whether it belongs to the selection; null: nothing is selected. */
  lit: Uint8Array | null;
}

/** How much of a box is seen that does not belong to the selection. */
const UNLIT = 0.3;

interface Colours {
  box: string;
  well: string;
  edge: string;
  ink: string;
  muted: string;
  line: string;
  cut: string;
  saved: string;
  derivative: string;
  derivativeSoft: string;
  accent: string;
  fresh: string;
  freshSoft: string;
  gone: string;
  goneSoft: string;
  font: string;
  dark: boolean;
}

function readColours(canvas: HTMLCanvasElement): Colours {
  const style = getComputedStyle(canvas);
  const get = (name: string): string => style.getPropertyValue(name).trim();
  return {
    box: get('--card'),
    well: get('--well'),
    edge: get('--edge'),
    ink: get('--ink'),
    muted: get('--muted'),
    line: get('--graph-line'),
    cut: get('--graph-cut'),
    saved: get('--graph-saved'),
    derivative: get('--derivative'),
    derivativeSoft: get('--derivative-soft'),
    accent: get('--accent'),
    fresh: get('--good'),
    freshSoft: get('--good-soft'),
    gone: get('--bad'),
    goneSoft: get('--bad-soft'),
    font: get('--mono'),
    dark: matchMedia('(prefers-color-scheme: dark)').matches,
  };
}

/** Kernels with neighbouring numbers are far apart in hue. */
export function kernelHue(kernel: number): number {
  return (40 + kernel * 137.508) % 360;
}

export class Painter {
  private colours: Colours;
  private plain = new Path2D();
  private cuts = new Path2D();
  private saved = new Path2D();
  private scene: Scene | null = null;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.colours = readColours(canvas);
  }

  setScene(scene: Scene | null): void {
    this.scene = scene;
    this.plain = new Path2D();
    this.cuts = new Path2D();
    this.saved = new Path2D();
    scene?.lines.forEach(({ cut, saved }, i) => this.trace(scene, i, saved ? this.saved : cut ? this.cuts : this.plain));
  }

  /** Takes the colours that the page has now. */
  refresh(): void {
    this.colours = readColours(this.canvas);
  }

  paint(camera: Camera, ratio: number, { hovered, selected, lit }: Highlight): void {
    const context = this.canvas.getContext('2d');
    if (context === null) return;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const { scene } = this;
    if (scene === null) return;
    const { view, scale, x, y } = camera;
    const zoom = scale * ratio;
    context.setTransform(zoom, 0, 0, zoom, ratio * (view.width / 2 - x * scale), ratio * (view.height / 2 - y * scale));
    const corner = camera.toWorld({ x: 0, y: 0 });
    const end = camera.toWorld({ x: view.width, y: view.height });
    const paint = (i: number): void => {
      const [cx, cy] = [scene.layout.centres[2 * i], scene.layout.centres[2 * i + 1]];
      const [width, height] = [scene.widths[i] / 2, scene.heights[i] / 2];
      if (cx + width < corner.x || cx - width > end.x) return;
      if (cy + height < corner.y || cy - height > end.y) return;
      const isLit = lit?.[i] === 1;
      context.globalAlpha = lit === null || isLit || scene.boxes[i].inside.length > 0 ? 1 : UNLIT;
      this.paintBox(context, scene, i, scale, i === hovered, i === selected || isLit);
      context.globalAlpha = 1;
    };
    // What is around something else is behind it, lines included.
    const isAround = scene.boxes.map(({ inside }) => inside.length > 0);
    isAround.forEach((around, i) => {
      if (!around) return;
      paint(i);
      this.paintFrames(context, scene.frames.filter(({ box }) => box === i), scale);
    });
    this.paintLines(context, scale);
    if (selected !== null) this.paintLinesOf(context, scene, selected, scale);
    isAround.forEach((around, i) => around || paint(i));
  }

  private paintFrames(context: CanvasRenderingContext2D, frames: readonly Frame[], scale: number): void {
    const { colours } = this;
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    context.font = `10px ${colours.font}`;
    context.lineWidth = 1 / scale;
    for (const { name, x, y, width, height } of frames) {
      context.beginPath();
      context.roundRect(x, y, width, height, RADIUS);
      context.fillStyle = colours.box;
      context.fill();
      context.strokeStyle = colours.line;
      context.stroke();
      context.fillStyle = colours.muted;
      if (scale >= TITLES) context.fillText(name, x + RADIUS, y + 11);
    }
  }

  private trace({ layout }: Scene, line: number, path: Path2D): void {
    const { points, starts } = layout;
    const [first, end] = [starts[line], starts[line + 1]];
    const x = (p: number): number => points[2 * p];
    const y = (p: number): number => points[2 * p + 1];
    path.moveTo(x(first), y(first));
    if (end - first === 2) {
      // A far line: it leaves and arrives upright.
      const bend = Math.min(80, Math.abs(y(first + 1) - y(first)) / 2);
      path.bezierCurveTo(x(first), y(first) + bend, x(first + 1), y(first + 1) - bend, x(first + 1), y(first + 1));
      return;
    }
    for (let p = first + 1; p < end - 1; p++)
      path.quadraticCurveTo(x(p), y(p), (x(p) + x(p + 1)) / 2, (y(p) + y(p + 1)) / 2);
    path.lineTo(x(end - 1), y(end - 1));
  }

  private paintLines(context: CanvasRenderingContext2D, scale: number): void {
    context.lineWidth = 0.9 / Math.max(scale, 0.02);
    context.strokeStyle = this.colours.line;
    context.stroke(this.plain);
    context.lineWidth = 1.2 / Math.max(scale, 0.02);
    context.strokeStyle = this.colours.cut;
    context.stroke(this.cuts);
    const dash = 5 / Math.max(scale, 0.2);
    context.setLineDash([dash, dash]);
    context.lineWidth = 1.4 / Math.max(scale, 0.02);
    context.strokeStyle = this.colours.saved;
    context.stroke(this.saved);
    context.setLineDash([]);
  }

  private paintLinesOf(context: CanvasRenderingContext2D, scene: Scene, box: number, scale: number): void {
    const path = new Path2D();
    scene.lines.forEach(({ from, to }, i) => {
      if (from === box || to === box) this.trace(scene, i, path);
    });
    context.lineWidth = 2.2 / scale;
    context.strokeStyle = this.colours.accent;
    context.stroke(path);
  }

  private fillOf(box: Scene['boxes'][number]): [fill: string, edge: string] {
    const { colours } = this;
    if (box.mark === 'fresh') return [colours.freshSoft, colours.fresh];
    if (box.mark === 'gone') return [colours.goneSoft, colours.gone];
    if (box.kernel === null && box.derivative) return [colours.derivativeSoft, colours.derivative];
    if (box.kernel === null) return [box.inside.length > 0 ? colours.well : colours.box, colours.edge];
    const hue = kernelHue(box.kernel);
    return colours.dark
      ? [`oklch(0.32 0.06 ${hue})`, `oklch(0.68 0.12 ${hue})`]
      : [`oklch(0.94 0.045 ${hue})`, `oklch(0.62 0.12 ${hue})`];
  }

  private paintBox(
    context: CanvasRenderingContext2D,
    scene: Scene,
    i: number,
    scale: number,
    hovered: boolean,
    selected: boolean,
  ): void {
    const { colours } = this;
    const box = scene.boxes[i];
    const [cx, cy, width, height] = [
      scene.layout.centres[2 * i],
      scene.layout.centres[2 * i + 1],
      scene.widths[i],
      scene.heights[i],
    ];
    const isAround = box.inside.length > 0;
    const [fill, edge] = this.fillOf(box);
    context.beginPath();
    context.roundRect(cx - width / 2, cy - height / 2, width, height, box.end && !isAround ? height / 2 : RADIUS);
    // From far away a box is a dot, and only its edge could be seen.
    context.fillStyle = scale < DOTS && !isAround ? edge : fill;
    context.fill();
    context.lineWidth = (selected ? 3 : hovered ? 2 : 1) / scale;
    context.strokeStyle = selected ? colours.accent : edge;
    context.stroke();
    if (scale < TITLES) return;
    if (box.derivative && box.kernel !== null && !isAround) {
      context.beginPath();
      context.arc(cx + width / 2 - 7, cy - height / 2 + 7, 3, 0, 2 * Math.PI);
      context.fillStyle = colours.derivative;
      context.fill();
    }
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    const second = scale >= SUBTITLES && box.subtitle !== '';
    context.font = `600 ${second ? 11 : 12}px ${colours.font}`;
    context.fillStyle = colours.ink;
    const y = isAround ? cy - height / 2 + 17 : cy;
    context.fillText(shorten(box.title), cx, second ? y - 6.5 : y);
    if (!second) return;
    context.font = `9.5px ${colours.font}`;
    context.fillStyle = colours.muted;
    context.fillText(shorten(box.subtitle), cx, y + 8);
  }
}
