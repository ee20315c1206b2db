// Tiny language models with random weights, as GGUF files of every architecture, and their forward pass in plain
// JavaScript: float64, op by op, for one token after the other.
import * as gguf from '../dist/gguf.js';
import { uniforms } from './ggufcases.mjs';
import { bpe } from './tokenizercases.mjs';

/** Random weights of a shape, of deviation scale. */
const maker = (seed) => {
  const next = uniforms(seed);
  return (shape, scale = 0.3, offset = 0) => {
    const values = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => (next() + next() + next() - 1.5) * 2 * scale + offset);
    return { shape, values };
  };
};

const BASE = { layers: 2, width: 32, heads: 4, keyHeads: 2, headSize: 8, inner: 64, context: 512, eps: 1e-5, base: 10000, factor: 1 };

/** Architectures, and options of them. Each is { architecture, ...facts }; see makeModel. */
export const MODELS = {
  llama: { architecture: 'llama', interleaved: true },
  'llama, tied, all heads of keys': { architecture: 'llama', interleaved: true, tied: true, keyHeads: 4 },
  'llama, factors of frequencies': { architecture: 'llama', interleaved: true, factors: [1, 1, 2, 8], base: 500000 },
  'llama, linear scaling': { architecture: 'llama', interleaved: true, factor: 4, scaling: 'linear' },
  'llama, YaRN': { architecture: 'llama', interleaved: true, factor: 8, scaling: 'yarn', original: 64, base: 1000 },
  'llama, biases, wide heads': { architecture: 'llama', interleaved: true, qkvBias: true, headSize: 12 },
  'llama, heads of 32': { architecture: 'llama', interleaved: true, headSize: 32 },
  qwen2: { architecture: 'qwen2', qkvBias: true },
  qwen3: { architecture: 'qwen3', headNorms: true, headSize: 16, base: 1e6 },
  gemma: { architecture: 'gemma', gelu: true, scaled: true, tied: true, headSize: 16, keyHeads: 1 },
  gemma2: { architecture: 'gemma2', gelu: true, scaled: true, tied: true, postNorms: true, scoreCap: 5, logitCap: 3, window: 5, pattern: 2 },
  'gemma2, heads of 64': { architecture: 'gemma2', gelu: true, scaled: true, tied: true, postNorms: true, scoreCap: 5, logitCap: 3, window: 5, pattern: 2, headSize: 64 },
  gemma3: { architecture: 'gemma3', gelu: true, scaled: true, tied: true, postNorms: true, headNorms: true, window: 4, pattern: 6, layers: 7, base: 1e6, windowBase: 10000 },
  phi2: { architecture: 'phi2', gelu: true, layerNorm: true, fusedQkv: true, qkvBias: true, allBias: true, ungated: true, parallel: true, ropeSize: 4, keyHeads: 4 },
  phi3: { architecture: 'phi3', fusedQkv: true, fusedGate: true, longRope: [1, 1.5, 2, 4], attnFactor: 1.19 },
};

/** Metadata, tensors and facts of a model. */
export const makeModel = (given, seed = 1) => {
  const { metadata: vocabulary, tokens } = bpe('qwen2', { isAscii: given.isAscii });
  const m = { ...BASE, vocab: tokens.length, ...given };
  m.ropeSize ??= m.headSize;
  const make = maker(seed);
  const t = {};
  const norm = (name, size) => {
    t[`${name}.weight`] = make([size], 0.2, 1);
    if (m.layerNorm) t[`${name}.bias`] = make([size], 0.1);
  };
  const matrix = (name, out, width, bias) => {
    t[`${name}.weight`] = make([out, width], 1.2 / Math.sqrt(width));
    if (bias) t[`${name}.bias`] = make([out], 0.2);
  };
  t['token_embd.weight'] = make([m.vocab, m.width], m.scaled ? 0.2 : 0.8);
  norm('output_norm', m.width);
  if (!m.tied) matrix('output', m.vocab, m.width, m.allBias);
  if (m.factors) t['rope_freqs.weight'] = { shape: [m.factors.length], values: Float32Array.from(m.factors) };
  if (m.longRope) for (const which of ['long', 'short']) t[`rope_factors_${which}.weight`] = { shape: [4], values: Float32Array.from(m.longRope, (f) => (which === 'long' ? f * 2 : f)) };
  for (let i = 0; i < m.layers; i++) {
    const b = `blk.${i}.`;
    const [q, kv] = [m.heads * m.headSize, m.keyHeads * m.headSize];
    norm(`${b}attn_norm`, m.width);
    if (m.fusedQkv) matrix(`${b}attn_qkv`, q + 2 * kv, m.width, m.qkvBias);
    else {
      matrix(`${b}attn_q`, q, m.width, m.qkvBias);
      matrix(`${b}attn_k`, kv, m.width, m.qkvBias);
      matrix(`${b}attn_v`, kv, m.width, m.qkvBias);
    }
    if (m.headNorms) for (const name of ['q', 'k']) norm(`${b}attn_${name}_norm`, m.headSize);
    matrix(`${b}attn_output`, m.width, q, m.allBias);
    if (m.postNorms) norm(`${b}post_attention_norm`, m.width);
    if (!m.parallel) norm(`${b}ffn_norm`, m.width);
    if (!m.ungated && !m.fusedGate) matrix(`${b}ffn_gate`, m.inner, m.width);
    matrix(`${b}ffn_up`, m.fusedGate ? 2 * m.inner : m.inner, m.width, m.allBias);
    matrix(`${b}ffn_down`, m.width, m.inner, m.allBias);
    if (m.postNorms) norm(`${b}post_ffw_norm`, m.width);
  }
  return { facts: m, tensors: t, metadata: { ...metadataOf(m), ...vocabulary } };
};

const metadataOf = (m) => {
  const own = {
    block_count: m.layers, context_length: m.context, embedding_length: m.width, feed_forward_length: m.inner, 'attention.head_count': m.heads, 'attention.head_count_kv': m.keyHeads,
    'attention.key_length': m.headSize, 'attention.value_length': m.headSize, 'rope.dimension_count': m.ropeSize, 'rope.freq_base': m.base,
    [m.layerNorm ? 'attention.layer_norm_epsilon' : 'attention.layer_norm_rms_epsilon']: m.eps,
    ...(m.scaling && { 'rope.scaling.type': m.scaling, 'rope.scaling.factor': m.factor, ...(m.original && { 'rope.scaling.original_context_length': m.original }) }),
    ...(m.attnFactor && { 'rope.scaling.attn_factor': m.attnFactor, 'rope.scaling.original_context_length': m.context }),
    ...(m.scoreCap && { attn_logit_softcapping: m.scoreCap, final_logit_softcapping: m.logitCap }),
    ...(m.window && { 'attention.sliding_window': m.window }),
  };
  return { 'general.architecture': m.architecture, ...Object.fromEntries(Object.entries(own).map(([key, value]) => [`${m.architecture}.${key}`, value])) };
};

const FLOATS = ['rope.freq_base', 'rope.scaling.factor', 'rope.scaling.attn_factor', 'attn_logit_softcapping', 'final_logit_softcapping', 'attention.layer_norm_rms_epsilon', 'attention.layer_norm_epsilon'];

/** float32 for those of the keys that the metadata has. */
export const typesOf = (metadata, { architecture }, keys) => Object.fromEntries(keys.map((key) => `${architecture}.${key}`).filter((key) => key in metadata).map((key) => [key, 'float32']));

/** The file of a model; kind of its matrices, or kinds that take turns. */
export const fileOf = ({ tensors, metadata, facts }, kind = 'float32') => gguf.write({
  metadata,
  types: typesOf(metadata, facts, FLOATS),
  tensors: Object.fromEntries(Object.entries(tensors).map(([name, { shape, values }], i) => [name, { tensor: reshaped(values, shape), kind: shape.length > 1 ? [kind].flat()[i % [kind].flat().length] : 'float32' }])),
});

const reshaped = (values, [rows, columns]) => (columns === undefined ? values : Array.from({ length: rows }, (_, i) => Array.from(values.subarray(i * columns, (i + 1) * columns))));

/* ---- the forward pass ---- */

const range = (n) => Array.from({ length: n }, (_, i) => i);
const dot = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};

/** A function that reads the next token, and returns what computes the logits behind it. */
export const plainReader = ({ facts: m, tensors: t }) => {
  const row = (name, i) => {
    const width = t[name].shape[1];
    return t[name].values.subarray(i * width, (i + 1) * width);
  };
  const product = (name, x) => range(t[`${name}.weight`].shape[0]).map((i) => dot(x, row(`${name}.weight`, i)) + (t[`${name}.bias`]?.values[i] ?? 0));
  const norm = (name, x) => {
    const mean = m.layerNorm ? x.reduce((a, b) => a + b, 0) / x.length : 0;
    const size = Math.sqrt(x.reduce((sum, v) => sum + (v - mean) ** 2, 0) / x.length + m.eps);
    return x.map((v, i) => ((v - mean) / size) * t[`${name}.weight`].values[i] + (t[`${name}.bias`]?.values[i] ?? 0));
  };
  const gelu = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
  const activate = m.gelu ? gelu : (x) => x / (1 + Math.exp(-x));
  const isLocal = (layer) => Boolean(m.window) && layer % m.pattern !== m.pattern - 1;

  /** Pair i turned by its angle at a position. */
  const turn = (x, position, layer) => {
    const half = m.ropeSize / 2;
    const out = [...x];
    for (let i = 0; i < half; i++) {
      const base = isLocal(layer) && m.windowBase ? m.windowBase : m.base;
      let frequency = base ** (-i / half) / (m.factors?.[i] ?? m.longRope?.[i] ?? 1);
      let scale = m.attnFactor ?? 1;
      if (m.scaling === 'linear') frequency /= m.factor;
      if (m.scaling === 'yarn') {
        // Pairs that turn more than 32 times in the original context stay, those that turn less than once are divided.
        const at = (turns) => (m.ropeSize * Math.log(m.original / (turns * 2 * Math.PI))) / (2 * Math.log(m.base));
        const [low, high] = [Math.max(0, Math.floor(at(32))), Math.min(m.ropeSize - 1, Math.ceil(at(1)))];
        const slow = Math.min(1, Math.max(0, (i - low) / Math.max(0.001, high - low)));
        frequency = (frequency / m.factor) * slow + frequency * (1 - slow);
        scale *= 1 + 0.1 * Math.log(m.factor);
      }
      const [a, b] = m.interleaved ? [2 * i, 2 * i + 1] : [i, i + half];
      const [c, s] = [Math.cos(position * frequency) * scale, Math.sin(position * frequency) * scale];
      [out[a], out[b]] = [x[a] * c - x[b] * s, x[a] * s + x[b] * c];
    }
    return out;
  };
  const head = (x, h) => x.slice(h * m.headSize, (h + 1) * m.headSize);

  /** Of each layer, by position and head. */
  const [keys, values] = [range(m.layers).map(() => []), range(m.layers).map(() => [])];
  const attention = (b, layer, x) => {
    const [ks, vs] = [keys[layer], values[layer]];
    const position = ks.length;
    const [sizeQ, sizeK] = [m.heads * m.headSize, m.keyHeads * m.headSize];
    let parts;
    if (m.fusedQkv) {
      const all = product(`${b}attn_qkv`, x);
      parts = [all.slice(0, sizeQ), all.slice(sizeQ, sizeQ + sizeK), all.slice(sizeQ + sizeK)];
    } else parts = ['q', 'k', 'v'].map((name) => product(`${b}attn_${name}`, x));
    const heads = (y, count, name) => range(count).map((h) => turn(m.headNorms ? norm(`${b}attn_${name}_norm`, head(y, h)) : head(y, h), position, layer));
    const q = heads(parts[0], m.heads, 'q');
    ks.push(heads(parts[1], m.keyHeads, 'k'));
    vs.push(range(m.keyHeads).map((h) => head(parts[2], h)));
    const mixed = range(m.heads).flatMap((h) => {
      const shared = Math.floor(h / (m.heads / m.keyHeads));
      const from = isLocal(layer) ? Math.max(0, position - m.window + 1) : 0;
      const sources = range(position + 1).slice(from);
      let scores = sources.map((j) => dot(q[h], ks[j][shared]) / Math.sqrt(m.headSize));
      if (m.scoreCap) scores = scores.map((s) => m.scoreCap * Math.tanh(s / m.scoreCap));
      const largest = Math.max(...scores);
      const weights = scores.map((s) => Math.exp(s - largest));
      const sum = weights.reduce((x, y) => x + y, 0);
      return range(m.headSize).map((d) => dot(weights, sources.map((j) => vs[j][shared][d])) / sum);
    });
    return product(`${b}attn_output`, mixed);
  };

  const feed = (b, x) => {
    const up = product(`${b}ffn_up`, x);
    if (m.ungated) return product(`${b}ffn_down`, up.map(activate));
    const gate = m.fusedGate ? up.slice(0, m.inner) : product(`${b}ffn_gate`, x);
    const other = m.fusedGate ? up.slice(m.inner) : up;
    return product(`${b}ffn_down`, gate.map((g, i) => activate(g) * other[i]));
  };

  const add = (a, b) => a.map((x, i) => x + b[i]);
  const output = m.tied ? 'token_embd' : 'output';
  return (token) => {
    let x = Array.from(row('token_embd.weight', token), (v) => v * (m.scaled ? Math.sqrt(m.width) : 1));
    for (let layer = 0; layer < m.layers; layer++) {
      const b = `blk.${layer}.`;
      const normed = norm(`${b}attn_norm`, x);
      const mixed = attention(b, layer, normed);
      if (m.parallel) x = add(add(x, mixed), feed(b, normed));
      else {
        const between = add(x, m.postNorms ? norm(`${b}post_attention_norm`, mixed) : mixed);
        const fed = feed(b, norm(`${b}ffn_norm`, between));
        x = add(between, m.postNorms ? norm(`${b}post_ffw_norm`, fed) : fed);
      }
    }
    return () => product(output, norm('output_norm', x)).map((z) => (m.logitCap ? m.logitCap * Math.tanh(z / m.logitCap) : z));
  };
};

/** Logits of each of some tokens. */
export const plainLogits = (made, tokens) => {
  const read = plainReader(made);
  return tokens.map((token) => read(token)());
};
