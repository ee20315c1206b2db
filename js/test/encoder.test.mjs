// Encoders from GGUF files make embeddings, judged by a forward pass in plain JavaScript in float64 (encodercases.mjs).
// tests/browser/llm.test.mjs has llama.cpp make them, too.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as sn from '../dist/index.js';
import * as llm from '../dist/llm.js';
import { ENCODERS, encoderFile, makeEncoder, plainEmbedding, plainStates } from './encodercases.mjs';
import { assertClose, assertRejects, assertThrows } from './support.mjs';

before(() => sn.init());

const TEXT = 'The quick brown fox mind: "12345 foxes"!';

for (const [name, given] of Object.entries(ENCODERS)) {
  test(`embeddings of texts of any length: ${name}`, async () => {
    const made = makeEncoder(given);
    const model = await llm.load(encoderFile(made));
    const tokens = [...model.tokenizer.encode(TEXT)];
    assert.ok(tokens.length > 10 && tokens[0] === 2 && tokens.at(-1) === 3);
    for (const list of [tokens, tokens.slice(0, 1), tokens.slice(0, 8), [...tokens, ...tokens].slice(0, 33)]) assertClose(model.embed(list), plainEmbedding(made, list), 1e-5);
    assertClose(model.embed(TEXT), plainEmbedding(made, tokens), 1e-5);
    assertClose(model.embed(tokens, { pooling: 'last', normalize: false }), plainStates(made, tokens).at(-1), 1e-4);
    model.dispose();
  });
}

test('blocks of quantised weights give nearly the same', async () => {
  const made = makeEncoder(ENCODERS.bert);
  const model = await llm.load(encoderFile(made, 'Q8_0'));
  const tokens = [...model.tokenizer.encode(TEXT)];
  const expected = plainEmbedding(made, tokens);
  const cosine = Array.from(await model.embed(tokens).data()).reduce((sum, x, i) => sum + x * expected[i], 0);
  assert.ok(cosine > 0.999, `${cosine}`);
  model.dispose();
});

test('an encoder writes nothing, and says so; files with tensors of decoders are refused', async () => {
  const made = makeEncoder(ENCODERS.bert);
  const model = await llm.load(encoderFile(made));
  const refusal = { message: /the architecture bert, an encoder/ };
  assertThrows(() => model.logits([2, 3]), sn.UnsupportedError, refusal);
  assertThrows(() => model.lora(), sn.UnsupportedError, refusal);
  await assertRejects(model.generate('the').next(), sn.UnsupportedError, refusal);
  assert.throws(() => model.embed(Array.from({ length: 65 }, () => 5)), /65 tokens, and the context has 64/);
  model.dispose();
  const more = { ...made, tensors: { ...made.tensors, 'output_norm.weight': { shape: [32], values: new Float32Array(32) } } };
  await assertRejects(llm.load(encoderFile(more)), sn.UnsupportedError, { message: /tensors that are not computed with: "output_norm.weight"/ });
  const { 'token_embd_norm.weight': _, ...fewer } = made.tensors;
  await assertRejects(llm.load(encoderFile({ ...made, tensors: fewer })), sn.SinterError, { message: /no tensor token_embd_norm.weight/ });
});
