// Infers the domain of each argument of a relation and of each variable of a rule. Places that must have the same domain are
// joined (union-find). A set of places has the domain that a declaration gives one of them, or the only domain of the program.

import type { Domain } from './check.js';
import { RuleError, type Atom, type Equation, type Literal, type Place, type Rule, type Syntax, type Term } from './syntax.js';

interface Node {
  parent: Node | null;
  domain: Domain | null;
  /** Where the domain comes from, for errors. */
  from: string;
}

const root = (node: Node): Node => {
  let top = node;
  while (top.parent) top = top.parent;
  for (let each = node; each !== top; ) {
    const next: Node = each.parent!;
    each.parent = top;
    each = next;
  }
  return top;
};

const fresh = (): Node => ({ parent: null, domain: null, from: '' });

function join(a: Node, b: Node, what: string, at: Place): void {
  const [x, y] = [root(a), root(b)];
  if (x === y) return;
  if (x.domain && y.domain && x.domain !== y.domain) {
    throw new RuleError(at, `domains differ: ${what} is of ${y.domain.name} (${y.from}), and of ${x.domain.name} (${x.from})`);
  }
  y.parent = x;
  if (!x.domain) [x.domain, x.from] = [y.domain, y.from];
}

interface Use {
  readonly arity: number;
  readonly at: Place;
  readonly args: readonly Node[];
  /** Whether it is declared, given by a fact, or derived. */
  known: boolean;
}

type Sentence = Rule | Equation;

export interface Places {
  readonly relations: ReadonlyMap<string, { readonly arity: number }>;
  domainOf(relation: string, argument: number): Domain;
  variablesOf(sentence: Sentence): ReadonlyMap<string, Domain>;
  ofComparison(sentence: Sentence, literal: Literal): Domain;
}

class Found implements Places {
  /** The domain of the program if it has only one; all places default to it. */
  readonly #only: Domain | null;
  readonly relations = new Map<string, Use>();
  readonly #variables = new Map<Sentence, Map<string, Node>>();

  constructor(domains: ReadonlyMap<string, Domain>) {
    this.#only = domains.size === 1 ? [...domains.values()][0]! : null;
  }

  use(atom: { relation: string; at: Place }, arity: number, known: boolean): Use {
    const found = this.relations.get(atom.relation);
    if (found && found.arity !== arity) {
      throw new RuleError(atom.at, `${atom.relation} has ${counted(arity)} here, and ${counted(found.arity)} in line ${found.at.line}`);
    }
    const use = found ?? { arity, at: atom.at, args: Array.from({ length: arity }, fresh), known };
    use.known ||= known;
    this.relations.set(atom.relation, use);
    return use;
  }

  variable(sentence: Sentence, name: string): Node {
    const all = this.#variables.get(sentence) ?? new Map<string, Node>();
    this.#variables.set(sentence, all);
    const node = all.get(name) ?? fresh();
    all.set(name, node);
    return node;
  }

  atom(sentence: Sentence, atom: Atom, known: boolean): void {
    const { args } = this.use(atom, atom.terms.length, known);
    atom.terms.forEach((term, i) => {
      if (term.kind === 'variable') join(args[i]!, this.variable(sentence, term.name), `the variable ${term.name}`, term.at);
    });
  }

  comparison(sentence: Sentence, left: Term, right: Term): void {
    if (left.kind === 'constant' && right.kind === 'constant') {
      throw new RuleError(left.at, 'two constants are compared', 'one side of a comparison is a variable');
    }
    if (left.kind === 'constant' || right.kind === 'constant') return;
    const what = `the variable ${right.name}, compared with ${left.name},`;
    join(this.variable(sentence, left.name), this.variable(sentence, right.name), what, right.at);
  }

  domainOf(relation: string, argument: number): Domain {
    const use = this.relations.get(relation)!;
    const domain = root(use.args[argument]!).domain ?? this.#only;
    if (domain) return domain;
    const which = use.arity === 1 ? 'the argument' : `argument ${argument + 1}`;
    throw new RuleError(use.at, `of which domain is ${which} of ${relation}?`, declarationOf(relation, use.arity));
  }

  variablesOf(sentence: Sentence): ReadonlyMap<string, Domain> {
    const all = this.#variables.get(sentence) ?? new Map<string, Node>();
    return new Map([...all].map(([name, node]) => [name, this.#domain(node, sentence, name)]));
  }

  ofComparison(sentence: Sentence, literal: Literal): Domain {
    const { left, right } = literal as { left: Term; right: Term };
    const { name } = (left.kind === 'variable' ? left : right) as { name: string };
    return this.#domain(this.variable(sentence, name), sentence, name);
  }

  #domain(node: Node, { at }: Sentence, name: string): Domain {
    const domain = root(node).domain ?? this.#only;
    if (domain) return domain;
    throw new RuleError(at, `of which domain is the variable ${name}?`, 'an argument of a relation tells it');
  }
}

const declarationOf = (name: string, arity: number): string => `declare it: ${name}(${Array(arity).fill('Domain').join(', ')}).`;

const counted = (n: number): string => `${n} argument${n === 1 ? '' : 's'}`;

function declare(found: Found, { relations }: Syntax, domains: ReadonlyMap<string, Domain>): void {
  for (const relation of relations) {
    if (found.relations.has(relation.name)) throw new RuleError(relation.at, `${relation.name} is declared twice`);
    const { args } = found.use({ relation: relation.name, at: relation.at }, relation.domains.length, true);
    relation.domains.forEach(({ name, at }, i) => {
      const domain = domains.get(name);
      const hint = domains.size ? `there are ${[...domains.keys()].join(', ')}` : `declare it: domain ${name} = 20.`;
      if (!domain) throw new RuleError(at, `there is no domain ${name}`, hint);
      Object.assign(args[i]!, { domain, from: `by the declaration of ${relation.name} in line ${relation.at.line}` });
    });
  }
}

export function placesOf(syntax: Syntax, domains: ReadonlyMap<string, Domain>): Places {
  const found = new Found(domains);
  declare(found, syntax, domains);
  for (const rule of [...syntax.facts, ...syntax.rules]) {
    found.atom(rule, rule.head, true);
    for (const literal of rule.body) {
      if (literal.kind === 'atom') found.atom(rule, literal.atom, false);
      else found.comparison(rule, literal.left, literal.right);
    }
  }
  for (const equation of syntax.equations) {
    found.atom(equation, equation.head, true);
    for (const { entries } of equation.sum) for (const entry of entries) found.atom(equation, entry, false);
  }
  for (const [name, { known, at, arity }] of found.relations) {
    if (!known) throw new RuleError(at, `there is no relation ${name}`, declarationOf(name, arity));
  }
  return found;
}
