// Finds the values that pass through memory between kernels. A view stands for the value it looks at: what a kernel reads
// through a view comes from the kernel that wrote that value.

import type { StageEdge, StageGraph } from '../report.ts';

/** A value that one kernel writes and another reads. */
export interface Cut {
  edge: StageEdge;
  from: number;
  to: number;
}

/** For each node, the kernel that wrote its value, looking through views; null if no kernel did, as for arguments. */
function writers({ nodes, edges }: StageGraph): Map<number, number | null> {
  const inputs = new Map<number, number[]>();
  for (const { from, to } of edges) {
    const list = inputs.get(to);
    if (list === undefined) inputs.set(to, [from]);
    else list.push(from);
  }
  const found = new Map<number, number | null>();
  // Stages list each node after the nodes that it reads.
  for (const { id, group } of nodes) {
    const [seen, ...others] = inputs.get(id) ?? [];
    const isView = group === null && seen !== undefined && others.length === 0;
    found.set(id, isView ? (found.get(seen) ?? null) : group);
  }
  return found;
}

export function cutsOf(stage: StageGraph): Cut[] {
  const writer = writers(stage);
  const group = new Map(stage.nodes.map((node) => [node.id, node.group]));
  return stage.edges.flatMap((edge) => {
    const [from, to] = [writer.get(edge.from) ?? null, group.get(edge.to) ?? null];
    return from === null || to === null || from === to ? [] : [{ edge, from, to }];
  });
}
