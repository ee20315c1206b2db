// The angles by which positions rotate queries and keys: the position times a frequency per pair of elements.
//
// Pair i of n has the frequency base ^ (-i / n). Models that were stretched to longer contexts divide frequencies: all by one
// factor (linear), each by a factor from a tensor in the file (Llama 3, long rope), or only the slow ones (YaRN, Peng et al.
// 2023, which also scales cosines and sines).

import { arange, tensor, type Tensor } from '../index.js';
import type { RopeConfig } from './config.js';

/** The frequency of each pair, and the factor for its cosines and sines. */
export interface Angles {
  frequencies: Float32Array<ArrayBuffer>;
  scale: number;
}

/** A pair that makes at least FAST turns within the original context is left alone by YaRN; one that makes at most SLOW
 *  turns is divided by the whole factor. */
const [FAST, SLOW] = [32, 1];

/** The pair, with a fraction, that makes so many turns within the original context. */
const pairOf = (turns: number, { size, base, originalContext }: RopeConfig): number =>
  (size * Math.log(originalContext / (turns * 2 * Math.PI))) / (2 * Math.log(base));

/** The share of a pair's frequency that stays undivided: 1 for fast pairs, 0 for slow ones. */
function kept(pair: number, rope: RopeConfig): number {
  const low = Math.max(0, Math.floor(pairOf(FAST, rope)));
  const high = Math.min(rope.size - 1, Math.ceil(pairOf(SLOW, rope)));
  return 1 - Math.min(1, Math.max(0, (pair - low) / Math.max(0.001, high - low)));
}

/** The angles of layers that see all tokens or a window. factors: from the file, one per pair, or null. */
export function anglesOf(rope: RopeConfig, isWindow: boolean, factors: ArrayLike<number> | null): Angles {
  const base = isWindow ? rope.windowBase : rope.base;
  // Layers that see a window are not stretched if they have a base of their own.
  const scaling = isWindow && rope.windowBase !== rope.base ? 'none' : rope.scaling;
  const frequencies = Float32Array.from({ length: rope.size / 2 }, (_, i) => {
    const own = base ** ((-2 * i) / rope.size) / (factors?.[i] ?? 1);
    if (scaling === 'none' || scaling === 'longrope') return own;
    const part = scaling === 'yarn' ? kept(i, rope) : 0;
    return own * part + (own / rope.factor) * (1 - part);
  });
  return { frequencies, scale: rope.attentionFactor * (scaling === 'yarn' ? 1 + 0.1 * Math.log(rope.factor) : 1) };
}

/** Cosines and sines (tokens, pairs) for tokens from a position on. */
export function rotationsAt({ frequencies, scale }: Angles, position: Tensor, tokens: number): { cos: Tensor; sin: Tensor } {
  const places = arange(0, tokens, 1, { dtype: 'int32' }).add(position).astype('float32').reshape([tokens, 1]);
  const angles = places.mul(tensor(frequencies));
  const [cos, sin] = [angles.cos(), angles.sin()];
  return scale === 1 ? { cos, sin } : { cos: cos.mul(scale), sin: sin.mul(scale) };
}
