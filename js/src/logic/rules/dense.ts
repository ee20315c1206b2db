// Evaluates rules on whole tensors, with an axis per argument of a relation.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Algebra } from './algebras.js';
import type { Argument, Clause, Condition, Domain, Entry, Relation } from './check.js';
import { planClause, specOf, type JoinPlan } from './joins.js';
import { isAnonymous, type Comparator } from './syntax.js';

/** A tensor with a variable for each axis. */
export interface Value {
  readonly labels: readonly string[];
  readonly tensor: Tensor;
}

/** Returns the tensor of a relation. atom: the index of the condition in the body that reads it. */
export type Read = (relation: Relation, atom: number) => Tensor;

export const shapeOf = (relation: Relation): number[] => relation.domains.map(({ size }) => size);

/** The tensor with an axis for each of these variables, of size 1 where the value lacks it. */
export function aligned({ labels, tensor }: Value, to: readonly string[]): Tensor {
  const order = to.filter((label) => labels.includes(label)).map((label) => labels.indexOf(label));
  const transposed = order.every((axis, i) => axis === i) ? tensor : sn.transpose(tensor, order);
  if (labels.length === to.length) return transposed;
  let next = 0;
  return sn.reshape(transposed, to.map((label) => (labels.includes(label) ? transposed.shape[next++]! : 1)));
}

/** Removes the variables that are not in labels, by "or". */
export function project(algebra: Algebra, value: Value, labels: readonly string[]): Value {
  const gone = value.labels.flatMap((label, axis) => (labels.includes(label) ? [] : [axis]));
  if (gone.length === 0) return value;
  return { labels: value.labels.filter((label) => labels.includes(label)), tensor: algebra.any(value.tensor, gone) };
}

const member = (size: number): Tensor => sn.arange(0, size, 1, { dtype: 'int32' });

const COMPARE: Readonly<Record<Comparator, (a: Tensor, b: Tensor | number) => Tensor>> = {
  '=': (a, b) => sn.equal(a, b),
  '!=': (a, b) => sn.notEqual(a, b),
  '<': (a, b) => sn.less(a, b),
  '<=': (a, b) => sn.lessEqual(a, b),
  '>': (a, b) => sn.greater(a, b),
  '>=': (a, b) => sn.greaterEqual(a, b),
};

const MIRRORED: Readonly<Record<Comparator, Comparator>> = { '=': '=', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' };

/** A bool for each value of the variables: whether the comparison holds. */
function comparison(comparator: Comparator, left: Argument, right: Argument, domains: ReadonlyMap<string, Domain>): Value {
  if (typeof left === 'number') return comparison(MIRRORED[comparator], right, left, domains);
  const a = member(domains.get(left)!.size);
  if (typeof right === 'number') return { labels: [left], tensor: COMPARE[comparator](a, right) };
  const whole = COMPARE[comparator](sn.reshape(a, [-1, 1]), member(domains.get(right)!.size));
  if (left !== right) return { labels: [left, right], tensor: whole };
  return { labels: [left], tensor: sn.any(sn.logicalAnd(whole, eye(a.size)), { axis: 1 }) };
}

const eye = (n: number): Tensor => sn.equal(sn.reshape(member(n), [-1, 1]), member(n));

const masked = (algebra: Algebra, t: Tensor, mask: Tensor): Tensor => algebra.and(t, mask.astype(algebra.dtype));

/** A matrix of bools, shaped to broadcast along axes a and b of a tensor of this rank. */
const over = (mask: Tensor, rank: number, a: number, b: number): Tensor =>
  sn.reshape(mask, Array.from({ length: rank }, (_, i) => (i === a ? mask.shape[0]! : i === b ? mask.shape[1]! : 1)));

/** The value of an atom over its variables: takes constants by index, and the diagonal for a variable that occurs twice. */
export function readEntry(algebra: Algebra, { args }: Entry, whole: Tensor): Value {
  let [tensor, labels] = [whole, [...args] as Argument[]];
  for (let axis = labels.length - 1; axis >= 0; axis--) {
    const arg = labels[axis]!;
    const first = labels.indexOf(arg);
    if (typeof arg === 'number') tensor = sn.take(tensor, arg, { axis });
    else if (first < axis) tensor = algebra.any(masked(algebra, tensor, over(eye(tensor.shape[axis]!), labels.length, first, axis)), [axis]);
    else continue;
    labels = labels.filter((_, i) => i !== axis);
  }
  return { labels: labels as string[], tensor };
}

/** The inverse: the tensor of a head's relation from a value over the head's variables. */
export function writeHead(algebra: Algebra, { relation, args }: Entry, value: Value): Tensor {
  const shape = shapeOf(relation);
  const first = args.map((arg, i) => typeof arg === 'string' && args.indexOf(arg) === i);
  const names = args.filter((_, i) => first[i]) as string[];
  let tensor = sn.reshape(aligned(value, names), shape.map((size, i) => (first[i] ? size : 1)));
  if (first.every(Boolean)) return tensor;
  const rank = args.length;
  for (const [axis, arg] of args.entries()) {
    if (first[axis]) continue;
    const size = shape[axis]!;
    const along = shape.map((_, i) => (i === axis ? size : 1));
    const mask =
      typeof arg === 'number' ? sn.reshape(sn.equal(member(size), arg), along) : over(eye(size), rank, args.indexOf(arg), axis);
    tensor = masked(algebra, tensor, mask);
  }
  return tensor;
}

/** Runs a plan of joins. The variables of the result may be in any order. */
export function runJoins(algebra: Algebra, plan: JoinPlan, operands: readonly Value[]): Value {
  const values = operands.map((value, i) => project(algebra, value, plan.operands[i]!));
  for (const { left, right, labels } of plan.joins) values.push(joinValues(algebra, values[left]!, values[right]!, labels));
  return values[values.length - 1]!;
}

/** Runs one join of a plan. */
export function joinValues(algebra: Algebra, a: Value, b: Value, labels: readonly string[]): Value {
  const all = [...new Set([...a.labels, ...b.labels])];
  const isProduct = all.length > labels.length;
  if (isProduct && algebra.einsum) return { labels, tensor: algebra.einsum(specOf(a.labels, b.labels, labels), a.tensor, b.tensor) };
  const both = algebra.and(aligned(a, all), aligned(b, all));
  return project(algebra, { labels: all, tensor: both }, labels);
}

/** The value of a condition over its variables. */
export function conditionValue(algebra: Algebra, condition: Condition, domains: ReadonlyMap<string, Domain>, read: Read, atom: number): Value {
  if (condition.kind === 'comparison') {
    const { labels, tensor } = comparison(condition.comparator, condition.left, condition.right, domains);
    return { labels, tensor: tensor.astype(algebra.dtype) };
  }
  const { entry, negated } = condition;
  const value = readEntry(algebra, entry, read(entry.relation, atom));
  if (!negated) return value;
  const { labels, tensor } = project(algebra, value, value.labels.filter((label) => !isAnonymous(label)));
  return { labels, tensor: algebra.not(tensor) };
}

/** What a rule derives, as a tensor of its head's relation. */
export function deriveClause(algebra: Algebra, clause: Clause, read: Read, weight: Tensor | number | null = null): Tensor {
  const operands = clause.body.map((condition, i) => conditionValue(algebra, condition, clause.domains, read, i));
  const value = runJoins(algebra, planClause(clause), operands);
  const tensor = weight === null ? value.tensor : algebra.and(value.tensor, typeof weight === 'number' ? sn.tensor(weight) : weight);
  return writeHead(algebra, clause.head, { labels: value.labels, tensor });
}
