// How a cache of keys and values is stored: one row per token and head, of plain numbers or of Q8_0 blocks.
//
// New rows of float32 are scattered in place, into a cache that is donated. Scatter does not support caches of other dtypes:
// there a select between new and old rows puts the new ones at their positions. Blocks are multiplied without unpacking: for
// scores the queries are quantised to 8 bits, and for the mix of values the blocks are dequantised exactly.

import { UnsupportedError, arange, concat, logicalAnd, matmul, matmulBlocks, matmulDequantized, permuteDims, reshape, scatter, take, where, zeros, type Tensor } from '../index.js';

/** How keys and values are stored. */
export type CacheType = 'float32' | 'float16' | 'Q8_0';

/** Numbers per Q8_0 block and its bytes: a scale in float16, then whole numbers of 8 bits. */
const [NUMBERS, BYTES] = [32, 34];

export const isQuantised = (rows: Tensor): boolean => rows.dtype === 'uint8';

/** Quantises rows of numbers to rows of Q8_0 blocks. */
export function inBlocks(rows: Tensor): Tensor {
  const parts = reshape(rows, [...rows.shape.slice(0, -1), -1, NUMBERS]);
  const scale = parts.abs().max({ axis: -1, keepdims: true }).div(127).minimum(65504).astype('float16').astype('float32');
  const whole = where(scale.greater(0), parts.div(scale), 0).round().clip(-127, 127).astype('int32').bitwiseAnd(255);
  // The bits of a float16. A subnormal's are its multiple of 2^-24; a normal's are those of the float32, with the exponent
  // rebased to 5 bits.
  const half = where(scale.less(2 ** -14), scale.mul(2 ** 24).astype('int32'), scale.bitcast('int32').shiftRightLogical(13).sub(112 << 10));
  const bytes = concat([half.bitwiseAnd(255), half.shiftRightLogical(8), whole], { axis: -1 }).astype('uint8');
  return reshape(bytes, [...rows.shape.slice(0, -1), (rows.shape.at(-1)! / NUMBERS) * BYTES]);
}

/** Refuses heads whose size is not a multiple of a block. */
export function checkCache(op: string, type: CacheType, sizes: readonly number[]): void {
  const odd = sizes.find((size) => size % NUMBERS !== 0);
  if (type === 'Q8_0' && odd !== undefined) throw new UnsupportedError(op, `a cache in Q8_0 of heads of ${odd}`, { hint: `they would have to be multiples of ${NUMBERS}` });
}

/** An empty cache whose rows have room for `size` numbers. */
export const emptyCache = (type: CacheType, shape: readonly number[], size: number): Tensor =>
  type === 'Q8_0' ? zeros([...shape, (size / NUMBERS) * BYTES], { dtype: 'uint8' }) : zeros([...shape, size], { dtype: type });

/** The cache (batch, heads, capacity, row) after the rows of new tokens (batch, heads, tokens, size) are written from a
 *  position on. */
export function appended(cache: Tensor, rows: Tensor, position: Tensor): Tensor {
  const count = rows.shape[2]!;
  if (cache.dtype === 'float32') return scatter(cache, arange(0, count, 1, { dtype: 'int32' }).add(position), rows, { axis: 2 });
  const place = arange(0, cache.shape[2]!, 1, { dtype: 'int32' }).sub(position);
  const isNew = logicalAnd(place.greaterEqual(0), place.less(count));
  const made = isQuantised(cache) ? inBlocks(rows) : rows.astype(cache.dtype);
  const moved = count === 1 ? made : take(made, place.clip(0, count - 1), { axis: 2 });
  return where(reshape(isNew, [1, 1, -1, 1]), moved, cache);
}

/** x (batch, heads, rows, size) times the transpose of keys: (batch, heads, rows, capacity). */
export const timesKeys = (x: Tensor, keys: Tensor): Tensor =>
  isQuantised(keys) ? matmulBlocks(x, keys) : matmul(x, permuteDims(keys.astype('float32'), [0, 1, 3, 2]));

/** x (batch, heads, rows, capacity) times values: (batch, heads, rows, size). */
export const timesValues = (x: Tensor, values: Tensor): Tensor =>
  isQuantised(values) ? matmulDequantized(x, values) : matmul(x, values.astype('float32'));
