// Checks sentences and resolves their names: afterwards every relation has its domains, every variable has one domain, and
// every variable of a head, a negated atom or a comparison is bound. Violations are errors with a place in the text.
//
// Domains that no declaration gives are inferred from variables: all places of a variable have the same domain (union-find).

import { placesOf, type Places } from './places.js';
import { componentsOf, type Component } from './strata.js';
import {
  RuleError,
  atomText,
  isAnonymous,
  literalText,
  quoted,
  shownName,
  type Atom,
  type Comparator,
  type Equation,
  type Nonlinearity,
  type Place,
  type Rule,
  type Syntax,
  type Term,
} from './syntax.js';

export type Semantics = 'boolean' | 'product' | 'goedel' | 'lukasiewicz' | 'learnt';

export interface Domain {
  readonly name: string;
  /** The number of members. */
  readonly size: number;
  /** The names of the members, if they have any. */
  readonly names: readonly string[] | null;
}

export interface Relation {
  readonly name: string;
  /** The domain of each argument. */
  readonly domains: readonly Domain[];
  /** Whether its entries are numbers instead of truth values. */
  readonly numbers: boolean;
  readonly parameter: boolean;
  /** Whether it is the head of a rule or an equation. */
  readonly derived: boolean;
}

/** A variable, or the number of a member. */
export type Argument = string | number;

export interface Entry {
  readonly relation: Relation;
  readonly args: readonly Argument[];
}

export type Condition =
  | { readonly kind: 'entry'; readonly entry: Entry; readonly negated: boolean; readonly text: string }
  | { readonly kind: 'comparison'; readonly comparator: Comparator; readonly left: Argument; readonly right: Argument; readonly text: string };

/** A rule whose body is one conjunction. */
export interface Clause {
  readonly kind: 'clause';
  readonly number: number;
  readonly head: Entry;
  readonly body: readonly Condition[];
  readonly weight: number | string | null;
  readonly domains: ReadonlyMap<string, Domain>;
  readonly text: string;
  readonly at: Place;
}

export interface Formula {
  readonly kind: 'formula';
  readonly number: number;
  readonly head: Entry;
  readonly along: string | null;
  readonly f: Nonlinearity | null;
  readonly sum: readonly { readonly factor: number; readonly entries: readonly Entry[] }[];
  readonly domains: ReadonlyMap<string, Domain>;
  readonly text: string;
  readonly at: Place;
}

export type Definition = Clause | Formula;

export interface Fact {
  readonly relation: Relation;
  readonly members: readonly number[];
  readonly weight: number | string;
}

export interface Query {
  readonly entry: Entry;
  readonly text: string;
}

export interface Checked {
  readonly domains: ReadonlyMap<string, Domain>;
  readonly relations: ReadonlyMap<string, Relation>;
  readonly definitions: readonly Definition[];
  readonly facts: readonly Fact[];
  readonly components: readonly Component[];
  readonly queries: readonly Query[];
}

/** The number of a member. at: its place in the text, for errors. */
export function memberOf(domain: Domain, value: number | string, at: Place): number {
  const number = typeof value === 'number' ? value : (domain.names?.indexOf(value) ?? -1);
  if (typeof value === 'string') {
    if (number >= 0) return number;
    const hint = domain.names ? `it has ${listed(domain.names)}` : `its members are numbers, 0 to ${domain.size - 1}`;
    throw new RuleError(at, `${quoted(value)} is no member of ${domain.name}`, hint);
  }
  if (domain.names) throw new RuleError(at, `${value} is no member of ${domain.name}`, `write the name in quotes: it has ${listed(domain.names)}`);
  if (number < domain.size) return number;
  throw new RuleError(at, `${value} is no member of ${domain.name}`, domain.size ? `it has 0 to ${domain.size - 1}` : 'it has none');
}

/** A fact as it is written, with the names of its members. */
export const factText = ({ name, domains }: Relation, row: readonly number[]): string =>
  row.length === 0 ? name : `${name}(${row.map((member, i) => (domains[i]!.names ? quoted(domains[i]!.names[member]!) : member)).join(', ')})`;

export const listed = (names: readonly string[]): string =>
  names.length === 0 ? 'none' : `${names.slice(0, 8).join(', ')}${names.length > 8 ? ', ...' : ''}`;

/** The most conditions in the body of a rule. */
const MOST_CONDITIONS = 64;

/** The names of all relations, domains and parameters, with their places. */
const namesOf = ({ domains, relations, rules, facts, equations }: Syntax): { name: string; at: Place }[] => [
  ...[...domains, ...relations].map(({ name, at }) => ({ name, at })),
  ...[...rules, ...facts, ...equations].map(({ head, at }) => ({ name: head.relation, at })),
  ...[...rules, ...facts].flatMap(({ weight, at }) => (typeof weight === 'string' ? [{ name: weight, at }] : [])),
];

class Checker {
  readonly #syntax: Syntax;
  readonly #semantics: Semantics;
  readonly #domains = new Map<string, Domain>();
  readonly #relations = new Map<string, Relation>();
  readonly #places: Places;

  constructor(syntax: Syntax, semantics: Semantics) {
    this.#syntax = syntax;
    this.#semantics = semantics;
    for (const { name, size, names, at } of syntax.domains) {
      if (this.#domains.has(name)) throw new RuleError(at, `the domain ${name} is declared twice`);
      this.#domains.set(name, { name, size, names });
    }
    this.#places = placesOf(syntax, this.#domains);
    for (const { name, at } of namesOf(syntax)) {
      // Relations and parameters become keys of plain objects.
      if (name in Object.prototype) throw new RuleError(at, `${name} cannot be a name`);
    }
    for (const { name, at } of syntax.relations) {
      if (this.#domains.has(name)) throw new RuleError(at, `${name} is a domain and a relation`);
    }
    for (const [name, use] of this.#places.relations) this.#relations.set(name, this.#relation(name, use.arity));
  }

  check(): Checked {
    const facts = this.#syntax.facts.map((rule) => this.#fact(rule));
    const clauses = this.#syntax.rules.map((rule) => this.#clause(rule));
    const equations = this.#equations();
    const definitions = [...clauses, ...equations].sort((a, b) => a.number - b.number);
    return {
      domains: this.#domains,
      relations: this.#relations,
      definitions,
      facts,
      components: componentsOf([...this.#relations.values()], definitions),
      queries: this.#syntax.queries.map((atom) => ({ entry: this.query(atom), text: atomText(atom) })),
    };
  }

  #relation(name: string, arity: number): Relation {
    const declared = this.#syntax.relations.find((relation) => relation.name === name);
    const equations = this.#syntax.equations.filter(({ head }) => head.relation === name);
    const derived = equations.length > 0 || this.#syntax.rules.some(({ head }) => head.relation === name);
    const domains = Array.from({ length: arity }, (_, i) => this.#places.domainOf(name, i));
    const numbers = declared ? declared.numbers : equations.length > 0 && equations.every(({ f }) => f !== 'step');
    if (declared?.parameter && this.#semantics === 'boolean' && !numbers) {
      throw new RuleError(declared.at, `${name} is a parameter of truth values, which boolean semantics does not have`, "semantics: 'product' does");
    }
    if (declared?.parameter && derived) throw new RuleError(declared.at, `the parameter ${name} is the head of a rule`);
    return { name, domains, numbers, parameter: declared?.parameter ?? false, derived };
  }

  #argument(term: Term, domain: Domain): Argument {
    return term.kind === 'variable' ? term.name : memberOf(domain, term.value, term.at);
  }

  #entry({ relation: name, terms }: Atom): Entry {
    const relation = this.#relations.get(name)!;
    return { relation, args: terms.map((term, i) => this.#argument(term, relation.domains[i]!)) };
  }

  query(atom: Atom): Entry {
    const relation = this.#relations.get(atom.relation);
    if (!relation) throw new RuleError(atom.at, `there is no relation ${atom.relation}`, `there are ${listed([...this.#relations.keys()])}`);
    if (relation.numbers) throw new RuleError(atom.at, `${atom.relation} has numbers, not facts`, `read them with tensor('${atom.relation}')`);
    const { length } = relation.domains;
    if (atom.terms.length !== length) throw new RuleError(atom.at, `${atom.relation} has ${length} arguments, not ${atom.terms.length}`);
    return this.#entry(atom);
  }

  #truths(atom: Atom, entry: Entry): Entry {
    if (!entry.relation.numbers) return entry;
    const hint = 'rules are of relations; an equation turns numbers into one by step';
    throw new RuleError(atom.at, `${atom.relation} has numbers, not truth values`, hint);
  }

  #weight(rule: Rule): number | string | null {
    if (rule.weight === null || this.#semantics !== 'boolean') return rule.weight;
    throw new RuleError(rule.at, 'a weight has no meaning in boolean semantics', "semantics: 'product' has weights");
  }

  #fact(rule: Rule): Fact {
    const free = rule.head.terms.find((term) => term.kind === 'variable');
    if (free?.kind === 'variable') {
      const hint = 'a fact has constants only; a rule has a body behind :-';
      throw new RuleError(free.at, `the variable ${free.name} in the fact ${atomText(rule.head)}`, hint);
    }
    const entry = this.#truths(rule.head, this.#entry(rule.head));
    if (entry.relation.parameter) throw new RuleError(rule.at, `the parameter ${entry.relation.name} has a fact`);
    return { relation: entry.relation, members: entry.args as number[], weight: this.#weight(rule) ?? 1 };
  }

  #clause(rule: Rule): Clause {
    const { length } = rule.body;
    if (length > MOST_CONDITIONS) throw new RuleError(rule.at, `the body has ${length} conditions, more than ${MOST_CONDITIONS}`);
    this.#checkBound(rule);
    const domains = this.#places.variablesOf(rule);
    const body = rule.body.map((literal): Condition => {
      const text = literalText(literal);
      if (literal.kind === 'atom') {
        return { kind: 'entry', entry: this.#truths(literal.atom, this.#entry(literal.atom)), negated: literal.negated, text };
      }
      const { comparator, left, right } = literal;
      const domain = this.#places.ofComparison(rule, literal);
      return { kind: 'comparison', comparator, left: this.#argument(left, domain), right: this.#argument(right, domain), text };
    });
    const head = this.#truths(rule.head, this.#entry(rule.head));
    return { kind: 'clause', number: rule.number, head, body, weight: this.#weight(rule), domains, text: rule.text, at: rule.at };
  }

  #checkBound({ head, body }: Rule): void {
    const bound = new Set<string>();
    for (const literal of body) {
      if (literal.kind !== 'atom' || literal.negated) continue;
      for (const term of literal.atom.terms) if (term.kind === 'variable') bound.add(term.name);
    }
    const isBound = (term: Term): boolean => term.kind === 'constant' || bound.has(term.name);
    for (let before = -1; before < bound.size; ) {
      before = bound.size;
      for (const literal of body) {
        if (literal.kind !== 'comparison' || literal.comparator !== '=' || isBound(literal.left) === isBound(literal.right)) continue;
        for (const term of [literal.left, literal.right]) if (term.kind === 'variable') bound.add(term.name);
      }
    }
    const check = (terms: readonly Term[], where: string): void => {
      const free = terms.find((term) => !isBound(term));
      if (free?.kind !== 'variable') return;
      const name = shownName(free.name);
      const hint = 'an atom of the body that is not negated has to have it';
      throw new RuleError(free.at, `the variable ${name} ${where} is bound by nothing in the body`, hint);
    };
    check(head.terms, `of the head ${atomText(head)}`);
    for (const literal of body) {
      if (literal.kind === 'comparison') check([literal.left, literal.right], `in ${literalText(literal)}`);
      else if (literal.negated) {
        const own = literal.atom.terms.filter((term) => term.kind === 'constant' || !isAnonymous(term.name));
        check(own, `under negation in ${literalText(literal)}`);
      }
    }
  }

  #equations(): Definition[] {
    const heads = new Map<string, Equation>();
    return this.#syntax.equations.flatMap((equation) => {
      const { name, at } = { name: equation.head.relation, at: equation.at };
      const first = heads.get(name);
      const together = equation.adds || equation.f === 'step';
      if (first && !(together && (first.f === 'step') === (equation.f === 'step'))) {
        throw new RuleError(at, `${name} has another equation, in line ${first.at.line}`, 'further ones have += in place of =');
      }
      if (!first) heads.set(name, equation);
      if (this.#syntax.rules.some(({ head }) => head.relation === name)) throw new RuleError(at, `${name} has rules and an equation`);
      return this.#formula(equation);
    });
  }

  #formula(equation: Equation): Definition[] {
    const { number, head, along, f, sum, text, at } = equation;
    const domains = this.#places.variablesOf(equation);
    const entry = this.#entry(head);
    const long = sum.find(({ entries }) => entries.length > MOST_CONDITIONS);
    if (long) throw new RuleError(at, `a product has ${long.entries.length} factors, more than ${MOST_CONDITIONS}`);
    const products = sum.map(({ factor, entries }) => ({ factor, entries: entries.map((each) => this.#entry(each)) }));
    const known = new Set(products.flatMap(({ entries }) => entries.flatMap(({ args }) => args)));
    for (const [i, term] of head.terms.entries()) {
      if (term.kind === 'constant') throw new RuleError(term.at, 'an index of the head is a variable');
      const name = shownName(term.name);
      if (!known.has(term.name)) throw new RuleError(term.at, `the index ${name} of the head is nowhere on the right side`);
      if (entry.args.indexOf(term.name) < i) throw new RuleError(term.at, `the index ${name} is twice in the head`);
    }
    const truths = f === 'step' || (this.#semantics !== 'boolean' && (f === 'sigmoid' || f === 'softmax'));
    if (!entry.relation.numbers && !truths) {
      const hint = 'declare it with brackets: it has numbers then';
      throw new RuleError(at, `${entry.relation.name} has truth values, which ${f ?? 'a sum'} does not make`, hint);
    }
    const isRule = this.#semantics === 'boolean' && f === 'step' && !entry.relation.numbers;
    const truthful = products.every(({ factor, entries }) => factor > 0 && entries.length > 0 && entries.every(({ relation }) => !relation.numbers));
    const heads = new Set(entry.args as string[]);
    const whole = products.every(({ entries }) => [...heads].every((name) => entries.some(({ args }) => args.includes(name))));
    if (!isRule || !truthful || !whole) return [{ kind: 'formula', number, head: entry, along, f, sum: products, domains, text, at }];
    return sum.map(({ entries }): Clause => ({
      kind: 'clause',
      number,
      head: entry,
      body: entries.map((atom) => ({ kind: 'entry', entry: this.#entry(atom), negated: false, text: atomText(atom) })),
      weight: null,
      domains,
      text,
      at,
    }));
  }
}

export interface CheckedProgram extends Checked {
  /** Resolves the names in a query's atom. */
  readonly lookUp: (atom: Atom) => Entry;
}

export function checkProgram(syntax: Syntax, semantics: Semantics): CheckedProgram {
  const checker = new Checker(syntax, semantics);
  return { ...checker.check(), lookUp: (atom) => checker.query(atom) };
}
