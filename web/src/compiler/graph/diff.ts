// What a pass changed: which nodes of the graph before are gone, which of the graph after are new.
//
// Passes number the nodes anew but keep their order, so two stages are compared as two texts are: line by
// line, a line being what a node does without what it reads.

import { diffArrays } from 'diff';
import { allNodes, type StageGraph, type StageNode } from '../report.ts';

export interface Change {
  /** In the stage before. */
  gone: Set<StageNode>;
  /** In the stage after. */
  fresh: Set<StageNode>;
  /** Per node of the stage after that is not new, the one that it was before. */
  same: Map<StageNode, StageNode>;
}

/** A comparison that finds more changes than this is not worth its time: then all is new. */
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
