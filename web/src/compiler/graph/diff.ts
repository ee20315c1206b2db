// What a pass changed: which nodes of the graph before are gone, which of the graph after are new.
//
// Passes number the nodes anew but keep their order, so two stages are compared as two texts are: line by
// line, a line being what a node does without what it reads.

import { diffArrays } from 'diff';
import type { StageNode, Stage } from '../report.ts';

export interface Change {
  /** In the stage before. */
  gone: Set<number>;
  /** In the stage after. */
  fresh: Set<number>;
}

/** A comparison that finds more changes than this is not worth its time: then all is new. */
const MAX_CHANGES = 4000;

const signature = ({ op, dtype, shape, attrs }: StageNode): string =>
  `${op} ${dtype} ${shape.join()} ${attrs}`;

export function diff(before: Stage, after: Stage): Change {
  const change: Change = { gone: new Set(), fresh: new Set() };
  const parts = diffArrays(before.nodes.map(signature), after.nodes.map(signature), {
    maxEditLength: MAX_CHANGES,
  }) ?? [
    { count: before.nodes.length, removed: true, added: false },
    { count: after.nodes.length, removed: false, added: true },
  ];
  let [old, now] = [0, 0];
  for (const { count = 0, removed, added } of parts) {
    if (removed) for (const { id } of before.nodes.slice(old, old + count)) change.gone.add(id);
    if (added) for (const { id } of after.nodes.slice(now, now + count)) change.fresh.add(id);
    if (!added) old += count;
    if (!removed) now += count;
  }
  return change;
}
