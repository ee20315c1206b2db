// Places the nodes of a graph in layers, from inputs to results. It runs in a worker, because a large graph takes seconds; the
// page ends the worker to cancel.
//
// A line across many layers (far) needs a helper node in each of them, and pushes everything there aside. So far lines are not
// part of the layout and are drawn straight; only the nearest line on either side of each node always is, which keeps every
// node below what it reads.

import { graphlib, layout as place } from '@dagrejs/dagre';
import type { Layout, LayoutMethods, LayoutRequest } from '../protocol.ts';
import { answer } from './answer.ts';
import { layersOf, swiftLayout } from './swift-layout.ts';

/** Lines across more layers than this are far. */
const FAR = 6;
/** The most boxes for dagre, whose time grows with their square: this many take it a second. */
const MANY = 400;

interface Point {
  x: number;
  y: number;
}

/** Which edges are part of the layout; the others are far. */
function near(count: number, edges: Uint32Array): boolean[] {
  const layer = layersOf(count, edges);
  const span = (e: number): number => layer[edges[2 * e + 1]] - layer[edges[2 * e]];
  const nearest = new Map<string, number>();
  const note = (key: string, e: number): void => {
    const known = nearest.get(key);
    if (known === undefined || span(e) < span(known)) nearest.set(key, e);
  };
  for (let e = 0; 2 * e < edges.length; e++) {
    note(`from ${edges[2 * e]}`, e);
    note(`to ${edges[2 * e + 1]}`, e);
  }
  const kept = new Set(nearest.values());
  return Array.from({ length: edges.length / 2 }, (_, e) => span(e) <= FAR || kept.has(e));
}

function buildGraph({ widths, heights, edges }: LayoutRequest, isNear: boolean[]): graphlib.Graph {
  const graph = new graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'TB', nodesep: 16, edgesep: 8, ranksep: 30 });
  graph.setDefaultEdgeLabel(() => ({}));
  widths.forEach((width, i) => graph.setNode(String(i), { width, height: heights[i] }));
  isNear.forEach((kept, e) => {
    if (kept) graph.setEdge(String(edges[2 * e]), String(edges[2 * e + 1]), {}, String(e));
  });
  return graph;
}

function layout(request: LayoutRequest): Layout {
  const { widths, heights, edges } = request;
  if (widths.length > MANY) return swiftLayout(request);
  const isNear = near(widths.length, edges);
  const graph = buildGraph(request, isNear);
  place(graph);
  const centres = new Float32Array(2 * widths.length);
  widths.forEach((_, i) => {
    const { x, y } = graph.node(String(i)) as Point;
    centres.set([x, y], 2 * i);
  });
  const starts = new Uint32Array(edges.length / 2 + 1);
  const points: number[] = [];
  isNear.forEach((kept, e) => {
    const [from, to] = [edges[2 * e], edges[2 * e + 1]];
    const label: unknown = kept ? graph.edge(String(from), String(to), String(e)) : null;
    const far = [
      { x: centres[2 * from], y: centres[2 * from + 1] + heights[from] / 2 },
      { x: centres[2 * to], y: centres[2 * to + 1] - heights[to] / 2 },
    ];
    const way = label === null ? far : (label as { points: Point[] }).points;
    for (const { x, y } of way) points.push(x, y);
    starts[e + 1] = points.length / 2;
  });
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { centres, points: Float32Array.from(points), starts, width, height };
}

answer<LayoutMethods>({ layout }, (error) => ({
  name: 'LayoutError',
  message: String(error),
  hint: '',
  line: null,
  column: null,
}));
