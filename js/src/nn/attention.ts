// Attention as a layer: with several heads, positions, fewer heads of keys than of queries, and a cache to decode token by
// token; and the transformer block around it.

import { asTensor, type TensorLike } from '../apply.js';
import { checkInteger, checkChoice, shown } from '../check.js';
import { ShapeError, SinterError, shapeText } from '../errors.js';
import { arange, attention, logicalAnd, permuteDims, reshape, rope, take, where, zeros } from '../functions.gen.js';
import { ATTENTION, type AttentionOptions } from '../options.gen.js';
import { readOptions, type OptionSchema } from '../options.js';
import * as random from '../random.js';
import { tidy } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { dropout, geglu, gelu, linear, relu, swiglu, type LinearParams } from './layers.js';
import { sequential } from './compose.js';
import { checkParams, readApply, type ApplyOptions, type Module } from './module.js';
import { layerNorm, rmsNorm } from './norms.js';

/** Heads in front of tokens: (n, tokens, heads * size) -> (n, heads, tokens, size). */
const split = (x: Tensor, heads: number): Tensor => permuteDims(reshape(x, [x.shape[0]!, x.shape[1]!, heads, -1]), [0, 2, 1, 3]);

/** The inverse of split. */
const merge = (x: Tensor): Tensor => reshape(permuteDims(x, [0, 2, 1, 3]), [x.shape[0]!, x.shape[2]!, -1]);

/** x as (n, tokens, size). */
function tokensOf(op: string, x: TensorLike): Tensor {
  const given = asTensor(x, op);
  if (given.ndim === 3) return given;
  throw new ShapeError(op, `needs (n, tokens, size): x ${shapeText(given.shape)}`, { shapes: [given.shape] });
}

function checkHeads(op: string, size: number, heads: number): void {
  checkInteger(op, 'heads', heads, 1);
  checkInteger(op, 'size', size, 1);
  if (size % heads !== 0) throw new SinterError('argument', op, `size ${shown(size)} does not divide into ${heads} heads`);
}

/** Self-attention with heads of size / heads numbers: x (n, tokens, size) -> the same shape. Parameters are an array of
 *  those of the projections to queries, keys, values and the result. */
export function selfAttention(
  size: number,
  heads: number,
  given?: AttentionOptions,
): Module<LinearParams[]> {
  const op = 'nn.selfAttention';
  const options = readOptions<AttentionOptions>(op, given, ATTENTION);
  checkHeads(op, size, heads);
  const part = linear(size, size, { bias: false });
  return {
    name: 'selfAttention',
    init: (key) => tidy(() => random.splitKeys(key, 4).map(part.init)),
    apply: (params, x) =>
      tidy(() => {
        const tokens = tokensOf(op, x);
        if (!Array.isArray(params) || params.length !== 4) checkParams('selfAttention', null);
        const [q, k, v] = params.slice(0, 3).map((each) => split(part.apply(each, tokens), heads)) as [Tensor, Tensor, Tensor];
        return part.apply(params[3]!, merge(attention(q, k, v, options)));
      }),
  };
}

export interface MultiHeadAttentionOptions {
  /** Number of heads of keys and values, each shared by several heads of queries. Default: heads, as many as of queries. */
  keyHeads?: number;
  /** Lets a token see only itself and those before it. Default false. */
  causal?: boolean;
  /** Rotates queries and keys by their positions (sn.rope); a number is the base. Default false. */
  rope?: boolean | number;
  /** Adds a bias in the projections. Default true. */
  bias?: boolean;
  /** Numbers per head. Default: size / heads. */
  width?: number;
}

const HEADS: OptionSchema<MultiHeadAttentionOptions> = { keyHeads: 'integer', causal: 'boolean', rope: 'any', bias: 'boolean', width: 'integer' };

export interface MultiHeadAttentionParams {
  query: LinearParams;
  key: LinearParams;
  value: LinearParams;
  result: LinearParams;
}

/** Keys and values of the tokens so far, (n, keyHeads, capacity, width of a head); the first `length` of capacity are
 *  filled. */
export interface KeyValueCache {
  keys: Tensor;
  values: Tensor;
  /** The number of tokens so far, int32 (). */
  length: Tensor;
}

/** A module that can go through a sequence in pieces; each piece sees those before it, by a cache. */
export interface Decoder<P, C> extends Module<P> {
  /** An empty cache for this number of sequences, of at most `capacity` tokens each. */
  cache(sequences: number, capacity: number): C;
  /** Applies the module to the next tokens (n, tokens, size) after those in the cache. Returns the result, and the cache
   *  for the tokens that follow. Tokens beyond the capacity are lost without an error: count them. */
  decode(params: P, x: TensorLike, cache: C): [Tensor, C];
}

/** The cache with rows behind the `length` rows that it has. */
function append(cache: Tensor, rows: Tensor, length: Tensor): Tensor {
  const place = arange(0, cache.shape[2]!, 1, { dtype: 'int32' }).sub(length);
  const count = rows.shape[2]!;
  const isNew = logicalAnd(place.greaterEqual(0), place.less(count));
  const moved = count === 1 ? rows : take(rows, place.clip(0, count - 1), { axis: 2 });
  return where(reshape(isNew, [1, 1, -1, 1]), moved.astype(cache.dtype), cache);
}

/** Multi-head attention: x (n, tokens, size) -> the same shape. apply takes { mask }, decode a cache. */
export function multiHeadAttention(
  size: number,
  heads: number,
  given?: MultiHeadAttentionOptions,
): Decoder<MultiHeadAttentionParams, KeyValueCache> {
  const op = 'nn.multiHeadAttention';
  const { keyHeads = heads, causal = false, rope: rotary = false, bias = true, width: own } = readOptions(op, given, HEADS);
  if (own === undefined) checkHeads(op, size, heads);
  else checkHeads(op, checkInteger(op, 'width', own, 1) * checkInteger(op, 'heads', heads, 1), heads);
  checkInteger(op, 'keyHeads', keyHeads, 1);
  if (heads % keyHeads !== 0) throw new SinterError('argument', op, `${heads} heads do not share ${keyHeads} of keys evenly`);
  if (typeof rotary !== 'boolean' && typeof rotary !== 'number')
    throw new SinterError('argument', op, `option rope is ${shown(rotary)}, expected true, false or a number`);
  const width = own ?? size / heads;
  const [whole, shared] = [linear(size, heads * width, { bias }), linear(size, keyHeads * width, { bias })];
  const joined = linear(heads * width, size, { bias });
  const base = typeof rotary === 'number' ? { base: rotary } : {};
  const rotated = (x: Tensor, offset: TensorLike): Tensor => (rotary === false ? x : rope(x, { ...base, offset }));
  const attend = (params: MultiHeadAttentionParams, x: TensorLike, mask: TensorLike | undefined, cache: KeyValueCache | null): [Tensor, KeyValueCache | null] => {
    checkParams('multiHeadAttention', params);
    const tokens = tokensOf(op, x);
    const from = cache?.length ?? 0;
    const q = rotated(split(whole.apply(params.query, tokens), heads), from);
    const keys = rotated(split(shared.apply(params.key, tokens), keyHeads), from);
    const values = split(shared.apply(params.value, tokens), keyHeads);
    const seen = { ...(mask !== undefined && { mask }), causal: causal || cache !== null };
    if (!cache) return [joined.apply(params.result, merge(attention(q, keys, values, seen))), null];
    const next = {
      keys: append(cache.keys, keys, cache.length),
      values: append(cache.values, values, cache.length),
      length: cache.length.add(tokens.shape[1]!),
    };
    const mixed = attention(q, next.keys, next.values, { ...seen, past: cache.length });
    return [joined.apply(params.result, merge(mixed)), next];
  };
  return {
    name: 'multiHeadAttention',
    init: (key) =>
      tidy(() => {
        const [q, k, v, r] = random.splitKeys(key, 4) as [Tensor, Tensor, Tensor, Tensor];
        return { query: whole.init(q), key: shared.init(k), value: shared.init(v), result: joined.init(r) };
      }),
    apply: (params, x, options) => tidy(() => attend(params, x, readApply(op, options).mask, null)[0]),
    decode: (params, x, cache) => tidy(() => attend(params, x, undefined, cache) as [Tensor, KeyValueCache]),
    cache: (sequences, capacity) => {
      const shape = [checkInteger(op, 'sequences', sequences, 1), keyHeads, checkInteger(op, 'capacity', capacity, 1), width];
      return { keys: zeros(shape), values: zeros(shape), length: zeros([], { dtype: 'int32' }) };
    },
  };
}

export interface TransformerBlockOptions extends MultiHeadAttentionOptions {
  /** 'gpt': layerNorm, gelu and biases; 'llama': rmsNorm, swiglu and rope, no biases. Default 'gpt'. */
  form?: 'gpt' | 'llama';
  /** Activation between the two products. Default 'gelu', for llama 'swiglu'. */
  activation?: 'gelu' | 'relu' | 'swiglu' | 'geglu';
  /** Width between the two products; default 4 * size. */
  hidden?: number;
  /** Dropout rate of the results of attention and of the products, in training. Default 0. */
  dropout?: number;
}

const BLOCK: OptionSchema<TransformerBlockOptions> = { ...HEADS, form: 'any', activation: 'any', hidden: 'integer', dropout: 'number' };

export interface TransformerBlockParams {
  norm: unknown;
  attention: MultiHeadAttentionParams;
  feedNorm: unknown;
  feed: unknown;
}

/** A transformer block as in GPT-2 and Llama, causal by default: y = x + attention(norm(x)), then y + feed(norm(y)),
 *  where feed is two products with an activation between them. */
export function transformerBlock(
  size: number,
  heads: number,
  given?: TransformerBlockOptions,
): Decoder<TransformerBlockParams, KeyValueCache> {
  const op = 'nn.transformerBlock';
  const options = readOptions(op, given, BLOCK);
  checkHeads(op, size, heads);
  const isLlama = checkChoice(op, 'form', options.form ?? 'gpt', ['gpt', 'llama']) === 1;
  const { form: _, activation = isLlama ? 'swiglu' : 'gelu', hidden = 4 * size, dropout: rate = 0, ...own } = options;
  const { bias = !isLlama } = own;
  const attend = multiHeadAttention(size, heads, { causal: true, rope: isLlama, bias, ...own });
  const norm = (isLlama ? rmsNorm(size) : layerNorm(size)) as Module;
  const inner = linear(size, hidden, { bias });
  const raised = [
    () => [inner, gelu()],
    () => [inner, relu()],
    () => [swiglu(size, hidden, { bias })],
    () => [geglu(size, hidden, { bias })],
  ][checkChoice(op, 'activation', activation, ['gelu', 'relu', 'swiglu', 'geglu'])]!();
  const feed: Module = sequential(...(raised as Module[]), linear(hidden, size, { bias }) as Module) as Module;
  const drop = dropout(rate);
  const through = (params: TransformerBlockParams, x: TensorLike, rest: ApplyOptions, mixed: (x: Tensor) => Tensor): Tensor => {
    checkParams('transformerBlock', params);
    const [first, second] = rest.key ? random.splitKeys(rest.key) : [];
    const dropped = (y: Tensor, key: Tensor | undefined): Tensor => (rate > 0 ? drop.apply({}, y, { ...rest, key }) : y);
    const tokens = tokensOf(op, x);
    const seen = tokens.add(dropped(mixed(norm.apply(params.norm, tokens)), first));
    return seen.add(dropped(feed.apply(params.feed, norm.apply(params.feedNorm, seen)), second));
  };
  return {
    name: 'transformerBlock',
    init: (key) =>
      tidy(() => {
        const [a, b] = random.splitKeys(key) as [Tensor, Tensor];
        return { norm: norm.init(a), attention: attend.init(a), feedNorm: norm.init(b), feed: feed.init(b) };
      }),
    apply: (params, x, options) =>
      tidy(() => {
        const rest = readApply(op, options);
        return through(params, x, rest, (y) => attend.apply(params.attention, y, { mask: rest.mask }));
      }),
    decode: (params, x, cache) =>
      tidy(() => {
        let next = cache;
        const y = through(params, x, {}, (seen) => {
          const [mixed, after] = attend.decode(params.attention, seen, cache);
          next = after;
          return mixed;
        });
        return [y, next];
      }),
    cache: attend.cache,
  };
}
