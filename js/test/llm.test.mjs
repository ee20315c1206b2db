// Language models from GGUF files, judged by a forward pass in plain JavaScript in float64 (llmcases.mjs).
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Template } from '@huggingface/jinja';
import * as sn from '../dist/index.js';
import * as gguf from '../dist/gguf.js';
import * as llm from '../dist/llm.js';
import { uniforms } from './ggufcases.mjs';
import { MODELS, fileOf, makeModel, plainLogits, plainReader } from './llmcases.mjs';
import { sentencePiece } from './tokenizercases.mjs';
import { assertClose, assertRejects, assertThrows, settledMemory } from './support.mjs';

before(() => sn.init());

const TOKENS = [5, 300, 17, 17, 42, 256, 99, 3, 120, 7, 61];

/** The largest difference, over what is typical of the expected. */
const worst = (actual, expected) => {
  const flat = expected.flat();
  const scale = Math.sqrt(flat.reduce((sum, x) => sum + x * x, 0) / flat.length);
  return Math.max(...flat.map((x, i) => Math.abs(actual[i] - x))) / scale;
};

for (const [name, given] of Object.entries(MODELS)) {
  test(`logits of all tokens: ${name}`, async () => {
    const made = makeModel(given);
    const model = await llm.load(fileOf(made));
    const logits = model.logits(TOKENS);
    assert.deepEqual(logits.shape, [TOKENS.length, made.facts.vocab]);
    const error = worst(await logits.data(), plainLogits(made, TOKENS));
    assert.ok(error < 2e-5, `${error}`);
    logits.dispose();
    model.dispose();
  });
}

/* ---- writing ---- */

const argmax = (list) => list.indexOf(Math.max(...list));

/** What follows tokens by the best logits, with the plain pass. */
const plainGreedy = (made, tokens, count) => {
  const read = plainReader(made);
  let logits;
  for (const token of tokens) logits = read(token);
  return Array.from({ length: count }, () => {
    const best = argmax(logits());
    logits = read(best);
    return best;
  });
};

/** All of a generator: its text, and what it returned. */
const collect = async (generator) => {
  let text = '';
  for (;;) {
    const { value, done } = await generator.next();
    if (done) return { text, ...value };
    text += value;
  }
};

const inMemory = async () => {
  const { tensors, tensorBytes } = await settledMemory(sn);
  return { tensors, tensorBytes };
};

const logitsOf = async (model) => {
  const logits = model.logits(TOKENS);
  const data = await logits.data();
  logits.dispose();
  return data;
};

const longTokens = (count) => Array.from({ length: count }, (_, i) => (i * 37 + 11) % 400);
const loaded = async (name, options, kind) => {
  const made = makeModel(MODELS[name]);
  return { made, model: await llm.load(fileOf(made, kind), options) };
};

for (const name of ['llama', 'gemma2', 'phi2']) {
  test(`the best tokens after prompts in chunks, and across the growth of the cache: ${name}`, async () => {
    const { made, model } = await loaded(name);
    for (const count of [1, 7, 65, 251]) {
      const prompt = longTokens(count);
      const { tokens, reason, text } = await collect(model.generate(prompt, { temperature: 0, maxTokens: 8 }));
      const expected = plainGreedy(made, prompt, 8);
      const end = expected.findIndex((token) => model.tokenizer.ends.has(token));
      assert.deepEqual(tokens, end < 0 ? expected : expected.slice(0, end), `${count} tokens`);
      assert.equal(reason, end < 0 ? 'length' : 'end');
      assert.equal(text, model.tokenizer.decode(tokens));
    }
    model.dispose();
  });
}

for (const name of ['llama, heads of 32', 'gemma2, heads of 64']) {
  test(`a cache in Q8_0 leaves the best tokens the best, or as good as them: ${name}`, async () => {
    const { made, model } = await loaded(name, { cache: 'Q8_0' });
    for (const count of [7, 254]) {
      const prompt = longTokens(count);
      const { tokens } = await collect(model.generate(prompt, { temperature: 0, maxTokens: 4 }));
      assert.ok(tokens.length > 0);
      const read = plainReader(made);
      for (const token of prompt.slice(0, -1)) read(token);
      tokens.forEach((token, i) => {
        const logits = read(tokens[i - 1] ?? prompt.at(-1))();
        const scale = Math.sqrt(logits.reduce((sum, x) => sum + x * x, 0) / logits.length);
        assert.ok(Math.max(...logits) - logits[token] < 0.05 * scale, `token ${i} after ${count}`);
      });
    }
    model.dispose();
  });
}

test('a cache in Q8_0 takes 34 bytes for 32 numbers, and heads that are no whole blocks are refused', async () => {
  const bytesOf = async (cache) => {
    const { model } = await loaded('llama, heads of 32', { cache });
    const before = sn.memory().tensorBytes;
    await collect(model.generate(TOKENS, { temperature: 0, maxTokens: 3 }));
    const bytes = sn.memory().tensorBytes - before;
    model.dispose();
    return bytes;
  };
  // Beside the cache there are the tables of positions, which are small.
  const ratio = (await bytesOf('Q8_0')) / (await bytesOf('float32'));
  assert.ok(Math.abs(ratio - 34 / 128) < 1e-3, `${ratio}`);
  await assertRejects(loaded('llama', { cache: 'Q8_0' }), sn.UnsupportedError, { message: /a cache in Q8_0 of heads of 8/ });
  await assertRejects(loaded('llama', { cache: 'Q4_0' }), sn.SinterError, { message: /Q4_0/ });
});

test('a token costs no program of its own, and what was read before is not read again', async () => {
  const { model } = await loaded('llama');
  const all = { temperature: 0, maxTokens: 100 };
  const first = await collect(model.generate(longTokens(20), all));
  const { cacheSize } = model;
  assert.ok(cacheSize <= 2, `${cacheSize} programs`);
  // The prompt grows by what was written, and by three tokens more.
  const more = [...longTokens(20), ...first.tokens, 1, 2, 3];
  const again = await collect(model.generate(more, all));
  assert.ok(model.cacheSize <= cacheSize + 1);
  model.dispose();
  const { model: fresh } = await loaded('llama');
  assert.deepEqual((await collect(fresh.generate(more, all))).tokens, again.tokens);
  fresh.dispose();
});

test('bytes in use stay the same while it writes, and go back to where they were', async () => {
  const before = await inMemory();
  const { model } = await loaded('llama', { cache: 'float16' });
  const sizes = [];
  const generator = model.generate(longTokens(5), { temperature: 1, seed: 3, maxTokens: 60 });
  for await (const _ of generator) sizes.push(sn.memory().bytesInUse);
  assert.ok(sizes.length > 20);
  assert.equal(new Set(sizes.slice(4)).size, 1, `${[...new Set(sizes)]}`);
  model.dispose();
  assert.deepEqual(await inMemory(), before);
});

test('chance: seeds, temperature, topK, topP, minP', async () => {
  const { made, model } = await loaded('llama');
  const write = (options) => collect(model.generate(TOKENS, { maxTokens: 12, ...options })).then(({ tokens }) => tokens);
  const greedy = plainGreedy(made, TOKENS, 12);
  assert.deepEqual(await write({ topK: 1 }), greedy);
  assert.deepEqual(await write({ topP: 0, topK: 0 }), greedy);
  assert.deepEqual(await write({ minP: 1, topP: 1 }), greedy);
  assert.deepEqual(await write({ temperature: 0.001 }), greedy);
  assert.deepEqual(await write({ seed: 4, temperature: 2 }), await write({ seed: 4, temperature: 2 }));
  assert.notDeepEqual(await write({ seed: 4, temperature: 2 }), await write({ seed: 5, temperature: 2 }));
  // Frequencies of one token are its probabilities.
  const logits = plainLogits(made, TOKENS).at(-1);
  const best = logits.map((logit, token) => ({ logit, token })).sort((a, b) => b.logit - a.logit).slice(0, 4);
  const weights = best.map(({ logit }) => Math.exp((logit - best[0].logit) / 1.5));
  const sum = weights.reduce((a, b) => a + b, 0);
  const counts = new Map();
  for (let seed = 0; seed < 1500; seed++) {
    const { tokens: [token] } = await collect(model.generate(TOKENS, { seed, topK: 4, topP: 1, minP: 0, temperature: 1.5, maxTokens: 1 }));
    counts.set(token, (counts.get(token) ?? 0) + 1);
  }
  best.forEach(({ token }, i) => {
    const expected = weights[i] / sum;
    assert.ok(Math.abs((counts.get(token) ?? 0) / 1500 - expected) < 4 * Math.sqrt((expected * (1 - expected)) / 1500) + 0.001, `token ${i}: ${counts.get(token)} of 1500, expected ${expected}`);
  });
  assert.equal([...counts.values()].reduce((a, b) => a + b), 1500);
  model.dispose();
});

test('stop, maxTokens, a full context, a signal', async () => {
  const { model } = await loaded('llama', { context: 32 });
  const options = { temperature: 0, maxTokens: 10 };
  const { text, tokens } = await collect(model.generate(TOKENS, options));
  const stop = text.slice(3, 6);
  const stopped = await collect(model.generate(TOKENS, { ...options, stop: ['not in the text', stop] }));
  assert.deepEqual([stopped.text, stopped.reason], [text.slice(0, text.indexOf(stop)), 'stop']);
  // What may become a text of stop, and does not, is given out at the end.
  const held = await collect(model.generate(TOKENS, { ...options, stop: `${text.slice(-3)}x` }));
  assert.deepEqual([held.text, held.reason], [text, 'length']);
  assert.deepEqual(await collect(model.generate(TOKENS, { ...options, maxTokens: 0 })), { text: '', reason: 'length', tokens: [] });
  const full = await collect(model.generate(TOKENS, { ...options, maxTokens: 100 }));
  assert.ok(full.reason === 'context' ? full.tokens.length === 32 - TOKENS.length + 1 : full.reason === 'end', full.reason);
  const controller = new AbortController();
  const generator = model.generate(TOKENS, { ...options, signal: controller.signal });
  await generator.next();
  controller.abort();
  const { done, value } = await generator.next();
  assert.deepEqual([done, value.reason, value.tokens], [true, 'signal', tokens.slice(0, value.tokens.length)]);
  // A loop that is left early lets the next one begin.
  for await (const _ of model.generate(TOKENS, options)) break;
  assert.equal((await collect(model.generate(TOKENS, options))).text, text);
  model.dispose();
});

test('a signal that a timer aborts ends the reading of long prompts', async () => {
  const { model } = await loaded('llama', { context: 4096 });
  const aborted = () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort());
    return { temperature: 0, maxTokens: 1e6, signal: controller.signal };
  };
  const prompt = Array.from({ length: 4000 }, (_, i) => TOKENS[i % TOKENS.length] + (i % 7));
  assert.equal((await collect(model.generate(prompt, aborted()))).reason, 'signal');
  const parts = model.generateAll([prompt, prompt.slice(5)], aborted());
  let last;
  while (!(last = await parts.next()).done);
  assert.deepEqual(last.value.map(({ reason }) => reason), ['signal', 'signal']);
  model.dispose();
});

test('SentencePiece: the space between a prompt and what follows stays, before a text of its own it goes', async () => {
  const { metadata } = sentencePiece();
  const tokens = metadata['tokenizer.ggml.tokens'];
  const made = makeModel({ architecture: 'llama', interleaved: true });
  const space = tokens.indexOf('\u2581the');
  // Each token is followed by the same one.
  const output = Float32Array.from({ length: tokens.length * 32 }, (_, i) => (i >= space * 32 && i < (space + 1) * 32 ? 1 : -1));
  const embedding = { shape: [tokens.length, 32], values: new Float32Array(tokens.length * 32).fill(1) };
  made.tensors = Object.fromEntries(Object.entries(made.tensors).map(([name, { shape, values }]) => [name, { shape, values: shape.length > 1 ? values.fill(0) : values.fill(1) }]));
  Object.assign(made.tensors, { 'token_embd.weight': embedding, 'output.weight': { shape: embedding.shape, values: output } });
  made.metadata = { ...Object.fromEntries(Object.entries(made.metadata).filter(([key]) => !key.startsWith('tokenizer.'))), ...metadata };
  const model = await llm.load(fileOf(made));
  const options = { temperature: 0, maxTokens: 2 };
  assert.equal((await collect(model.generate('dog and', options))).text, ' the the');
  assert.equal((await collect(model.generate('', options))).text, 'the the');
  assert.equal((await collect(model.chat([{ role: 'user', content: 'dog and' }], { ...options, template: () => 'dog and' }))).text, 'the the');
  const texts = ['', ''];
  for await (const { index, text } of model.generateAll(['dog and', ''], options)) texts[index] += text;
  assert.deepEqual(texts, [' the the', 'the the']);
  assert.equal(model.tokenizer.decode([space], { continues: true }), ' the');
  model.dispose();
});

test('one text at a time; a model that was disposed', async () => {
  const { model } = await loaded('llama');
  const generator = model.generate(TOKENS);
  await generator.next();
  await assertRejects(model.generate(TOKENS).next(), sn.SinterError, { message: /a text is being written/ });
  await generator.return();
  model.dispose();
  model.dispose();
  await assertRejects(model.generate(TOKENS).next(), sn.DisposedError, { code: 'disposed' });
  assertThrows(() => model.logits(TOKENS), sn.DisposedError, { code: 'disposed' });
});

/* ---- loading ---- */

test('from bytes, a Blob, a Response and a path: as it arrives, with progress', async () => {
  const made = makeModel(MODELS.qwen2);
  const bytes = fileOf(made, 'Q8_0');
  const folder = mkdtempSync(join(tmpdir(), 'sinter-llm-'));
  const path = join(folder, 'model.gguf');
  writeFileSync(path, bytes);
  /** A download in pieces of odd sizes. */
  const inPieces = () => new Response(new ReadableStream({
    start(controller) {
      for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7 + 3) % 5000 + 1) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  }));
  const results = [];
  for (const source of [bytes, bytes.buffer, new Blob([bytes]), new Response(bytes, { headers: { 'content-length': `${bytes.length}` } }), inPieces(), path, pathToFileURL(path)]) {
    const seen = [];
    const model = await llm.load(source, { onProgress: (progress) => seen.push(progress) });
    assert.equal(seen.at(-1).loaded, bytes.length);
    assert.ok(seen.at(-1).total === bytes.length || seen.at(-1).total === null);
    results.push(await logitsOf(model));
    model.dispose();
  }
  for (const each of results) assert.deepEqual(each, results[0]);
  rmSync(folder, { recursive: true });
});

test('weights in 16 bits, and quantised ones: the logits of the numbers that the file has', async () => {
  const made = makeModel({ ...MODELS.llama, width: 256, inner: 256, headSize: 64 });
  for (const [kind, weights] of [['float16', 'float16'], ['bfloat16', 'bfloat16'], ['Q8_0', 'float32'], ['Q8_0', 'float16'], ['Q6_K', 'float32'], ['Q4_0', 'bfloat16']]) {
    const bytes = fileOf(made, kind);
    const file = gguf.read(bytes);
    /** As the weights are held: rounded from what the file has. */
    const valuesOf = (name, shape) => sn.tidy(() => {
      const t = file.tensor(name).astype('float32');
      return (shape.length > 1 ? t.astype(weights) : t).dataSync();
    });
    const tensors = Object.fromEntries(Object.entries(made.tensors).map(([name, { shape }]) => [name, { shape, values: valuesOf(name, shape) }]));
    const model = await llm.load(bytes, { weights });
    const error = worst(await logitsOf(model), plainLogits({ ...made, tensors }, TOKENS));
    assert.ok(error < 2e-5, `${kind} as ${weights}: ${error}`);
    model.dispose();
  }
});

test('quantised matrices stay the bytes of the file, and are multiplied with what is rounded to 8 bits', async () => {
  const made = makeModel({ ...MODELS.llama, width: 256, inner: 256, headSize: 64 });
  for (const kind of ['Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q8_0', 'Q4_K', 'Q5_K', 'Q6_K']) {
    const bytes = fileOf(made, kind);
    const file = gguf.read(bytes);
    const before = await inMemory();
    const model = await llm.load(bytes);
    const held = sn.memory().tensorBytes - before.tensorBytes;
    const data = file.tensors.reduce((sum, each) => sum + each.bytes, 0);
    assert.equal(held, data, `${kind}: ${held} bytes of ${data}`);
    assert.equal(model.info.parameters, Object.values(made.tensors).reduce((sum, { values }) => sum + values.length, 0));
    const tensors = Object.fromEntries(Object.entries(made.tensors).map(([name, { shape }]) => [name, { shape, values: sn.tidy(() => file.tensor(name).dataSync()) }]));
    const error = worst(await logitsOf(model), plainLogits({ ...made, tensors }, TOKENS));
    assert.ok(error > 1e-5 && error < 0.15, `${kind}: ${error}`);
    const { tokens } = await collect(model.generate(TOKENS, { temperature: 0, maxTokens: 3 }));
    assert.equal(tokens.length, 3);
    // What is saved is what was loaded, unless another kind is asked for.
    const saved = gguf.read(model.save());
    for (const { name } of file.tensors) assert.deepEqual(saved.raw(name), file.raw(name));
    assert.equal(gguf.read(model.save({ kind: (_, own) => (own === kind ? 'float16' : own) })).tensors.filter((each) => each.kind === kind).length, 0);
    model.dispose();
    assert.deepEqual(await inMemory(), before);
  }
});

test('files that are refused leave nothing behind', async () => {
  const before = await inMemory();
  const made = makeModel(MODELS.llama);
  const changed = (metadata, tensors = {}) => fileOf({ ...made, metadata: { ...made.metadata, ...metadata }, tensors: { ...made.tensors, ...tensors } });
  const refused = (bytes, message, type = sn.SinterError) => assertRejects(llm.load(bytes), type, { message });
  await refused(changed({ 'general.architecture': 'mamba' }), /the architecture "mamba" \(there are llama, /, sn.UnsupportedError);
  await refused(changed({ 'llama.expert_count': 8 }), /mixtures of experts/, sn.UnsupportedError);
  await refused(changed({ 'llama.block_count': 2 ** 31 - 1 }), /2147483647 layers, and \d+ tensors/);
  await refused(changed({ 'llama.block_count': 3 }), /no tensor blk.2.attn_norm.weight/);
  await refused(changed({ 'llama.embedding_length': 'x' }), /embedding_length is "x"/);
  await refused(changed({ 'llama.attention.head_count_kv': 3 }), /4 heads do not share 3/);
  await refused(changed({ 'llama.attention.head_count_kv': Int32Array.of(2, 4) }), /differs from layer to layer/, sn.UnsupportedError);
  await refused(changed({ 'llama.rope.dimension_count': 7 }), /dimension_count is 7/);
  await refused(changed({ 'llama.rope.scaling.type': 'other' }), /rope.scaling.type "other"/, sn.UnsupportedError);
  await refused(changed({ 'llama.attention.layer_norm_rms_epsilon': -1 }), /epsilon is -1/);
  await refused(changed({}, { 'blk.0.attn_q.weight': { shape: [3, 32], values: new Float32Array(96) } }), /attn_q.weight is \(3, 32\), expected \(32, 32\)/);
  await refused(changed({}, { 'rope_freqs.weight': { shape: [3], values: new Float32Array(3) } }), /rope_freqs.weight is \(3\), expected \(4\)/);
  await refused(changed({}, { 'blk.0.attn_sinks.weight': { shape: [3], values: new Float32Array(3) } }), /not computed with: "blk.0.attn_sinks.weight"/, sn.UnsupportedError);
  await refused(changed({ 'tokenizer.ggml.model': 'rwkv' }), /a tokenizer of the model "rwkv"/, sn.UnsupportedError);
  await refused(changed({ 'tokenizer.ggml.model': 'bert' }), /damaged: the file has no tokenizer.ggml.unknown_token_id/);
  const whole = fileOf(made);
  for (const end of [0, 20, 1000, 70_000, whole.length - 40]) await refused(whole.subarray(0, end), /damaged/);
  for (const end of [1000, whole.length - 40]) await refused(new Blob([whole.subarray(0, end)]), /damaged/);
  await refused(new Response('no', { status: 404 }), /the server answered 404/);
  await refused('no/such/file.gguf', /ENOENT/);
  await refused(3, /expected a Response, a Blob, bytes or a path, not 3/);
  await assertRejects(llm.load(whole, { weights: 'int8' }), sn.SinterError, { message: /no weights "int8"/ });
  await assertRejects(llm.load(whole, { contxt: 3 }), sn.SinterError, { message: /did you mean 'context'/ });
  assert.deepEqual(await inMemory(), before);
});

test('models with 200 damaged headers and 200 odd metadata: SinterErrors, or they write', async () => {
  const before = await inMemory();
  const next = uniforms(5);
  const random = (n) => Math.floor(next() * n);
  const files = ['llama', 'gemma2', 'phi3', 'llama, YaRN'].map((name) => fileOf(makeModel(MODELS[name])));
  const odd = [0, 1, 3, 7, 64, 2 ** 31, -1, 1.5, NaN, Infinity, 'x', '', true, Int32Array.of(1, 2), ['a'], 2n ** 60n, 1e-30, 1e30];
  const damaged = (bytes) => {
    const copy = bytes.slice();
    for (let times = random(3); times >= 0; times--) copy[random(gguf.read(bytes).tensors[0].offset)] = [0, 1, 127, 255, random(256)][random(5)];
    return copy;
  };
  const changed = (bytes) => {
    const { metadata, types, tensors, raw } = gguf.read(bytes);
    const keys = Object.keys(metadata).filter((key) => !/tokens|merges/.test(key));
    const key = keys[random(keys.length)];
    const { [key]: _, ...rest } = types;
    const parts = tensors.map(({ name, kind, shape }) => [name, { raw: raw(name), kind, shape }]);
    return gguf.write({ metadata: { ...metadata, [key]: odd[random(odd.length)] }, types: rest, tensors: Object.fromEntries(parts) });
  };
  let refused = 0;
  for (let i = 0; i < 400; i++) {
    const bytes = (i % 2 ? damaged : changed)(files[random(files.length)]);
    let model;
    try {
      model = await llm.load(bytes);
      await collect(model.generate([5, 6, 7], { maxTokens: 2 }));
    } catch (error) {
      if (!(error instanceof sn.SinterError) || error.code === 'internal') throw new Error(`file ${i}`, { cause: error });
      refused++;
    } finally {
      model?.dispose();
    }
  }
  assert.ok(refused > 100 && refused < 390, `${refused}`);
  assert.deepEqual(await inMemory(), before);
});

test('arguments that are none', async () => {
  const { model } = await loaded('llama');
  const refused = (prompt, options, message) => assertRejects(model.generate(prompt, options).next(), sn.SinterError, { message });
  await refused(3, {}, /expected a text or tokens, not 3/);
  await refused([1, 1e9], {}, /token 1 is 1000000000, there are 0 to/);
  await refused([1.5], {}, /token 0 is 1.5/);
  await refused([], {}, /there are no tokens/);
  await refused(longTokens(513), {}, /513 tokens, and the context has 512/);
  await refused(TOKENS, { temperature: -1 }, /temperature is -1, expected 0 or more/);
  await refused(TOKENS, { topP: 2 }, /topP is 2, expected 0 to 1/);
  await refused(TOKENS, { topK: -1 }, /topK is -1/);
  await refused(TOKENS, { maxTokens: -1 }, /maxTokens is -1/);
  await refused(TOKENS, { stop: [''] }, /stop is .*expected texts/);
  await refused(TOKENS, { max_tokens: 3 }, /no option 'max_tokens'/);
  assertThrows(() => model.embed(TOKENS, { pooling: 'max' }), sn.SinterError, { message: /no pooling "max"/ });
  // Nothing is stuck after it.
  assert.equal((await collect(model.generate(TOKENS, { maxTokens: 1 }))).reason, 'length');
  model.dispose();
});

/* ---- embeddings, chats ---- */

test('embeddings: pooled and of length 1, whatever fills up the tokens', async () => {
  const { model } = await loaded('llama');
  const [a, b] = [model.embed(TOKENS), model.embed([...TOKENS])];
  assert.deepEqual(a.shape, [32]);
  assertClose(a.square().sum().item(), 1, 1e-5);
  assert.deepEqual(a.toArray(), b.toArray());
  const last = model.embed(TOKENS, { pooling: 'last', normalize: false });
  const first = model.embed(TOKENS, { pooling: 'first', normalize: false });
  assertClose(first, model.embed(TOKENS.slice(0, 1), { normalize: false }).toArray(), 1e-5);
  // The last one alone makes the logits.
  const output = sn.tensor(makeModel(MODELS.llama).tensors['output.weight'].values).reshape([-1, 32]);
  assertClose(sn.matmul(output, last), model.logits(TOKENS).take(TOKENS.length - 1).toArray(), 1e-4);
  model.dispose();
});

const TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

test('chats: by the template of the file, with @huggingface/jinja or a function', async () => {
  const made = makeModel(MODELS.qwen2);
  const model = await llm.load(fileOf({ ...made, metadata: { ...made.metadata, 'tokenizer.chat_template': TEMPLATE } }));
  const messages = [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'the dog?' }];
  const text = '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nthe dog?<|im_end|>\n<|im_start|>assistant\n';
  const options = { temperature: 0, maxTokens: 6 };
  const expected = await collect(model.generate(text, options));
  assert.deepEqual(await collect(model.chat(messages, { ...options, template: Template })), expected);
  let context;
  const template = (given) => {
    context = given;
    return text;
  };
  assert.deepEqual(await collect(model.chat(messages, { ...options, template })), expected);
  assert.deepEqual(context, { messages, add_generation_prompt: true, bos_token: '<|begin|>', eos_token: '<|im_end|>' });
  const refused = (list, more, message) => assertRejects(model.chat(list, more).next(), sn.SinterError, { message });
  await refused(messages, {}, /needs the option template \(import \{ Template \}/);
  await refused('hi', { template }, /messages is "hi"/);
  await refused([{ role: 'user' }], { template }, /expected \[\{ role, content \}\]/);
  await refused(messages, { template: () => 3 }, /the template made 3/);
  await refused(messages, { template: () => '' }, /the template made no text/);
  model.dispose();
  const { model: bare } = await loaded('llama');
  await assertRejects(bare.chat(messages, { template: Template }).next(), sn.SinterError, { message: /no tokenizer.chat_template/ });
  for (const [source, message] of [['{% for m in messages %}{{ m.content', /the chat template of the file failed: /], ["{{ raise_exception('not these roles') }}", /failed: not these roles/]]) {
    const wrong = await llm.load(fileOf({ ...made, metadata: { ...made.metadata, 'tokenizer.chat_template': source } }));
    await assertRejects(wrong.chat(messages, { template: Template }).next(), sn.SinterError, { code: 'argument', message });
    wrong.dispose();
  }
  bare.dispose();
});

/* ---- LoRA ---- */

test('LoRA learns a sequence beside quantised weights, merges, and goes into a file', async () => {
  const { model } = await loaded('llama', { weights: 'float32' }, 'Q8_0');
  const tokens = sn.tensor([[5, 9, 200, 31, 77, 5, 9, 200, 31, 77, 5, 9, 200, 31, 77]], { dtype: 'int32' });
  const lora = model.lora({ rank: 8, targets: ['attn_q', 'attn_v', 'ffn_down'] });
  assert.equal(Object.keys(lora.params).length, 6);
  for (const shape of [[1, 0], [0, 3]]) {
    const none = sn.zeros(shape, { dtype: 'int32' });
    const message = { message: `llm.lora: there are no tokens: (${shape.join(', ')})` };
    assertThrows(() => lora.apply(lora.params, none), sn.ShapeError, message);
    assertThrows(() => lora.loss(lora.params, none, none), sn.ShapeError, message);
  }
  // At first nothing changes.
  const row = await tokens.data();
  assertClose(lora.apply(lora.params, tokens).reshape([15, -1]), model.logits(row).toArray(), 1e-4);
  const loss = (params, list) => {
    const logits = lora.apply(params, list.slice([0, 0], [1, 14]));
    return sn.softmaxCrossEntropy(logits.reshape([14, -1]), list.slice([0, 1], [1, 14]).reshape([-1])).mean();
  };
  const step = sn.trainStep(loss, sn.optim.adam({ lr: 0.03 }));
  let state = step.init(lora.params);
  const losses = [];
  for (let i = 0; i < 100; i++) {
    const result = step(state, tokens);
    state = result.state;
    losses.push(result.loss.item());
  }
  assert.ok(losses[0] > 5 && losses.at(-1) < 1, `${losses[0]} to ${losses.at(-1)}`);
  const learnt = lora.apply(step.params(state), tokens).reshape([15, -1]);
  const expected = learnt.toArray();
  lora.merge(step.params(state));
  assertClose(model.logits(row), expected, 1e-3);
  const { tokens: written } = await collect(model.generate([5, 9, 200], { temperature: 0, maxTokens: 4 }));
  assert.deepEqual(written, [31, 77, 5, 9]);
  // In float32 the file has the same numbers.
  const again = await llm.load(model.save({ kind: () => 'float32' }));
  assertClose(again.logits(row), model.logits(row).toArray(), 1e-6);
  const quantised = await llm.load(model.save());
  assert.deepEqual((await collect(quantised.generate([5, 9, 200], { temperature: 0, maxTokens: 4 }))).tokens, [31, 77, 5, 9]);
  for (const each of [model, again, quantised]) each.dispose();
});

test('LoRA is not merged into a model that is writing, or that was disposed', async () => {
  const { model } = await loaded('llama');
  const expected = await collect(model.generate(TOKENS, { temperature: 0, maxTokens: 6 }));
  const lora = model.lora({ rank: 1 });
  const learnt = sn.tree.map((x) => x.add(0.1), lora.params);
  const merge = () => lora.merge(learnt);
  for (const generator of [model.generate(TOKENS, { temperature: 0, maxTokens: 6 }), model.generateAll([TOKENS], { temperature: 0, maxTokens: 6 })]) {
    const texts = [];
    for await (const piece of generator) {
      texts.push(piece.text ?? piece);
      assertThrows(merge, sn.SinterError, { code: 'argument', message: /llm\.lora\.merge: a text is being written \(end its loop first\)/ });
    }
    assert.equal(texts.join(''), expected.text);
  }
  merge();
  model.dispose();
  assertThrows(merge, sn.SinterError, { code: 'disposed', message: /the model was disposed/ });
});

test('LoRA beside blocks: gradients are those beside their numbers, and merged weights become numbers', async () => {
  const { made, model } = await loaded('llama', {}, 'Q8_0');
  const exact = await llm.load(fileOf(made, 'Q8_0'), { weights: 'float32' });
  const tokens = sn.tensor([TOKENS], { dtype: 'int32' });
  const [lora, other] = [model, exact].map((each) => each.lora({ targets: ['attn_q', 'ffn_down'] }));
  const loss = (which) => (params) => which.apply(params, tokens).reshape([TOKENS.length, -1]).logSoftmax().slice([0, 9], [TOKENS.length, 1]).mean();
  const [slopes, expected] = [lora, other].map((which) => sn.grad(loss(which))(lora.params));
  for (const [name, { up }] of Object.entries(expected)) {
    const most = up.abs().max().item();
    assert.ok(most > 0 && slopes[name].up.sub(up).abs().max().item() < 0.1 * most, `${name}: ${slopes[name].up.sub(up).abs().max().item() / most}`);
  }
  const learnt = sn.tree.map((x) => x.add(0.01), lora.params);
  const changed = lora.apply(learnt, tokens).reshape([TOKENS.length, -1]);
  lora.merge(learnt);
  const error = worst(await logitsOf(model), changed.toArray());
  assert.ok(error < 0.15, `${error}`);
  const saved = gguf.read(model.save());
  assert.ok(saved.tensors.filter(({ shape }) => shape.length > 1).every(({ kind }) => kind === 'Q8_0'));
  for (const each of [model, exact]) each.dispose();
});

test('LoRA without what is inside of blocks: the same gradients in less memory', async () => {
  const { model } = await loaded('gemma3', {}, 'Q8_0');
  const tokens = sn.tensor([longTokens(64)], { dtype: 'int32' });
  const slopes = (checkpoint) => {
    const lora = model.lora({ rank: 2, checkpoint });
    const params = sn.tree.map((x) => x.add(0.01), lora.params);
    const grad = sn.grad((given) => lora.apply(given, tokens).logSoftmax().slice([0, 0, 9], [1, 64, 1]).mean());
    return [sn.tree.leaves(sn.jit(grad)(params)).map((t) => t.toArray()), sn.inspect(grad)(params).memory.arenaBytes];
  };
  const [[made, less], [kept, more]] = [slopes(true), slopes(false)];
  assert.deepEqual(made, kept);
  assert.ok(less < 0.8 * more, `${less} of ${more}`);
  model.dispose();
});

test('LoRA begins with two programs for all of its matrices of a shape', async () => {
  const { model } = await loaded('gemma3');
  sn.dispose(model.lora({ targets: ['attn_q'] }).params);
  const before = sn.memory().programMisses;
  const { params } = model.lora({ rank: 3, targets: ['attn_q'], key: sn.random.key(5) });
  assert.equal(Object.keys(params).length, 7);
  assert.ok(sn.memory().programMisses - before <= 2, `${sn.memory().programMisses - before}`);
  sn.dispose(params);
  model.dispose();
});

test('the loss of LoRA is that of its logits, of which a few rows are in memory at a time', async () => {
  const { made, model } = await loaded('llama', {}, 'Q8_0');
  const lora = model.lora({ rank: 2 });
  const params = sn.tree.map((x) => x.add(0.02), lora.params);
  const [batch, n] = [20, 15]; // rows are no multiple of those of a part
  const tokens = sn.tensor(longTokens(batch * n), { dtype: 'int32', shape: [batch, n] });
  const next = sn.tensor(longTokens(batch * n + 1).slice(1).map((token, i) => (i % 4 ? token : 7)), { dtype: 'int32', shape: [batch, n] });
  const flat = (given) => [lora.apply(given, tokens).reshape([batch * n, -1]), next.reshape([-1])];
  for (const options of [{}, { ignoreIndex: 7 }]) {
    const own = (given) => lora.loss(given, tokens, next, options);
    const plain = (given) => sn.losses.softmaxCrossEntropy(...flat(given), options);
    const [[value, slopes], [expected, wanted]] = [own, plain].map((f) => sn.jit(sn.valueAndGrad(f))(params));
    assertClose(value, expected.item(), 1e-5);
    assertClose(own(params), expected.item(), 1e-5);
    sn.tree.leaves(wanted).forEach((slope, i) => assert.ok(sn.tree.leaves(slopes)[i].sub(slope).abs().max().item() < 1e-4 * slope.abs().max().item()));
    const [least, most] = [own, plain].map((f) => sn.inspect(sn.grad(f))(params).memory.blocks.filter(({ kind }) => kind === 'arena').map(({ bytes }) => bytes));
    const logits = batch * n * made.facts.vocab * 4;
    assert.ok(Math.max(...most) >= logits && Math.max(...least) < 0.5 * logits, `${Math.max(...least)} of ${logits}`);
  }
  assertThrows(() => lora.loss(params, tokens, [1, 2]), sn.SinterError, { message: /as many next tokens as tokens/ });
  model.dispose();
});

test('LoRA: arguments that are none', async () => {
  const { model } = await loaded('phi3');
  const refused = (options, message, type = sn.SinterError) => assertThrows(() => model.lora(options), type, { message });
  refused({ rank: 0 }, /rank is 0/);
  refused({ targets: 'attn_q' }, /expected names in an array/);
  refused({ targets: ['wq'] }, /no target "wq" \(there are attn_q,/);
  refused({ targets: ['ffn_gate'] }, /the model has no ffn_gate/, sn.UnsupportedError);
  const lora = model.lora({ targets: ['attn_qkv'] });
  assertThrows(() => lora.apply({}, [[1]]), sn.SinterError, { message: /the parameters have no blk.0.attn_qkv.weight/ });
  assertThrows(() => lora.apply(lora.params, [1]), sn.ShapeError, { message: /needs tokens \(batch, n\)/ });
  assertThrows(() => lora.loss(lora.params, [[1, 2]], [[1, 2, 3]]), sn.ShapeError, { message: /needs as many next tokens as tokens: \(1, 3\)/ });
  model.dispose();
});
