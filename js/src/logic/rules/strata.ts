// The order in which relations are derived: components of relations that depend on each other, each after the components it
// needs. A relation that depends on its own negation has no such order; the error names the cycle.

import type { Definition, Relation } from './check.js';
import { RuleError, type Place } from './syntax.js';

/** Relations that are derived together, and the definitions that derive them. */
export interface Component {
  readonly relations: readonly Relation[];
  readonly definitions: readonly Definition[];
  /** Whether one of them depends on itself, directly or through others. */
  readonly recursive: boolean;
}

interface Edge {
  readonly to: Relation;
  readonly negated: boolean;
  readonly at: Place;
}

type Edges = ReadonlyMap<Relation, readonly Edge[]>;

/** The relations that each relation depends on. */
function needsOf(relations: readonly Relation[], definitions: readonly Definition[]): Edges {
  const edges = new Map<Relation, Edge[]>(relations.map((relation) => [relation, []]));
  for (const definition of definitions) {
    const from = edges.get(definition.head.relation)!;
    const { at } = definition;
    if (definition.kind === 'formula') {
      for (const { entries } of definition.sum) for (const { relation: to } of entries) from.push({ to, negated: false, at });
    } else {
      for (const condition of definition.body) {
        if (condition.kind === 'entry') from.push({ to: condition.entry.relation, negated: condition.negated, at });
      }
    }
  }
  return edges;
}

/** The relations in the order in which a depth-first walk over `next` leaves them (postorder). */
function leaving(starts: readonly Relation[], next: (relation: Relation) => readonly Relation[], seen: Set<Relation>): Relation[] {
  const left: Relation[] = [];
  for (const start of starts) {
    if (seen.has(start)) continue;
    seen.add(start);
    const path = [{ relation: start, rest: [...next(start)] }];
    while (path.length > 0) {
      const top = path[path.length - 1]!;
      const to = top.rest.pop();
      if (to === undefined) left.push(path.pop()!.relation);
      else if (!seen.has(to)) {
        seen.add(to);
        path.push({ relation: to, rest: [...next(to)] });
      }
    }
  }
  return left;
}

/** The strongly connected components (Kosaraju), each after those that it needs. */
function connected(relations: readonly Relation[], edges: Edges): Relation[][] {
  const backwards = new Map<Relation, Relation[]>(relations.map((relation) => [relation, []]));
  for (const [from, all] of edges) for (const { to } of all) backwards.get(to)!.push(from);
  const order = leaving(relations, (relation) => backwards.get(relation)!, new Set()).reverse();
  const seen = new Set<Relation>();
  return order.flatMap((start) => {
    const component = leaving([start], (relation) => edges.get(relation)!.map(({ to }) => to), seen);
    return component.length ? [component] : [];
  });
}

/** The shortest path within a component. */
function wayWithin(component: ReadonlySet<Relation>, edges: Edges, from: Relation, to: Relation): Relation[] {
  const before = new Map<Relation, Relation | null>([[from, null]]);
  for (const relation of before.keys()) {
    if (relation === to) break;
    for (const edge of edges.get(relation)!) if (component.has(edge.to) && !before.has(edge.to)) before.set(edge.to, relation);
  }
  const way: Relation[] = [];
  for (let at: Relation | null = to; at; at = before.get(at) ?? null) way.unshift(at);
  return way;
}

function checkNegation(component: readonly Relation[], edges: Edges): void {
  const within = new Set(component);
  for (const relation of component) {
    const edge = edges.get(relation)!.find(({ to, negated }) => negated && within.has(to));
    if (!edge) continue;
    const back = wayWithin(within, edges, edge.to, relation);
    const cycle = [`${relation.name} needs not ${edge.to.name}`, ...back.slice(1).map((next, i) => `${back[i]!.name} needs ${next.name}`)];
    throw new RuleError(edge.at, `a cycle through negation: ${cycle.join(', ')}`, 'what is negated has to be derived before');
  }
}

export function componentsOf(relations: readonly Relation[], definitions: readonly Definition[]): Component[] {
  const edges = needsOf(relations, definitions);
  return connected(relations, edges).flatMap((component) => {
    checkNegation(component, edges);
    const within = new Set(component);
    const own = definitions.filter(({ head }) => within.has(head.relation));
    const recursive = component.some((relation) => edges.get(relation)!.some(({ to }) => within.has(to)));
    return own.length ? [{ relations: component, definitions: own, recursive }] : [];
  });
}
