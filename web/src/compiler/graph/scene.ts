// What the canvas draws: boxes and lines with places. Made from a stage, node by node, or - where
// that is too much to look at - kernel by kernel.

import { GROUPS, type StageNode, type Kernel, type Report, type Stage } from '../report.ts';
import { cutsOf } from './cuts.ts';
import type { Layout, LayoutRequest } from '../protocol.ts';

/** More boxes than this are not drawn: nodes are then shown by kernel, or as text. */
export const MAX_NODES = 1500;

export interface Box {
  /** Its node or kernel. */
  id: number;
  title: string;
  subtitle: string;
  /** The kernel whose colour it has; null: it belongs to none. */
  kernel: number | null;
  mark: 'none' | 'fresh' | 'gone';
  /** An input or a result of the program. */
  end: boolean;
}

export interface Line {
  /** Places in `boxes`. */
  from: number;
  to: number;
  /** True where the value goes through memory, from one kernel to another. */
  cut: boolean;
}

export interface Drawing {
  boxes: Box[];
  lines: Line[];
  /** What the ids of the boxes mean. */
  of: 'nodes' | 'kernels';
}

const CHAR_WIDTH = 6.7;
const PADDING = 22;
const HEIGHT = 36;
const MIN_WIDTH = 52;
/** A longer text is cut off in the box. */
const MAX_CHARS = 26;

export const shorten = (text: string): string =>
  text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS - 1)}…` : text;

export function shapeText(shape: readonly number[]): string {
  return shape.length === 0 ? 'scalar' : shape.join(' × ');
}

/**
 * A number is written into the boxes that read it: mul(·, 0.5). A box of its own would have lines to
 * everywhere. Numbers that a pass made or removed are of interest, so they keep boxes of their own.
 */
function isWrittenOut({ id, op, shape }: StageNode, ends: ReadonlySet<number>): boolean {
  return op === 'constant' && shape.length === 0 && !ends.has(id);
}

export function drawNodes(
  stage: Stage,
  marks: { ids: ReadonlySet<number>; mark: 'fresh' | 'gone' } | null,
): Drawing {
  const { nodes } = stage;
  const place = new Map(nodes.map(({ id }, i) => [id, i]));
  const inputs: number[][] = nodes.map(() => []);
  for (const { from, to } of stage.edges) inputs[place.get(to) ?? -1]?.push(place.get(from) ?? -1);
  const outputs = new Set(stage.outputs);
  const ends = new Set([...outputs, ...(marks?.ids ?? [])]);
  const written = nodes.map((node) => isWrittenOut(node, ends));
  const titleOf = (i: number): string => {
    const { op, attrs, shape } = nodes[i];
    if (op === 'constant' && shape.length === 0) return attrs;
    if (!inputs[i].some((input) => written[input])) return op;
    return `${op}(${inputs[i].map((input) => (written[input] ? nodes[input].attrs : '·')).join(', ')})`;
  };
  const boxes: Box[] = [];
  const boxOf = new Map<number, number>();
  nodes.forEach(({ id, op, dtype, shape, group }, i) => {
    if (written[i]) return;
    boxOf.set(i, boxes.length);
    boxes.push({
      id,
      title: titleOf(i),
      subtitle: `${shapeText(shape)}${dtype === 'float32' ? '' : ` ${dtype}`}`,
      kernel: group,
      mark: marks !== null && marks.ids.has(id) ? marks.mark : 'none',
      end: op === 'input' || outputs.has(id),
    });
  });
  const cut = new Set(cutsOf(stage).map(({ edge }) => edge));
  const lines = stage.edges.flatMap((edge): Line[] => {
    const [from, to] = [edge.from, edge.to].map((id) => boxOf.get(place.get(id) ?? -1));
    return from === undefined || to === undefined ? [] : [{ from, to, cut: cut.has(edge) }];
  });
  return { boxes, lines, of: 'nodes' };
}

/** One box per kernel, and one line per pair of kernels where one reads what the other wrote. */
export function drawKernels({ kernels, stages }: Report, subtitle: (kernel: Kernel) => string): Drawing {
  const place = new Map(kernels.map(({ id }, i) => [id, i]));
  const boxes = kernels.map((kernel): Box => ({
    id: kernel.id,
    title: kernel.name,
    subtitle: subtitle(kernel),
    kernel: kernel.id,
    mark: 'none',
    end: false,
  }));
  const lines = new Map<number, Line>();
  const stage = stages.find(({ name }) => name === GROUPS);
  for (const cut of stage === undefined ? [] : cutsOf(stage)) {
    const [from, to] = [place.get(cut.from), place.get(cut.to)];
    if (from !== undefined && to !== undefined)
      lines.set(from * kernels.length + to, { from, to, cut: true });
  }
  return { boxes, lines: [...lines.values()], of: 'kernels' };
}

export function boxWidth({ title, subtitle }: Box): number {
  const chars = Math.max(shorten(title).length, 0.88 * shorten(subtitle).length);
  return Math.max(MIN_WIDTH, Math.round(CHAR_WIDTH * chars + PADDING));
}

export function layoutRequest({ boxes, lines }: Drawing): LayoutRequest {
  const edges = new Uint32Array(2 * lines.length);
  lines.forEach(({ from, to }, i) => edges.set([from, to], 2 * i));
  return {
    widths: Float32Array.from(boxes, boxWidth),
    heights: Float32Array.from(boxes, () => HEIGHT),
    edges,
  };
}

/** A drawing with the place of everything in it. */
export interface Scene extends Drawing {
  layout: Layout;
  widths: Float32Array;
  height: number;
}

export function scene(drawing: Drawing, { widths }: LayoutRequest, layout: Layout): Scene {
  return { ...drawing, layout, widths, height: HEIGHT };
}
