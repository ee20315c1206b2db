// Encoders with random weights, as GGUF files, and their forward pass in plain JavaScript.
import * as gguf from '../dist/gguf.js';
import { typesOf } from './llmcases.mjs';
import { uniforms } from './ggufcases.mjs';
import { wordPiece } from './tokenizercases.mjs';

const BASE = { layers: 2, width: 32, heads: 4, inner: 64, context: 64, eps: 1e-12 };

export const ENCODERS = {
  bert: { architecture: 'bert', hasPositions: true, hasBias: true },
  'bert, the first token': { architecture: 'bert', hasPositions: true, hasBias: true, pooling: 2 },
  'nomic-bert': { architecture: 'nomic-bert', isFused: true, isGated: true, base: 1000 },
};

/** Metadata, tensors { shape, values } and facts of an encoder. */
export const makeEncoder = (given, seed = 3) => {
  const { metadata: vocabulary, tokens } = wordPiece({ isAscii: given.isAscii });
  const m = { ...BASE, pooling: 1, vocab: tokens.length, ...given };
  const next = uniforms(seed);
  const t = {};
  const make = (name, shape, scale, offset = 0) => {
    t[name] = { shape, values: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => (next() + next() + next() - 1.5) * 2 * scale + offset) };
  };
  const norm = (name) => (make(`${name}.weight`, [m.width], 0.2, 1), make(`${name}.bias`, [m.width], 0.1));
  const matrix = (name, out, width) => {
    make(`${name}.weight`, [out, width], 1.2 / Math.sqrt(width));
    if (m.hasBias) make(`${name}.bias`, [out], 0.2);
  };
  make('token_embd.weight', [m.vocab, m.width], 0.8);
  make('token_types.weight', [2, m.width], 0.3);
  if (m.hasPositions) make('position_embd.weight', [m.context, m.width], 0.3);
  norm('token_embd_norm');
  for (let i = 0; i < m.layers; i++) {
    const b = `blk.${i}.`;
    if (m.isFused) matrix(`${b}attn_qkv`, 3 * m.width, m.width);
    else for (const name of ['q', 'k', 'v']) matrix(`${b}attn_${name}`, m.width, m.width);
    matrix(`${b}attn_output`, m.width, m.width);
    norm(`${b}attn_output_norm`);
    if (m.isGated) matrix(`${b}ffn_gate`, m.inner, m.width);
    matrix(`${b}ffn_up`, m.inner, m.width);
    matrix(`${b}ffn_down`, m.width, m.inner);
    norm(`${b}layer_output_norm`);
  }
  const own = {
    block_count: m.layers, context_length: m.context, embedding_length: m.width, feed_forward_length: m.inner, 'attention.head_count': m.heads,
    'attention.layer_norm_epsilon': m.eps, 'attention.causal': false, pooling_type: m.pooling, ...(m.base && { 'rope.freq_base': m.base }),
  };
  const metadata = { 'general.architecture': m.architecture, ...Object.fromEntries(Object.entries(own).map(([key, value]) => [`${m.architecture}.${key}`, value])), ...vocabulary, 'tokenizer.ggml.token_type_count': 2 };
  return { facts: m, tensors: t, metadata };
};

const rowsOf = (values, columns) => Array.from({ length: values.length / columns }, (_, i) => Array.from(values.subarray(i * columns, (i + 1) * columns)));

export const encoderFile = ({ tensors, metadata, facts }, kind = 'float32') => gguf.write({
  metadata,
  types: typesOf(metadata, facts, ['attention.layer_norm_epsilon', 'rope.freq_base']),
  tensors: Object.fromEntries(Object.entries(tensors).map(([name, { shape, values }]) => [name, shape.length > 1 ? { tensor: rowsOf(values, shape[1]), kind: name.startsWith('blk.') ? kind : 'float32' } : { tensor: values, kind: 'float32' }])),
});

/* ---- the forward pass ---- */

const range = (n) => Array.from({ length: n }, (_, i) => i);
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const add = (a, b) => a.map((x, i) => x + b[i]);

/** erf by its series, which is exact enough where it is not 1. */
const erf = (x) => {
  if (Math.abs(x) > 5) return Math.sign(x);
  let [term, sum] = [x, x];
  for (let n = 1; n < 200; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
};

/** The last states of some tokens. */
export const plainStates = ({ facts: m, tensors: t }, tokens) => {
  const row = (name, i) => Array.from(t[name].values.subarray(i * t[name].shape[1], (i + 1) * t[name].shape[1]));
  const product = (name, x) => range(t[`${name}.weight`].shape[0]).map((i) => dot(x, row(`${name}.weight`, i)) + (t[`${name}.bias`]?.values[i] ?? 0));
  const norm = (name, x) => {
    const mean = x.reduce((a, b) => a + b, 0) / x.length;
    const size = Math.sqrt(x.reduce((sum, v) => sum + (v - mean) ** 2, 0) / x.length + m.eps);
    return x.map((v, i) => ((v - mean) / size) * t[`${name}.weight`].values[i] + t[`${name}.bias`].values[i]);
  };
  const size = m.width / m.heads;
  const turn = (x, position) => (m.base ? x.map((v, i) => {
    const pair = i % (size / 2);
    const angle = position * m.base ** (-pair / (size / 2));
    return i < size / 2 ? v * Math.cos(angle) - x[i + size / 2] * Math.sin(angle) : v * Math.cos(angle) + x[pair] * Math.sin(angle);
  }) : x);
  const heads = (x) => range(m.heads).map((h) => x.slice(h * size, (h + 1) * size));
  const activate = m.isGated ? (x) => x / (1 + Math.exp(-x)) : (x) => 0.5 * x * (1 + erf(x / Math.SQRT2));
  let xs = tokens.map((token, i) => {
    const sum = add(row('token_embd.weight', token), row('token_types.weight', 0));
    return norm('token_embd_norm', m.hasPositions ? add(sum, row('position_embd.weight', i)) : sum);
  });
  for (let layer = 0; layer < m.layers; layer++) {
    const b = `blk.${layer}.`;
    const parts = xs.map((x) => {
      if (!m.isFused) return ['q', 'k', 'v'].map((name) => heads(product(`${b}attn_${name}`, x)));
      const all = product(`${b}attn_qkv`, x);
      return range(3).map((i) => heads(all.slice(i * m.width, (i + 1) * m.width)));
    });
    const [qs, ks] = [0, 1].map((which) => parts.map((each, i) => each[which].map((x) => turn(x, i))));
    xs = xs.map((x, i) => {
      const mixed = range(m.heads).flatMap((h) => {
        const scores = ks.map((k) => Math.exp(dot(qs[i][h], k[h]) / Math.sqrt(size)));
        const sum = scores.reduce((a, c) => a + c, 0);
        return range(size).map((d) => dot(scores, parts.map((each) => each[2][h][d])) / sum);
      });
      const between = norm(`${b}attn_output_norm`, add(x, product(`${b}attn_output`, mixed)));
      const up = product(`${b}ffn_up`, between);
      const inner = m.isGated ? product(`${b}ffn_gate`, between).map((g, k) => activate(g) * up[k]) : up.map(activate);
      return norm(`${b}layer_output_norm`, add(between, product(`${b}ffn_down`, inner)));
    });
  }
  return xs;
};

/** A text's vector of length 1, by the pooling of the file: of all tokens, or the first one. */
export const plainEmbedding = (made, tokens) => {
  const states = plainStates(made, tokens);
  const vector = made.facts.pooling === 2 ? states[0] : range(made.facts.width).map((i) => states.reduce((sum, x) => sum + x[i], 0) / states.length);
  const length = Math.sqrt(dot(vector, vector));
  return vector.map((x) => x / length);
};
