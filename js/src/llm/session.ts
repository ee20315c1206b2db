// Keys and values of the tokens so far, and the compiled step that reads tokens behind them.
//
// The cache has room for a power of 2 of tokens or for three quarters of one, and becomes larger when it is full: the step
// is compiled for each of these sizes, and for each size of a chunk. A step computes with all of the room: with no size in
// between a third of that would be for nothing. The cache is donated to the step, which writes new rows into it. A chunk
// that is not full is filled up; rows of what fills it lie behind the position, where no token sees them, and are
// overwritten by the tokens that come there.

import { SinterError, concat, dispose, internals, jit, slice, tensor, tidy, type Jitted, type Tensor } from '../index.js';
import { emptyCache, type CacheType } from './cache.js';
import type { Config } from './config.js';
import { hidden, logitsOf, type LayerCache, type ModelAngles, type Weights } from './forward.js';

/** Tokens that the least cache has room for. */
const LEAST_CAPACITY = 256;
/** Tokens that a step reads at most. */
export const CHUNK = 128;
/** Tokens of the least chunk that is not a single one. */
const LEAST_CHUNK = 8;

/** What is computed of a model. */
export interface Parts {
  config: Config;
  weights: Weights;
  angles: ModelAngles;
  /** Of keys and values. */
  cacheType: CacheType;
  /** Most tokens of a text. */
  context: number;
}

type Step = Jitted<[weights: Weights, caches: LayerCache[], tokens: Tensor, position: Tensor, last: Tensor], { logits: Tensor; caches: LayerCache[] }>;

/** The least power of 2 that is no less. */
const powerOf2 = (size: number): number => 2 ** Math.ceil(Math.log2(size));

/** For how many tokens a cache has room that takes so many. */
const roomFor = (count: number): number => {
  const size = powerOf2(Math.max(LEAST_CAPACITY, count)), less = size * 0.75;
  return less >= Math.max(LEAST_CAPACITY, count) ? less : size;
};

/** For how many tokens a step is compiled that reads so many. */
export const chunkOf = (count: number): number => (count === 1 ? 1 : Math.max(LEAST_CHUNK, powerOf2(count)));

/** A text's keys and values, or texts' (texts, 1, ...), and how many tokens there is room for. */
export class Caches {
  layers: LayerCache[] = [];
  #capacity = 0;
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Makes room for so many tokens. front: the sizes of the axes in front of the heads. */
  reserve(front: readonly number[], count: number): void {
    if (count <= this.#capacity) return;
    const { config, cacheType } = this.#parts;
    const capacity = roomFor(count);
    const grown = tidy(() =>
      Array.from({ length: config.layers }, (_, layer): LayerCache => {
        const enlarged = (old: Tensor | undefined, size: number): Tensor => {
          const more = emptyCache(cacheType, [...front, config.keyHeads, capacity - (old ? this.#capacity : 0)], size);
          return old ? concat([old, more], { axis: front.length + 1 }) : more;
        };
        const old = this.layers[layer];
        return { keys: enlarged(old?.keys, config.headSize), values: enlarged(old?.values, config.valueSize) };
      }),
    );
    internals.evaluate(grown.flatMap(({ keys, values }) => [keys, values]));
    dispose(this.layers);
    this.layers = grown;
    this.#capacity = capacity;
  }

  dispose(): void {
    dispose(this.layers);
    this.layers = [];
    this.#capacity = 0;
  }
}

export class Session {
  readonly #parts: Parts;
  readonly #step: Step;
  readonly #caches: Caches;
  /** Tokens whose keys and values are in the cache. */
  #tokens: number[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#caches = new Caches(parts);
    const { config, angles } = parts;
    this.#step = jit(
      (weights: Weights, caches: LayerCache[], tokens: Tensor, position: Tensor, last: Tensor) => {
        const [x, next] = hidden(config, weights, angles, tokens, position, caches);
        return { logits: logitsOf(config, weights, x.take(last, { axis: 1 })).reshape([-1]), caches: next };
      },
      { donate: 1 },
    ) as Step;
  }

  get length(): number {
    return this.#tokens.length;
  }

  /** Programs compiled so far. */
  get cacheSize(): number {
    return this.#step.cacheSize;
  }

  /** Starts a text: of its tokens those at the beginning stay that the cache has. Returns the others, at least one. */
  begin(tokens: ArrayLike<number>): number[] {
    const list = Array.from(tokens);
    let kept = 0;
    while (kept < this.#tokens.length && kept < list.length - 1 && this.#tokens[kept] === list[kept]) kept++;
    this.#tokens.length = kept;
    return list.slice(kept);
  }

  /** Reads tokens behind those so far, chunk by chunk; the logits of the last one. Stops early, with null, when
   *  isAborted says so. */
  async read(tokens: readonly number[], isAborted: () => boolean): Promise<Float32Array | null> {
    let logits: Tensor | null = null;
    for (let at = 0; at < tokens.length; at += CHUNK) {
      logits?.dispose();
      logits = null;
      if (isAborted()) return null;
      logits = this.#readChunk(tokens.slice(at, at + CHUNK));
      // The page stays alive between chunks.
      if (at + CHUNK < tokens.length) await logits.data();
    }
    try {
      return (await logits!.data()) as Float32Array;
    } finally {
      logits!.dispose();
    }
  }

  #readChunk(tokens: readonly number[]): Tensor {
    const size = chunkOf(tokens.length);
    const position = this.#tokens.length;
    this.#caches.reserve([1], position + size);
    const filled = new Int32Array(size);
    filled.set(tokens);
    try {
      const { logits, caches } = tidy(() =>
        this.#step(this.#parts.weights, this.#caches.layers, tensor(filled, { shape: [1, size] }), tensor(position, { dtype: 'int32' }), tensor([tokens.length - 1], { dtype: 'int32' })),
      );
      this.#caches.layers = caches;
      this.#tokens.push(...tokens);
      return logits;
    } catch (error) {
      // The cache may be used up.
      this.reset();
      throw error;
    }
  }

  /** Forgets all tokens, and gives the cache back. */
  reset(): void {
    this.#caches.dispose();
    this.#tokens = [];
  }

  dispose(): void {
    this.reset();
    this.#step.dispose();
  }
}

/** Token numbers of a text or as they were given, each checked. */
export function checkTokens(op: string, tokens: ArrayLike<number>, size: number, context: number): Int32Array<ArrayBuffer> {
  if (typeof tokens !== 'object' || tokens === null || !(Array.isArray(tokens) || internals.isNumericArray(tokens)))
    throw new SinterError('argument', op, `expected a text or tokens, not ${internals.shown(tokens)}`);
  const list = Array.from(tokens as ArrayLike<unknown>);
  const wrong = list.findIndex((token) => !(Number.isInteger(token) && (token as number) >= 0 && (token as number) < size));
  if (wrong >= 0) throw new SinterError('argument', op, `token ${wrong} is ${internals.shown(list[wrong])}, there are 0 to ${size - 1}`);
  if (list.length === 0) throw new SinterError('argument', op, 'there are no tokens');
  if (list.length > context) throw new SinterError('argument', op, `${list.length} tokens, and the context has ${context}`);
  return Int32Array.from(list as number[]);
}

/** Tokens as one row, filled up to a power of 2, so that few programs are compiled. */
export function padded(tokens: Int32Array): Tensor {
  const filled = new Int32Array(powerOf2(tokens.length));
  filled.set(tokens);
  return tensor(filled, { shape: [1, filled.length] });
}

/** The first rows of (1, n, width). */
export const firstRows = (x: Tensor, count: number): Tensor => slice(x, [0, 0, 0], [1, count, x.shape[2]!]).reshape([count, -1]);
