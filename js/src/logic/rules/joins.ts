// Plans a rule's body as a chain of joins of two values, each an einsum: which two come next, and which variables can be
// dropped then.
//
// A variable is summed out (by "or", by max or by a plain sum) as soon as neither the head nor a remaining operand has it. The
// plan is greedy: the next join is the pair whose einsum has the fewest points plus the fewest results.

import type { Clause, Condition, Domain } from './check.js';
import { RuleError, isAnonymous } from './syntax.js';

/** A join of two values. Values are numbered: first the operands, then the results of joins. */
export interface Join {
  readonly left: number;
  readonly right: number;
  /** The variables of both values and of the result. */
  readonly leftLabels: readonly string[];
  readonly rightLabels: readonly string[];
  readonly labels: readonly string[];
}

export interface JoinPlan {
  /** The variables of each operand, without those that occur only in it and not in the head. */
  readonly operands: readonly (readonly string[])[];
  readonly joins: readonly Join[];
  /** The variables of the result, in the order of the head. */
  readonly labels: readonly string[];
}

/** The most axes of a tensor. */
const MOST_LABELS = 8;
/** The most points of a join; more would take minutes. */
const MOST_POINTS = 2 ** 36;
/** The most entries of a join's result. */
const MOST_ENTRIES = 2 ** 30;

const union = (a: readonly string[], b: readonly string[]): string[] => [...new Set([...a, ...b])];

export const variablesOf = (args: readonly (string | number)[]): string[] => [
  ...new Set(args.filter((arg): arg is string => typeof arg === 'string')),
];

/** The variables of a condition that joins see. Anonymous variables of a negated atom are local to it. */
export function labelsOf(condition: Condition): string[] {
  if (condition.kind === 'comparison') return variablesOf([condition.left, condition.right]);
  const all = variablesOf(condition.entry.args);
  return condition.negated ? all.filter((label) => !isAnonymous(label)) : all;
}

/** Plans joins of operands with these variables, for a result with the variables of the head. */
export function planJoins(operands: readonly (readonly string[])[], head: readonly string[], sizeOf: (label: string) => number): JoinPlan {
  const points = (labels: readonly string[]): number => labels.reduce((n, label) => n * sizeOf(label), 1);
  const needed = (labels: readonly string[], others: readonly (readonly string[])[]): string[] =>
    labels.filter((label) => head.includes(label) || others.some((other) => other.includes(label)));
  const own = operands.map((labels, i) => needed(labels, operands.filter((_, k) => k !== i)));
  let open = own.map((labels, index) => ({ labels, index }));
  const joins: Join[] = [];
  while (open.length > 1) {
    let best: { a: (typeof open)[0]; b: (typeof open)[0]; cost: number } | null = null;
    for (const [i, a] of open.entries()) {
      for (const b of open.slice(i + 1)) {
        // Of equal costs, small results come first, then pairs with common variables.
        const all = union(a.labels, b.labels);
        const apart = all.length === a.labels.length + b.labels.length && all.length > 0;
        const made = needed(all, open.filter((each) => each !== a && each !== b).map((each) => each.labels));
        const cost = points(all) * (apart ? 1.5 : 1) + points(made);
        if (!best || cost < best.cost) best = { a, b, cost };
      }
    }
    const { a, b } = best!;
    const rest = open.filter((each) => each !== a && each !== b);
    const labels = needed(union(a.labels, b.labels), rest.map((each) => each.labels));
    joins.push({ left: a.index, right: b.index, leftLabels: a.labels, rightLabels: b.labels, labels });
    open = [...rest, { labels, index: operands.length + joins.length - 1 }];
  }
  return { operands: own, joins, labels: [...head] };
}

/** The plan of a rule; throws if a join is too large. */
export function planClause({ body, head, domains, at }: Clause): JoinPlan {
  const sizeOf = (label: string): number => domains.get(label)!.size;
  const plan = planJoins(body.map(labelsOf), variablesOf(head.args), sizeOf);
  const pointsOf = (labels: readonly string[]): number => labels.reduce((n, label) => n * sizeOf(label), 1);
  for (const { leftLabels, rightLabels, labels } of plan.joins) {
    const all = union(leftLabels, rightLabels);
    if (all.length <= MOST_LABELS && pointsOf(all) <= MOST_POINTS && pointsOf(labels) <= MOST_ENTRIES) continue;
    const of = all.map((label) => `${label} (${sizeOf(label)})`).join(', ');
    throw new RuleError(at, `the rule joins over too many points at once: ${of}`, 'split it: a rule for a part of the body, with a head of its own');
  }
  return plan;
}

const letter = (i: number): string => String.fromCharCode(i < 26 ? 97 + i : 39 + i);

/** The spec of an einsum, with a letter for each variable. */
export function specOf(left: readonly string[], right: readonly string[], result: readonly string[]): string {
  const letters = new Map<string, string>();
  const spell = (labels: readonly string[]): string =>
    labels.map((label) => letters.get(label) ?? (letters.set(label, letter(letters.size)), letters.get(label)!)).join('');
  return `${spell(left)},${spell(right)}->${spell(result)}`;
}

export const sizesOf = (labels: readonly string[], domains: ReadonlyMap<string, Domain>): number[] => labels.map((label) => domains.get(label)!.size);
