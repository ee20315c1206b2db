// How weights are initialised, by name. Variances follow from the fan-in of a weight (..., in, out): the number of terms of
// one output's sum, which is the product of all sizes but the last. glorot also counts the fan-out: the outputs that an
// input goes to.

import { shown } from '../check.js';
import { SinterError } from '../errors.js';
import { NEWTON_SCHULZ_COEFFICIENTS, MUON_COEFFICIENTS, orthogonal } from '../orthogonal.js';
import * as random from '../random.js';
import { tidy } from '../scope.js';
import type { Tensor } from '../tensor.js';

/** Makes an initial weight. */
export type Initializer = (key: Tensor, shape: readonly number[]) => Tensor;

const fans = (shape: readonly number[]): [number, number] => {
  const size = shape.reduce((a, b) => a * b, 1);
  const outputs = shape.at(-1) ?? 1;
  return [size / outputs, size / (shape.at(-2) ?? 1)];
};

/** A weight from a uniform distribution with mean 0 and variance 1 / fan. */
export function fresh(key: Tensor, shape: readonly number[], fan: number): Tensor {
  const bound = Math.sqrt(3 / fan);
  return random.uniform(key, shape, { minval: -bound, maxval: bound });
}

/** The reciprocal of the variance, by the shape of a weight. */
type Fan = (shape: readonly number[]) => number;

const he: Fan = (shape) => fans(shape)[0] / 2;
const glorot: Fan = (shape) => (fans(shape)[0] + fans(shape)[1]) / 2;
const lecun: Fan = (shape) => fans(shape)[0];

const uniform = (fan: Fan): Initializer => (key, shape) => fresh(key, shape, fan(shape));

const normal = (fan: Fan, draw: Initializer = random.normal): Initializer => (key, shape) =>
  tidy(() => draw(key, shape).mul(1 / Math.sqrt(fan(shape))));

/** The weight as a matrix (product of all sizes but the last, last size) is orthogonal: the vectors along its shorter
 *  side have length 1 and are perpendicular. */
const orthogonalOnes: Initializer = (key, shape) =>
  tidy(() => {
    const columns = shape.at(-1) ?? 1;
    const rows = shape.reduce((a, b) => a * b, 1) / columns;
    return orthogonal(random.normal(key, [rows, columns]), [[12, MUON_COEFFICIENTS], [6, NEWTON_SCHULZ_COEFFICIENTS]]).reshape(shape);
  });

/**
 * Initialisers by name (He et al. 2015, Glorot and Bengio 2010, LeCun et al. 1998, Saxe et al. 2014). he keeps the size of
 * values through layers with relu, glorot and lecun through others; truncatedNormal is lecunNormal cut at two deviations.
 */
export const initializers = {
  heUniform: uniform(he),
  heNormal: normal(he),
  glorotUniform: uniform(glorot),
  glorotNormal: normal(glorot),
  lecunUniform: uniform(lecun),
  lecunNormal: normal(lecun),
  orthogonal: orthogonalOnes,
  truncatedNormal: normal(lecun, random.truncatedNormal),
} as const satisfies Record<string, Initializer>;

export type InitializerName = keyof typeof initializers;

/** The initialiser that an option gives, by name or as a function. */
export function initializerOf(op: string, given: InitializerName | Initializer = 'lecunUniform'): Initializer {
  if (typeof given === 'function') return given;
  if (Object.hasOwn(initializers, given)) return initializers[given];
  throw new SinterError('argument', op, `option initializer is ${shown(given)}, expected a name or (key, shape) => tensor`, {
    hint: `there are ${Object.keys(initializers).join(', ')}`,
  });
}
