// The forward pass of encoders such as BERT: every token sees all others, and norms stand behind what is added.
//
// Positions are rows that are added to the embeddings, where the file has some, or else turn queries and keys. Tokens that only
// fill up a text lie behind it, where nothing sees them.

import { arange, attention, broadcastTo, permuteDims, reshape, zeros, type Tensor } from '../index.js';
import type { Config } from './config.js';
import { Block, base, fed, normalized, projected, turned, type ModelAngles, type Weights } from './forward.js';
import { turnsAt } from './rope.js';
import { rowsOf } from './weights.js';

/** Embeddings of tokens, and what the file adds to them: of the first type of tokens, of positions. */
function embedded(config: Config, weights: Weights, tokens: Tensor): Tensor {
  let x = rowsOf(base(weights['token_embd.weight']!), tokens);
  const [types, positions] = [weights['token_types.weight'], weights['position_embd.weight']];
  if (types) x = x.add(rowsOf(base(types), zeros([1], { dtype: 'int32' })));
  if (positions) x = x.add(rowsOf(base(positions), arange(0, tokens.shape[1]!, 1, { dtype: 'int32' })));
  return normalized(config, weights, 'token_embd_norm', x);
}

/** What the last block makes of tokens (batch, n), of which the first ones count: (batch, n, width). */
export function encoded(config: Config, weights: Weights, angles: ModelAngles, tokens: Tensor, count: Tensor): Tensor {
  const n = tokens.shape[1]!;
  const mask = broadcastTo(arange(0, n, 1, { dtype: 'int32' }).less(count), [n, n]);
  const turns = weights['position_embd.weight'] ? null : turnsAt(angles.all, zeros([], { dtype: 'int32' }), n);
  let x = embedded(config, weights, tokens);
  for (let layer = 0; layer < config.layers; layer++) {
    const block = new Block(config, weights, layer);
    const [q, k, v] = projected(block, x);
    const [queries, keys] = turns ? [turned(config, q, turns), turned(config, k, turns)] : [q, k];
    const mixed = reshape(permuteDims(attention(queries, keys, v, { mask }), [0, 2, 1, 3]), [x.shape[0]!, n, -1]);
    const between = block.norm('attn_output_norm', x.add(block.product('attn_output', mixed)));
    x = block.norm('layer_output_norm', between.add(fed(block, between)));
  }
  return x;
}
