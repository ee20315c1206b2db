// The keys and values of the tokens so far, and the compiled step that reads further tokens.
//
// The cache has room for a power of 2 of tokens or for three quarters of one, and grows when it is full. The step is compiled
// once per such size and per size of a chunk. A step computes over the whole cache: without the sizes in between a third of
// that would be wasted. The cache is donated to the step, which writes new rows into it. A chunk that is not full is padded;
// the rows of the padding lie behind the position, where no token sees them, and later tokens overwrite them.

import { SinterError, concat, dispose, internals, jit, slice, tensor, tidy, type Jitted, type Tensor } from '../index.js';
import { emptyCache, type CacheType } from './cache.js';
import type { Config } from './config.js';
import { hiddenStates, logitsOf, type LayerCache, type ModelAngles, type Weights } from './forward.js';

/** The smallest capacity of a cache, in tokens. */
const LEAST_CAPACITY = 256;
/** The most tokens that a step reads. */
export const CHUNK = 128;
/** The smallest chunk of several tokens. */
const LEAST_CHUNK = 8;

/** What a model computes with. */
export interface Parts {
  config: Config;
  weights: Weights;
  angles: ModelAngles;
  /** How keys and values are stored. */
  cacheType: CacheType;
  /** The largest number of tokens of a text. */
  context: number;
}

type Step = Jitted<[weights: Weights, caches: LayerCache[], tokens: Tensor, position: Tensor, last: Tensor], { logits: Tensor; caches: LayerCache[] }>;

/** The smallest power of 2 that is at least the size. */
const powerOf2 = (size: number): number => 2 ** Math.ceil(Math.log2(size));

/** The capacity of a cache for so many tokens. */
const roomFor = (count: number): number => {
  const size = powerOf2(Math.max(LEAST_CAPACITY, count)), less = size * 0.75;
  return less >= Math.max(LEAST_CAPACITY, count) ? less : size;
};

/** How many tokens the step is compiled for that reads so many. */
export const chunkOf = (count: number): number => (count === 1 ? 1 : Math.max(LEAST_CHUNK, powerOf2(count)));

/** Keys and values of one text, or of several with shape (texts, 1, ...), and the capacity in tokens. */
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
  /** The tokens whose keys and values are in the cache. */
  #tokens: number[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#caches = new Caches(parts);
    const { config, angles } = parts;
    this.#step = jit(
      (weights: Weights, caches: LayerCache[], tokens: Tensor, position: Tensor, last: Tensor) => {
        const [x, next] = hiddenStates(config, weights, angles, tokens, position, caches);
        return { logits: logitsOf(config, weights, x.take(last, { axis: 1 })).reshape([-1]), caches: next };
      },
      { donate: 1 },
    ) as Step;
  }

  get length(): number {
    return this.#tokens.length;
  }

  /** Programs compiled so far for the step. */
  get cacheSize(): number {
    return this.#step.cacheSize;
  }

  /** Starts a text. Keeps the part of the cache that the text shares with the one before, as a common beginning. Returns the
   *  tokens still to read, at least one. */
  begin(tokens: ArrayLike<number>): number[] {
    const list = Array.from(tokens);
    let kept = 0;
    while (kept < this.#tokens.length && kept < list.length - 1 && this.#tokens[kept] === list[kept]) kept++;
    this.#tokens.length = kept;
    return list.slice(kept);
  }

  /** Reads further tokens, chunk by chunk, and returns the logits behind the last one; or null, early, once goesOn
   *  resolves to false. */
  async read(tokens: readonly number[], goesOn: () => Promise<boolean>): Promise<Float32Array | null> {
    let logits: Tensor | null = null;
    for (let at = 0; at < tokens.length; at += CHUNK) {
      logits?.dispose();
      logits = null;
      if (!(await goesOn())) return null;
      logits = this.#readChunk(tokens.slice(at, at + CHUNK));
      // Waiting lets the page respond between chunks.
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
      // The step may have consumed the donated cache.
      this.reset();
      throw error;
    }
  }

  /** Forgets all tokens and frees the cache. */
  reset(): void {
    this.#caches.dispose();
    this.#tokens = [];
  }

  dispose(): void {
    this.reset();
    this.#step.dispose();
  }
}

/** Checks token numbers and returns them as a new array. */
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

/** Tokens as one row, padded to a power of 2, so that few programs are compiled. */
export function padded(tokens: Int32Array): Tensor {
  const filled = new Int32Array(powerOf2(tokens.length));
  filled.set(tokens);
  return tensor(filled, { shape: [1, filled.length] });
}

/** The first `count` rows of x (1, n, width): (count, width). */
export const firstRows = (x: Tensor, count: number): Tensor => slice(x, [0, 0, 0], [1, count, x.shape[2]!]).reshape([count, -1]);
