// A language model, loaded from a GGUF file: it generates text, computes logits and can be fine-tuned. An encoder only computes
// embeddings.

import { DisposedError, SinterError, UnsupportedError, dispose, internals, jit, tensor, tidy, type Jitted, type Tensor, type io } from '../index.js';
import { stream, write, type GgufData, type GgufMetadata, type KindName } from '../gguf/index.js';
import { checkCache, type CacheType } from './cache.js';
import { renderChat, type ChatMessage, type ChatTemplate } from './chat.js';
import { Batch } from './batch.js';
import { readConfig, type Config } from './config.js';
import { encoded } from './encoder.js';
import { hiddenStates, logitsOf, modelAngles, type Weights } from './forward.js';
import { generated, generatedAll, type Generated, type GeneratedPart, type GenerateOptions } from './generate.js';
import { lora, type Lora, type LoraOptions } from './lora.js';
import { Session, checkTokens, firstRows, padded, type Parts } from './session.js';
import { checkTensors, isBlocks, loadWeights, numbersOf, shapeOf, type WeightData, type LoadedWeights, type WeightType } from './weights.js';
import { tokenizer as makeTokenizer, type Tokenizer } from './tokenizer/tokenizer.js';

const { checkChoice, readOptions } = internals;

export interface LoadOptions extends io.ReadOptions {
  /**
   * How matrices are held. 'file': as in the file. Quantised ones keep their bytes, and products quantise the other operand to
   * 8 bits, as in llama.cpp. Otherwise they are dequantised once, as they arrive: 'float32' holds their numbers exactly.
   * Default 'file'.
   */
  weights?: WeightType;
  /** How keys and values are held: 'Q8_0' takes about a quarter of float32's memory, and needs heads of a multiple of 32.
   *  Default 'float32'. */
  cache?: CacheType;
  /** The largest number of tokens of a text. Default: as many as the model was trained with. */
  context?: number;
}

export interface ChatOptions extends GenerateOptions {
  /** Renders the file's template: the class Template of `@huggingface/jinja`, or your own function of { messages, ... }. */
  template: ChatTemplate;
}

export interface EmbedOptions {
  /** How the vectors of the tokens become the text's: their mean, the first, or the last one. Default: as the file says, or
   *  'mean'. */
  pooling?: 'mean' | 'first' | 'last';
  /** Whether the vector is scaled to length 1. Default true. */
  normalize?: boolean;
}

export interface SaveModelOptions {
  /** Chooses the kind of a tensor by its name and the kind that it has in the file. Default: the latter. */
  kind?: (name: string, kind: KindName) => KindName;
}

/** The main facts of a model. */
export type ModelInfo = Pick<Config, 'architecture' | 'layers' | 'width' | 'heads' | 'keyHeads' | 'headSize'> & {
  /** The largest number of tokens of a text. */
  context: number;
  /** How many numbers all weights have together. */
  parameters: number;
};

export interface Model {
  readonly info: ModelInfo;
  readonly metadata: GgufMetadata;
  readonly tokenizer: Tokenizer;
  /**
   * Continues a text, or tokens, piece by piece: for await (const piece of model.generate('Once')). Tokens at the beginning
   * whose keys and values are still in the cache are not read again. Only one text can be generated at a time.
   */
  generate(prompt: string | ArrayLike<number>, options?: GenerateOptions): AsyncGenerator<string, Generated>;
  /**
   * Continues several texts at once, piece by piece of any of them: { index, text }. The weights are read once for all texts,
   * so one token of each takes little longer than one token. Text i uses the seed plus i. Returns what was generated for each.
   */
  generateAll(prompts: readonly (string | ArrayLike<number>)[], options?: GenerateOptions): AsyncGenerator<GeneratedPart, Generated[]>;
  /** Answers the last of the messages; otherwise as generate. */
  chat(messages: readonly ChatMessage[], options: ChatOptions): AsyncGenerator<string, Generated>;
  /** Logits (n, tokens) of the token that follows each of n tokens. The caller owns the tensor. */
  logits(tokens: string | ArrayLike<number>): Tensor;
  /** The embedding (width) of a text. The caller owns the tensor. */
  embed(text: string | ArrayLike<number>, options?: EmbedOptions): Tensor;
  /** Adapters (LoRA) for training: small matrices beside the weights. */
  lora(options?: LoraOptions): Lora;
  /** The model as bytes of a GGUF file. Each weight gets the kind that it had in its file. */
  save(options?: SaveModelOptions): Uint8Array<ArrayBuffer>;
  /** Programs compiled so far by generate and chat: one per size of the cache and of a chunk of the prompt. */
  readonly cacheSize: number;
  /** Frees all memory of the model. */
  dispose(): void;
}

/** The methods that encoders support. */
const OF_ENCODERS = new Set(['llm.embed', 'llm.save']);

const LOAD: internals.OptionSchema<LoadOptions> = { onProgress: 'function', weights: 'any', cache: 'any', context: 'integer' };
const EMBED: internals.OptionSchema<EmbedOptions> = { pooling: 'any', normalize: 'boolean' };
const SAVE: internals.OptionSchema<SaveModelOptions> = { kind: 'function' };

/**
 * Loads a model from a GGUF file: a Response, a Blob, bytes, or a path in Node. Besides the weights made so far, at most one
 * tensor of the file is in memory at a time. Call init before.
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

/** Factors for frequencies, if the file has them as a tensor: one for all contexts, or one for short and one for long
 *  contexts. */
function factorsOf({ rope }: Config, weights: Record<string, WeightData>, context: number): ArrayLike<number> | null {
  const which = context > rope.originalContext ? 'long' : 'short';
  const t = weights['rope_freqs.weight'] ?? weights[`rope_factors_${which}.weight`];
  return t ? (t as Tensor).dataSync() : null;
}

class LoadedModel implements Model {
  readonly info: ModelInfo;
  readonly metadata: GgufMetadata;
  readonly tokenizer: Tokenizer;
  readonly #parts: Parts & { weights: Record<string, WeightData> };
  readonly #loaded: LoadedWeights;
  readonly #types: Record<string, never>;
  readonly #session: Session;
  readonly #batch: Batch;
  readonly #all: Jitted<[Weights, Tensor], Tensor>;
  readonly #states: Jitted<[Weights, Tensor, Tensor], Tensor>;
  /** Whether a generator is running. */
  #isBusy = false;
  #isDisposed = false;

  constructor(parts: Parts & { weights: Record<string, WeightData> }, loaded: LoadedWeights, file: { metadata: GgufMetadata; types: object }, tokens: Tokenizer) {
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
    const states = (weights: Weights, list: Tensor): Tensor => hiddenStates(config, weights, angles, list, internals.asTensor(0, 'llm').astype('int32'), null)[0];
    this.#states = jit((weights: Weights, list: Tensor, count: Tensor) => (config.isEncoder ? encoded(config, weights, angles, list, count) : states(weights, list)));
    this.#all = jit((weights: Weights, list: Tensor) => logitsOf(config, weights, states(weights, list)));
  }

  get cacheSize(): number {
    return this.#session.cacheSize;
  }

  #use(op: string): void {
    if (this.#isDisposed) throw new DisposedError(op, 'the model was disposed');
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

  /** Refuses what would disturb a text that is being written. */
  #checkIdle(op: string): void {
    if (this.#isBusy) throw new SinterError('argument', op, 'a text is being written', { hint: 'end its loop first' });
  }

  /** Runs a generator; refused while another one runs. */
  async *#alone<Piece, Result>(op: string, pieces: AsyncGenerator<Piece, Result>): AsyncGenerator<Piece, Result> {
    this.#checkIdle(op);
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
    const changing = (op: string): void => {
      this.#use(op);
      this.#checkIdle(op);
    };
    return lora({ config, angles, weights, changing, changed: () => this.#session.reset() }, options);
  }

  save(options?: SaveModelOptions): Uint8Array<ArrayBuffer> {
    const op = 'llm.save';
    this.#use(op);
    const { kind = (_: string, own: KindName) => own } = readOptions(op, options, SAVE);
    const dataOf = (name: string, weight: WeightData): GgufData => {
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

  /** Frees what generation uses. */
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
