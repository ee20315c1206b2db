// Small vocabularies, trained here, as metadata of a GGUF file and as the tokenizer.json of the judge.
import { Tokenizer } from '@huggingface/tokenizers';

/** The patterns as their publishers wrote them. */
export const PATTERNS = {
  gpt2: ["'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"],
  smollm: ['\\p{N}', "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"],
  'llama-bpe': ["(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"],
  qwen2: ["(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"],
  tekken: ['[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+'],
  'gpt-4o': ["[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"],
};

export const CORPUS = `The quick brown fox jumps over the lazy dog, and the dog doesn't mind. They've said: "it's the 3rd of 2024, 12345 foxes!"
  Shall I compare thee to a summer's day? Thou art more lovely and more temperate.
Größe, naïve café, straße. 東京は日本の首都です。 Привет, мир! 안녕하세요 😀👍🏽
for (let i = 0; i < 100; i++) { console.log(i / 2); }\n\n\tIndented\r\nWE'LL SHOUT, THEY'RE LOUD`;

export const TEXTS = [
  CORPUS, '', ' ', '   ', 'a', ' a  b   c ', "I'M they'll WE'VE it's", '1 12 123 1234 12345', 'x\n\n\ny\r\n z', 'tab\tand  spaces\n  ', 'HTTPServer camelCase XMLHttp', 'ünïcödé é',
  '日本語と中文 العربية हिन्दी', '😀👍🏽👨‍👩‍👧 ok', '!!!???...//\n/', 'foo/bar//baz\n', 'a\u00a0b\u2003c\u200bd', 'the theme thesis them', '\u{10ffff}\u0000\u007f', "''''s 't't", '٣٤٥ ⅷ ²',
];

/** Bytes as byte-level BPE writes them; 0 to 255. */
const LETTERS = (() => {
  const table = [];
  let others = 256;
  for (let byte = 0; byte < 256; byte++) table.push(String.fromCodePoint((byte > 32 && byte < 127) || (byte > 160 && byte !== 173) ? byte : others++));
  return table;
})();
const byteLevel = (text) => [...new TextEncoder().encode(text)].map((byte) => LETTERS[byte]);

/** The most frequent pairs, merged one after the other: [[left, right], ...]. */
const train = (words, count) => {
  const merges = [];
  let list = words;
  for (let i = 0; i < count; i++) {
    const pairs = new Map();
    for (const word of list) for (let k = 1; k < word.length; k++) {
      const key = JSON.stringify([word[k - 1], word[k]]);
      pairs.set(key, (pairs.get(key) ?? 0) + 1);
    }
    const [best] = [...pairs].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0];
    const [left, right] = JSON.parse(best);
    merges.push([left, right]);
    list = list.map((word) => {
      const out = [];
      for (let k = 0; k < word.length; k++) {
        if (word[k] === left && word[k + 1] === right) out.push(left + word[++k]);
        else out.push(word[k]);
      }
      return out;
    });
  }
  return merges;
};

const SPECIALS = ['<|begin|>', '<|im_start|>', '<|im_end|>', '<|im|>'];

const added = (texts, first, special) => texts.map((content, i) => ({ id: first + i, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special }));

/** Byte-level BPE with a pre-tokenizer: metadata and judge. isAscii: without bytes above 127. */
export const bpe = (pre, { ignoresMerges = pre === 'llama-bpe' || pre === 'tekken', isAscii = false } = {}) => {
  const words = CORPUS.split(/(?= )/).map(byteLevel);
  const letters = isAscii ? LETTERS.slice(0, 128) : LETTERS;
  const merges = train(words, 150).filter((pair) => [...pair.join('')].every((letter) => letters.includes(letter)));
  const tokens = [...new Set([...letters, ...merges.map((pair) => pair.join(''))]), ...SPECIALS, 'user def'];
  const types = tokens.map((text) => (SPECIALS.includes(text) ? 3 : text === 'user def' ? 4 : 1));
  const begin = tokens.indexOf('<|begin|>');
  const metadata = {
    'tokenizer.ggml.model': 'gpt2', 'tokenizer.ggml.pre': pre, 'tokenizer.ggml.tokens': tokens, 'tokenizer.ggml.token_type': Int32Array.from(types),
    'tokenizer.ggml.merges': merges.map((pair) => pair.join(' ')), 'tokenizer.ggml.bos_token_id': begin, 'tokenizer.ggml.eos_token_id': begin + 2, 'tokenizer.ggml.add_bos_token': false,
  };
  const judge = new Tokenizer({
    version: '1.0', truncation: null, padding: null, normalizer: null, post_processor: null,
    added_tokens: [...added(SPECIALS, begin, true), ...added(['user def'], tokens.length - 1, false)],
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [...PATTERNS[pre].map((regex) => ({ type: 'Split', pattern: { Regex: regex }, behavior: 'Isolated', invert: false })), { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }],
    },
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: { type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: ignoresMerges,
      vocab: Object.fromEntries(tokens.map((text, i) => [text, i])), merges },
  }, { tokenizer_class: 'PreTrainedTokenizerFast', clean_up_tokenization_spaces: false });
  return { metadata, judge, tokens };
};

/** SentencePiece with scores and bytes. */
export const sentencePiece = () => {
  const words = CORPUS.replaceAll(' ', '\u2581').split(/(?=\u2581)/).map((word) => [...word]);
  const merges = train(words, 150);
  const made = [...new Set(merges.map((pair) => pair.join('')))];
  // Characters that are left out become bytes.
  const letters = [...new Set(words.flat())].filter((letter) => !'東京😀Привет\n\r\t'.includes(letter));
  const pieces = made.filter((piece) => [...piece].every((letter) => letters.includes(letter)));
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
  const tokens = ['<unk>', '<s>', '</s>', ...bytes, ...pieces, ...letters];
  const scores = Float32Array.from(tokens, (text) => (pieces.includes(text) ? -pieces.indexOf(text) : text.length === 1 ? -1000 - letters.indexOf(text) : 0));
  const types = tokens.map((text, i) => (i === 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1));
  const metadata = {
    'tokenizer.ggml.model': 'llama', 'tokenizer.ggml.tokens': tokens, 'tokenizer.ggml.scores': scores, 'tokenizer.ggml.token_type': Int32Array.from(types),
    'tokenizer.ggml.bos_token_id': 1, 'tokenizer.ggml.eos_token_id': 2, 'tokenizer.ggml.unknown_token_id': 0,
  };
  // Every way to make a piece of two, in the order of the pieces.
  const known = new Set(tokens.slice(259));
  const splits = pieces.flatMap((piece) => [...piece].slice(1).map((_, i) => [[...piece].slice(0, i + 1).join(''), [...piece].slice(i + 1).join('')])
    .filter(([left, right]) => known.has(left) && known.has(right)));
  const judge = new Tokenizer({
    version: '1.0', truncation: null, padding: null, post_processor: null, pre_tokenizer: null, added_tokens: added(['<unk>', '<s>', '</s>'], 0, true),
    normalizer: { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: '\u2581' }, { type: 'Replace', pattern: { String: ' ' }, content: '\u2581' }] },
    decoder: { type: 'Sequence', decoders: [{ type: 'Replace', pattern: { String: '\u2581' }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' }, { type: 'Strip', content: ' ', start: 1, stop: 0 }] },
    model: { type: 'BPE', dropout: null, unk_token: '<unk>', continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: true, byte_fallback: true, ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((text, i) => [text, i])), merges: splits },
  }, { tokenizer_class: 'LlamaTokenizer', clean_up_tokenization_spaces: false, legacy: false });
  return { metadata, judge, tokens };
};

/** WordPiece: letters of a word's beginning and of what follows, and what is frequent. isAscii: of small letters alone. */
export const wordPiece = ({ isAscii = false } = {}) => {
  const plain = CORPUS.normalize('NFD').replaceAll(/\p{Mn}/gu, '').toLowerCase();
  const words = plain.match(/[\p{L}\p{N}]+/gu).map((word) => [...word]);
  const letters = [...new Set([...plain, ...'abcdefghijklmnopqrstuvwxyz.'])].filter((each) => (isAscii ? /[a-z.]/ : /[^\s東Пр😀]/u).test(each));
  const made = [...new Set(train(words, 120).map((pair) => pair.join('')))].filter((piece) => [...piece].every((letter) => letters.includes(letter)));
  const pieces = [...letters, ...made];
  const names = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
  const vocabulary = [...names, ...pieces, ...pieces.map((piece) => `##${piece}`)];
  // As llama.cpp converts them: a mark at the beginning of words, and none on what follows.
  const tokens = vocabulary.map((text, i) => (i < names.length ? text : text.startsWith('##') && text.length > 2 ? text.slice(2) : `\u2581${text}`));
  const metadata = {
    'tokenizer.ggml.model': 'bert', 'tokenizer.ggml.tokens': tokens, 'tokenizer.ggml.token_type': Int32Array.from(tokens, (_, i) => (i < names.length ? 3 : 1)),
    'tokenizer.ggml.unknown_token_id': 1, 'tokenizer.ggml.cls_token_id': 2, 'tokenizer.ggml.bos_token_id': 2, 'tokenizer.ggml.seperator_token_id': 3, 'tokenizer.ggml.padding_token_id': 0,
  };
  const special = (id, content) => ({ [content]: { id: content, ids: [id], tokens: [content] } });
  const judge = new Tokenizer({
    version: '1.0', truncation: null, padding: null, added_tokens: added(names, 0, true),
    normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: { type: 'TemplateProcessing', single: [{ SpecialToken: { id: '[CLS]', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }, { SpecialToken: { id: '[SEP]', type_id: 0 } }],
      pair: [], special_tokens: { ...special(2, '[CLS]'), ...special(3, '[SEP]') } },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: false },
    model: { type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: 100, vocab: Object.fromEntries(vocabulary.map((text, i) => [text, i])) },
  }, { tokenizer_class: 'BertTokenizer', clean_up_tokenization_spaces: false });
  return { metadata, judge, tokens };
};
