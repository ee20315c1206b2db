// A small language model that learns to write sonnets, byte by byte, and becomes a GGUF file of architecture llama.

import * as sn from 'sinter';
import * as gguf from 'sinter/gguf';
import { sonnets } from '../../program/workers/playground.ts';
import { training, type Recipe } from './making.ts';

const STEPS = 400;
const [BATCH, CONTEXT] = [16, 64];
const [LAYERS, WIDTH, HEADS, INNER] = [3, 96, 4, 256];
const HEAD = WIDTH / HEADS;
const [EPS, BASE, BYTES] = [1e-5, 10_000, 256];

type Params = Record<string, sn.Tensor>;

/** Initial weights, by their names in the file. */
function fresh(): Params {
  const params: Params = {};
  let seed = 0;
  const matrix = (name: string, out: number, width: number, scale = 1): void => {
    params[`${name}.weight`] = sn.random.normal(sn.random.key(seed++), [out, width]).mul(scale / Math.sqrt(width));
  };
  const norm = (name: string): void => {
    params[`${name}.weight`] = sn.ones([WIDTH]);
  };
  matrix('token_embd', BYTES, WIDTH, 0.5);
  for (let layer = 0; layer < LAYERS; layer++) {
    const block = `blk.${layer}.`;
    norm(`${block}attn_norm`);
    for (const each of ['q', 'k', 'v']) matrix(`${block}attn_${each}`, WIDTH, WIDTH);
    matrix(`${block}attn_output`, WIDTH, WIDTH, 0.5);
    norm(`${block}ffn_norm`);
    matrix(`${block}ffn_gate`, INNER, WIDTH);
    matrix(`${block}ffn_up`, INNER, WIDTH);
    matrix(`${block}ffn_down`, WIDTH, INNER, 0.5);
  }
  norm('output_norm');
  return params;
}

const product = (x: sn.Tensor, weight: sn.Tensor): sn.Tensor => x.matmul(weight.transpose([1, 0]));

/** The scores of the byte that follows each of (n, context). */
function scores(params: Params, tokens: sn.Tensor): sn.Tensor {
  const [count, length] = tokens.shape as [number, number];
  const get = (name: string): sn.Tensor => params[`${name}.weight`];
  const norm = (x: sn.Tensor, name: string): sn.Tensor => sn.rmsNorm(x, { eps: EPS, weight: get(name) });
  const angles = sn.tensor(Float32Array.from({ length: (length * HEAD) / 2 }, (_, i) => {
    const pair = i % (HEAD / 2);
    return Math.floor((2 * i) / HEAD) * BASE ** ((-2 * pair) / HEAD);
  }), { shape: [length, HEAD / 2] });
  const turns = { cos: angles.cos(), sin: angles.sin(), interleaved: true };
  const heads = (x: sn.Tensor): sn.Tensor => x.reshape([count, length, HEADS, HEAD]).transpose([0, 2, 1, 3]);
  let x = get('token_embd').take(tokens);
  for (let layer = 0; layer < LAYERS; layer++) {
    const block = `blk.${layer}.`;
    const seen = norm(x, `${block}attn_norm`);
    const [q, k, v] = ['q', 'k', 'v'].map((each) => heads(product(seen, get(`${block}attn_${each}`))));
    const mixed = sn.attention(sn.rope(q, turns), sn.rope(k, turns), v, { causal: true });
    x = x.add(product(mixed.transpose([0, 2, 1, 3]).reshape([count, length, WIDTH]), get(`${block}attn_output`)));
    const fed = norm(x, `${block}ffn_norm`);
    x = x.add(product(product(fed, get(`${block}ffn_gate`)).silu().mul(product(fed, get(`${block}ffn_up`))), get(`${block}ffn_down`)));
  }
  return product(norm(x, 'output_norm'), get('token_embd'));
}

/** The character that byte-level vocabularies use for each byte: printable bytes stand for themselves. */
function byteTexts(): string[] {
  let others = BYTES;
  const isPrinted = (byte: number): boolean => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
  return Array.from({ length: BYTES }, (_, byte) => String.fromCodePoint(isPrinted(byte) ? byte : others++));
}

const METADATA: gguf.GgufMetadata = {
  'general.architecture': 'llama',
  'general.name': 'Sonnets',
  'llama.block_count': LAYERS,
  'llama.context_length': 512,
  'llama.embedding_length': WIDTH,
  'llama.feed_forward_length': INNER,
  'llama.attention.head_count': HEADS,
  'llama.rope.freq_base': BASE,
  'llama.attention.layer_norm_rms_epsilon': EPS,
  'tokenizer.ggml.model': 'gpt2',
  'tokenizer.ggml.pre': 'gpt2',
  'tokenizer.ggml.tokens': byteTexts(),
  'tokenizer.ggml.merges': [],
};

export async function writer(): Promise<Recipe> {
  const data = await sonnets({ batch: BATCH, context: CONTEXT });
  const byteOf = sn.tensor(Int32Array.from(data.letters, (letter) => letter.charCodeAt(0)));
  const loss = (params: Params, x: sn.Tensor, answers: sn.Tensor): sn.Tensor => sn.losses.softmaxCrossEntropy(scores(params, x), answers).mean();
  const lr = sn.optim.schedules.warmupCosine({ from: 1e-4, lr: 4e-3, to: 4e-4, warmup: 30, steps: STEPS });
  const run = training(fresh(), loss, sn.optim.adamw({ lr }), (step) => {
    const [x, answers] = data.batch(step) as [sn.Tensor, sn.Tensor];
    const made = [byteOf.take(x), byteOf.take(answers)] as const;
    sn.eval(made);
    sn.dispose([x, answers]);
    return made;
  });
  return {
    steps: STEPS,
    step: run.step,
    async file() {
      const types = { 'llama.rope.freq_base': 'float32', 'llama.attention.layer_norm_rms_epsilon': 'float32', 'tokenizer.ggml.merges': 'string[]' } as const;
      return gguf.write({ metadata: METADATA, types, tensors: run.params });
    },
    dispose() {
      run.dispose();
      byteOf.dispose();
    },
  };
}
