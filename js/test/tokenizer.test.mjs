// Tokenizers from a GGUF file's metadata, judged by @huggingface/tokenizers on small vocabularies.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import * as gguf from '../dist/gguf.js';
import * as llm from '../dist/llm.js';
import { assertThrows } from './support.mjs';
import { CORPUS, PATTERNS, TEXTS, bpe, sentencePiece, wordPiece } from './tokenizercases.mjs';

for (const pre of Object.keys(PATTERNS)) {
  test(`byte-level BPE, pre-tokenizer ${pre}`, () => {
    const { metadata, judge } = bpe(pre);
    const own = llm.tokenizer(metadata);
    for (const text of [...TEXTS, 'a<|im_start|>user\nhi<|im_end|> <|im|> user def user  def']) {
      assert.deepEqual([...own.encode(text)], judge.encode(text, { add_special_tokens: false }).ids, JSON.stringify(text));
      assert.equal(own.decode(own.encode(text), { special: true }), text);
    }
  });
}

test('SentencePiece: scores, bytes, the space in front', () => {
  const { metadata, judge } = sentencePiece();
  const own = llm.tokenizer(metadata);
  for (const text of TEXTS.filter((each) => each !== '')) {
    assert.deepEqual([...own.encode(text, { begin: false })], judge.encode(text, { add_special_tokens: false }).ids, JSON.stringify(text));
    assert.equal(own.decode(own.encode(text)), text);
  }
  assert.deepEqual([...own.encode('')], [1]);
  assert.deepEqual([...llm.tokenizer({ ...metadata, 'tokenizer.ggml.add_bos_token': false }).encode('the')], judge.encode('the', { add_special_tokens: false }).ids);
  const without = llm.tokenizer({ ...metadata, 'tokenizer.ggml.add_space_prefix': false });
  assert.equal(without.decode(without.encode(' the')), ' the');
  assert.notDeepEqual(without.encode('the'), own.encode('the'));
});

test('WordPiece: small letters, accents, punctuation, characters of their own, and words that cannot be cut', () => {
  const { metadata, judge } = wordPiece();
  const own = llm.tokenizer(metadata);
  for (const text of [...TEXTS.filter((each) => each.length < 2000), 'ΣΑΣ Ǆ İstanbul', 'x\u0001y\ufffdz', 'a\u0301 b', '$5+5=10~', '北京fox東'])
    assert.deepEqual([...own.encode(text)], judge.encode(text).ids, JSON.stringify(text));
  assert.deepEqual([...own.encode('[CLS] the', { special: true })].slice(0, 2), [2, 2]);
  assert.equal(own.decode(own.encode('The  quick, foxes')), 'the quick , foxes');
  assertThrows(() => llm.tokenizer({ ...metadata, 'tokenizer.ggml.unknown_token_id': undefined }), sn.SinterError, { message: /unknown_token_id/ });
});

test('special tokens: on demand only, the longest first, and not shown', () => {
  const { metadata, tokens } = bpe('qwen2');
  const own = llm.tokenizer(metadata);
  const [begin, start, end] = ['<|begin|>', '<|im_start|>', '<|im_end|>'].map((text) => tokens.indexOf(text));
  const text = '<|im_start|>a<|im_end|>';
  assert.deepEqual([...own.encode(text)], [start, tokens.indexOf('a'), end]);
  const plain = own.encode(text, { special: false });
  assert.ok(!plain.includes(start) && own.decode(plain) === text);
  assert.equal(own.decode(own.encode(text)), 'a');
  assert.deepEqual([...own.encode('a', { begin: true })], [begin, tokens.indexOf('a')]);
  assert.deepEqual([own.begin, [...own.ends], own.size, own.textOf(end)], [begin, [end], tokens.length, '<|im_end|>']);
});

test('special tokens of any signs: none of them means anything else', () => {
  const { metadata } = bpe('qwen2');
  const signs = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter((sign) => /[^a-z0-9]/i.test(sign));
  const specials = [...signs.map((sign) => `<${sign}a${sign}>`), '<|fim-middle|>', 'caf\u00e9\u{1f984}'];
  const own = metadata['tokenizer.ggml.tokens'].length;
  const { encode, decode } = llm.tokenizer({
    ...metadata,
    'tokenizer.ggml.tokens': [...metadata['tokenizer.ggml.tokens'], ...specials],
    'tokenizer.ggml.token_type': Int32Array.of(...metadata['tokenizer.ggml.token_type'], ...specials.map((_, i) => (i % 2 ? 3 : 4))),
  });
  assert.deepEqual(Array.from(encode(specials.join(''))), specials.map((_, i) => own + i));
  assert.equal(decode(encode(`a ${specials.join(' b ')} c`), { special: true }), `a ${specials.join(' b ')} c`);
});

test('texts arrive in whole characters', () => {
  for (const { metadata } of [bpe('gpt2'), sentencePiece()]) {
    const own = llm.tokenizer(metadata);
    const tokens = own.encode('a 😀 東京');
    const stream = own.stream();
    const parts = Array.from(tokens, (token) => stream.next(token));
    assert.ok(parts.every((part) => !part.includes('\ufffd')));
    assert.equal(parts.join('') + stream.end(), 'a 😀 東京');
    const cut = own.stream();
    assert.equal([...own.encode('😀')].slice(0, -1).map((token) => cut.next(token)).join('').trim(), '');
    assert.equal(cut.end(), '\ufffd');
  }
});

test('a long word takes time in proportion', () => {
  const own = llm.tokenizer(bpe('gpt2').metadata);
  const text = 'the'.repeat(100_000);
  assert.equal(own.decode(own.encode(text)), text);
});

test('through a file', () => {
  const { metadata } = sentencePiece();
  const read = gguf.read(gguf.write({ metadata, tensors: {} })).metadata;
  assert.deepEqual(llm.tokenizer(read).encode(CORPUS), llm.tokenizer(metadata).encode(CORPUS));
});

test('metadata that are wrong', () => {
  const { metadata } = bpe('gpt2');
  const refused = (changes, message, type = sn.SinterError) => assertThrows(() => llm.tokenizer({ ...metadata, ...changes }), type, { message });
  refused({ 'tokenizer.ggml.model': 'rwkv' }, /a tokenizer of the model "rwkv" \(there are gpt2, llama, bert\)/, sn.UnsupportedError);
  refused({ 'tokenizer.ggml.model': 'toString' }, /toString/, sn.UnsupportedError);
  refused({ 'tokenizer.ggml.pre': 'mine' }, /the pre-tokenizer "mine"/, sn.UnsupportedError);
  refused({ 'tokenizer.ggml.tokens': undefined }, /no tokenizer.ggml.tokens/);
  refused({ 'tokenizer.ggml.tokens': Int32Array.of(1) }, /tokenizer.ggml.tokens is/);
  refused({ 'tokenizer.ggml.token_type': Int32Array.of(1) }, /1 types of \d+ tokens/);
  refused({ 'tokenizer.ggml.bos_token_id': 1e6 }, /bos_token_id is 1000000/);
  refused({ 'tokenizer.ggml.merges': 'a b' }, /merges/);
  refused({ 'tokenizer.ggml.model': 'llama' }, /no scores of \d+ tokens/);
  const own = llm.tokenizer(metadata);
  assertThrows(() => own.encode(3), sn.SinterError, { message: /expected a text, not 3/ });
  assertThrows(() => own.encode('a', { bos: true }), sn.SinterError, { message: /no option 'bos'/ });
  assertThrows(() => own.decode([1e9]), sn.SinterError, { message: /token 1000000000, there are/ });
  assertThrows(() => own.textOf(-1), sn.SinterError, { message: /token -1/ });
});
