// Boolean rules on relations kept as bits. Joins of these forms are done on words:
//
//   pairs (a, b), bits (b, c), b dropped            rows combined by or (joinRows)
//   bits (a, b), bits (b, c), b dropped             the same for every bit of a row (joinBits)
//   bits (a, b), bits (a, b)                        and of words
//   truths of a, bits (a, b)                        rows masked
//   the same, b dropped                             whether a row has any bit
//
// All other joins are done on whole tensors (dense.ts); their results are packed when bits are needed again.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import { ALGEBRAS } from './algebras.js';
import { inverted, joinBits, joinRows, pack, transposed, unpack, type Rows } from './bits.js';
import type { Clause, Condition, Relation } from './check.js';
import { conditionValue, deriveClause, joinValues, project, writeHead, type Read, type Value } from './dense.js';
import { labelsOf, planClause } from './joins.js';

const BOOLEAN = ALGEBRAS.boolean;

/** How each relation is kept: as bits whose rows are one argument, or (null) as a whole tensor. */
export type Layouts = ReadonlyMap<string, Rows | null>;

/** Other forms of relations that consist of facts only, by name. */
export interface FactForms {
  /** The facts as two columns. */
  readonly pairs: Readonly<Record<string, Tensor>>;
  /** Words in the orientation in which the relation is not kept. */
  readonly transposed: Readonly<Record<string, Tensor>>;
}

/** How a join is done; see InspectedJoin.on. */
export type JoinedOn = 'facts' | 'bits' | 'tensors';

interface Forms {
  /** Words whose rows are the first label, and words whose rows are the second. */
  readonly words?: readonly [Tensor | null, Tensor | null];
  readonly dense?: Tensor | undefined;
  readonly pairs?: Tensor | undefined;
}

/** An operand or a result of a join, in at least one form. Other forms are made when needed. */
export class Bits {
  readonly labels: readonly string[];
  readonly sizes: readonly number[];
  readonly pairs: Tensor | null;
  /** How the join that made it was done. */
  readonly on: JoinedOn;
  readonly #words: [Tensor | null, Tensor | null];
  #dense: Tensor | null;

  constructor(labels: readonly string[], sizes: readonly number[], { words = [null, null], dense, pairs }: Forms, on: JoinedOn = 'bits') {
    this.labels = labels;
    this.sizes = sizes;
    this.#words = [...words];
    this.#dense = dense ?? null;
    this.pairs = pairs ?? null;
    this.on = on;
  }

  static of({ labels, tensor }: Value): Bits {
    return new Bits(labels, tensor.shape, { dense: tensor }, 'tensors');
  }

  /** A copy that uses given tensors for its forms. */
  static from({ labels, sizes }: Bits, forms: Readonly<Record<string, Tensor>>, prefix: string): Bits {
    const form = (name: string): Tensor | undefined => forms[prefix + name];
    return new Bits(labels, sizes, { words: [form('0') ?? null, form('1') ?? null], dense: form('dense'), pairs: form('pairs') });
  }

  /** The tensors of its forms, by name. */
  forms(prefix: string): Record<string, Tensor> {
    const all = Object.entries({ 0: this.#words[0], 1: this.#words[1], dense: this.#dense, pairs: this.pairs });
    return Object.fromEntries(all.flatMap(([name, t]) => (t ? [[prefix + name, t]] : [])));
  }

  /** A tensor of any form that it has. */
  get any(): Tensor {
    return this.#words[0] ?? this.#words[1] ?? this.#dense!;
  }

  get isWords(): boolean {
    return this.#words.some((words) => words !== null);
  }

  /** The words whose rows are a variable. */
  words(label: string): Tensor {
    const rows = this.labels.indexOf(label) as Rows;
    const own = this.#words[rows];
    if (own) return own;
    const other = this.#words[1 - rows];
    const made = other ? transposed(other, this.sizes[rows]!) : pack(rows === 0 ? this.#dense! : sn.transpose(this.#dense!));
    this.#words[rows] = made;
    return made;
  }

  /** A variable for which there are rows already, or the first one. */
  get rowLabel(): string {
    return this.labels[this.#words[0] ? 0 : this.#words[1] ? 1 : 0]!;
  }

  get value(): Value {
    const [byFirst, bySecond] = this.#words;
    this.#dense ??= byFirst ? unpack(byFirst, this.sizes[1]!) : sn.transpose(unpack(bySecond!, this.sizes[0]!));
    return { labels: this.labels, tensor: this.#dense };
  }
}

/** A value whose words have the first label as rows. */
const ofRows = (labels: readonly [string, string], sizes: readonly [number, number], words: Tensor, on: JoinedOn = 'bits'): Bits =>
  new Bits(labels, sizes, { words: [words, null] }, on);

/** A relation in the form it is kept in, as a whole tensor. */
export function wholeOf(layouts: Layouts, { name, domains }: Relation, tensor: Tensor): Tensor {
  const rows = layouts.get(name) ?? null;
  if (rows === null) return tensor;
  const bools = unpack(tensor, domains[1 - rows]!.size);
  return rows === 0 ? bools : sn.transpose(bools);
}

export const wholeReader = (layouts: Layouts, read: Read): Read => (relation, atom) => wholeOf(layouts, relation, read(relation, atom));

/** Evaluates the plan of one rule. */
export class Evaluation {
  readonly #clause: Clause;
  readonly #layouts: Layouts;
  readonly #forms: FactForms;

  constructor(clause: Clause, layouts: Layouts, forms: FactForms) {
    this.#clause = clause;
    this.#layouts = layouts;
    this.#forms = forms;
  }

  #size(label: string): number {
    return this.#clause.domains.get(label)!.size;
  }

  operand(condition: Condition, read: Read, atom: number): Bits {
    const dense = (): Bits => Bits.of(conditionValue(BOOLEAN, condition, this.#clause.domains, wholeReader(this.#layouts, read), atom));
    if (condition.kind === 'comparison') return dense();
    const { entry: { relation, args }, negated } = condition;
    const rows = this.#layouts.get(relation.name) ?? null;
    const labels = labelsOf(condition);
    if (rows === null || labels.length !== 2 || typeof args[0] !== 'string' || typeof args[1] !== 'string') return dense();
    const sizes = relation.domains.map(({ size }) => size);
    const clean = (words: Tensor, from: Rows): Tensor => (negated ? inverted(words, sizes[1 - from]!) : words);
    const other = this.#forms.transposed[relation.name];
    const words: [Tensor | null, Tensor | null] = [null, null];
    words[rows] = clean(read(relation, atom), rows);
    if (other) words[1 - rows] = clean(other, (1 - rows) as Rows);
    return new Bits(labels, sizes, { words, pairs: negated ? undefined : this.#forms.pairs[relation.name] });
  }

  /** Runs one join of the plan, in the cheapest way that applies. */
  join(a: Bits, b: Bits, labels: readonly string[]): Bits {
    return (
      this.#rowJoin(a, b, labels) ??
      this.#rowJoin(b, a, labels) ??
      this.#product(a, b, labels) ??
      this.#both(a, b, labels) ??
      this.#mask(a, b, labels) ??
      this.#mask(b, a, labels) ??
      Bits.of(joinValues(BOOLEAN, a.value, b.value, labels))
    );
  }

  #rowJoin(a: Bits, b: Bits, labels: readonly string[]): Bits | null {
    const common = a.labels.filter((label) => b.labels.includes(label));
    if (!a.pairs || !b.isWords || common.length !== 1 || labels.length !== 2 || labels.includes(common[0]!)) return null;
    const shared = common[0]!;
    const from = a.labels.indexOf(shared);
    const row = a.labels[1 - from]!;
    const column = b.labels.find((label) => label !== shared)!;
    const [to, source] = [1 - from, from].map((i) => sn.take(a.pairs!, i, { axis: 0 })) as [Tensor, Tensor];
    const words = joinRows(b.words(shared), to, source, this.#size(row));
    return ofRows([row, column], [this.#size(row), this.#size(column)], words, 'facts');
  }

  #product(a: Bits, b: Bits, labels: readonly string[]): Bits | null {
    const common = a.labels.filter((label) => b.labels.includes(label));
    const isProduct = a.isWords && b.isWords && common.length === 1 && labels.length === 2 && !labels.includes(common[0]!);
    if (!isProduct || a.labels.length + b.labels.length !== 4) return null;
    const shared = common[0]!;
    const [row, column] = [a, b].map((bits) => bits.labels.find((label) => label !== shared)!) as [string, string];
    return ofRows([row, column], [this.#size(row), this.#size(column)], joinBits(a.words(row), b.words(shared)));
  }

  #both(a: Bits, b: Bits, labels: readonly string[]): Bits | null {
    const same = a.labels.length === 2 && b.labels.length === 2 && a.labels.every((label) => b.labels.includes(label));
    if (!same || !(a.isWords || b.isWords)) return null;
    const row = (a.isWords ? a : b).rowLabel;
    return this.#kept(sn.bitwiseAnd(a.words(row), b.words(row)), row, a.labels.find((label) => label !== row)!, labels);
  }

  /** Masks rows of bits by truths of their variable. */
  #mask(a: Bits, b: Bits, labels: readonly string[]): Bits | null {
    const row = a.labels[0];
    if (a.labels.length !== 1 || !b.isWords || !b.labels.includes(row!)) return null;
    const words = sn.where(sn.reshape(a.value.tensor, [this.#size(row!), 1]), b.words(row!), 0);
    return this.#kept(words, row!, b.labels.find((label) => label !== row)!, labels);
  }

  /** The words as a result, after dropping variables that are not in labels. */
  #kept(words: Tensor, row: string, column: string, labels: readonly string[]): Bits {
    const bits = ofRows([row, column], [this.#size(row), this.#size(column)], words);
    return labels.length === 2 ? bits : this.projected(bits, labels);
  }

  projected(bits: Bits, labels: readonly string[]): Bits {
    if (labels.length === bits.labels.length) return bits;
    if (labels.length !== 1 || !bits.isWords) return Bits.of(project(BOOLEAN, bits.value, labels));
    const label = labels[0]!;
    const words = bits.words(bits.rowLabel);
    if (label === bits.rowLabel) return Bits.of({ labels, tensor: sn.any(words, { axis: 1 }) });
    const row = sn.bitwiseOrReduce(words, { axis: 0, keepdims: true });
    return Bits.of({ labels, tensor: sn.reshape(unpack(row, this.#size(label)), [this.#size(label)]) });
  }

  /** The result in the form in which the head's relation is kept. */
  head(result: Bits): Tensor {
    const { head } = this.#clause;
    const rows = this.#layouts.get(head.relation.name) ?? null;
    if (rows === null) return writeHead(BOOLEAN, head, result.value);
    const row = head.args[rows];
    const plain = typeof row === 'string' && result.labels.length === 2;
    if (plain) return result.words(row);
    const whole = sn.broadcastTo(writeHead(BOOLEAN, head, result.value), head.relation.domains.map(({ size }) => size));
    return pack(rows === 0 ? whole : sn.transpose(whole));
  }
}

/** What a rule derives, in the form in which its head's relation is kept. */
export function deriveBits(clause: Clause, read: Read, layouts: Layouts, forms: FactForms): Tensor {
  const touched = [clause.head, ...clause.body.flatMap((condition) => (condition.kind === 'entry' ? [condition.entry] : []))];
  if (touched.every(({ relation }) => (layouts.get(relation.name) ?? null) === null)) return deriveClause(BOOLEAN, clause, read);
  const plan = planClause(clause);
  const evaluation = new Evaluation(clause, layouts, forms);
  const values = clause.body.map((condition, i) => evaluation.projected(evaluation.operand(condition, read, i), plan.operands[i]!));
  for (const { left, right, labels } of plan.joins) values.push(evaluation.join(values[left]!, values[right]!, labels));
  return evaluation.head(values[values.length - 1]!);
}

/** Chooses which argument of each relation numbers the rows: the one by which it is more often joined with facts. */
export function chooseLayouts(relations: readonly Relation[], clauses: readonly Clause[], isLarge: (relation: Relation) => boolean): Layouts {
  const votes = new Map<string, [number, number]>();
  for (const { body } of clauses) {
    const entries = body.flatMap((condition) => (condition.kind === 'entry' ? [condition] : []));
    const ofFacts = entries.filter(({ entry, negated }) => !entry.relation.derived && !negated);
    for (const { entry: { relation, args } } of entries) {
      const vote = votes.get(relation.name) ?? [0, 0];
      votes.set(relation.name, vote);
      if (!relation.derived || args.length !== 2) continue;
      args.forEach((arg, i) => {
        if (ofFacts.some(({ entry }) => entry.args.includes(arg))) vote[i as Rows]++;
      });
    }
  }
  return new Map(relations.map((relation) => {
    const [first, second] = votes.get(relation.name) ?? [0, 0];
    return [relation.name, isLarge(relation) ? (second > first ? 1 : 0) : null];
  }));
}

