// Solves components to their fixed points, as functions of tensors that are compiled as a whole.
//
// Boolean rules are evaluated semi-naively: a round joins what the last round derived with everything known, once per atom of a
// body that the component itself derives, and keeps what is new. All else is evaluated naively: each round computes everything
// again from the last round, until no value moves by more than a tolerance.
//
//   full  = facts            new   = rules(full) and not full               a round in the loop
//   delta = new              full  = full or delta                          new = rules(one atom delta, others full)

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import { SUMS, type Algebra } from './algebras.js';
import type { Clause, Definition, Relation } from './check.js';
import type { Read } from './dense.js';
import type { Component } from './strata.js';

export type Tensors = Record<string, Tensor>;

/** Computes the tensor that a definition gives its head. */
export type Derive = (definition: Definition, read: Read) => Tensor;

export interface Setting {
  readonly algebra: Algebra;
  readonly derive: Derive;
  /** The tensor of a relation without facts. */
  readonly empty: (relation: Relation) => Tensor;
  /** The most rounds of a component. */
  readonly maxRounds: number;
  /** A value has to move by more than this for another round. */
  readonly tolerance: number;
  /** If not null, exactly so many rounds, which can be differentiated. */
  readonly rounds: number | null;
}

/** Everything known, the number of rounds that derived something new, and whether every component reached its fixed point. */
export interface Solution {
  readonly known: Tensors;
  readonly iterations: Tensor;
  readonly done: Tensor;
}

const int = (value: number): Tensor => sn.tensor(value, { dtype: 'int32' });

const anyOf = (tensors: readonly Tensor[]): Tensor => tensors.map((t) => sn.any(t)).reduce((a, b) => sn.logicalOr(a, b), sn.tensor(false));

/** Whether a component consists of rules only. In boolean semantics it is then evaluated semi-naively. */
export const isOfRules = ({ definitions }: Component): boolean => definitions.every(({ kind }) => kind === 'clause');

/** The conditions in a body whose relations the component derives itself. */
export const ownAtoms = ({ body }: Clause, own: ReadonlySet<string>): number[] =>
  body.flatMap((condition, i) => (condition.kind === 'entry' && own.has(condition.entry.relation.name) ? [i] : []));

/** What one round of rules derives and is not known yet. With deltas each rule runs once per own atom, which then reads its
 *  delta. */
export function roundOf(component: Component, { derive }: Setting, known: Tensors, deltas: Tensors | null): Tensors {
  const own = new Set(component.relations.map(({ name }) => name));
  const made: Tensors = {};
  const add = (name: string, t: Tensor): void => {
    made[name] = made[name] ? sn.bitwiseOr(made[name], t) : t;
  };
  for (const definition of component.definitions) {
    const { name } = definition.head.relation;
    const read: Read = (relation) => known[relation.name]!;
    if (deltas === null) add(name, derive(definition, read));
    else {
      for (const atom of ownAtoms(definition as Clause, own)) {
        add(name, derive(definition, (relation, i) => (i === atom ? deltas : known)[relation.name]!));
      }
    }
  }
  return Object.fromEntries(Object.entries(made).map(([name, t]) => [name, sn.bitwiseAnd(t, sn.bitwiseInvert(known[name]!))]));
}

export const union = (known: Tensors, deltas: Tensors): Tensors =>
  Object.fromEntries(Object.entries(deltas).map(([name, t]) => [name, sn.bitwiseOr(known[name]!, t)]));

function semiNaive(component: Component, setting: Setting, known: Tensors): Solution {
  const start = roundOf(component, setting, known, null);
  const first = anyOf(Object.values(start));
  const begun = { ...known, ...union(known, start) };
  const one = sn.where(first, 1, 0).astype('int32');
  if (!component.recursive) return { known: begun, iterations: one, done: sn.tensor(true) };
  const heads = Object.keys(start);
  const pick = (all: Tensors): Tensors => Object.fromEntries(heads.map((name) => [name, all[name]!]));
  type Carry = { full: Tensors; delta: Tensors; rounds: Tensor; goesOn: Tensor };
  const end = sn.whileLoop<Carry>(
    ({ rounds, goesOn }) => sn.logicalAnd(goesOn, sn.less(rounds, setting.maxRounds)),
    ({ full, delta, rounds }) => {
      const made = roundOf(component, setting, { ...begun, ...full }, delta);
      const next = Object.fromEntries(heads.map((name) => [name, made[name] ?? sn.zerosLike(full[name]!)]));
      const goesOn = anyOf(Object.values(next));
      return { full: union(full, next), delta: next, rounds: sn.add(rounds, sn.where(goesOn, 1, 0).astype('int32')), goesOn };
    },
    { full: pick(begun), delta: start, rounds: one, goesOn: first },
  );
  return { known: { ...begun, ...end.full }, iterations: end.rounds, done: sn.logicalNot(end.goesOn) };
}

/** Computes all relations of a component again: facts, combined with what definitions derive from what is known. */
export function naiveRound(component: Component, { algebra, derive }: Setting, facts: Tensors, known: Tensors): Tensors {
  const next: Tensors = {};
  for (const { name } of component.relations) if (facts[name]) next[name] = facts[name];
  for (const definition of component.definitions) {
    const { relation } = definition.head;
    const t = derive(definition, ({ name }) => known[name]!);
    const before = next[relation.name];
    const own = relation.numbers ? t : t.astype(algebra.dtype);
    const or = relation.numbers ? SUMS.or : algebra.or;
    next[relation.name] = before ? or(before, own) : own;
  }
  return next;
}

/** Whether any value differs by more than the tolerance. */
export function differs(a: Tensor, b: Tensor, tolerance: number): Tensor {
  if (a.dtype === 'bool') return sn.any(sn.notEqual(a, b));
  return sn.any(sn.logicalNot(sn.lessEqual(sn.abs(sn.sub(a, b)), tolerance)));
}

function naive(component: Component, setting: Setting, facts: Tensors, known: Tensors): Solution {
  const names = component.relations.map(({ name }) => name);
  const pick = (all: Tensors): Tensors => Object.fromEntries(names.map((name) => [name, all[name]!]));
  const round = (own: Tensors): Tensors => pick(naiveRound(component, setting, facts, { ...known, ...own }));
  const begun = pick(known);
  const anyMoved = (next: Tensors, own: Tensors): Tensor =>
    names.map((name) => differs(next[name]!, own[name]!, setting.tolerance)).reduce((a, b) => sn.logicalOr(a, b));
  const counted = (goesOn: Tensor): Tensor => sn.where(goesOn, 1, 0).astype('int32');
  if (!component.recursive) {
    const own = round(begun);
    return { known: { ...known, ...own }, iterations: counted(anyMoved(own, begun)), done: sn.tensor(true) };
  }
  if (setting.rounds !== null) {
    const own = sn.foriLoop(0, setting.rounds, (_, carry: Tensors) => round(carry), begun);
    return { known: { ...known, ...own }, iterations: int(setting.rounds), done: sn.tensor(true) };
  }
  type Carry = { own: Tensors; rounds: Tensor; goesOn: Tensor };
  const end = sn.whileLoop<Carry>(
    ({ rounds, goesOn }) => sn.logicalAnd(goesOn, sn.less(rounds, setting.maxRounds)),
    ({ own, rounds }) => {
      const next = round(own);
      const goesOn = anyMoved(next, own);
      return { own: next, rounds: sn.add(rounds, counted(goesOn)), goesOn };
    },
    { own: begun, rounds: int(0), goesOn: sn.tensor(true) },
  );
  return { known: { ...known, ...end.own }, iterations: end.rounds, done: sn.logicalNot(end.goesOn) };
}

/** Solves all components in order. facts: the tensors of relations that have facts; all others are empty. */
export function solve(relations: readonly Relation[], components: readonly Component[], setting: Setting, facts: Tensors): Solution {
  const known: Tensors = Object.fromEntries(relations.map((relation) => [relation.name, facts[relation.name] ?? setting.empty(relation)]));
  let all: Solution = { known, iterations: int(0), done: sn.tensor(true) };
  for (const component of components) {
    const isExact = setting.algebra.dtype === 'bool' && isOfRules(component);
    const next = isExact ? semiNaive(component, setting, all.known) : naive(component, setting, facts, all.known);
    all = { known: next.known, iterations: sn.add(all.iterations, next.iterations), done: sn.logicalAnd(all.done, next.done) };
  }
  return all;
}
