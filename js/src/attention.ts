// Attention: one call into the core, which writes the formula as graph; fusion makes one kernel of it.

import { withAddresses, type TensorLike } from './apply.js';
import type { Tensor } from './tensor.js';

export interface AttentionOptions {
  /** Token i sees sources 0 .. i only. */
  causal?: boolean;
  /** Broadcasts to (batch, heads, tokens, sources): bools tell what is seen, numbers are added to the scores. */
  mask?: TensorLike;
  /** Default 1 / sqrt(size). */
  scale?: number;
}

/**
 * softmax(scale q kᵀ) v of q (batch, heads, tokens, size), k and v (batch, heads, sources, size), in blocks of
 * rows: no matrix of all scores lies in memory. k and v may have fewer heads, each shared by as many of q.
 */
export const attention = (
  q: TensorLike,
  k: TensorLike,
  v: TensorLike,
  { causal = false, mask, scale = NaN }: AttentionOptions = {},
): Tensor =>
  withAddresses('attention', mask === undefined ? [q, k, v] : [q, k, v, mask], (rt, [a, b, c, m = 0]) =>
    rt.exports.sinter_attention(a!, b!, c!, m, Number(causal), scale),
  );
