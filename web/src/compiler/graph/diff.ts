// What a pass changed: which nodes of the graph before are gone, which of the graph after are new.
//
// Passes number the nodes anew, so nodes are matched by what they are: first equal nodes of equal
// inputs, from the inputs down; then, from the results up, nodes that do the same although something
// above them changed - without this, one folded constant would mark everything below it. Linear.

import type { GraphNode, Stage } from '../report.ts';

export interface Change {
  /** In the stage before. */
  gone: Set<number>;
  /** In the stage after. */
  fresh: Set<number>;
}

interface View {
  stage: Stage;
  nodes: Map<number, GraphNode>;
  inputs: Map<number, number[]>;
}

function view(stage: Stage): View {
  const inputs = new Map<number, number[]>();
  for (const { id } of stage.nodes) inputs.set(id, []);
  for (const { from, to } of stage.edges) inputs.get(to)?.push(from);
  return { stage, nodes: new Map(stage.nodes.map((node) => [node.id, node])), inputs };
}

const signature = ({ op, dtype, shape, detail }: GraphNode): string =>
  `${op} ${dtype} ${shape.join()} ${detail}`;

/** Equal numbers for nodes that are equal with all that leads to them. */
class Numbers {
  private readonly known = new Map<string, number>();

  of({ stage, inputs }: View): Map<number, number> {
    const numbers = new Map<number, number>();
    // Stages list a node after its inputs.
    for (const node of stage.nodes) {
      const from = (inputs.get(node.id) ?? []).map((id) => numbers.get(id) ?? -1);
      const key = `${signature(node)} <- ${from.join()}`;
      let number = this.known.get(key);
      if (number === undefined) this.known.set(key, (number = this.known.size));
      numbers.set(node.id, number);
    }
    return numbers;
  }
}

function matchEqual(before: View, after: View): Map<number, number> {
  const numbers = new Numbers();
  const places = new Map<number, number[]>();
  for (const [id, number] of numbers.of(before)) {
    const list = places.get(number);
    if (list === undefined) places.set(number, [id]);
    else list.push(id);
  }
  const matched = new Map<number, number>();
  for (const [id, number] of numbers.of(after)) {
    const found = places.get(number)?.shift();
    if (found !== undefined) matched.set(found, id);
  }
  return matched;
}

/** Follows pairs of results and of matched nodes to their inputs as long as both do the same. */
function matchUpwards(before: View, after: View, matched: Map<number, number>): void {
  const taken = new Set(matched.values());
  const pairs: [number, number][] = before.stage.outputs.map((id, i) => [id, after.stage.outputs[i]]);
  while (pairs.length > 0) {
    const [was, is] = pairs.pop() as [number, number];
    if (matched.has(was) || taken.has(is)) continue;
    const [old, now] = [before.nodes.get(was), after.nodes.get(is)];
    if (old === undefined || now === undefined || signature(old) !== signature(now)) continue;
    matched.set(was, is);
    taken.add(is);
    const inputs = after.inputs.get(is) ?? [];
    before.inputs.get(was)?.forEach((id, i) => i < inputs.length && pairs.push([id, inputs[i]]));
  }
}

export function diff(before: Stage, after: Stage): Change {
  const [old, now] = [view(before), view(after)];
  const matched = matchEqual(old, now);
  matchUpwards(old, now, matched);
  const kept = new Set(matched.values());
  const others = (stage: Stage, known: { has(id: number): boolean }): Set<number> =>
    new Set(stage.nodes.filter(({ id }) => !known.has(id)).map(({ id }) => id));
  return { gone: others(before, matched), fresh: others(after, kept) };
}
