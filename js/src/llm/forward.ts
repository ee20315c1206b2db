// The forward pass of a decoder, for all architectures: what a block does follows from the tensors that it has.
//
// Tokens are (batch, tokens). With a cache, keys and values of earlier tokens lie in it, and those of these tokens are written
// behind them. Every shape is fixed, and the position is a tensor, so one program serves all positions.

import { SinterError, arange, attention, checkpoint, concat, gelu, geluTanh, layerNorm, matmul, permuteDims, reshape, rmsNorm, rope, silu, slice, softmax, tanh, where, logicalAnd, matmulBlocks, type Tensor } from '../index.js';
import { appended, isQuantised, timesKeys, timesValues } from './cache.js';
import type { Activation, Config } from './config.js';
import { anglesOf, rotationsAt, type Angles } from './rope.js';
import { isBlocks, rowsOf, shapeOf, type WeightData } from './weights.js';

/** A matrix (out, in) as it is held, optionally with what LoRA adds to it. */
export type Weight = WeightData | { base: WeightData; down: Tensor; up: Tensor; scale: number };

/** The weights of a model by their names in files. */
export type Weights = Readonly<Record<string, Weight>>;

/** Keys and values of a layer: (batch, keyHeads, capacity, size) each, or rows of blocks (cache.ts). */
export interface LayerCache {
  keys: Tensor;
  values: Tensor;
}

/** x (..., in) times the transpose of a weight (out, in): the only place that multiplies with weights. Another form of held
 *  weights is one more case here. */
export function linear(x: Tensor, weight: Weight): Tensor {
  if (isBlocks(weight)) return matmulBlocks(x, weight.bytes, { kind: weight.kind });
  if (!('base' in weight)) return matmul(x, permuteDims(weight, [1, 0])).astype('float32');
  const added = matmul(matmul(x, permuteDims(weight.down, [1, 0])), permuteDims(weight.up, [1, 0]));
  return linear(x, weight.base).add(added.mul(weight.scale));
}

/** A weight without what LoRA adds. */
export const baseWeight = (weight: Weight): WeightData => ('base' in weight ? weight.base : weight);

/** A vector. Files never quantise these, so it is a tensor. */
const vector = (weight: Weight | undefined): Tensor | undefined => weight as Tensor | undefined;

/** One block (layer) of a model: finds its weights by their names. */
export class Block {
  constructor(
    readonly config: Config,
    readonly weights: Weights,
    readonly layer: number,
  ) {}

  get(name: string): Weight | undefined {
    return this.weights[`blk.${this.layer}.${name}`];
  }

  has(name: string): boolean {
    return this.get(`${name}.weight`) !== undefined;
  }

  /** The product with a weight, plus the bias if the file has one. */
  product(name: string, x: Tensor): Tensor {
    const weight = this.get(`${name}.weight`);
    if (!weight) throw new SinterError('argument', 'llm', `the file has no tensor blk.${this.layer}.${name}.weight`);
    const y = linear(x, weight);
    const bias = vector(this.get(`${name}.bias`));
    return bias ? y.add(bias) : y;
  }

  norm(name: string, x: Tensor): Tensor {
    return normalized(this.config, this.weights, `blk.${this.layer}.${name}`, x);
  }
}

/** The model's kind of norm, with the weight and bias that the file has. */
export function normalized({ norm, eps }: Config, weights: Weights, name: string, x: Tensor): Tensor {
  const [weight, bias] = [vector(weights[`${name}.weight`]), vector(weights[`${name}.bias`])];
  const given = { eps, ...(weight && { weight }) };
  return norm === 'rms' ? rmsNorm(x, given) : layerNorm(x, { ...given, ...(bias && { bias }) });
}

/* ---- attention ---- */

/** (batch, tokens, heads * size) -> (batch, heads, tokens, size) */
const split = (x: Tensor, heads: number): Tensor => permuteDims(reshape(x, [x.shape[0]!, x.shape[1]!, heads, -1]), [0, 2, 1, 3]);

/** The elements of the last axis from an index on. */
const part = (x: Tensor, from: number, size: number): Tensor =>
  slice(x, [...x.shape.slice(0, -1).map(() => 0), from], [...x.shape.slice(0, -1), size]);

/** Queries, keys and values, from three products or from a fused one. */
export function projected(block: Block, x: Tensor): [q: Tensor, k: Tensor, v: Tensor] {
  const { heads, keyHeads, headSize, valueSize } = block.config;
  if (!block.has('attn_qkv')) {
    return [split(block.product('attn_q', x), heads), split(block.product('attn_k', x), keyHeads), split(block.product('attn_v', x), keyHeads)];
  }
  const all = block.product('attn_qkv', x);
  const [q, k] = [heads * headSize, keyHeads * headSize];
  return [split(part(all, 0, q), heads), split(part(all, q, k), keyHeads), split(part(all, q + k, keyHeads * valueSize), keyHeads)];
}

/** x with the first elements of each head rotated by their positions. */
export function rotated({ rope: { size, interleaved } }: Config, x: Tensor, angles: { cos: Tensor; sin: Tensor }): Tensor {
  const whole = x.shape[3]!;
  if (size === whole) return rope(x, { ...angles, interleaved });
  return concat([rope(part(x, 0, size), { ...angles, interleaved }), part(x, size, whole - size)], { axis: -1 });
}

/** Which sources each token sees, for tokens from a position on: (tokens, sources). */
function seen(tokens: number, sources: number, position: Tensor, window: number): Tensor {
  const distance = reshape(arange(0, tokens, 1, { dtype: 'int32' }), [tokens, 1]).add(position).sub(arange(0, sources, 1, { dtype: 'int32' }));
  const isBefore = distance.greaterEqual(0);
  return window > 0 ? logicalAnd(isBefore, distance.less(window)) : isBefore;
}

/** Attention by separate products: softmax(cap * tanh(scale q k^T / cap)) v, or softmax(scale q k^T) v for a cap of 0. k and
 *  v are as a cache stores them. */
function scored(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, cap: number): Tensor {
  const [batch, heads, tokens, size] = q.shape as [number, number, number, number];
  const [keyHeads, sources] = [k.shape[1]!, k.shape[2]!];
  const rows = (heads / keyHeads) * tokens;
  let scores = timesKeys(reshape(q, [batch, keyHeads, rows, size]), k).mul(1 / Math.sqrt(size));
  if (cap > 0) scores = tanh(scores.div(cap)).mul(cap);
  const seenScores = where(mask, reshape(scores, [batch, keyHeads, -1, tokens, sources]), -Infinity);
  const mixed = timesValues(reshape(softmax(seenScores, { axis: -1 }), [batch, keyHeads, rows, sources]), v);
  return reshape(mixed, [batch, heads, tokens, -1]);
}

/** What attention needs besides x. */
interface Context {
  position: Tensor;
  /** Cosines and sines for layers that see all tokens, and for those that see a window. */
  angles: { all: { cos: Tensor; sin: Tensor }; window: { cos: Tensor; sin: Tensor } };
}

function attended(block: Block, x: Tensor, { position, angles }: Context, cache: LayerCache | null): [Tensor, LayerCache | null] {
  const { config, layer } = block;
  const window = config.window(layer);
  const rotations = window > 0 ? angles.window : angles.all;
  let [q, k, v] = projected(block, x);
  if (block.has('attn_q_norm')) q = block.norm('attn_q_norm', q);
  if (block.has('attn_k_norm')) k = block.norm('attn_k_norm', k);
  [q, k] = [rotated(config, q, rotations), rotated(config, k, rotations)];
  const next = cache && { keys: appended(cache.keys, k, position), values: appended(cache.values, v, position) };
  const [keys, values] = next ? [next.keys, next.values] : [k, v];
  const mask = (): Tensor => seen(x.shape[1]!, keys.shape[2]!, position, window);
  const mixed =
    config.scoreCap > 0 || isQuantised(keys)
      ? scored(q, keys, values, mask(), config.scoreCap)
      : attention(q, keys, values, window > 0 ? { mask: mask() } : { causal: true, past: position });
  return [block.product('attn_output', reshape(permuteDims(mixed, [0, 2, 1, 3]), [x.shape[0]!, x.shape[1]!, -1])), next];
}

/* ---- blocks ---- */

const ACTIVATIONS: Readonly<Record<Activation, (x: Tensor) => Tensor>> = { silu: (x) => silu(x), gelu: (x) => geluTanh(x), 'exact gelu': (x) => gelu(x) };

/** The feed-forward part: down(activation(gate) * up). The gate is a product of its own or the first half of up; without one
 *  it is down(activation(up)). */
export function feedForward(block: Block, x: Tensor): Tensor {
  const activate = ACTIVATIONS[block.config.activation];
  const up = block.product('ffn_up', x);
  if (block.has('ffn_gate')) return block.product('ffn_down', activate(block.product('ffn_gate', x)).mul(up));
  const down = block.get('ffn_down.weight');
  const inner = down ? shapeOf(baseWeight(down))[1]! : 0;
  if (up.shape[2] === inner) return block.product('ffn_down', activate(up));
  return block.product('ffn_down', activate(part(up, 0, inner)).mul(part(up, inner, inner)));
}

function blockOf(block: Block, x: Tensor, context: Context, cache: LayerCache | null): [Tensor, LayerCache | null] {
  const normed = block.norm('attn_norm', x);
  let [mixed, next] = attended(block, normed, context, cache);
  if (block.has('post_attention_norm')) mixed = block.norm('post_attention_norm', mixed);
  // A block without a second norm runs both halves in parallel, on the same normed input.
  if (!block.has('ffn_norm')) return [x.add(mixed).add(feedForward(block, normed)), next];
  const between = x.add(mixed);
  let added = feedForward(block, block.norm('ffn_norm', between));
  if (block.has('post_ffw_norm')) added = block.norm('post_ffw_norm', added);
  return [between.add(added), next];
}

/** Frequencies of a model, computed once. */
export interface ModelAngles {
  all: Angles;
  window: Angles;
}

/** factors: from the file, one per pair of elements, or null. */
export const modelAngles = (config: Config, factors: ArrayLike<number> | null): ModelAngles => ({
  all: anglesOf(config.rope, false, factors),
  window: anglesOf(config.rope, true, factors),
});

/** The normed output of the last block for tokens (batch, n) from a position on: (batch, n, width); and the new caches.
 *  together: how many consecutive blocks share a checkpoint, whose inner values derivatives compute again; 0: no
 *  checkpoints. */
export function hiddenStates(
  config: Config,
  weights: Weights,
  angles: ModelAngles,
  tokens: Tensor,
  position: Tensor,
  caches: readonly LayerCache[] | null,
  together = 0,
): [Tensor, LayerCache[]] {
  const count = tokens.shape[1]!;
  const rotations = { all: rotationsAt(angles.all, position, count), window: rotationsAt(angles.window, position, count) };
  let x = rowsOf(baseWeight(weights['token_embd.weight']!), tokens);
  if (config.embeddingScale !== 1) x = x.mul(config.embeddingScale);
  const after: LayerCache[] = [];
  const through = (h: Tensor, from: number, count: number): Tensor => {
    for (let layer = from; layer < from + count; layer++) {
      const [y, next] = blockOf(new Block(config, weights, layer), h, { position, angles: rotations }, caches?.[layer] ?? null);
      if (next) after.push(next);
      h = y;
    }
    return h;
  };
  const step = together || config.layers;
  for (let layer = 0; layer < config.layers; layer += step) {
    const some = (h: Tensor): Tensor => through(h, layer, Math.min(step, config.layers - layer));
    x = together ? checkpoint(some)(x) : some(x);
  }
  return [normalized(config, weights, 'output_norm', x), after];
}

/** The logits of an output of hiddenStates. A model without output weights uses its embeddings. */
export function logitsOf({ logitCap }: Config, weights: Weights, x: Tensor): Tensor {
  let logits = linear(x, weights['output.weight'] ?? weights['token_embd.weight']!);
  const bias = vector(weights['output.bias']);
  if (bias) logits = logits.add(bias);
  return logitCap > 0 ? tanh(logits.div(logitCap)).mul(logitCap) : logits;
}
