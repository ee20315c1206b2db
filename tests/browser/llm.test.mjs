// GGUF files of ours in llama.cpp: @wllama/wllama, in the same browser, reads them, cuts texts into the same tokens, and
// gives the same probabilities and the same words.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as sn from '../../js/dist/index.js';
import { MODELS, fileOf, makeModel } from '../../js/test/llmcases.mjs';
import { ENCODERS, encoderFile, makeEncoder } from '../../js/test/encodercases.mjs';
import { root } from '../../scripts/lib/proc.mjs';
import { mainOf, openChromium } from './browsers.mjs';
import { host } from './host.mjs';

/** wllama makes its worker of a Blob, and calls eval. */
const POLICY = "default-src 'self' blob: data: 'unsafe-eval' 'wasm-unsafe-eval' 'unsafe-inline'; worker-src 'self' blob:; connect-src 'self' blob: data:";
const WLLAMA = join(root, 'node_modules/@wllama/wllama/esm');
const PAGE = `import * as sn from '/dist/index.js';
import * as llm from '/dist/llm.js';
import { Wllama } from '/wllama/index.js';
Object.assign(window, { sn, llm, Wllama });`;

const PROMPT = 'the dog doesn\u0027t mind 12345 foxes, THEY\u0027VE said!';

/* These run in the page. */

/** The tokens of a prompt, words that follow, and of the first the logarithms of all probabilities, of llama.cpp. */
const byLlamaCpp = async ({ bytes, prompt, size }) => {
  const wllama = new window.Wllama({ default: '/wllama/wasm/wllama.wasm' }, { suppressNativeLog: true });
  await wllama.loadModel([new Blob([Uint8Array.from(bytes)])], { n_ctx: 256, n_threads: 1, n_gpu_layers: 0, cache_type_k: 'f32', cache_type_v: 'f32', flash_attn: false, warmup: false });
  const made = await wllama.createCompletion({ prompt, max_tokens: 6, temperature: 0, logprobs: size, stream: false });
  await wllama.exit();
  return made;
};

const bySinter = async ({ bytes, prompt }) => {
  const { sn, llm } = window;
  await sn.init();
  const model = await llm.load(new Blob([Uint8Array.from(bytes)]));
  const tokens = [...model.tokenizer.encode(prompt)];
  const all = model.logits(tokens).logSoftmax();
  const last = Array.from(await all.take(tokens.length - 1).data());
  let text = '';
  for await (const piece of model.generate(prompt, { temperature: 0, maxTokens: 6 })) text += piece;
  model.dispose();
  return { tokens, text, last };
};

/** The vector of a text, and how many tokens it had, of llama.cpp. */
const embeddedByLlamaCpp = async ({ bytes, text }) => {
  const wllama = new window.Wllama({ default: '/wllama/wasm/wllama.wasm' }, { suppressNativeLog: true });
  await wllama.loadModel([new Blob([Uint8Array.from(bytes)])], { n_ctx: 64, n_threads: 1, n_gpu_layers: 0, embeddings: true, flash_attn: false, warmup: false });
  const { data: [{ embedding }], usage } = await wllama.createEmbedding({ input: text });
  await wllama.exit();
  return { vector: embedding, tokens: usage.prompt_tokens };
};

const embeddedBySinter = async ({ bytes, text }) => {
  const { sn, llm } = window;
  await sn.init();
  const model = await llm.load(new Blob([Uint8Array.from(bytes)]));
  const made = { vector: Array.from(await model.embed(text).data()), tokens: model.tokenizer.encode(text).length };
  model.dispose();
  return made;
};

let server;
let browser;

before(async () => {
  await sn.init();
  const names = { '/wllama/index.js': ['index.js', 'text/javascript'], '/wllama/wasm/wllama.wasm': ['wasm/wllama.wasm', 'application/wasm'] };
  const files = await Promise.all(Object.entries(names).map(async ([path, [name, type]]) => [path, { body: await readFile(join(WLLAMA, name)), type }]));
  server = await host({ policy: POLICY, instead: { ...Object.fromEntries(files), '/page.js': { body: PAGE, type: 'text/javascript' } } });
  browser = await openChromium();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

/** Name, kind of the matrices or kinds that take turns, and how far logarithms of probabilities may be apart: llama.cpp rounds activations to 8 bits
 *  before it multiplies them with quantised weights, and has gelu in a table of float16. */
const CASES = [
  ['llama', ['Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q8_0', 'Q4_K', 'Q5_K', 'Q6_K', 'float16', 'bfloat16'], 0.15],
  ...['gemma3', 'gemma', 'gemma2', 'phi2'].map((name) => [name, 'float32', 5e-3]),
  ...['llama', 'llama, factors of frequencies', 'llama, YaRN', 'qwen2', 'qwen3', 'phi3'].map((name) => [name, 'float32', 1e-4]),
];

describe('llama.cpp', () => {
  for (const [name, kind, most] of mainOf(CASES, 2)) {
    test(`${name}, ${kind}`, async (t) => {
      const wide = Array.isArray(kind) ? { width: 256, inner: 256, headSize: 64 } : {};
      const made = makeModel({ ...MODELS[name], ...wide, isAscii: true });
      const bytes = [...fileOf(made, kind)];
      const page = await browser.newPage();
      await page.goto(server.url);
      await page.waitForFunction(() => window.Wllama && window.llm);
      const own = await page.evaluate(bySinter, { bytes, prompt: PROMPT });
      const { choices: [{ text, logprobs }], usage } = await page.evaluate(byLlamaCpp, { bytes, prompt: PROMPT, size: made.facts.vocab });
      await page.close();
      assert.equal(own.tokens.length, usage.prompt_tokens);
      const list = logprobs.content[0].top_logprobs;
      assert.equal(list.length, made.facts.vocab);
      const error = Math.max(...list.map(({ id, logprob }) => Math.abs(own.last[id] - logprob)));
      t.diagnostic(`${error.toExponential(2)}`);
      assert.ok(error < most, `${error}`);
      if (most < 0.1) assert.equal(own.text, text);
    });
  }

  // Its gelu is the one by a tanh.
  for (const [name, most] of mainOf([['bert', 2e-3], ['bert, the first token', 2e-3], ['nomic-bert', 1e-4]])) {
    test(`embeddings: ${name}`, async (t) => {
      const bytes = [...encoderFile(makeEncoder({ ...ENCODERS[name], isAscii: true }))];
      const text = 'The quick brown fox jumps over the lazy dog. Shall I compare thee?';
      const page = await browser.newPage();
      await page.goto(server.url);
      await page.waitForFunction(() => window.Wllama && window.llm);
      const own = await page.evaluate(embeddedBySinter, { bytes, text });
      const peer = await page.evaluate(embeddedByLlamaCpp, { bytes, text });
      await page.close();
      assert.equal(own.tokens, peer.tokens);
      const error = Math.max(...own.vector.map((x, i) => Math.abs(x - peer.vector[i])));
      t.diagnostic(`${error.toExponential(2)}`);
      assert.ok(error < most, `${error}`);
    });
  }
});
