// Equations of tensors, Head[x, z] = f(sum of products), where each product is a chain of einsums.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import { SUMS } from './algebras.js';
import type { Formula } from './check.js';
import { aligned, readEntry, runJoins, shapeOf, type Read } from './dense.js';
import { planJoins, variablesOf, type JoinPlan } from './joins.js';
import type { Nonlinearity } from './syntax.js';

const FUNCTIONS: Readonly<Record<Nonlinearity, (t: Tensor, axis: number) => Tensor>> = {
  step: (t) => sn.greater(t, 0),
  sigmoid: (t) => sn.sigmoid(t),
  relu: (t) => sn.relu(t),
  tanh: (t) => sn.tanh(t),
  exp: (t) => sn.exp(t),
  softmax: (t, axis) => sn.softmax(t, { axis }),
};

/** The join plan of a product of the sum; null if the product is only a number. */
export function planProduct({ head, sum, domains }: Formula, product: number): JoinPlan | null {
  const { entries } = sum[product]!;
  if (entries.length === 0) return null;
  return planJoins(entries.map(({ args }) => variablesOf(args)), head.args as string[], (label) => domains.get(label)!.size);
}

/** What an equation gives, as the tensor of its head. read gets the index of an atom, counted through all products. */
export function deriveFormula(formula: Formula, read: Read): Tensor {
  const labels = formula.head.args as string[];
  let atom = 0;
  const products = formula.sum.map(({ factor, entries }, i) => {
    const plan = planProduct(formula, i);
    if (!plan) return sn.tensor(factor);
    const operands = entries.map((entry) => readEntry(SUMS, entry, read(entry.relation, atom++).astype('float32')));
    const value = aligned(runJoins(SUMS, plan, operands), labels);
    return factor === 1 ? value : sn.mul(value, factor);
  });
  const sum = sn.broadcastTo(products.reduce((a, b) => sn.add(a, b)), shapeOf(formula.head.relation));
  return formula.f === null ? sum : FUNCTIONS[formula.f](sum, labels.indexOf(formula.along ?? ''));
}
