// Paints a scene on a canvas. Lines are stored as paths in world coordinates, several neighbouring ones per path; paths and
// boxes out of sight are skipped. Boxes that are too small to read have no text, and from far away all boxes of a colour are
// rectangles in one path. So a frame of 5,000 nodes takes a few milliseconds.

import type { Frame, Scene } from './arrange.ts';
import type { Camera } from './camera.ts';
import { shorten } from './scene.ts';

/** Below these scales: no second lines; no texts at all; boxes of one colour in one path. */
const SUBTITLES = 0.55;
const TITLES = 0.32;
const DOTS = 0.15;
const RADIUS = 8;
/** Lines per path. */
const CHUNK = 64;
/** The most lines per box that lead to places out of sight; further ones would overlap. */
const MOST_LEAVING = 32;

/** Neighbouring lines of one kind as a path, and its bounding box. */
interface Lines {
  path: Path2D;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

interface View {
  corner: { x: number; y: number };
  end: { x: number; y: number };
}

const KINDS = ['plain', 'cuts', 'saved'] as const;
type Kind = (typeof KINDS)[number];

export interface Highlight {
  hovered: number | null;
  selected: number | null;
  /** For each box, whether it belongs to the selection; null if nothing is selected. */
  lit: Uint8Array | null;
}

/** The opacity of boxes that do not belong to the selection. */
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

/** The colour of a kernel. Kernels with neighbouring numbers have very different hues. */
export function kernelHue(kernel: number): number {
  return (40 + kernel * 137.508) % 360;
}

const kindOf = ({ cut, saved }: Scene['lines'][number]): Kind => (saved ? 'saved' : cut ? 'cuts' : 'plain');

export class Painter {
  private colours: Colours;
  private lines: Record<Kind, Lines[]> = { plain: [], cuts: [], saved: [] };
  /** The boxes that contain others, and all others. */
  private around: number[] = [];
  private plainBoxes: number[] = [];
  private scene: Scene | null = null;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.colours = readColours(canvas);
  }

  setScene(scene: Scene | null): void {
    this.scene = scene;
    this.lines = { plain: [], cuts: [], saved: [] };
    this.around = [];
    this.plainBoxes = [];
    if (scene === null) return;
    scene.boxes.forEach(({ inside }, i) => (inside.length > 0 ? this.around : this.plainBoxes).push(i));
    const top = ({ from }: Scene['lines'][number]): number => scene.layout.centres[2 * from + 1];
    const order = scene.lines.map((_, i) => i).sort((a, b) => top(scene.lines[a]) - top(scene.lines[b]));
    for (const kind of KINDS) {
      const own = order.filter((i) => kindOf(scene.lines[i]) === kind);
      for (let i = 0; i < own.length; i += CHUNK) this.lines[kind].push(this.chunk(scene, own.slice(i, i + CHUNK)));
    }
  }

  private chunk(scene: Scene, lines: readonly number[]): Lines {
    const { points, starts } = scene.layout;
    const chunk: Lines = { path: new Path2D(), left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
    for (const line of lines) {
      this.trace(scene, line, chunk.path);
      for (let p = starts[line]; p < starts[line + 1]; p++) {
        chunk.left = Math.min(chunk.left, points[2 * p]);
        chunk.right = Math.max(chunk.right, points[2 * p]);
        chunk.top = Math.min(chunk.top, points[2 * p + 1]);
        chunk.bottom = Math.max(chunk.bottom, points[2 * p + 1]);
      }
    }
    return chunk;
  }

  /** Reads the page's colours again, after its theme has changed. */
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
    // Boxes that contain others are painted first, behind the lines.
    for (const i of this.around) {
      paint(i);
      this.paintFrames(context, scene.frames.filter(({ box }) => box === i), scale);
    }
    this.paintLines(context, scene, scale, { corner, end });
    if (selected !== null) this.paintLinesOf(context, scene, selected, scale);
    if (scale < DOTS && lit === null) this.paintDots(context, scene, { corner, end });
    else for (const i of this.plainBoxes) paint(i);
    if (scale < DOTS && lit === null) for (const i of [hovered, selected]) if (i !== null) paint(i);
  }

  /** Paints boxes from far away: a path per colour. */
  private paintDots(context: CanvasRenderingContext2D, scene: Scene, { corner, end }: View): void {
    const { layout: { centres }, widths, heights } = scene;
    const paths = new Map<string, Path2D>();
    for (const i of this.plainBoxes) {
      const [x, y] = [centres[2 * i] - widths[i] / 2, centres[2 * i + 1] - heights[i] / 2];
      if (x > end.x || y > end.y || x + widths[i] < corner.x || y + heights[i] < corner.y) continue;
      const [, edge] = this.fillOf(scene.boxes[i]);
      let path = paths.get(edge);
      if (path === undefined) paths.set(edge, (path = new Path2D()));
      path.rect(x, y, widths[i], heights[i]);
    }
    for (const [colour, path] of paths) {
      context.fillStyle = colour;
      context.fill(path);
    }
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
      // A line over a long distance leaves and arrives vertically.
      const bend = Math.min(80, Math.abs(y(first + 1) - y(first)) / 2);
      path.bezierCurveTo(x(first), y(first) + bend, x(first + 1), y(first + 1) - bend, x(first + 1), y(first + 1));
      return;
    }
    for (let p = first + 1; p < end - 1; p++)
      path.quadraticCurveTo(x(p), y(p), (x(p) + x(p + 1)) / 2, (y(p) + y(p + 1)) / 2);
    path.lineTo(x(end - 1), y(end - 1));
  }

  /** At scales at which boxes are readable, lines are left out that only pass by, from far above to far below: there may be
   *  thousands of them, and nobody can follow them. */
  private paintLines(context: CanvasRenderingContext2D, scene: Scene, scale: number, view: View): void {
    const thin = 1 / Math.max(scale, 0.02);
    const paths = scale < TITLES ? this.linesIn(view) : this.linesNear(scene, view);
    const stroke = (kind: Kind, colour: string, width: number): void => {
      context.lineWidth = width;
      context.strokeStyle = colour;
      for (const path of paths[kind]) context.stroke(path);
    };
    stroke('plain', this.colours.line, 0.9 * thin);
    stroke('cuts', this.colours.cut, 1.2 * thin);
    const dash = 5 / Math.max(scale, 0.2);
    context.setLineDash([dash, dash]);
    stroke('saved', this.colours.saved, 1.4 * thin);
    context.setLineDash([]);
  }

  private linesIn({ corner, end }: View): Record<Kind, Path2D[]> {
    const seen = (all: readonly Lines[]): Path2D[] =>
      all.filter(({ left, top, right, bottom }) => left <= end.x && right >= corner.x && top <= end.y && bottom >= corner.y).map(({ path }) => path);
    const { plain, cuts, saved } = this.lines;
    return { plain: seen(plain), cuts: seen(cuts), saved: seen(saved) };
  }

  /** The lines with at least one end within a screen's distance of the view. Of the lines that connect a box with places
   *  further away, only some. */
  private linesNear(scene: Scene, { corner, end }: View): Record<Kind, Path2D[]> {
    const { centres } = scene.layout;
    const [width, height] = [end.x - corner.x, end.y - corner.y];
    const isNear = (box: number): boolean => {
      const [x, y] = [centres[2 * box], centres[2 * box + 1]];
      return x > corner.x - width && x < end.x + width && y > corner.y - height && y < end.y + height;
    };
    const paths = { plain: [new Path2D()], cuts: [new Path2D()], saved: [new Path2D()] };
    const leaving = new Map<number, number>();
    scene.lines.forEach((line, i) => {
      const [from, to] = [isNear(line.from), isNear(line.to)];
      if (!from && !to) return;
      const box = from ? line.from : line.to;
      const before = leaving.get(box) ?? 0;
      if (from !== to) leaving.set(box, before + 1);
      if (from === to || before < MOST_LEAVING) this.trace(scene, i, paths[kindOf(line)][0]);
    });
    return paths;
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
    // From far away only the edge of a box would be visible, so its colour fills the box.
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
