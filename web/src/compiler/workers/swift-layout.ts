// A layout in time linear in the lines, for graphs that dagre takes minutes for. Each node is in the layer below everything it
// reads. Layers are ordered by the mean position of their neighbours, in sweeps down and up, and rows are centred. Lines are
// straight from box to box, without helper nodes.

import type { Layout, LayoutRequest } from '../protocol.ts';

const GAP = 16;
const BETWEEN = 34;
const SWEEPS = 6;
/** The most boxes in a row; a layer with more has several rows. */
const MOST_IN_ROW = 60;

/** The layer of each node: below everything it reads. Nodes must come after what they read. */
export function layersOf(count: number, edges: Uint32Array): Uint32Array {
  const layer = new Uint32Array(count);
  const order = Array.from({ length: edges.length / 2 }, (_, e) => e);
  order.sort((a, b) => edges[2 * a + 1] - edges[2 * b + 1]);
  for (const e of order) layer[edges[2 * e + 1]] = Math.max(layer[edges[2 * e + 1]], layer[edges[2 * e]] + 1);
  return layer;
}

function rowsOf({ widths, edges }: LayoutRequest): number[][] {
  const layer = layersOf(widths.length, edges);
  const layers: number[][] = [];
  // Nodes without inputs are directly above their first reader instead of at the top.
  for (let e = edges.length - 2; e >= 0; e -= 2) if (layer[edges[e]] === 0) layer[edges[e]] = Math.max(0, layer[edges[e + 1]] - 1);
  layer.forEach((at, node) => (layers[at] ??= []).push(node));
  return layers.flatMap((nodes) =>
    Array.from({ length: Math.ceil(nodes.length / MOST_IN_ROW) }, (_, i) => nodes.slice(i * MOST_IN_ROW, (i + 1) * MOST_IN_ROW)),
  );
}

/** Places the nodes of a row side by side, in order, centred at x = 0; returns the row's width. */
function spread(row: readonly number[], widths: Float32Array, x: Float32Array): number {
  const width = row.reduce((sum, node) => sum + widths[node] + GAP, -GAP);
  let at = -width / 2;
  for (const node of row) {
    x[node] = at + widths[node] / 2;
    at += widths[node] + GAP;
  }
  return width;
}

function neighbours(count: number, edges: Uint32Array, side: 0 | 1): number[][] {
  const lists: number[][] = Array.from({ length: count }, () => []);
  for (let e = 0; e < edges.length; e += 2) lists[edges[e + side]].push(edges[e + 1 - side]);
  return lists;
}

export function swiftLayout(request: LayoutRequest): Layout {
  const { widths, heights, edges } = request;
  const rows = rowsOf(request);
  const x = new Float32Array(widths.length);
  for (const row of rows) spread(row, widths, x);
  const readers = neighbours(widths.length, edges, 0);
  const read = neighbours(widths.length, edges, 1);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    const mean = (node: number): number => {
      const list = (down ? read : readers)[node];
      return list.length === 0 ? x[node] : list.reduce((sum, each) => sum + x[each], 0) / list.length;
    };
    for (const row of down ? rows : [...rows].reverse()) {
      const wanted = new Map(row.map((node) => [node, mean(node)]));
      row.sort((a, b) => (wanted.get(a) as number) - (wanted.get(b) as number));
      spread(row, widths, x);
    }
  }
  const y = new Float32Array(widths.length);
  let height = 0;
  for (const row of rows) {
    const tallest = Math.max(...row.map((node) => heights[node]));
    for (const node of row) y[node] = height + tallest / 2;
    height += tallest + BETWEEN;
  }
  const width = Math.max(0, ...rows.map((row) => spread(row, widths, x)));
  const centres = new Float32Array(2 * widths.length);
  for (let node = 0; node < widths.length; node++) centres.set([x[node] + width / 2, y[node]], 2 * node);
  const points = new Float32Array(2 * edges.length);
  for (let e = 0; e < edges.length; e += 2) {
    const [from, to] = [edges[e], edges[e + 1]];
    points.set([centres[2 * from], y[from] + heights[from] / 2, centres[2 * to], y[to] - heights[to] / 2], 2 * e);
  }
  const starts = Uint32Array.from({ length: edges.length / 2 + 1 }, (_, e) => 2 * e);
  return { centres, points, starts, width, height: Math.max(0, height - BETWEEN) };
}
