// The questions to the worker of rules, with their answers. Every question includes the program, so that a worker that was
// restarted can answer, too.

import type { Example } from './examples.ts';

const SEMANTICS = ['boolean', 'product', 'goedel', 'lukasiewicz', 'learnt'] as const;

export type Semantics = (typeof SEMANTICS)[number];

export const isSemantics = (name: unknown): name is Semantics => (SEMANTICS as readonly unknown[]).includes(name);

export const MOST_TEMPERATURE = 2;

export interface Source {
  text: string;
  semantics: Semantics;
  /** The temperature, for learnt semantics. */
  temperature: number;
  /** Embeddings, if there are any: a row per member of the domain. */
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
  /** The number of facts; for numbers, of entries. */
  count: number;
  /** For facts that either hold or not: the round in which each was derived, 0 for given ones, -1 for those that do not
   *  hold. null if there are too many entries to show. */
  rounds: Int16Array | null;
  /** For numbers: the entries after each recorded round; null for boolean facts. */
  values: Float32Array[] | null;
}

export interface Round {
  iteration: number;
  /** The number of new facts of each relation. */
  derived: Record<string, number>;
}

export type Cell = number | string;

export interface Answers {
  text: string;
  /** The names of its variables. */
  columns: string[];
  rows: Cell[][];
  /** The fact behind each row. */
  facts: string[];
  /** The number of all answers; not all rows are sent. */
  count: number;
}

export interface Result {
  relations: Relation[];
  rounds: Round[];
  /** The number of rounds that derived something. */
  iterations: number;
  /** The number of facts in all relations that rules derive. */
  count: number;
  /** The time of solve, once it is compiled, in ms. */
  ms: number;
  compileMs: number;
  queries: Answers[];
}

export interface Join {
  text: string;
  spec: string;
  /** The product of its variables' sizes: the points it goes through. */
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
  /** Where the fact comes from, in words. */
  from: string;
  because: Proof[];
}

export interface RulesMethods {
  /** Opens the library; returns the package's examples. */
  open(): Example[];
  /** Throws if the text is not a valid program. */
  check(source: Source): void;
  run(source: Source): Result;
  rules(source: Source): Rule[];
  query(source: Source, query: string): Answers;
  /** null if the fact does not hold. */
  explain(source: Source, fact: string): Proof | null;
}
