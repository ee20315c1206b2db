// Turns the strokes of a pen into 28 x 28 grey values in the way MNIST was made: the digit is scaled to a box of 20 x 20, and
// its centre of mass is moved to the middle. Strokes are scaled before they are inked, so small and large drawings get equally
// thick lines.

export interface Point {
  x: number;
  y: number;
}

export type Stroke = readonly Point[];

export const SIDE = 28;
const BOX = 20;
/** Half the thickness of a line, in pixels of the result; MNIST's lines are about 3 wide. */
const RADIUS = 1.25;
/** The width of a line's soft edge, in pixels of the result. */
const EDGE = 1.2;
/** MNIST's centre of mass, counted from the middle of the first pixel. */
const MIDDLE = 14;
/** The smallest drawing that is enlarged to the full box, as a share of the pad. */
const SMALLEST = 0.15;

interface Placement {
  scale: number;
  dx: number;
  dy: number;
}

function fitBox(strokes: readonly Stroke[]): Placement {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { x, y } of strokes.flat()) {
    left = Math.min(left, x);
    top = Math.min(top, y);
    right = Math.max(right, x);
    bottom = Math.max(bottom, y);
  }
  const scale = (BOX - 2 * RADIUS) / Math.max(right - left, bottom - top, SMALLEST);
  const dx = MIDDLE - (scale * (left + right)) / 2;
  const dy = MIDDLE - (scale * (top + bottom)) / 2;
  return { scale, dx, dy };
}

/** The squared distance of (px, py) from the segment a-b. */
function distance2(px: number, py: number, a: Point, b: Point): number {
  const vx = b.x - a.x;
  const vy = b.y - a.y;
  const length2 = vx * vx + vy * vy;
  const along = length2 > 0 ? ((px - a.x) * vx + (py - a.y) * vy) / length2 : 0;
  const t = Math.min(1, Math.max(0, along));
  return (px - a.x - t * vx) ** 2 + (py - a.y - t * vy) ** 2;
}

function ink(strokes: readonly Stroke[], { scale, dx, dy }: Placement): Float32Array {
  const nearest = new Float32Array(SIDE * SIDE).fill(Infinity);
  const reach = RADIUS + EDGE;
  for (const stroke of strokes) {
    const points = stroke.map(({ x, y }) => ({ x: x * scale + dx, y: y * scale + dy }));
    points.forEach((b, i) => {
      const a = points[Math.max(0, i - 1)];
      const x1 = Math.min(SIDE - 1, Math.ceil(Math.max(a.x, b.x) + reach));
      const y1 = Math.min(SIDE - 1, Math.ceil(Math.max(a.y, b.y) + reach));
      for (let y = Math.max(0, Math.floor(Math.min(a.y, b.y) - reach)); y <= y1; y++)
        for (let x = Math.max(0, Math.floor(Math.min(a.x, b.x) - reach)); x <= x1; x++) {
          const at = y * SIDE + x;
          nearest[at] = Math.min(nearest[at], distance2(x, y, a, b));
        }
    });
  }
  return nearest.map((d2) => Math.min(1, Math.max(0, (RADIUS - Math.sqrt(d2)) / EDGE + 0.5)));
}

function centreOfMass(pixels: Float32Array): Point {
  let [mass, x, y] = [0, 0, 0];
  pixels.forEach((value, i) => {
    mass += value;
    x += value * (i % SIDE);
    y += value * Math.floor(i / SIDE);
  });
  return { x: x / mass, y: y / mass };
}

/** 784 values in [0, 1], or null if nothing is drawn. Points are in [0, 1] of the pad. */
export function rasterise(strokes: readonly Stroke[]): Float32Array | null {
  if (strokes.length === 0) return null;
  const place = fitBox(strokes);
  const centre = centreOfMass(ink(strokes, place));
  const dx = place.dx + MIDDLE - centre.x;
  const dy = place.dy + MIDDLE - centre.y;
  return ink(strokes, { scale: place.scale, dx, dy });
}
