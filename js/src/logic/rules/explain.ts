// Explains why a fact holds: the rule that derived it, the facts of earlier rounds that the rule used, and why these hold.
//
// Ranks say in which round each fact was derived. A rule that derived a fact in round k used facts of rounds before k. So the
// search below terminates, and finds a derivation for every fact. It assigns members to one variable after the other, first to
// those that are the only unknown of an atom, and tests each condition as soon as all its variables are known.

import { factText, type Argument, type Clause, type Condition, type Definition, type Entry, type Relation } from './check.js';
import { variablesOf } from './joins.js';
import { TESTS, isAnonymous } from './syntax.js';

/** A fact and why it holds. */
export interface Explanation {
  /** The fact as it is written: Ancestor(7, 12). */
  readonly fact: string;
  /** 'fact': it was given; 'rule': derived, because of `because`; 'condition': a comparison, or a negated atom. */
  readonly kind: 'fact' | 'rule' | 'condition';
  /** The number of the rule, and the line where it begins; 0 if there is none. */
  readonly rule: number;
  readonly line: number;
  /** The round in which it was derived; 0 for given facts. */
  readonly iteration: number;
  readonly because: readonly Explanation[];
}

export interface Ranks {
  /** The round in which a fact was derived, 0 for given ones; -1 if it does not hold. */
  of(relation: Relation, row: readonly number[]): number;
}

type Binding = ReadonlyMap<string, number>;

const memberOf = (arg: Argument, binding: Binding): number => (typeof arg === 'number' ? arg : binding.get(arg)!);

const argsOf = (condition: Condition): readonly Argument[] =>
  condition.kind === 'entry' ? condition.entry.args : [condition.left, condition.right];

/** The variables that have to be known to test a condition. */
const neededBy = (condition: Condition): string[] => {
  const all = variablesOf(argsOf(condition));
  return condition.kind === 'entry' && condition.negated ? all.filter((name) => !isAnonymous(name)) : all;
};

export class Explainer {
  readonly #definitions: readonly Definition[];
  readonly #ranks: Ranks;
  /** The facts explained so far, since several rules may use the same fact. */
  readonly #done = new Map<string, Explanation>();

  constructor(definitions: readonly Definition[], ranks: Ranks) {
    this.#definitions = definitions;
    this.#ranks = ranks;
  }

  /** The explanation of a fact; null if it does not hold. */
  explain(entry: Entry): Explanation | null {
    const row = entry.args as number[];
    const iteration = this.#ranks.of(entry.relation, row);
    if (iteration < 0) return null;
    const fact = factText(entry.relation, row);
    const done = this.#done.get(fact) ?? this.#because(entry.relation, row, fact, iteration);
    this.#done.set(fact, done);
    return done;
  }

  #because(relation: Relation, row: readonly number[], fact: string, iteration: number): Explanation {
    for (const clause of iteration === 0 ? [] : this.#definitions) {
      if (clause.kind !== 'clause' || clause.head.relation !== relation) continue;
      const binding = this.#body(clause, row, iteration);
      if (!binding) continue;
      const because = clause.body.map((condition) => this.#reason(condition, binding));
      return { fact, kind: 'rule', rule: clause.number, line: clause.at.line, iteration, because };
    }
    // An equation derives all entries at once, so there are no single facts to show.
    const equation = iteration > 0 ? this.#definitions.find(({ head }) => head.relation === relation) : undefined;
    if (equation) return { fact, kind: 'rule', rule: equation.number, line: equation.at.line, iteration, because: [] };
    return { fact, kind: 'fact', rule: 0, line: 0, iteration, because: [] };
  }

  #reason(condition: Condition, binding: Binding): Explanation {
    if (condition.kind === 'entry' && !condition.negated) {
      const args = condition.entry.args.map((arg) => memberOf(arg, binding));
      return this.explain({ relation: condition.entry.relation, args })!;
    }
    return { fact: condition.text, kind: 'condition', rule: 0, line: 0, iteration: 0, because: [] };
  }

  /** Finds members for the variables of a rule such that it derives the row from facts of earlier rounds. */
  #body({ head, body, domains }: Clause, row: readonly number[], before: number): Binding | null {
    const binding = new Map<string, number>();
    for (const [i, arg] of head.args.entries()) {
      if (memberOf(arg, binding.has(arg as string) ? binding : new Map([[arg as string, row[i]!]])) !== row[i]) return null;
      if (typeof arg === 'string') binding.set(arg, row[i]!);
    }
    const search = (open: readonly Condition[]): boolean => {
      const isKnown = (name: string): boolean => binding.has(name);
      if (!open.filter((condition) => neededBy(condition).every(isKnown)).every((condition) => this.#holds(condition, binding, before))) return false;
      const rest = open.filter((condition) => !neededBy(condition).every(isKnown));
      if (rest.length === 0) return true;
      const lacks = (condition: Condition): number => neededBy(condition).filter((name) => !isKnown(name)).length;
      const next = rest.reduce((a, b) => (lacks(b) < lacks(a) ? b : a));
      const name = neededBy(next).find((each) => !isKnown(each))!;
      for (let member = 0; member < domains.get(name)!.size; member++) {
        binding.set(name, member);
        if (search(rest)) return true;
      }
      binding.delete(name);
      return false;
    };
    return search(body) ? binding : null;
  }

  #holds(condition: Condition, binding: Binding, before: number): boolean {
    if (condition.kind === 'comparison') {
      return TESTS[condition.comparator](memberOf(condition.left, binding), memberOf(condition.right, binding));
    }
    const { entry: { relation, args }, negated } = condition;
    if (negated) return !this.#any(relation, args, binding);
    const rank = this.#ranks.of(relation, args.map((arg) => memberOf(arg, binding)));
    return rank >= 0 && rank < before;
  }

  /** Whether a negated atom matches a fact, with any members for its anonymous variables. */
  #any(relation: Relation, args: readonly Argument[], binding: Binding): boolean {
    const at = args.findIndex((arg) => typeof arg === 'string' && !binding.has(arg));
    if (at < 0) return this.#ranks.of(relation, args.map((arg) => memberOf(arg, binding))) >= 0;
    for (let member = 0; member < relation.domains[at]!.size; member++) {
      if (this.#any(relation, args.map((arg, i) => (i === at ? member : arg)), binding)) return true;
    }
    return false;
  }
}

/** An explanation as lines of text. What was explained further up is not repeated. */
export function explanationText(explanation: Explanation, indent = '', seen = new Set<Explanation>()): string {
  const { fact, kind, rule, line, iteration, because } = explanation;
  const isAbove = kind === 'rule' && seen.has(explanation);
  seen.add(explanation);
  const from = isAbove ? 'see above' : kind === 'rule' ? `rule ${rule} in line ${line}, round ${iteration}` : kind === 'fact' ? 'fact' : '';
  const own = `${indent}${fact}${from && `    ${from}`}`;
  return isAbove ? own : [own, ...because.map((each) => explanationText(each, `${indent}  `, seen))].join('\n');
}
