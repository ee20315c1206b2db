// Writing: the prompt is read in chunks, then token after token is chosen and read.

import { SinterError, internals, type FitOptions } from '../index.js';
import { SAMPLING, sampler, type SamplingOptions } from './sampling.js';
import type { Session } from './session.js';
import type { Tokenizer } from './tokenizer/tokenizer.js';

const { checkInteger, readOptions, shown } = internals;

export interface GenerateOptions extends SamplingOptions {
  /** Most tokens to write. Default 256. */
  maxTokens?: number;
  /** Texts that end the writing; they are not given out. */
  stop?: string | readonly string[];
  /** Ends the writing: the loop ends, and what was written stays valid. */
  signal?: NonNullable<FitOptions<unknown>['signal']>;
}

/** What a generator returns at its end. */
export interface Generated {
  /** Why it ended: a token that ends texts, maxTokens, a text of stop, the context is full, or the signal. */
  reason: 'end' | 'length' | 'stop' | 'context' | 'signal';
  /** What was written. */
  tokens: number[];
}

const GENERATE: internals.OptionSchema<GenerateOptions> = { ...SAMPLING, maxTokens: 'integer', stop: 'any', signal: 'any' };

/** Gives text out up to one of some texts, and keeps back what may become one. */
class Stops {
  #held = '';
  isStopped = false;

  constructor(readonly stops: readonly string[]) {}

  /** What can be given out with a text more. */
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

  /** What was kept back and became none. */
  end(): string {
    return this.#held;
  }
}

/** How much of the end of a text is the beginning of another one. */
function overlap(text: string, other: string): number {
  for (let size = Math.min(text.length, other.length - 1); size > 0; size--) if (text.endsWith(other.slice(0, size))) return size;
  return 0;
}

function stopsOf(op: string, stop: unknown): readonly string[] {
  const list: unknown[] = stop === undefined ? [] : Array.isArray(stop) ? stop : [stop];
  if (list.every((each) => typeof each === 'string' && each !== '')) return list as string[];
  throw new SinterError('argument', op, `stop is ${shown(stop)}, expected texts`);
}

export async function* generated(
  op: string,
  session: Session,
  tokenizer: Tokenizer,
  context: number,
  prompt: Int32Array,
  options: GenerateOptions,
): AsyncGenerator<string, Generated> {
  const { maxTokens = 256, stop, signal, ...sampling } = readOptions(op, options, GENERATE);
  checkInteger(op, 'maxTokens', maxTokens, 0);
  const stops = new Stops(stopsOf(op, stop));
  const choose = sampler(op, sampling);
  const isAborted = (): boolean => (signal as { aborted?: boolean } | undefined)?.aborted === true;
  const texts = tokenizer.stream();
  const tokens: number[] = [];
  let reason: Generated['reason'] = 'length';
  let next: readonly number[] = session.begin(prompt);
  while (tokens.length < maxTokens) {
    if (session.length + next.length > context) {
      reason = 'context';
      break;
    }
    const logits = await session.read(next, isAborted);
    if (!logits || isAborted()) {
      reason = 'signal';
      break;
    }
    const token = choose(logits);
    if (tokenizer.ends.has(token)) {
      reason = 'end';
      break;
    }
    tokens.push(token);
    const text = stops.next(texts.next(token));
    if (text !== '') yield text;
    if (stops.isStopped) return { reason: 'stop', tokens };
    next = [token];
  }
  const last = stops.next(texts.end()) + stops.end();
  if (last !== '') yield last;
  return { reason, tokens };
}
