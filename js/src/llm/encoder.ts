// The forward pass of encoders such as BERT: every token sees all others, and norms follow the residual additions.
//
// If the file has rows for positions, they are added to the embeddings; otherwise positions rotate queries and keys. Padding
// tokens lie behind the text and are masked out.

import { arange, attention, broadcastTo, permuteDims, reshape, zeros, type Tensor } from '../index.js';
import type { Config } from './config.js';
import { Block, baseWeight, feedForward, normalized, projected, rotated, type ModelAngles, type Weights } from './forward.js';
import { rotationsAt } from './rope.js';
import { rowsOf } from './weights.js';

/** Embeddings of tokens, plus what the file has rows for: the first token type, and positions. */
function embedded(config: Config, weights: Weights, tokens: Tensor): Tensor {
  let x = rowsOf(baseWeight(weights['token_embd.weight']!), tokens);
  const [types, positions] = [weights['token_types.weight'], weights['position_embd.weight']];
  if (types) x = x.add(rowsOf(baseWeight(types), zeros([1], { dtype: 'int32' })));
  if (positions) x = x.add(rowsOf(baseWeight(positions), arange(0, tokens.shape[1]!, 1, { dtype: 'int32' })));
  return normalized(config, weights, 'token_embd_norm', x);
}

/** The output of the last block for tokens (batch, n), of which only the first `count` are not padding: (batch, n, width). */
export function encoded(config: Config, weights: Weights, angles: ModelAngles, tokens: Tensor, count: Tensor): Tensor {
  const n = tokens.shape[1]!;
  const mask = broadcastTo(arange(0, n, 1, { dtype: 'int32' }).less(count), [n, n]);
  const rotations = weights['position_embd.weight'] ? null : rotationsAt(angles.all, zeros([], { dtype: 'int32' }), n);
  let x = embedded(config, weights, tokens);
  for (let layer = 0; layer < config.layers; layer++) {
    const block = new Block(config, weights, layer);
    const [q, k, v] = projected(block, x);
    const [queries, keys] = rotations ? [rotated(config, q, rotations), rotated(config, k, rotations)] : [q, k];
    const mixed = reshape(permuteDims(attention(queries, keys, v, { mask }), [0, 2, 1, 3]), [x.shape[0]!, n, -1]);
    const between = block.norm('attn_output_norm', x.add(block.product('attn_output', mixed)));
    x = block.norm('layer_output_norm', between.add(feedForward(block, between)));
  }
  return x;
}
