// What a definition derives, given the semantics and the parameters of a program.
//
// Fuzzy: a named weight is the sigmoid of its parameter; the entries of a relation that is a parameter are sigmoids, too.
//
// Learnt (after Domingos, arXiv 2510.12269): members have embeddings, the rows of E, and a fact also counts for members that
// are like its own. A relation R is read as K R K', where the likeness K = exp(-|e - e'|^2 / 2T) is 1 between a member and
// itself. A rule derives sigmoid((sum - 1/2) / T). At T = 0 likeness is the identity and the sigmoid is the step, so rules
// deduce exactly.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import { ALGEBRAS } from './algebras.js';
import type { Clause, Definition, Relation, Semantics } from './check.js';
import { deriveClause, type Read } from './dense.js';
import { deriveFormula } from './formulas.js';
import type { WeightedFacts } from './given.js';
import type { Derive, Tensors } from './fixpoint.js';
import { deriveBits, wholeReader, type FactForms, type Layouts } from './packed.js';

export type Parameters = Readonly<Record<string, Tensor>>;

/** sigmoid((score - 1/2) / T), or the step for T = 0 (null). */
export function truthOf(score: Tensor, temperature: Tensor | null): Tensor {
  if (temperature === null) return sn.greater(score, 0.5).astype('float32');
  return sn.sigmoid(sn.div(sn.sub(score, 0.5), temperature));
}

/** The likeness of each pair of members of a domain. */
export function likenessOf(embedding: Tensor, temperature: Tensor): Tensor {
  const dots = sn.matmul(embedding, sn.transpose(embedding));
  const own = sn.sum(sn.square(embedding), { axis: 1, keepdims: true });
  const distance = sn.relu(sn.sub(sn.add(own, sn.transpose(own)), sn.mul(dots, 2)));
  return sn.exp(sn.div(distance, sn.mul(temperature, -2)));
}

/** A relation as it is read through the embeddings of its domains. */
export function throughEmbeddings(relation: Relation, whole: Tensor, params: Parameters, temperature: Tensor | null): Tensor {
  let t = whole;
  for (const [axis, { name }] of relation.domains.entries()) {
    const embedding = params[name];
    if (!embedding || temperature === null) continue;
    t = sn.moveaxis(sn.matmul(sn.moveaxis(t, axis, -1), likenessOf(embedding, temperature)), -1, axis);
  }
  return t;
}

export const weightOf = (weight: number | string | null, params: Parameters): Tensor | number | null =>
  typeof weight === 'string' ? sn.sigmoid(params[weight]!) : weight;

/** Makes the function by which solve derives definitions. */
export function deriveWith(semantics: Semantics, params: Parameters, temperature: Tensor | null, layouts: Layouts, forms: FactForms): Derive {
  const algebra = ALGEBRAS[semantics];
  const clause = (definition: Clause, read: Read): Tensor => {
    if (semantics === 'boolean') return deriveBits(definition, read, layouts, forms);
    const weight = weightOf(definition.weight, params);
    if (semantics !== 'learnt') return deriveClause(algebra, definition, read, weight);
    const score = deriveClause(algebra, definition, (relation, atom) => throughEmbeddings(relation, read(relation, atom), params, temperature));
    const truth = truthOf(score, temperature);
    return weight === null ? truth : sn.mul(truth, weight);
  };
  return (definition: Definition, read: Read) =>
    definition.kind === 'clause' ? clause(definition, read) : deriveFormula(definition, wholeReader(layouts, read));
}

/** The facts, together with facts whose weights are parameters, and relations that are parameters. */
export function withParameters(
  relations: readonly Relation[],
  facts: Tensors,
  weighted: readonly WeightedFacts[],
  params: Parameters,
): Tensors {
  const all = { ...facts };
  for (const { name, parameter, numbers } of relations) if (parameter) all[name] = numbers ? params[name]! : sn.sigmoid(params[name]!);
  for (const { relation, weight, at } of weighted) {
    const t = sn.mul(at, sn.sigmoid(params[weight]!));
    all[relation] = all[relation] ? sn.maximum(all[relation], t) : t;
  }
  return all;
}
