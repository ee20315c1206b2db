// The syntax tree of a text of rules. Names are not resolved yet.

import * as sn from '../../index.js';

/** A position in the text; line and column count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** An error in a text of rules. */
export class RuleError extends sn.SinterError {
  static {
    Object.defineProperty(this.prototype, 'name', { value: 'RuleError', configurable: true, writable: true });
  }
  /** The position in the text. */
  readonly at: Place;

  constructor(at: Place, text: string, hint = '') {
    super('argument', 'logic.program', `line ${at.line}, column ${at.column}: ${text}`, { hint });
    this.at = at;
  }
}

export interface Variable {
  readonly kind: 'variable';
  readonly name: string;
  readonly at: Place;
}

/** A member of a domain, by number or by name. */
export interface Constant {
  readonly kind: 'constant';
  readonly value: number | string;
  readonly at: Place;
}

export type Term = Variable | Constant;

export interface Atom {
  readonly relation: string;
  readonly terms: readonly Term[];
  readonly at: Place;
}

export type Comparator = '=' | '!=' | '<' | '<=' | '>' | '>=';

export const TESTS: Readonly<Record<Comparator, (a: number, b: number) => boolean>> = {
  '=': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};

/** One condition of a body. */
export type Literal =
  | { readonly kind: 'atom'; readonly atom: Atom; readonly negated: boolean; readonly at: Place }
  | { readonly kind: 'comparison'; readonly comparator: Comparator; readonly left: Term; readonly right: Term; readonly at: Place };

export interface Rule {
  /** Counts from 1 in the order of the text; 0 for facts. The alternatives of one rule with `;` share a number. */
  readonly number: number;
  readonly head: Atom;
  readonly body: readonly Literal[];
  /** The weight: a number, or the name of a parameter; null if there is none. */
  readonly weight: number | string | null;
  readonly text: string;
  readonly at: Place;
}

/** A number times entries of tensors. */
export interface Product {
  readonly factor: number;
  readonly entries: readonly Atom[];
}

export const NONLINEARITIES = ['step', 'sigmoid', 'relu', 'tanh', 'exp', 'softmax'] as const;
export type Nonlinearity = (typeof NONLINEARITIES)[number];

/** Head[x, z] = f(sum of products). Indices that the head lacks are summed over. */
export interface Equation {
  readonly number: number;
  readonly head: Atom;
  /** The index with a dot, along which softmax sums to 1. */
  readonly along: string | null;
  readonly f: Nonlinearity | null;
  readonly sum: readonly Product[];
  /** Whether it is written with += instead of =. */
  readonly adds: boolean;
  readonly text: string;
  readonly at: Place;
}

export interface DomainDeclaration {
  readonly name: string;
  readonly size: number;
  /** The names of its members, if they have any. */
  readonly names: readonly string[] | null;
  readonly at: Place;
}

/** Likes(Person, Person) has truth values, W[Person, Person] has numbers. */
export interface RelationDeclaration {
  readonly name: string;
  readonly domains: readonly { readonly name: string; readonly at: Place }[];
  readonly numbers: boolean;
  readonly parameter: boolean;
  readonly at: Place;
}

export interface Syntax {
  readonly domains: readonly DomainDeclaration[];
  readonly relations: readonly RelationDeclaration[];
  readonly facts: readonly Rule[];
  readonly rules: readonly Rule[];
  readonly equations: readonly Equation[];
  readonly queries: readonly Atom[];
}

/** The name given to an underscore: a variable that occurs nowhere else. */
export const anonymous = (number: number): string => `_#${number}`;

export const isAnonymous = (variable: string): boolean => variable.startsWith('_#');

/** A variable as it is written. */
export const shownName = (variable: string): string => (isAnonymous(variable) ? '_' : variable);

/** A name in quotes. It has at most one kind of quotes itself, since a text cannot express both. */
export const quoted = (name: string): string => (name.includes("'") ? `"${name}"` : `'${name}'`);

const termText = (term: Term): string =>
  term.kind === 'variable' ? shownName(term.name) : typeof term.value === 'number' ? String(term.value) : quoted(term.value);

export const atomText = ({ relation, terms }: Atom): string =>
  terms.length === 0 ? relation : `${relation}(${terms.map(termText).join(', ')})`;

export const literalText = (literal: Literal): string =>
  literal.kind === 'atom'
    ? `${literal.negated ? 'not ' : ''}${atomText(literal.atom)}`
    : `${termText(literal.left)} ${literal.comparator} ${termText(literal.right)}`;
