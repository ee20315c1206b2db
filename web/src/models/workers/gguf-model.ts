// A loaded GGUF file: its description, and the text that its model writes, in slices of time.

import * as sn from 'sinter';
import * as gguf from 'sinter/gguf';
import * as llm from 'sinter/llm';
import { describe } from '../../compiler/workers/source.ts';
import type { Facts, Message, Part, Sampling, Written } from '../protocol.ts';
import { facts, graphOf, words } from './gguf-words.ts';
import { partsOf } from './llm-parts.ts';

/** The number of tokens that are written under the profiler. */
const PROFILED_TOKENS = 24;

/** A text that is being written. */
interface Writing {
  pieces: AsyncGenerator<string, llm.Generated>;
  /** The next piece, where the time of a slice was over before it came. */
  next: Promise<IteratorResult<string, llm.Generated>> | null;
  signal: AbortController;
  begin: number;
  first: number;
  tokens: number;
  promptTokens: number;
}

/** What renders the templates of chats, and tells the text of each. */
async function rendererOf(tell: (text: string) => void): Promise<llm.ChatTemplate> {
  const { Template } = await import('@huggingface/jinja');
  return class extends Template {
    override render(context: Record<string, unknown>): string {
      const text = super.render(context);
      tell(text);
      return text;
    }
  };
}

export class GgufModel {
  private constructor(
    readonly facts: Facts,
    readonly model: llm.Model | null,
  ) {}

  /** isRead: called when the file has proved readable, just before its weights are read. */
  static async load(name: string, source: Blob, isRead: () => Promise<void>): Promise<GgufModel> {
    const header = await gguf.stream(source);
    await header.close();
    const made: Facts = {
      kind: 'gguf',
      name,
      words: words(header),
      facts: facts(header, source.size),
      graph: graphOf(header),
      inputs: [],
      outputs: [],
      blocks: [],
      writes: false,
      problem: null,
    };
    await isRead();
    let model: llm.Model | null = null;
    try {
      model = await llm.load(source);
      made.writes = true;
    } catch (error) {
      made.problem = describe(error);
    }
    return new GgufModel(made, model);
  }

  private writing: Writing | null = null;
  /** The last prompt, which the profile uses too. */
  private prompt = ' ';

  private get loaded(): llm.Model {
    if (this.model === null) throw new Error('This model does not run.');
    return this.model;
  }

  /** If the file has a chat template, the model gets all messages; otherwise only the last text, which it continues. */
  async write(messages: readonly Message[], { seed, ...rest }: Sampling): Promise<void> {
    await this.writeEnd();
    const { loaded: model } = this;
    const signal = new AbortController();
    const options = { ...rest, ...(seed !== null && { seed }), signal: signal.signal };
    const source = model.metadata['tokenizer.chat_template'];
    const prompt = messages.at(-1)?.content ?? '';
    if (prompt !== '') this.prompt = prompt;
    const begin = performance.now();
    const { tokenizer } = model;
    const count = (text: string, isBegun = false): void => void (writing.promptTokens = tokenizer.encode(text, isBegun ? { begin: false } : {}).length);
    // Many templates write the token that begins a text themselves.
    const countChat = (text: string): void => count(text, tokenizer.begin !== undefined && text.startsWith(tokenizer.textOf(tokenizer.begin)));
    const pieces = typeof source === 'string' ? model.chat(messages, { ...options, template: await rendererOf(countChat) }) : model.generate(prompt, options);
    const writing: Writing = { pieces, next: null, signal, begin, first: 0, tokens: 0, promptTokens: 0 };
    if (typeof source !== 'string') count(prompt);
    this.writing = writing;
  }

  async writeOn(ms: number): Promise<Written> {
    const { writing } = this;
    if (writing === null) throw new Error('No text is being written.');
    const end = performance.now() + ms;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const over = new Promise<null>((wake) => (timer = setTimeout(wake, ms, null)));
    let [text, reason] = ['', null as string | null];
    while (reason === null && performance.now() < end) {
      writing.next ??= writing.pieces.next();
      const got = await Promise.race([writing.next, over]);
      if (got === null) break; // a long prompt is being read, or tokens are written that are no text
      writing.next = null;
      if (writing.first === 0) writing.first = performance.now();
      if (got.done) {
        reason = got.value.reason;
        writing.tokens = got.value.tokens.length;
        this.writing = null;
      } else {
        text += got.value;
        writing.tokens++;
      }
    }
    clearTimeout(timer);
    const { begin, first, tokens, promptTokens } = writing;
    const now = performance.now();
    return { text, tokens, promptTokens, firstMs: first === 0 ? null : first - begin, restMs: first === 0 ? 0 : now - first, reason };
  }

  async writeEnd(): Promise<void> {
    const { writing } = this;
    this.writing = null;
    writing?.signal.abort();
    await Promise.allSettled([writing?.next, writing?.pieces.return({ reason: 'signal', tokens: [] })]);
  }

  async parts(): Promise<Part[]> {
    await this.writeEnd();
    const { loaded: model } = this;
    const some = async (): Promise<void> => {
      const pieces = model.generate(this.prompt, { maxTokens: PROFILED_TOKENS, temperature: 0 });
      while (!(await pieces.next()).done);
    };
    await some();
    return partsOf(await sn.profile(some), model.info.layers);
  }

  async dispose(): Promise<void> {
    await this.writeEnd();
    this.model?.dispose();
  }
}
