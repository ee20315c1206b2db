// Several texts at once: one step reads tokens of each text, at the text's own position, and reads the weights once for all of
// them.
//
// The step is that of one text, mapped over the texts (vmap): products with weights get one row per text and token. In a step a
// text reads up to a chunk of its prompt, or one token. Every text's tokens are padded to the longest chunk. A text that has no
// token to read reads its last one again, which changes nothing. As in session.ts, the padding lies where later tokens will be
// written.

import { jit, tensor, tidy, vmap, type Jitted, type Tensor } from '../index.js';
import { hiddenStates, logitsOf, type LayerCache, type Weights } from './forward.js';
import { CHUNK, Caches, chunkOf, type Parts } from './session.js';

type Step = Jitted<
  [weights: Weights, caches: LayerCache[], tokens: Tensor, positions: Tensor, last: Tensor],
  { logits: Tensor; caches: LayerCache[] }
>;

/** The logits behind the last token that a text has read. */
export interface Read {
  row: number;
  logits: Float32Array;
}

export class Batch {
  readonly #parts: Parts;
  readonly #step: Step;
  readonly #caches: Caches;
  /** For each text, how many tokens are in the cache, and which one is the last. */
  #lengths: number[] = [];
  #lasts: number[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#caches = new Caches(parts);
    const { config, angles } = parts;
    this.#step = jit(
      (weights: Weights, caches: LayerCache[], tokens: Tensor, positions: Tensor, last: Tensor) =>
        vmap((own: LayerCache[], list: Tensor, position: Tensor, place: Tensor) => {
          const [x, next] = hiddenStates(config, weights, angles, list, position, own);
          return { logits: logitsOf(config, weights, x.take(place, { axis: 1 })).reshape([-1]), caches: next };
        })(caches, tokens, positions, last),
      { donate: 1 },
    ) as Step;
  }

  lengthOf(row: number): number {
    return this.#lengths[row]!;
  }

  /** Starts as many new texts. */
  begin(rows: number): void {
    this.reset();
    this.#lengths = Array.from({ length: rows }, () => 0);
    this.#lasts = Array.from({ length: rows }, () => 0);
  }

  /** Reads the next tokens of each text, at most a chunk, and removes them from its list. Returns logits of the texts whose
   *  list became empty by this call. */
  async read(next: readonly number[][]): Promise<Read[]> {
    const chunks = next.map((list) => list.splice(0, CHUNK));
    const logits = this.#readChunks(chunks);
    try {
      const all = (await logits.data()) as Float32Array;
      const size = all.length / next.length;
      return chunks.flatMap((chunk, row) => (chunk.length > 0 && next[row]!.length === 0 ? [{ row, logits: all.subarray(row * size, (row + 1) * size) }] : []));
    } finally {
      logits.dispose();
    }
  }

  #readChunks(chunks: readonly number[][]): Tensor {
    const rows = chunks.length;
    const size = chunkOf(Math.max(...chunks.map((chunk) => chunk.length)));
    const isDone = (row: number): boolean => chunks[row]!.length === 0 && this.#lengths[row]! > 0;
    const positions = Int32Array.from({ length: rows }, (_, row) => this.#lengths[row]! - Number(isDone(row)));
    const filled = new Int32Array(rows * size);
    chunks.forEach((chunk, row) => filled.set(isDone(row) ? [this.#lasts[row]!] : chunk, row * size));
    this.#caches.reserve([rows, 1], Math.max(...positions) + size);
    try {
      const { logits, caches } = tidy(() =>
        this.#step(
          this.#parts.weights,
          this.#caches.layers,
          tensor(filled, { shape: [rows, 1, size] }),
          tensor(positions),
          tensor(Int32Array.from(chunks, (chunk) => Math.max(0, chunk.length - 1)), { shape: [rows, 1] }),
        ),
      );
      this.#caches.layers = caches;
      chunks.forEach((chunk, row) => {
        this.#lengths[row]! += chunk.length;
        this.#lasts[row] = chunk.at(-1) ?? this.#lasts[row]!;
      });
      return logits;
    } catch (error) {
      // The step may have consumed the donated cache.
      this.reset();
      throw error;
    }
  }

  /** Forgets all texts and frees their cache. */
  reset(): void {
    this.#caches.dispose();
    this.#lengths = [];
    this.#lasts = [];
  }

  dispose(): void {
    this.reset();
    this.#step.dispose();
  }
}
