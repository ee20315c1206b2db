// Places the nodes of a graph in layers, from inputs to results. In a worker, because a large graph
// takes seconds; the page ends the worker to cancel.

import { graphlib, layout as place } from '@dagrejs/dagre';
import type { Layout, LayoutMethods, LayoutRequest } from '../protocol.ts';
import { answer } from './answer.ts';

/** Above this many nodes the layering is chosen by the fast rule instead of the tidy one. */
const TIDY_NODES = 300;

interface Point {
  x: number;
  y: number;
}

function layout({ widths, heights, edges }: LayoutRequest): Layout {
  const graph = new graphlib.Graph({ multigraph: true });
  graph.setGraph({
    rankdir: 'TB',
    nodesep: 16,
    edgesep: 8,
    ranksep: 30,
    ranker: widths.length > TIDY_NODES ? 'longest-path' : 'network-simplex',
  });
  graph.setDefaultEdgeLabel(() => ({}));
  widths.forEach((width, i) => graph.setNode(String(i), { width, height: heights[i] }));
  for (let e = 0; 2 * e < edges.length; e++)
    graph.setEdge(String(edges[2 * e]), String(edges[2 * e + 1]), {}, String(e));
  place(graph);

  const centres = new Float32Array(2 * widths.length);
  widths.forEach((_, i) => {
    const { x, y } = graph.node(String(i)) as Point;
    centres.set([x, y], 2 * i);
  });
  const starts = new Uint32Array(edges.length / 2 + 1);
  const points: number[] = [];
  for (let e = 0; 2 * e < edges.length; e++) {
    const label: unknown = graph.edge(String(edges[2 * e]), String(edges[2 * e + 1]), String(e));
    for (const { x, y } of (label as { points: Point[] }).points) points.push(x, y);
    starts[e + 1] = points.length / 2;
  }
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
