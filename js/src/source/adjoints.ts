// Finds which values are cotangents of which, as far as matrix products tell: for y = a b with cotangent dy, reverse mode makes
// da = dy b^T and db = a^T dy. This only affects names, so a wrong guess does no harm.

import { listAttr, sameShape, type Graph, type GraphNode } from './graph.js';

/** The node whose last two axes this node swaps; -1 if it is no such transpose. */
function transposed(graph: Graph, id: number): number {
  const { op, attrs, inputs, shape } = graph.nodes[id]!;
  if (op !== 'transpose') return -1;
  const last = shape.length - 1;
  const axes = listAttr({ attrs } as GraphNode, 'axes');
  return axes.every((axis, i) => axis === (i < last - 1 ? i : 2 * last - 1 - i)) ? inputs[0]! : -1;
}

/** The sum of a product and a bias, if only that reads the product; otherwise the product. */
function biased(graph: Graph, readers: readonly number[], id: number): number {
  const [only, ...others] = readers.filter((reader) => graph.nodes[reader]!.op !== 'transpose');
  return only !== undefined && others.length === 0 && graph.nodes[only]!.op === 'add' ? only : id;
}

/** Maps cotangents to the nodes that they belong to. */
export function adjoints(graph: Graph, readers: readonly number[][]): Map<number, number> {
  const found = new Map<number, number>();
  const products = graph.nodes.flatMap(({ op }, id) => (op === 'matmul' ? [id] : []));
  const note = (cotangent: number, of: number): void => {
    if (cotangent > of && !found.has(cotangent) && sameShape(graph.nodes[cotangent]!.shape, graph.nodes[of]!.shape)) found.set(cotangent, of);
  };
  const byFactor = [0, 1].map((side) => {
    const map = new Map<number, number[]>();
    for (const id of products) {
      const factor = graph.nodes[id]!.inputs[side]!;
      map.set(factor, [...(map.get(factor) ?? []), id]);
    }
    return map;
  }) as [Map<number, number[]>, Map<number, number[]>];
  for (const id of products) {
    const [a, b] = graph.nodes[id]!.inputs as [number, number];
    for (const y of byFactor[0].get(transposed(graph, a)) ?? []) note(b, biased(graph, readers[y]!, y));
    for (const y of byFactor[1].get(transposed(graph, b)) ?? [])
      if (sameShape(graph.nodes[y]!.shape, graph.nodes[a]!.shape)) note(id, graph.nodes[y]!.inputs[0]!);
  }
  return found;
}
