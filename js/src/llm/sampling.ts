// Chooses the next token by its logits. In the order of llama.cpp: keep the topK best; of these the fewest that together reach
// the probability topP; of these the ones with at least minP times the probability of the best; then draw with a temperature.

import { SinterError, internals } from '../index.js';

const { readOptions, shown } = internals;

export interface SamplingOptions {
  /** Divides the logits; 0 always takes the best token. Default 0.8. */
  temperature?: number;
  /** How many of the best tokens are kept; 0: all. Default 40. */
  topK?: number;
  /** The probability that the kept tokens reach together. Default 0.95. */
  topP?: number;
  /** The least probability, as a share of the best token's. Default 0.05. */
  minP?: number;
  /** The same seed draws the same tokens. Default: a random seed. */
  seed?: number;
}

export const SAMPLING: internals.OptionSchema<SamplingOptions> = { temperature: 'number', topK: 'integer', topP: 'number', minP: 'number', seed: 'integer' };

export type Sampler = (logits: Float32Array) => number;

interface Candidate {
  token: number;
  logit: number;
}

/** Uniform numbers below 1 from a seed (Mulberry32, by Tommy Ettinger). */
function uniforms(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), 61 | bits);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

function best(logits: Float32Array): number {
  let token = 0;
  for (let i = 1; i < logits.length; i++) if (logits[i]! > logits[token]!) token = i;
  return token;
}

/** The best tokens in falling order; of equal ones the lower number first. */
function candidates(logits: Float32Array, count: number): Candidate[] {
  if (count === 0 || count >= logits.length)
    return Array.from(logits, (logit, token) => ({ token, logit })).sort((a, b) => b.logit - a.logit);
  const kept: Candidate[] = [];
  for (let token = 0; token < logits.length; token++) {
    const logit = logits[token]!;
    if (kept.length === count && !(logit > kept[count - 1]!.logit)) continue;
    if (kept.length === count) kept.pop();
    let [low, high] = [0, kept.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (kept[middle]!.logit >= logit) low = middle + 1;
      else high = middle;
    }
    kept.splice(low, 0, { token, logit });
  }
  return kept;
}

/** Probabilities of candidates, the first of which has the largest logit. */
function probabilities(list: readonly Candidate[], temperature: number): number[] {
  const weights = list.map(({ logit }) => Math.exp((logit - list[0]!.logit) / temperature));
  const sum = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / sum);
}

/** The fewest first candidates whose probabilities reach topP together, at temperature 1. */
function enough(list: readonly Candidate[], topP: number): Candidate[] {
  let sum = 0;
  const last = probabilities(list, 1).findIndex((probability) => (sum += probability) >= topP);
  return last < 0 ? [...list] : list.slice(0, last + 1);
}

/** A function that chooses a token by its logits. */
export function sampler(op: string, options: SamplingOptions): Sampler {
  const { temperature = 0.8, topK = 40, topP = 0.95, minP = 0.05, seed = Math.floor(Math.random() * 2 ** 31) } = readOptions(op, options, SAMPLING);
  const check = (what: string, value: number, most: number): void => {
    if (!(value >= 0 && value <= most)) throw new SinterError('argument', op, `${what} is ${shown(value)}, expected 0${most < Infinity ? ` to ${most}` : ' or more'}`);
  };
  check('temperature', temperature, Infinity);
  check('topK', topK, Infinity);
  check('topP', topP, 1);
  check('minP', minP, 1);
  const next = uniforms(seed);
  return (logits) => {
    if (temperature === 0) return best(logits);
    const top = enough(candidates(logits, topK), topP);
    const list = top.filter(({ logit }) => logit >= top[0]!.logit + Math.log(minP));
    const chances = probabilities(list, temperature);
    let left = next();
    const chosen = chances.findIndex((chance) => (left -= chance) < 0);
    return list[chosen < 0 ? list.length - 1 : chosen]!.token;
  };
}
