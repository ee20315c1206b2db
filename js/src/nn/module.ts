// A module is a pair of functions: parameters from a key, and a result from parameters and an input.
// It holds no tensors itself.

import type { TensorLike } from '../apply.js';
import type { Tensor } from '../tensor.js';

export interface Module<P = unknown> {
  /** Fresh parameters; key as from random.key. */
  init(key: Tensor): P;
  apply(params: P, x: TensorLike): Tensor;
}

/** Parameters of a module that has none. */
export type NoParams = Readonly<Record<never, never>>;

/** A module that only computes. */
export const stateless = (f: (x: TensorLike) => Tensor): Module<NoParams> => ({
  init: () => ({}),
  apply: (_, x) => f(x),
});
