// The configuration of a model, from the metadata of its file. What published architectures have in common is read from their
// keys. Facts that files do not state follow from the name of the architecture, in one table.

import { UnsupportedError, internals } from '../index.js';
import type { GgufMetadata } from '../gguf/index.js';

const { damagedError, shown } = internals;

/** 'gelu' is the approximation by tanh, as in llama.cpp; 'exact gelu' is by the definition. */
export type Activation = 'silu' | 'gelu' | 'exact gelu';

/** What a file does not say about its architecture. */
interface Facts {
  /** Whether every token sees all others, and the model does not write text: encoder.ts. */
  isEncoder?: boolean;
  /** Whether rope rotates neighbours, elements 2 i and 2 i + 1, instead of i and i + half. */
  interleaved?: boolean;
  activation: Activation;
  /** Whether embeddings are multiplied by the root of their width. */
  scalesEmbedding?: boolean;
  /** Of this many consecutive layers the last sees all tokens, and the others see a window. */
  windowPattern?: number;
}

const ARCHITECTURES: Readonly<Record<string, Facts>> = {
  llama: { interleaved: true, activation: 'silu' },
  qwen2: { activation: 'silu' },
  qwen3: { activation: 'silu' },
  gemma: { activation: 'gelu', scalesEmbedding: true },
  gemma2: { activation: 'gelu', scalesEmbedding: true, windowPattern: 2 },
  gemma3: { activation: 'gelu', scalesEmbedding: true, windowPattern: 6 },
  phi2: { activation: 'gelu' },
  phi3: { activation: 'silu' },
  bert: { isEncoder: true, activation: 'exact gelu' },
  'nomic-bert': { isEncoder: true, activation: 'silu' },
};

/** How positions rotate queries and keys. */
export interface RopeConfig {
  /** How many elements of a head are rotated: the first ones. */
  size: number;
  base: number;
  /** Base of the layers that see a window. */
  windowBase: number;
  /** longrope divides frequencies only by tensors of the file. */
  scaling: 'none' | 'linear' | 'yarn' | 'longrope';
  factor: number;
  /** The context, in tokens, that a stretched model was first trained with. */
  originalContext: number;
  attentionFactor: number;
  interleaved: boolean;
}

export interface Config {
  architecture: string;
  isEncoder: boolean;
  layers: number;
  width: number;
  heads: number;
  keyHeads: number;
  headSize: number;
  valueSize: number;
  /** How many tokens the model was trained to see. */
  context: number;
  norm: 'rms' | 'layer';
  eps: number;
  rope: RopeConfig;
  activation: Activation;
  embeddingScale: number;
  /** Scores of attention and logits are kept within these bounds by cap * tanh(x / cap); 0: no bound. */
  scoreCap: number;
  logitCap: number;
  /** How many tokens a token sees in this layer, itself included; 0: all. */
  window(layer: number): number;
  pooling: 'mean' | 'last' | 'first';
}

/** Reads the keys of an architecture and checks each value. */
class Keys {
  constructor(
    readonly op: string,
    readonly metadata: GgufMetadata,
    readonly architecture: string,
  ) {}

  #get(key: string): unknown {
    return this.metadata[`${this.architecture}.${key}`];
  }

  has(key: string): boolean {
    return this.#get(key) !== undefined;
  }

  /** A finite number above 0, or of at least `least`. */
  number(key: string, otherwise?: number, least = Number.MIN_VALUE): number {
    const value = this.#get(key) ?? otherwise;
    if (typeof value === 'number' && Number.isFinite(value) && value >= least) return value;
    throw damagedError(this.op, `${this.architecture}.${key} is ${shown(value)}, expected a number${least > 0 ? ' above 0' : ''}`);
  }

  /** A count above 0. An array whose elements are all equal counts as that element. */
  count(key: string, otherwise?: number): number {
    const value = this.#get(key);
    if (internals.isNumericArray(value) && value.length > 0) {
      const list: number[] = Array.from(value as ArrayLike<number>);
      if (list.every((each) => each === list[0])) return this.#whole(key, list[0]);
      throw new UnsupportedError(this.op, `${this.architecture}.${key} differs from layer to layer`);
    }
    return this.#whole(key, value ?? otherwise);
  }

  #whole(key: string, value: unknown): number {
    if (Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 2 ** 31) return value as number;
    throw damagedError(this.op, `${this.architecture}.${key} is ${shown(value)}, expected a whole number above 0`);
  }

  choice<T extends string>(key: string, choices: readonly T[], otherwise: T): T {
    const value = (this.#get(key) ?? otherwise) as T;
    if (choices.includes(value)) return value;
    throw new UnsupportedError(this.op, `${this.architecture}.${key} ${shown(value)}`, { hint: `there are ${choices.join(', ')}` });
  }
}

function readRope(keys: Keys, facts: Facts, headSize: number, context: number): RopeConfig {
  const size = keys.count('rope.dimension_count', headSize);
  if (size > headSize || size % 2 !== 0) throw damagedError(keys.op, `${keys.architecture}.rope.dimension_count is ${size}, of heads of ${headSize}`);
  const base = keys.number('rope.freq_base', 10000);
  // Older files have only the factor of linear scaling.
  const isOld = keys.has('rope.scale_linear');
  return {
    size,
    base,
    windowBase: facts.windowPattern ? keys.number('rope.freq_base_swa', keys.architecture === 'gemma3' ? 10000 : base) : base,
    scaling: keys.choice('rope.scaling.type', ['none', 'linear', 'yarn', 'longrope'], isOld ? 'linear' : 'none'),
    factor: keys.number('rope.scaling.factor', isOld ? keys.number('rope.scale_linear') : 1),
    originalContext: keys.count('rope.scaling.original_context_length', context),
    attentionFactor: keys.number('rope.scaling.attn_factor', 1),
    interleaved: facts.interleaved ?? false,
  };
}

const POOLING = ['', 'mean', 'first', 'last'] as const;

/** The configuration that metadata describe. Models that cannot be computed are refused. */
export function readConfig(op: string, metadata: GgufMetadata): Config {
  const architecture = metadata['general.architecture'];
  if (typeof architecture !== 'string' || !Object.hasOwn(ARCHITECTURES, architecture))
    throw new UnsupportedError(op, `the architecture ${shown(architecture)}`, { hint: `there are ${Object.keys(ARCHITECTURES).join(', ')}` });
  const facts = ARCHITECTURES[architecture]!;
  const keys = new Keys(op, metadata, architecture);
  if (keys.has('expert_count') && keys.number('expert_count', 0, 0) > 0) throw new UnsupportedError(op, 'mixtures of experts');
  const [width, heads, context] = [keys.count('embedding_length'), keys.count('attention.head_count'), keys.count('context_length')];
  const keyHeads = keys.count('attention.head_count_kv', heads);
  if (heads % keyHeads !== 0) throw damagedError(op, `${heads} heads do not share ${keyHeads} of keys evenly`);
  const headSize = keys.count('attention.key_length', width / heads);
  const norm = keys.has('attention.layer_norm_rms_epsilon') ? 'rms' : 'layer';
  const pattern = keys.has('attention.sliding_window') ? (facts.windowPattern ?? 0) : 0;
  const windowSize = pattern > 0 ? keys.number('attention.sliding_window', 0, 0) : 0;
  return {
    architecture,
    isEncoder: facts.isEncoder ?? false,
    layers: keys.count('block_count'),
    width,
    heads,
    keyHeads,
    headSize,
    valueSize: keys.count('attention.value_length', headSize),
    context,
    norm,
    eps: keys.number(norm === 'rms' ? 'attention.layer_norm_rms_epsilon' : 'attention.layer_norm_epsilon', undefined, 0),
    rope: readRope(keys, facts, headSize, context),
    activation: facts.activation,
    embeddingScale: facts.scalesEmbedding ? Math.fround(Math.sqrt(width)) : 1,
    scoreCap: keys.number('attn_logit_softcapping', 0, 0),
    logitCap: keys.number('final_logit_softcapping', 0, 0),
    window: (layer) => (pattern > 0 && layer % pattern < pattern - 1 ? windowSize : 0),
    pooling: POOLING[keys.number('pooling_type', 1, 0)] || 'mean',
  };
}
