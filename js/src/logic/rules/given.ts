// The facts of a program: those of its text, and those that calls of set gave instead of earlier ones. Their tensors are made
// when needed, in the forms in which relations are kept.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import { ALGEBRAS } from './algebras.js';
import { columnsOf } from './bits.js';
import type { Fact, Relation, Semantics } from './check.js';
import { shapeOf } from './dense.js';
import { checkWithin, fail, readRows, type Rows } from './facts.js';
import type { Tensors } from './fixpoint.js';
import { keptOf, type Layout } from './kept.js';
import type { FactForms, Layouts } from './packed.js';

/** The tensors of all relations that have facts. */
export interface FactTensors extends FactForms {
  readonly kept: Tensors;
}

/** Facts whose weight is a parameter: a tensor with 1 at the fact, 0 elsewhere. */
export interface WeightedFacts {
  readonly relation: string;
  readonly weight: string;
  readonly at: Tensor;
}

interface Given {
  readonly written: { rows: number[]; values: number[] };
  set: { rows: Int32Array; values: ArrayLike<number> | null } | null;
  /** kept: the form that solve uses. If that is bits and no rule derives the relation, also pairs, and transposed: bits with the
   *  other argument's rows. */
  tensors: { kept?: Tensor; pairs?: Tensor; transposed?: Tensor };
}

const FORMS = ['kept', 'pairs', 'transposed'] as const;

export class GivenFacts {
  readonly #relations: readonly Relation[];
  readonly #semantics: Semantics;
  readonly #layouts: Layouts;
  readonly #given = new Map<Relation, Given>();
  readonly weighted: readonly WeightedFacts[];

  constructor(relations: readonly Relation[], facts: readonly Fact[], semantics: Semantics, layouts: Layouts) {
    this.#relations = relations;
    this.#semantics = semantics;
    this.#layouts = layouts;
    for (const relation of relations) this.#given.set(relation, { written: { rows: [], values: [] }, set: null, tensors: {} });
    const weighted: WeightedFacts[] = [];
    for (const { relation, members, weight } of facts) {
      const { rows, values } = this.#given.get(relation)!.written;
      if (typeof weight === 'string') {
        weighted.push({ relation: relation.name, weight, at: sn.keep(keptOf(relation, null, Int32Array.from(members), [1], 'float32')) });
      } else {
        rows.push(...members);
        values.push(weight);
      }
    }
    this.weighted = weighted;
  }

  set(relation: Relation, rows: Rows | Tensor, values: ArrayLike<number> | undefined): void {
    const given = this.#given.get(relation)!;
    if (relation.parameter) fail('program.set', `${relation.name} is a parameter`, 'its values are among params');
    if (relation.numbers) {
      if (relation.derived) fail('program.set', `${relation.name} is given by an equation`);
      const tensor = sn.tidy(() => sn.reshape(rows instanceof sn.Tensor ? rows : sn.tensor(rows as number[]), shapeOf(relation)).astype('float32'));
      this.#release(given);
      given.tensors = { kept: sn.keep(tensor) };
      return;
    }
    given.set = { rows: readRows('program.set', relation, rows), values: this.#values(relation, rows as Rows, values) };
    this.#release(given);
  }

  #values({ name, domains }: Relation, rows: Rows, values: ArrayLike<number> | undefined): ArrayLike<number> | null {
    const count = Array.isArray(rows[0]) || domains.length === 0 ? rows.length : rows.length / domains.length;
    if (values === undefined) return domains.length === 0 ? Array(count).fill(1) : null;
    if (this.#semantics === 'boolean') fail('program.set', `facts of ${name} have values, which boolean semantics has not`);
    if (values.length !== count) fail('program.set', `${count} facts of ${name} have ${values.length} values`);
    for (let i = 0; i < count; i++) checkWithin('program.set', `value ${i}`, values[i], 1);
    return Float32Array.from(values);
  }

  /** The tensors of the relations that have facts; makes missing ones. */
  tensors(): FactTensors {
    const facts = { kept: {} as Tensors, pairs: {} as Tensors, transposed: {} as Tensors };
    for (const relation of this.#relations) {
      const given = this.#given.get(relation)!;
      if (!relation.numbers && Object.keys(given.tensors).length === 0) given.tensors = sn.keep(sn.tidy(() => this.#make(relation, given)));
      for (const form of FORMS) if (given.tensors[form]) facts[form][relation.name] = given.tensors[form];
    }
    return facts;
  }

  #make(relation: Relation, { written, set }: Given): Given['tensors'] {
    const layout = this.#layouts.get(relation.name) ?? null;
    const { length: arity } = relation.domains;
    const rows = written.rows.length ? Int32Array.from([...written.rows, ...(set?.rows ?? [])]) : (set?.rows ?? new Int32Array());
    const more = set ? (set.values ?? new Float32Array(set.rows.length / arity).fill(1)) : [];
    const values = layout === null ? [...written.values, ...Array.from(more)] : null;
    if (rows.length === 0 && !values?.length && (layout === null || relation.derived)) return {};
    const kept = keptOf(relation, layout, rows, values, ALGEBRAS[this.#semantics].dtype);
    if (layout === null || relation.derived) return { kept };
    const transposed = keptOf(relation, (1 - layout) as Layout, rows, null, 'bool');
    // With many facts, joining whole rows of words is faster than a row per fact, so there are no pairs.
    const [size, width] = kept.shape as [number, number];
    if (rows.length / 2 > 4 * size * Math.max(width, 8)) return { kept, transposed };
    const columns = columnsOf(rows);
    return { kept, transposed, pairs: sn.tensor(columns, { shape: [2, columns.length / 2] }) };
  }

  #release(given: Given): void {
    sn.dispose(given.tensors);
    given.tensors = {};
  }

  dispose(): void {
    for (const given of this.#given.values()) this.#release(given);
    for (const { at } of this.weighted) at.dispose();
  }
}
