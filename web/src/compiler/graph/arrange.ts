// Places everything in a drawing. The contents of a box are placed first, because their size decides the box's. Then all parts
// are put into one scene, in which a box comes before its contents.

import { shorten, type Box, type Drawing } from './scene.ts';
import type { Layout, LayoutRequest } from '../protocol.ts';

const CHAR_WIDTH = 6.7;
const PADDING = 22;
const HEIGHT = 36;
const MIN_WIDTH = 52;
/** Space around the contents of a box: MARGIN at its sides and bottom, TITLE above for the box's title, NAME for the
 *  region's name. */
const MARGIN = 16;
const TITLE = 34;
const NAME = 22;

/** The area of a region inside its box. */
export interface Frame {
  /** The index of its box in `boxes`. */
  box: number;
  name: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A drawing with coordinates. */
export interface Scene extends Drawing {
  layout: Layout;
  widths: Float32Array;
  heights: Float32Array;
  frames: Frame[];
}

function titleWidth({ title, subtitle }: Box): number {
  const chars = Math.max(shorten(title).length, 0.88 * shorten(subtitle).length);
  return Math.max(MIN_WIDTH, Math.round(CHAR_WIDTH * chars + PADDING));
}

const frameHeight = ({ layout }: Scene): number => NAME + layout.height + MARGIN;
const frameWidth = ({ layout }: Scene): number => layout.width + 2 * MARGIN;

function boxSize(box: Box, insides: readonly Scene[]): { width: number; height: number } {
  if (insides.length === 0) return { width: titleWidth(box), height: HEIGHT };
  const width = insides.reduce((sum, inside) => sum + frameWidth(inside) + MARGIN, MARGIN);
  return {
    width: Math.max(titleWidth(box), width),
    height: TITLE + Math.max(...insides.map(frameHeight)) + MARGIN,
  };
}

function layoutRequest({ boxes, lines }: Drawing, insides: readonly Scene[][]): LayoutRequest {
  const sizes = boxes.map((box, i) => boxSize(box, insides[i]));
  const edges = new Uint32Array(2 * lines.length);
  lines.forEach(({ from, to }, i) => edges.set([from, to], 2 * i));
  return {
    widths: Float32Array.from(sizes, ({ width }) => width),
    heights: Float32Array.from(sizes, ({ height }) => height),
    edges,
  };
}

/** Adds a part to a whole, moved by (x, y). */
function put(whole: Scene, part: Scene, x: number, y: number): void {
  const first = whole.boxes.length;
  const move = (places: Float32Array): Float32Array => places.map((at, i) => at + (i % 2 === 0 ? x : y));
  const join = (a: Float32Array, b: Float32Array): Float32Array => Float32Array.of(...a, ...b);
  const { layout } = whole;
  const points = layout.points.length / 2;
  layout.starts = Uint32Array.of(...layout.starts, ...part.layout.starts.subarray(1).map((start) => start + points));
  layout.centres = join(layout.centres, move(part.layout.centres));
  layout.points = join(layout.points, move(part.layout.points));
  whole.widths = join(whole.widths, part.widths);
  whole.heights = join(whole.heights, part.heights);
  whole.boxes.push(...part.boxes);
  whole.lines.push(...part.lines.map((line) => ({ ...line, from: line.from + first, to: line.to + first })));
  whole.frames.push(...part.frames.map((frame) => ({ ...frame, box: frame.box + first, x: frame.x + x, y: frame.y + y })));
}

function putInsides(whole: Scene, box: number, insides: readonly Scene[]): void {
  const { layout, widths, heights } = whole;
  const y = layout.centres[2 * box + 1] - heights[box] / 2 + TITLE;
  const height = heights[box] - TITLE - MARGIN;
  let x = layout.centres[2 * box] - widths[box] / 2 + MARGIN;
  insides.forEach((inside, k) => {
    const width = frameWidth(inside);
    whole.frames.push({ box, name: whole.boxes[box].inside[k].name, x, y, width, height });
    put(whole, inside, x + MARGIN, y + NAME);
    x += width + MARGIN;
  });
}

/** Places a drawing. Recursion is fine here: the core limits the nesting of regions. */
export async function arrange(drawing: Drawing, place: (request: LayoutRequest) => Promise<Layout>): Promise<Scene> {
  const insides: Scene[][] = [];
  for (const { inside } of drawing.boxes) {
    const scenes: Scene[] = [];
    for (const { drawing: inner } of inside) scenes.push(await arrange(inner, place));
    insides.push(scenes);
  }
  const { widths, heights, edges } = layoutRequest(drawing, insides);
  const layout = await place({ widths, heights, edges });
  const { boxes, lines, of } = drawing;
  const whole: Scene = { of, boxes: [...boxes], lines: [...lines], layout, widths, heights, frames: [] };
  insides.forEach((scenes, box) => putInsides(whole, box, scenes));
  return whole;
}
