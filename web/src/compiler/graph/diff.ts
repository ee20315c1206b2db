// Compares a graph before and after a pass: which nodes are gone, and which are new.
//
// Passes renumber the nodes but keep their order. So two stages are compared like texts, line by line; a line is what a node
// does, without what it reads.

import { diffArrays } from 'diff';
import { allNodes, type StageGraph, type StageNode } from '../report.ts';

export interface Change {
  /** Nodes of the stage before. */
  gone: Set<StageNode>;
  /** Nodes of the stage after. */
  fresh: Set<StageNode>;
  /** For each other node of the stage after, the node that it was before. */
  same: Map<StageNode, StageNode>;
}

/** Beyond this many changes the comparison takes too long, and all nodes count as new. */
const MAX_CHANGES = 4000;

const signature = ({ op, dtype, shape, attrs }: StageNode): string =>
  `${op} ${dtype} ${shape.join()} ${attrs}`;

export function diff(before: StageGraph, after: StageGraph): Change {
  const change: Change = { gone: new Set(), fresh: new Set(), same: new Map() };
  const [was, is] = [allNodes(before), allNodes(after)];
  const parts = diffArrays(was.map(signature), is.map(signature), {
    maxEditLength: MAX_CHANGES,
  }) ?? [
    { count: was.length, removed: true, added: false },
    { count: is.length, removed: false, added: true },
  ];
  let [old, now] = [0, 0];
  for (const { count = 0, removed, added } of parts) {
    if (removed) for (const node of was.slice(old, old + count)) change.gone.add(node);
    if (added) for (const node of is.slice(now, now + count)) change.fresh.add(node);
    if (!removed && !added) for (let i = 0; i < count; i++) change.same.set(is[now + i], was[old + i]);
    if (!added) old += count;
    if (!removed) now += count;
  }
  return change;
}
