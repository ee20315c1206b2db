// What a text of rules says, as the parser found it: names are not yet looked up.

import * as sn from '../../index.js';

/** A place in the text; both count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A text of rules that is wrong. */
export class RuleError extends sn.SinterError {
  static {
    Object.defineProperty(this.prototype, 'name', { value: 'RuleError', configurable: true, writable: true });
  }
  /** Where in the text. */
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

/** A member of a domain: by its number, or by its name. */
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

/** What a body is a conjunction of. */
export type Literal =
  | { readonly kind: 'atom'; readonly atom: Atom; readonly negated: boolean; readonly at: Place }
  | { readonly kind: 'comparison'; readonly comparator: Comparator; readonly left: Term; readonly right: Term; readonly at: Place };

export interface Rule {
  /** From 1, in the order of the text; the alternatives of one rule with `;` share it. */
  readonly number: number;
  readonly head: Atom;
  readonly body: readonly Literal[];
  /** What it is worth: a number, the name of a parameter, or all. */
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

/** Head[x, z] = f(sum of products): indices that the head lacks are summed. */
export interface Equation {
  readonly number: number;
  readonly head: Atom;
  /** The index with the dot, along which softmax is 1. */
  readonly along: string | null;
  readonly f: Nonlinearity | null;
  readonly sum: readonly Product[];
  /** += and not =. */
  readonly adds: boolean;
  readonly text: string;
  readonly at: Place;
}

export interface DomainDeclaration {
  readonly name: string;
  readonly size: number;
  /** Of its members, where they have any. */
  readonly names: readonly string[] | null;
  readonly at: Place;
}

/** Likes(Person, Person) of truth values, or W[Person, Person] of numbers. */
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

/** The name of an underscore, which stands for a variable that is nowhere else. */
export const anonymous = (number: number): string => `_#${number}`;

export const isAnonymous = (variable: string): boolean => variable.startsWith('_#');

/** A variable as in the text. */
export const shownName = (variable: string): string => (isAnonymous(variable) ? '_' : variable);

const termText = (term: Term): string =>
  term.kind === 'variable' ? shownName(term.name) : typeof term.value === 'number' ? String(term.value) : `'${term.value}'`;

export const atomText = ({ relation, terms }: Atom): string =>
  terms.length === 0 ? relation : `${relation}(${terms.map(termText).join(', ')})`;

export const literalText = (literal: Literal): string =>
  literal.kind === 'atom'
    ? `${literal.negated ? 'not ' : ''}${atomText(literal.atom)}`
    : `${termText(literal.left)} ${literal.comparator} ${termText(literal.right)}`;
