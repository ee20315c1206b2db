// llm-model.mjs - makes a language model of SmolLM-135M's or Llama-3.2-1B's size with random weights, as a GGUF file whose
// matrices are of one kind. If a row has no whole number of Q4_K blocks, it is of Q5_0, as in llama.cpp.
import * as gguf from '../js/dist/gguf.js';

/** By the number of parameters. */
export const SIZES = {
  '135M': { layers: 30, width: 576, heads: 9, keyHeads: 3, headSize: 64, inner: 1536, vocab: 49152 },
  '1B': { layers: 16, width: 2048, heads: 32, keyHeads: 8, headSize: 64, inner: 8192, vocab: 128256 },
};

/** For each kind: the numbers and bytes of a block, and the float16 values at places in it that make numbers about 0.04
 *  large. */
const KINDS = {
  Q8_0: [32, 34, { 0: 0x1081 }],
  Q4_0: [32, 18, { 0: 0x2073 }],
  Q5_0: [32, 22, { 0: 0x1c73 }],
  Q4_K: [256, 144, { 0: 0x0c66, 2: 0x1828 }],
};

let state = 12345;
const word = () => {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return state;
};

const blocksOf = (wanted, rows, width) => {
  const kind = width % KINDS[wanted][0] === 0 ? wanted : 'Q5_0';
  const [numbers, bytes, halves] = KINDS[kind];
  const words = new Int32Array(Math.ceil((rows * (width / numbers) * bytes) / 4));
  for (let i = 0; i < words.length; i++) words[i] = word();
  const raw = new Uint8Array(words.buffer, 0, rows * (width / numbers) * bytes);
  const places = Object.entries(halves);
  for (let at = 0; at < raw.length; at += bytes)
    for (const [place, half] of places) {
      raw[at + Number(place)] = half & 255;
      raw[at + Number(place) + 1] = half >> 8;
    }
  return { raw, kind, shape: [rows, width] };
};

const ones = (size) => ({ raw: new Uint8Array(new Float32Array(size).fill(1).buffer), kind: 'float32', shape: [size] });

/** The texts of single bytes in byte-level BPE, and then words that occur in no text. */
const vocabulary = (size) => {
  let others = 256;
  const letters = Array.from({ length: 256 }, (_, byte) => String.fromCodePoint((byte > 32 && byte < 127) || (byte > 160 && byte !== 173) ? byte : others++));
  return [...letters, '<|begin|>', '<|end|>', ...Array.from({ length: size - 258 }, (_, i) => `word${i}`)];
};

export const modelFile = (kind, size = '135M') => {
  const { layers, width, heads, keyHeads, headSize, inner, vocab } = SIZES[size];
  const tensors = { 'token_embd.weight': blocksOf(kind, vocab, width), 'output_norm.weight': ones(width) };
  for (let i = 0; i < layers; i++)
    for (const [name, ...shape] of [['attn_norm', width], ['attn_q', heads * headSize, width], ['attn_k', keyHeads * headSize, width], ['attn_v', keyHeads * headSize, width],
      ['attn_output', width, heads * headSize], ['ffn_norm', width], ['ffn_gate', inner, width], ['ffn_up', inner, width], ['ffn_down', width, inner]])
      tensors[`blk.${i}.${name}.weight`] = shape.length > 1 ? blocksOf(kind, ...shape) : ones(...shape);
  const facts = {
    block_count: layers, context_length: 2048, embedding_length: width, feed_forward_length: inner, 'attention.head_count': heads, 'attention.head_count_kv': keyHeads,
    'rope.dimension_count': headSize, 'rope.freq_base': 10000, 'attention.layer_norm_rms_epsilon': 1e-5, vocab_size: vocab,
  };
  return gguf.write({
    metadata: {
      'general.architecture': 'llama', 'general.name': 'random', ...Object.fromEntries(Object.entries(facts).map(([key, value]) => [`llama.${key}`, value])),
      'tokenizer.ggml.model': 'gpt2', 'tokenizer.ggml.pre': 'gpt-2', 'tokenizer.ggml.tokens': vocabulary(vocab), 'tokenizer.ggml.merges': ['w o'],
      'tokenizer.ggml.token_type': Int32Array.from({ length: vocab }, (_, i) => (i === 256 || i === 257 ? 3 : 1)), 'tokenizer.ggml.bos_token_id': 256, 'tokenizer.ggml.eos_token_id': 257,
    },
    types: { 'llama.rope.freq_base': 'float32', 'llama.attention.layer_norm_rms_epsilon': 'float32' },
    tensors,
  });
};

/** A text with this many tokens, different for each number. */
export const textOf = (tokens, number) => Array.from({ length: tokens }, (_, i) => String.fromCharCode(97 + ((i * 7 + number * 11 + (i * number) % 5) % 26))).join('');
