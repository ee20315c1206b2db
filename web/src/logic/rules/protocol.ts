// Questions to the worker of rules, each with its answer. Every question has the program with it, so that a worker that was
// ended and started anew can answer as well.

import type { Example } from './examples.ts';

const SEMANTICS = ['boolean', 'product', 'goedel', 'lukasiewicz', 'learnt'] as const;

export type Semantics = (typeof SEMANTICS)[number];

export const isSemantics = (name: unknown): name is Semantics => (SEMANTICS as readonly unknown[]).includes(name);

export const MOST_TEMPERATURE = 2;

export interface Source {
  text: string;
  semantics: Semantics;
  /** Of learnt semantics. */
  temperature: number;
  /** Embeddings, where there are any: a row for each member of the domain. */
  params: Record<string, number[][]>;
}

export interface Axis {
  domain: string;
  size: number;
  names: string[] | null;
}

export interface Relation {
  name: string;
  axes: Axis[];
  numbers: boolean;
  derived: boolean;
  /** Facts; of numbers the entries. */
  count: number;
  /** Truth of facts that are not there and there: the round in which each came up, 0 of given ones, -1 of those that do not
   *  hold. null where there are too many entries to show. */
  rounds: Int16Array | null;
  /** Numbers: the entries after each round that is kept; null of boolean facts. */
  values: Float32Array[] | null;
}

export interface Round {
  iteration: number;
  /** New facts by relation. */
  derived: Record<string, number>;
}

export type Cell = number | string;

export interface Answers {
  text: string;
  /** Names of its variables. */
  columns: string[];
  rows: Cell[][];
  /** How many there are: not all are sent. */
  count: number;
}

export interface Result {
  relations: Relation[];
  rounds: Round[];
  /** Rounds that derived something. */
  iterations: number;
  /** Facts of all relations that rules derive. */
  count: number;
  /** Of solve, once compiled. */
  ms: number;
  compileMs: number;
  queries: Answers[];
}

export interface Join {
  text: string;
  spec: string;
  /** Members of its variables, multiplied: points it goes through. */
  points: number;
  on: 'facts' | 'bits' | 'tensors';
  ms: number;
}

export interface Rule {
  number: number;
  line: number;
  text: string;
  joins: Join[];
  kernels: number;
  ms: number;
}

export interface Proof {
  fact: string;
  /** Where it comes from, in words. */
  from: string;
  because: Proof[];
}

export interface RulesMethods {
  /** Opens the library; the package's examples. */
  open(): Example[];
  /** Whether the text is a program. */
  check(source: Source): void;
  run(source: Source): Result;
  rules(source: Source): Rule[];
  query(source: Source, query: string): Answers;
  /** null: the fact does not hold. */
  explain(source: Source, fact: string): Proof | null;
}
