// The tokenizer described by a GGUF file's metadata: byte-level BPE ('gpt2'), SentencePiece ('llama'), whose pieces merge by
// their scores, or WordPiece ('bert').

import { SinterError, UnsupportedError, internals } from '../../index.js';
import type { GgufMetadata } from '../../gguf/index.js';
import { asBytes, asCharacters } from './bytes.js';
import { merged } from './merging.js';
import { PRETOKENIZERS, wordsOf } from './pretokenizers.js';
import { wordPiece } from './wordpiece.js';

const { damagedError, readOptions, shown } = internals;

export interface EncodeTextOptions {
  /** Whether texts of special tokens, e.g. '<|im_end|>', become these tokens. Default true. Use false for text from users. */
  special?: boolean;
  /** Whether the result starts with the token that begins a text. Default: as the file says. */
  begin?: boolean;
}

export interface DecodeTokensOptions {
  /** Whether special tokens appear in the text. Default false. */
  special?: boolean;
  /** Whether the tokens continue a text, so that a space at their beginning stays. Default false: the space that encoding
   *  puts before a text is removed. */
  continues?: boolean;
}

/** Decodes tokens that come one by one. */
export interface TextStream {
  /** Returns the text that the token adds. Bytes of an incomplete character are held back. */
  next(token: number): string;
  /** Returns what was held back: U+FFFD for a character that stayed incomplete. */
  end(): string;
}

export interface Tokenizer {
  /** How many tokens there are. */
  readonly size: number;
  /** The token that begins a text, if there is one. */
  readonly begin: number | undefined;
  /** The tokens that end what a model writes. */
  readonly ends: ReadonlySet<number>;
  /** The text of a token, as spelled in the file. */
  textOf(token: number): string;
  encode(text: string, options?: EncodeTextOptions): Int32Array<ArrayBuffer>;
  decode(tokens: ArrayLike<number>, options?: DecodeTokensOptions): string;
  /** Decodes token by token. */
  stream(options?: DecodeTokensOptions): TextStream;
}

const ENCODE: internals.OptionSchema<EncodeTextOptions> = { special: 'boolean', begin: 'boolean' };
const DECODE: internals.OptionSchema<DecodeTokensOptions> = { special: 'boolean', continues: 'boolean' };

/** Types of tokens in a file (tokenizer.ggml.token_type). */
const [UNKNOWN, CONTROL, USER_DEFINED, BYTE] = [2, 3, 4, 6];

/** Texts of control tokens that end a turn in published models. */
const TURN_ENDS = new Set(['<|eot_id|>', '<|im_end|>', '<|end|>', '<end_of_turn>', '<|endoftext|>', '<|eom_id|>', '</s>', '<EOT>', '<|end_of_text|>']);

/** SentencePiece's character for a space. */
const SPACE = '\u2581';

/** The tokens of a file, and the metadata about them. */
interface Vocabulary {
  texts: readonly string[];
  types: ArrayLike<number> | undefined;
  byText: ReadonlyMap<string, number>;
  metadata: GgufMetadata;
}

/** How one kind of tokenizer encodes texts without special tokens, and decodes ordinary tokens to bytes. */
interface Codec {
  encode(text: string, isFirst: boolean): number[];
  bytes(token: number): readonly number[];
  /** Whether a begin token, or an end token, is added if the file does not say. */
  addsBegin: boolean;
  addsEnd?: boolean;
  /** Whether encoding puts a space before a text, which decoding removes. */
  addsSpace: boolean;
}

/* ---- metadata ---- */

function arrayOf<T>(op: string, metadata: GgufMetadata, key: string, is: (value: unknown) => boolean): T | undefined {
  const value = metadata[`tokenizer.ggml.${key}`];
  if (value === undefined || is(value)) return value as T | undefined;
  throw damagedError(op, `tokenizer.ggml.${key} is ${shown(value)}`);
}

const isTexts = (value: unknown): boolean => Array.isArray(value) && (value.length === 0 || typeof value[0] === 'string');
const isNumbers = (value: unknown): boolean => internals.isNumericArray(value);

function readVocabulary(op: string, metadata: GgufMetadata): Vocabulary {
  const texts = arrayOf<readonly string[]>(op, metadata, 'tokens', isTexts);
  if (!texts || texts.length === 0) throw damagedError(op, 'the file has no tokenizer.ggml.tokens');
  const types = arrayOf<ArrayLike<number>>(op, metadata, 'token_type', isNumbers);
  if (types && types.length !== texts.length) throw damagedError(op, `${types.length} types of ${texts.length} tokens`);
  const byText = new Map<string, number>();
  texts.forEach((text, token) => {
    if (!byText.has(text)) byText.set(text, token);
  });
  return { texts, types, byText, metadata };
}

/** The number of a token that the metadata name, e.g. 'bos' for tokenizer.ggml.bos_token_id. */
function tokenNamed(op: string, { metadata, texts }: Vocabulary, name: string): number | undefined {
  const token = metadata[`tokenizer.ggml.${name}_token_id`];
  if (token === undefined) return undefined;
  if (typeof token === 'number' && token >= 0 && token < texts.length && Number.isInteger(token)) return token;
  // Some tools write these for "none".
  if (token === 0xffffffff || token === -1) return undefined;
  throw damagedError(op, `tokenizer.ggml.${name}_token_id is ${shown(token)}, of ${texts.length} tokens`);
}

/* ---- byte-level BPE ---- */

function byteLevel(op: string, vocabulary: Vocabulary): Codec {
  const { metadata, byText, texts } = vocabulary;
  const name = metadata['tokenizer.ggml.pre'] ?? 'gpt2';
  const cut = PRETOKENIZERS.get(name as string);
  if (!cut) throw new UnsupportedError(op, `the pre-tokenizer ${shown(name)}`, { hint: `there are ${[...PRETOKENIZERS.keys()].join(', ')}` });
  const merges = arrayOf<readonly string[]>(op, metadata, 'merges', isTexts) ?? [];
  const ranks = new Map(merges.map((merge, rank) => [merge, rank]));
  const cost = (left: string, right: string): number | undefined => ranks.get(`${left} ${right}`);
  const tokens = (piece: string): number[] => {
    const token = byText.get(piece);
    return token !== undefined ? [token] : [...piece].flatMap((character) => byText.get(character) ?? []);
  };
  return {
    addsBegin: cut.addsBegin ?? false,
    addsSpace: false,
    encode: (text) =>
      wordsOf(text, cut.patterns).flatMap((each) => {
        const word = asCharacters(each);
        if (cut.keepsWords && byText.has(word)) return tokens(word);
        return merged([...word], cost).flatMap(tokens);
      }),
    bytes: (token) => asBytes(texts[token]!),
  };
}

/* ---- SentencePiece ---- */

const byteText = (byte: number): string => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;

function sentencePiece(op: string, vocabulary: Vocabulary): Codec {
  const { metadata, byText, texts, types } = vocabulary;
  const scores = arrayOf<ArrayLike<number>>(op, metadata, 'scores', isNumbers);
  if (!scores || scores.length !== texts.length) throw damagedError(op, `${scores?.length ?? 'no'} scores of ${texts.length} tokens`);
  const unknown = tokenNamed(op, vocabulary, 'unknown') ?? 0;
  const addsSpace = metadata['tokenizer.ggml.add_space_prefix'] !== false;
  const cost = (left: string, right: string): number | undefined => {
    const token = byText.get(left + right);
    return token === undefined ? undefined : -scores[token]!;
  };
  const tokens = (piece: string): number[] => {
    const token = byText.get(piece);
    if (token !== undefined) return [token];
    return Array.from(new TextEncoder().encode(piece), (byte) => byText.get(byteText(byte)) ?? byText.get(String.fromCharCode(byte)) ?? unknown);
  };
  const ofByte = new Map(Array.from({ length: 256 }, (_, byte) => [byteText(byte), byte]));
  return {
    addsBegin: true,
    addsSpace,
    encode: (text, isFirst) => merged([...`${addsSpace && isFirst ? ' ' : ''}${text}`.replaceAll(' ', SPACE)], cost).flatMap(tokens),
    bytes: (token) => {
      const byte = types?.[token] === BYTE || !types ? ofByte.get(texts[token]!) : undefined;
      return byte !== undefined ? [byte] : [...new TextEncoder().encode(texts[token]!.replaceAll(SPACE, ' '))];
    },
  };
}

/* ---- WordPiece ---- */

function ofBert(op: string, vocabulary: Vocabulary): Codec {
  const unknown = tokenNamed(op, vocabulary, 'unknown');
  if (unknown === undefined) throw damagedError(op, 'the file has no tokenizer.ggml.unknown_token_id');
  return {
    addsBegin: true,
    addsEnd: true,
    addsSpace: true,
    encode: wordPiece(vocabulary.byText, unknown),
    bytes: (token) => [...new TextEncoder().encode(vocabulary.texts[token]!.replaceAll(SPACE, ' '))],
  };
}

const CODECS: Readonly<Record<string, (op: string, vocabulary: Vocabulary) => Codec>> = { gpt2: byteLevel, llama: sentencePiece, bert: ofBert };

/* ---- special tokens ---- */

/** A piece of a text: the number of a special token, or the text between two. */
type Part = number | string;

/** Cuts a text at the special tokens. Of two that match at the same place the longer one wins. */
function partsOf(text: string, specials: RegExp | null, byText: ReadonlyMap<string, number>): Part[] {
  if (!specials) return text === '' ? [] : [text];
  const parts: Part[] = [];
  let end = 0;
  for (const { 0: match, index } of text.matchAll(specials)) {
    if (index > end) parts.push(text.slice(end, index));
    parts.push(byText.get(match)!);
    end = index + match.length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

const quoted = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/** A pattern that matches every token of some types, the longest first; null if there is none. */
function patternOf({ texts, types }: Vocabulary, wanted: readonly number[]): RegExp | null {
  const found = texts.filter((text, token) => text !== '' && wanted.includes(types?.[token] ?? 0));
  if (found.length === 0) return null;
  return new RegExp(found.sort((a, b) => b.length - a.length).map(quoted).join('|'), 'gu');
}

/* ---- all together ---- */

/** The tokenizer of a GGUF file's metadata. */
export function tokenizer(metadata: GgufMetadata): Tokenizer {
  const op = 'llm.tokenizer';
  const vocabulary = readVocabulary(op, metadata);
  const { texts, types, byText } = vocabulary;
  const model = metadata['tokenizer.ggml.model'];
  if (typeof model !== 'string' || !Object.hasOwn(CODECS, model))
    throw new UnsupportedError(op, `a tokenizer of the model ${shown(model)}`, { hint: `there are ${Object.keys(CODECS).join(', ')}` });
  const codec = CODECS[model]!(op, vocabulary);
  const begin = tokenNamed(op, vocabulary, 'bos') ?? tokenNamed(op, vocabulary, 'cls');
  // The format spells it this way.
  const end = (codec.addsEnd ? tokenNamed(op, vocabulary, 'seperator') : undefined) ?? tokenNamed(op, vocabulary, 'eos');
  const isBegun = metadata['tokenizer.ggml.add_bos_token'] ?? codec.addsBegin;
  const isSpecial = (token: number): boolean => types?.[token] === CONTROL || types?.[token] === UNKNOWN;
  const named = ['eos', 'eot', 'eom'].map((name) => tokenNamed(op, vocabulary, name)).filter((token) => token !== undefined);
  const ends = new Set([...named, ...texts.flatMap((text, token) => (isSpecial(token) && TURN_ENDS.has(text) ? [token] : []))]);
  const [defined, all] = [patternOf(vocabulary, [USER_DEFINED]), patternOf(vocabulary, [USER_DEFINED, CONTROL, UNKNOWN])];

  const bytesOf = (token: number, special: boolean): readonly number[] => {
    if (!Number.isInteger(token) || token < 0 || token >= texts.length)
      throw new SinterError('argument', 'llm.decode', `token ${shown(token)}, there are ${texts.length}`);
    if (isSpecial(token) || types?.[token] === USER_DEFINED)
      return isSpecial(token) && !special ? [] : [...new TextEncoder().encode(model === 'llama' ? texts[token]!.replaceAll(SPACE, ' ') : texts[token])];
    return codec.bytes(token);
  };

  const stream = (options?: DecodeTokensOptions): TextStream => {
    const { special = false, continues = false } = readOptions('llm.decode', options, DECODE);
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    let isFirst = codec.addsSpace && !continues;
    return {
      next: (token) => {
        let bytes = bytesOf(token, special);
        if (isFirst && bytes.length > 0) {
          if (bytes[0] === 0x20) bytes = bytes.slice(1);
          isFirst = false;
        }
        return decoder.decode(Uint8Array.from(bytes), { stream: true });
      },
      end: () => decoder.decode(),
    };
  };

  return {
    size: texts.length,
    begin,
    ends,
    textOf: (token) => {
      if (texts[token] === undefined) throw new SinterError('argument', 'llm.textOf', `token ${shown(token)}, there are ${texts.length}`);
      return texts[token];
    },
    encode: (text, options) => {
      const { special = true, begin: isAsked = isBegun === true } = readOptions('llm.encode', options, ENCODE);
      if (typeof text !== 'string') throw new SinterError('argument', 'llm.encode', `expected a text, not ${shown(text)}`);
      const tokens: number[] = [];
      if (isAsked && begin !== undefined) tokens.push(begin);
      // A text that follows a special token counts as the beginning of a text.
      let isFirst = true;
      for (const part of partsOf(text, special ? all : defined, byText)) {
        if (typeof part === 'number') tokens.push(part);
        else for (const token of codec.encode(part, isFirst)) tokens.push(token);
        isFirst = typeof part === 'number';
      }
      if ((metadata['tokenizer.ggml.add_eos_token'] ?? codec.addsEnd) === true && end !== undefined) tokens.push(end);
      return Int32Array.from(tokens);
    },
    decode: (tokens, options) => {
      const { next, end: rest } = stream(options);
      return Array.from(tokens, next).join('') + rest();
    },
    stream,
  };
}
