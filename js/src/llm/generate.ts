// Generation: the prompt is read in chunks, then token after token is chosen and read.

import { SinterError, internals, type FitOptions } from '../index.js';
import type { Batch } from './batch.js';
import { SAMPLING, sampler, type Sampler, type SamplingOptions } from './sampling.js';
import type { Session } from './session.js';
import type { TextStream, Tokenizer } from './tokenizer/tokenizer.js';

const { checkInteger, readOptions, shown } = internals;

export interface GenerateOptions extends SamplingOptions {
  /** The largest number of tokens to write. Default 256. */
  maxTokens?: number;
  /** Texts that end the generation. They are not given out. */
  stop?: string | readonly string[];
  /** Ends the generation when aborted: the loop ends, and what was written stays valid. */
  signal?: NonNullable<FitOptions<unknown>['signal']>;
}

/** What a generator returns at its end. */
export interface Generated {
  /** Why it ended, in this order: an end token, maxTokens, a stop text, a full context, the signal. */
  reason: 'end' | 'length' | 'stop' | 'context' | 'signal';
  /** The tokens written. */
  tokens: number[];
}

/** A piece of one of several texts. */
export interface GeneratedPart {
  /** The index of its prompt. */
  index: number;
  text: string;
}

type WritingOptions = Omit<GenerateOptions, 'signal'>;

const GENERATE: internals.OptionSchema<GenerateOptions> = { ...SAMPLING, maxTokens: 'integer', stop: 'any', signal: 'any' };

/** Passes text on up to the first stop text, and holds back an end that may become one. */
class Stops {
  #held = '';
  isStopped = false;

  constructor(readonly stops: readonly string[]) {}

  /** Takes further text; returns what can be given out now. */
  next(text: string): string {
    this.#held += text;
    const found = this.stops.map((stop) => this.#held.indexOf(stop)).filter((at) => at >= 0);
    if (found.length > 0) {
      this.isStopped = true;
      const before = this.#held.slice(0, Math.min(...found));
      this.#held = '';
      return before;
    }
    const kept = Math.max(0, ...this.stops.map((stop) => overlap(this.#held, stop)));
    const given = this.#held.slice(0, this.#held.length - kept);
    this.#held = this.#held.slice(this.#held.length - kept);
    return given;
  }

  /** What was held back and did not become a stop text. */
  end(): string {
    return this.#held;
  }
}

/** Length of the longest end of a text that is a proper beginning of the other. */
function overlap(text: string, other: string): number {
  for (let size = Math.min(text.length, other.length - 1); size > 0; size--) if (text.endsWith(other.slice(0, size))) return size;
  return 0;
}

function stopsOf(op: string, stop: unknown): readonly string[] {
  const list: unknown[] = stop === undefined ? [] : Array.isArray(stop) ? stop : [stop];
  if (list.every((each) => typeof each === 'string' && each !== '')) return list as string[];
  throw new SinterError('argument', op, `stop is ${shown(stop)}, expected texts`);
}

/** The stream that decodes what is written behind a prompt. A space at its beginning stays, unless a text begins there: the
 *  answer in a chat, or what follows a special token. Encoding puts a space of its own before these. */
function textsBehind(op: string, tokenizer: Tokenizer, prompt: Int32Array): TextStream {
  const isBegin = op === 'llm.chat' || tokenizer.decode(prompt.slice(-1), { continues: true }) === '';
  return tokenizer.stream({ continues: !isBegin });
}

/** One text that is being written. */
class Writing {
  readonly tokens: number[] = [];
  /** null while the generation goes on. */
  reason: Generated['reason'] | null;
  readonly #tokenizer: Tokenizer;
  readonly #texts: TextStream;
  readonly #stops: Stops;
  readonly #choose: Sampler;
  readonly #maxTokens: number;

  constructor(op: string, tokenizer: Tokenizer, prompt: Int32Array, options: WritingOptions) {
    const { maxTokens = 256, stop, ...sampling } = options;
    checkInteger(op, 'maxTokens', maxTokens, 0);
    this.#tokenizer = tokenizer;
    this.#stops = new Stops(stopsOf(op, stop));
    this.#choose = sampler(op, sampling);
    this.#texts = textsBehind(op, tokenizer, prompt);
    this.#maxTokens = maxTokens;
    this.reason = maxTokens > 0 ? null : 'length';
  }

  /** Chooses a token; returns the text that can be given out then. */
  take(logits: Float32Array): string {
    const token = this.#choose(logits);
    if (this.#tokenizer.ends.has(token)) {
      this.reason = 'end';
      return '';
    }
    this.tokens.push(token);
    const text = this.#stops.next(this.#texts.next(token));
    if (this.#stops.isStopped) this.reason = 'stop';
    else if (this.tokens.length >= this.#maxTokens) this.reason = 'length';
    return text;
  }

  /** What was held back at the end. */
  rest(): string {
    return this.reason === 'stop' ? '' : this.#stops.next(this.#texts.end()) + this.#stops.end();
  }

  get generated(): Generated {
    return { reason: this.reason ?? 'length', tokens: this.tokens };
  }
}

/** Ms after which other tasks have their turn. A worker's products are computed at once: without a turn, no message or timer
 *  that aborts a signal would come before the end. */
const TURN_MS = 20;
let lastTurn = 0;

async function giveTurn(): Promise<void> {
  if (performance.now() - lastTurn < TURN_MS) return;
  await internals.nextTurn();
  lastTurn = performance.now();
}

const isAborted = (signal: GenerateOptions['signal']): boolean => (signal as { aborted?: boolean } | undefined)?.aborted === true;

export async function* generated(
  op: string,
  session: Session,
  tokenizer: Tokenizer,
  context: number,
  prompt: Int32Array,
  options: GenerateOptions,
): AsyncGenerator<string, Generated> {
  const { signal, ...rest } = readOptions(op, options, GENERATE);
  const writing = new Writing(op, tokenizer, prompt, rest);
  const goesOn = async (): Promise<boolean> => {
    await giveTurn();
    return !isAborted(signal);
  };
  let next: readonly number[] = session.begin(prompt);
  while (writing.reason === null) {
    if (session.length + next.length > context) {
      writing.reason = 'context';
      break;
    }
    const logits = await session.read(next, goesOn);
    if (!logits || isAborted(signal)) {
      writing.reason = 'signal';
      break;
    }
    const text = writing.take(logits);
    if (text !== '') yield text;
    next = writing.tokens.slice(-1);
  }
  const last = writing.rest();
  if (last !== '') yield last;
  return writing.generated;
}

/** Generates several texts at once. Text i uses the seed plus i, wrapped to 32 bits. */
export async function* generatedAll(
  op: string,
  batch: Batch,
  tokenizer: Tokenizer,
  context: number,
  prompts: readonly Int32Array[],
  options: GenerateOptions,
): AsyncGenerator<GeneratedPart, Generated[]> {
  const { signal, seed, ...rest } = readOptions(op, options, GENERATE);
  const writings = prompts.map((prompt, i) => new Writing(op, tokenizer, prompt, { ...rest, ...(seed !== undefined && { seed: (seed + i) | 0 }) }));
  const next = prompts.map((prompt) => Array.from(prompt));
  batch.begin(prompts.length);
  while (writings.some(({ reason }) => reason === null)) {
    await giveTurn();
    writings.forEach((writing, i) => {
      if (isAborted(signal)) writing.reason ??= 'signal';
      if (batch.lengthOf(i) + next[i]!.length > context) writing.reason ??= 'context';
      if (writing.reason !== null) next[i] = [];
    });
    if (next.every((list) => list.length === 0)) break;
    for (const { row, logits } of await batch.read(next)) {
      const text = isAborted(signal) ? '' : writings[row]!.take(logits);
      if (text !== '') yield { index: row, text };
      next[row] = writings[row]!.tokens.slice(-1);
    }
  }
  for (const [index, writing] of writings.entries()) {
    const text = writing.rest();
    if (text !== '') yield { index, text };
  }
  return writings.map((writing) => writing.generated);
}
