// A rule's body as a chain of joins of two, each an einsum: which two come next, and which variables are done with then.
//
// A variable is summed out - by or, by max, by a plain sum - as soon as neither the head nor an operand that is still to
// come has it. Greedy: the pair comes first whose einsum has fewest points and makes fewest.

import type { Clause, Condition, Domain } from './check.js';
import { RuleError, isAnonymous } from './syntax.js';

/** Values are numbered: the operands, then the results of the joins. */
export interface Join {
  readonly left: number;
  readonly right: number;
  /** Variables of both and of the result. */
  readonly leftLabels: readonly string[];
  readonly rightLabels: readonly string[];
  readonly labels: readonly string[];
}

export interface JoinPlan {
  /** Variables of each operand, without those that it alone has. */
  readonly operands: readonly (readonly string[])[];
  readonly joins: readonly Join[];
  /** Variables of the result, in the order of the head. */
  readonly labels: readonly string[];
}

/** A tensor has no more axes. */
const MOST_LABELS = 8;
/** Entries of what a join goes through; one of more would take minutes. */
const MOST_POINTS = 2 ** 36;
/** Entries of what a join makes. */
const MOST_ENTRIES = 2 ** 30;

const union = (a: readonly string[], b: readonly string[]): string[] => [...new Set([...a, ...b])];

export const variablesOf = (args: readonly (string | number)[]): string[] => [
  ...new Set(args.filter((arg): arg is string => typeof arg === 'string')),
];

/** The variables by which a condition is joined: what is anonymous under negation is its own affair. */
export function labelsOf(condition: Condition): string[] {
  if (condition.kind === 'comparison') return variablesOf([condition.left, condition.right]);
  const all = variablesOf(condition.entry.args);
  return condition.negated ? all.filter((label) => !isAnonymous(label)) : all;
}

/** A plan for operands that have these variables, and a result that has those. */
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
        // Of equal ones those come first whose result is small, and then those that have variables in common.
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

/** The plan of a rule; an error where it would go beyond what is possible. */
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

/** The spec of an einsum: a letter for each variable. */
export function specOf(left: readonly string[], right: readonly string[], result: readonly string[]): string {
  const letters = new Map<string, string>();
  const spell = (labels: readonly string[]): string =>
    labels.map((label) => letters.get(label) ?? (letters.set(label, letter(letters.size)), letters.get(label)!)).join('');
  return `${spell(left)},${spell(right)}->${spell(result)}`;
}

export const sizesOf = (labels: readonly string[], domains: ReadonlyMap<string, Domain>): number[] => labels.map((label) => domains.get(label)!.size);
