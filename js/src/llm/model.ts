// A language model: loaded from a GGUF file, it writes, judges texts and learns. An encoder makes embeddings alone.

import { SinterError, UnsupportedError, dispose, internals, jit, tensor, tidy, type Jitted, type Tensor, type io } from '../index.js';
import { stream, write, type GgufData, type GgufMetadata, type KindName } from '../gguf/index.js';
import { checkCache, type CacheType } from './cache.js';
import { renderChat, type ChatMessage, type ChatTemplate } from './chat.js';
import { Batch } from './batch.js';
import { readConfig, type Config } from './config.js';
import { encoded } from './encoder.js';
import { hidden, logitsOf, modelAngles, type Weights } from './forward.js';
import { generated, generatedAll, type Generated, type GeneratedPart, type GenerateOptions } from './generate.js';
import { lora, type Lora, type LoraOptions } from './lora.js';
import { Session, checkTokens, firstRows, padded, type Parts } from './session.js';
import { checkTensors, isBlocks, loadWeights, numbersOf, shapeOf, type HeldWeight, type LoadedWeights, type WeightType } from './weights.js';
import { tokenizer as makeTokenizer, type Tokenizer } from './tokenizer/tokenizer.js';

const { checkChoice, readOptions } = internals;

export interface LoadOptions extends io.ReadOptions {
  /**
   * What matrices are held as. 'file': as in the file; quantised ones stay its bytes, and what is multiplied with them is
   * quantised to 8 bits, as in llama.cpp. Otherwise they are dequantised once, as they arrive: float32 has their numbers
   * exactly. Default 'file'.
   */
  weights?: WeightType;
  /** What keys and values are kept as: 'Q8_0' takes a quarter of float32's memory, of heads that are multiples of 32. Default
   *  'float32'. */
  cache?: CacheType;
  /** Most tokens of a text. Default: as many as the model was trained with. */
  context?: number;
}

export interface ChatOptions extends GenerateOptions {
  /** What renders the file's template: the class Template of @huggingface/jinja; or a function of { messages, ... } of your own. */
  template: ChatTemplate;
}

export interface EmbedOptions {
  /** What the text's vector is made of the tokens': their mean, the first, or the last one. Default: as the file says, or 'mean'. */
  pooling?: 'mean' | 'first' | 'last';
  /** Whether the vector gets the length 1. Default true. */
  normalize?: boolean;
}

export interface SaveModelOptions {
  /** The kind of a tensor; kind: that of the file. Default: that of the file. */
  kind?: (name: string, kind: KindName) => KindName;
}

/** What a model is made of, for those who want to know. */
export type ModelInfo = Pick<Config, 'architecture' | 'layers' | 'width' | 'heads' | 'keyHeads' | 'headSize'> & {
  /** Most tokens of a text. */
  context: number;
  /** How many numbers the weights are. */
  parameters: number;
};

export interface Model {
  readonly info: ModelInfo;
  readonly metadata: GgufMetadata;
  readonly tokenizer: Tokenizer;
  /**
   * Goes on with a text, or tokens, piece by piece: for await (const piece of model.generate('Once')). What the cache has
   * of the text before is not read again. One text at a time.
   */
  generate(prompt: string | ArrayLike<number>, options?: GenerateOptions): AsyncGenerator<string, Generated>;
  /**
   * Goes on with several texts at once, piece by piece of any of them: { index, text }. The weights are read once for all, so
   * that a token of each takes little longer than one. Text i is chosen by the seed plus i. Returns what was generated of each.
   */
  generateAll(prompts: readonly (string | ArrayLike<number>)[], options?: GenerateOptions): AsyncGenerator<GeneratedPart, Generated[]>;
  /** Answers the last of the messages, as generate does. */
  chat(messages: readonly ChatMessage[], options: ChatOptions): AsyncGenerator<string, Generated>;
  /** Logits (n, tokens) of what may follow each of n tokens. */
  logits(tokens: string | ArrayLike<number>): Tensor;
  /** A vector (width) of a text. */
  embed(text: string | ArrayLike<number>, options?: EmbedOptions): Tensor;
  /** Small matrices beside weights, to be trained. */
  lora(options?: LoraOptions): Lora;
  /** The model as a GGUF file, each weight in the kind that its file had. */
  save(options?: SaveModelOptions): Uint8Array<ArrayBuffer>;
  /** Programs compiled so far for writing: one per size of the cache, and of a chunk of the prompt. */
  readonly cacheSize: number;
  /** Gives all memory back. */
  dispose(): void;
}

/** What encoders do. */
const OF_ENCODERS = new Set(['llm.embed', 'llm.save']);

const LOAD: internals.OptionSchema<LoadOptions> = { onProgress: 'function', weights: 'any', cache: 'any', context: 'integer' };
const EMBED: internals.OptionSchema<EmbedOptions> = { pooling: 'any', normalize: 'boolean' };
const SAVE: internals.OptionSchema<SaveModelOptions> = { kind: 'function' };

/**
 * A model from a GGUF file: a Response, a Blob, bytes, or in Node a path. Of the file no more is in memory at a time than
 * one tensor, besides what becomes of it. Call init before.
 */
export async function load(source: io.ByteSource, options?: LoadOptions): Promise<Model> {
  const op = 'llm.load';
  const { onProgress, weights = 'file', cache = 'float32', context } = readOptions(op, options, LOAD);
  checkChoice(op, 'weights', weights, ['file', 'float32', 'float16', 'bfloat16']);
  checkChoice(op, 'cache', cache, ['float32', 'float16', 'Q8_0']);
  const file = await stream(source, onProgress && { onProgress });
  try {
    const config = readConfig(op, file.metadata);
    checkCache(op, cache, [config.headSize, config.valueSize]);
    if (context !== undefined) internals.checkInteger(op, 'context', context, 1);
    checkTensors(op, config, file);
    const tokens = makeTokenizer(file.metadata);
    const loaded = await loadWeights(op, file, weights);
    const most = context ?? config.context;
    const angles = modelAngles(config, factorsOf(config, loaded.weights, most));
    return new LoadedModel({ config, weights: loaded.weights, angles, cacheType: cache, context: most }, loaded, file, tokens);
  } finally {
    await file.close();
  }
}

/** Factors of frequencies that the file has as a tensor: for all contexts, or for short and long ones. */
function factorsOf({ rope }: Config, weights: Record<string, HeldWeight>, context: number): ArrayLike<number> | null {
  const which = context > rope.originalContext ? 'long' : 'short';
  const t = weights['rope_freqs.weight'] ?? weights[`rope_factors_${which}.weight`];
  return t ? (t as Tensor).dataSync() : null;
}

class LoadedModel implements Model {
  readonly info: ModelInfo;
  readonly metadata: GgufMetadata;
  readonly tokenizer: Tokenizer;
  readonly #parts: Parts & { weights: Record<string, HeldWeight> };
  readonly #loaded: LoadedWeights;
  readonly #types: Record<string, never>;
  readonly #session: Session;
  readonly #batch: Batch;
  readonly #all: Jitted<[Weights, Tensor], Tensor>;
  readonly #states: Jitted<[Weights, Tensor, Tensor], Tensor>;
  /** Whether a text is being written. */
  #isBusy = false;
  #isDisposed = false;

  constructor(parts: Parts & { weights: Record<string, HeldWeight> }, loaded: LoadedWeights, file: { metadata: GgufMetadata; types: object }, tokens: Tokenizer) {
    const { config, angles } = parts;
    const { architecture, layers, width, heads, keyHeads, headSize } = config;
    const parameters = Object.values(parts.weights).reduce((sum, each) => sum + shapeOf(each).reduce((size, n) => size * n, 1), 0);
    this.info = { architecture, layers, width, heads, keyHeads, headSize, context: parts.context, parameters };
    this.metadata = file.metadata;
    this.tokenizer = tokens;
    this.#types = file.types as Record<string, never>;
    this.#parts = parts;
    this.#loaded = loaded;
    this.#session = new Session(parts);
    this.#batch = new Batch(parts);
    const states = (weights: Weights, list: Tensor): Tensor => hidden(config, weights, angles, list, internals.asTensor(0, 'llm').astype('int32'), null)[0];
    this.#states = jit((weights: Weights, list: Tensor, count: Tensor) => (config.isEncoder ? encoded(config, weights, angles, list, count) : states(weights, list)));
    this.#all = jit((weights: Weights, list: Tensor) => logitsOf(config, weights, states(weights, list)));
  }

  get cacheSize(): number {
    return this.#session.cacheSize;
  }

  #use(op: string): void {
    if (this.#isDisposed) throw new SinterError('disposed', op, 'the model was disposed');
    const { isEncoder, architecture } = this.#parts.config;
    if (isEncoder && !OF_ENCODERS.has(op)) throw new UnsupportedError(op, `the architecture ${architecture}, an encoder`, { hint: 'it makes embeddings: embed' });
  }

  #tokensOf(op: string, given: string | ArrayLike<number>): Int32Array<ArrayBuffer> {
    this.#use(op);
    const tokens = typeof given === 'string' ? this.tokenizer.encode(given) : given;
    return checkTokens(op, tokens, shapeOf(this.#parts.weights['token_embd.weight']!)[0]!, this.#parts.context);
  }

  async *generate(prompt: string | ArrayLike<number>, options?: GenerateOptions): AsyncGenerator<string, Generated> {
    return yield* this.#generate('llm.generate', this.#tokensOf('llm.generate', prompt), options ?? {});
  }

  #generate(op: string, tokens: Int32Array, options: GenerateOptions): AsyncGenerator<string, Generated> {
    return this.#alone(op, generated(op, this.#session, this.tokenizer, this.#parts.context, tokens, options));
  }

  /** What writes, while nothing else does. */
  async *#alone<Piece, Result>(op: string, pieces: AsyncGenerator<Piece, Result>): AsyncGenerator<Piece, Result> {
    if (this.#isBusy) throw new SinterError('argument', op, 'another text is being written', { hint: 'end its loop first' });
    this.#isBusy = true;
    try {
      return yield* pieces;
    } finally {
      this.#isBusy = false;
      this.#batch.reset();
      if (this.#isDisposed) this.#end();
    }
  }

  async *generateAll(prompts: readonly (string | ArrayLike<number>)[], options?: GenerateOptions): AsyncGenerator<GeneratedPart, Generated[]> {
    const op = 'llm.generateAll';
    this.#use(op);
    if (!Array.isArray(prompts) || prompts.length === 0) throw new SinterError('argument', op, `expected an array of prompts, not ${internals.shown(prompts)}`);
    const lists = prompts.map((prompt: string | ArrayLike<number>) => this.#tokensOf(op, prompt));
    return yield* this.#alone(op, generatedAll(op, this.#batch, this.tokenizer, this.#parts.context, lists, options ?? {}));
  }

  async *chat(messages: readonly ChatMessage[], options: ChatOptions): AsyncGenerator<string, Generated> {
    const op = 'llm.chat';
    const { template, ...rest } = options ?? {};
    const { begin, ends } = this.tokenizer;
    const textOf = (token: number | undefined): string => (token === undefined ? '' : this.tokenizer.textOf(token));
    const context = { messages, add_generation_prompt: true, bos_token: textOf(begin), eos_token: textOf([...ends][0]) };
    const text = renderChat(op, template, this.metadata['tokenizer.chat_template'], context);
    // Many templates write the token that begins a text themselves.
    const isBegun = context.bos_token !== '' && text.startsWith(context.bos_token);
    const tokens = this.tokenizer.encode(text, isBegun ? { begin: false } : {});
    return yield* this.#generate(op, this.#tokensOf(op, tokens), rest);
  }

  logits(given: string | ArrayLike<number>): Tensor {
    const tokens = this.#tokensOf('llm.logits', given);
    return tidy(() => firstRows(this.#all(this.#parts.weights, padded(tokens)), tokens.length));
  }

  embed(given: string | ArrayLike<number>, options?: EmbedOptions): Tensor {
    const op = 'llm.embed';
    const { pooling = this.#parts.config.pooling, normalize = true } = readOptions(op, options, EMBED);
    checkChoice(op, 'pooling', pooling, ['mean', 'first', 'last']);
    const tokens = this.#tokensOf(op, given);
    return tidy(() => {
      const rows = firstRows(this.#states(this.#parts.weights, padded(tokens), tensor(tokens.length, { dtype: 'int32' })), tokens.length);
      const vector = pooling === 'mean' ? rows.mean({ axis: 0 }) : rows.take(pooling === 'first' ? 0 : tokens.length - 1);
      return normalize ? vector.div(vector.square().sum().sqrt().maximum(1e-12)) : vector;
    });
  }

  lora(options?: LoraOptions): Lora {
    this.#use('llm.lora');
    const { config, angles, weights } = this.#parts;
    return lora({ config, angles, weights, changed: () => this.#session.reset() }, options);
  }

  save(options?: SaveModelOptions): Uint8Array<ArrayBuffer> {
    const op = 'llm.save';
    this.#use(op);
    const { kind = (_: string, own: KindName) => own } = readOptions(op, options, SAVE);
    const dataOf = (name: string, weight: HeldWeight): GgufData => {
      const wanted = kind(name, this.#loaded.kinds[name]!);
      if (!isBlocks(weight)) return { tensor: weight, kind: wanted };
      if (wanted !== weight.kind) return { tensor: numbersOf(weight), kind: wanted };
      return { raw: internals.bytesOf(weight.bytes, op).slice(), kind: wanted, shape: shapeOf(weight) };
    };
    return tidy(() => {
      const tensors = Object.fromEntries(Object.entries(this.#parts.weights).map(([name, weight]) => [name, dataOf(name, weight)]));
      return write({ metadata: this.metadata, types: this.#types, tensors });
    });
  }

  /** Gives back what writes. */
  #end(): void {
    this.#session.dispose();
    this.#batch.dispose();
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    if (!this.#isBusy) this.#end();
    this.#all.dispose();
    this.#states.dispose();
    dispose(this.#parts.weights);
  }
}
