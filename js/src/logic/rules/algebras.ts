// The meaning of "and", "or" and "not". A rule is the same chain of einsums in each algebra. Where "or" is not a sum, a fact
// that is derived twice counts once.
//
//   boolean       and          or    of bools
//   product       a b          max   of numbers from 0 to 1
//   goedel        min          max
//   lukasiewicz   a + b - 1    max   and at least 0
//   learnt        a b          +     of any numbers; max of rules
//   sums          a b          +     of any numbers, in equations

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Semantics } from './check.js';

export interface Algebra {
  readonly dtype: 'bool' | 'float32';
  and(a: Tensor, b: Tensor): Tensor;
  or(a: Tensor, b: Tensor): Tensor;
  not(a: Tensor): Tensor;
  /** "or" along axes, which are removed. */
  any(a: Tensor, axes: readonly number[]): Tensor;
  /** "and", followed by "or" along the axes that the spec sums, as one matrix product; null: and() and any() have to do it. */
  readonly einsum: ((spec: string, a: Tensor, b: Tensor) => Tensor) | null;
}

const number = (t: Tensor): Tensor => t.astype('float32');

const boolean: Algebra = {
  dtype: 'bool',
  and: (a, b) => sn.logicalAnd(a, b),
  or: (a, b) => sn.logicalOr(a, b),
  not: (a) => sn.logicalNot(a),
  any: (a, axes) => sn.any(a, { axis: [...axes] }),
  // A sum of zeros and ones is above 0 exactly if one of them is 1, however it is rounded.
  einsum: (spec, a, b) => sn.greater(sn.einsum(spec, number(a), number(b)), 0),
};

const fuzzy = (and: Algebra['and']): Algebra => ({
  dtype: 'float32',
  and,
  or: (a, b) => sn.maximum(a, b),
  not: (a) => sn.sub(1, a),
  any: (a, axes) => (a.size === 0 ? sn.sum(a, { axis: [...axes] }) : sn.max(a, { axis: [...axes] })),
  einsum: null,
});

const times = (a: Tensor, b: Tensor): Tensor => sn.mul(a, b);

export const SUMS: Algebra = {
  dtype: 'float32',
  and: times,
  or: (a, b) => sn.add(a, b),
  not: (a) => sn.sub(1, a),
  any: (a, axes) => sn.sum(a, { axis: [...axes] }),
  einsum: (spec, a, b) => sn.einsum(spec, a, b),
};

export const ALGEBRAS: Readonly<Record<Semantics, Algebra>> = {
  boolean,
  product: fuzzy(times),
  goedel: fuzzy((a, b) => sn.minimum(a, b)),
  lukasiewicz: fuzzy((a, b) => sn.relu(sn.sub(sn.add(a, b), 1))),
  learnt: { ...SUMS, or: (a, b) => sn.maximum(a, b) },
};
