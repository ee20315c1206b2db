// A sentence encoder as BERT is one, trained on a toy task, as an ONNX file: onnxruntime makes the vectors of sentences that it makes
// here, pooled over what is no padding and of length 1, and they tell what the sentences are about.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as ort from 'onnxruntime-web';
import * as sn from '../../js/dist/index.js';
import * as onnx from '../../js/dist/onnx.js';

await sn.init({ threads: 1 });
ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';

const { nn, random } = sn;
const [WORDS, WIDTH, LENGTH, LAYERS, TOPICS] = [40, 16, 8, 2, 3];
const [table, places, norm] = [nn.embedding(WORDS, WIDTH), nn.embedding(LENGTH, WIDTH), nn.layerNorm(WIDTH)];
const block = nn.transformerBlock(WIDTH, 2, { causal: false });
const keys = random.splitKeys(random.key(1), LAYERS + 3);
const weights = {
  table: table.init(keys[0]),
  places: places.init(keys[1]),
  norm: norm.init(keys[2]),
  blocks: Array.from({ length: LAYERS }, (_, i) => block.init(keys[3 + i])),
};

/** (sentences, tokens, width) of token numbers, and of which of them count. */
const states = (params, tokens, mask) => {
  const seen = sn.expandDims(mask.greater(0), [1, 2]).broadcastTo([tokens.shape[0], 1, LENGTH, LENGTH]);
  let x = table.apply(params.table, tokens).add(places.apply(params.places, sn.arange(0, LENGTH, 1, { dtype: 'int32' })));
  x = norm.apply(params.norm, x);
  for (const own of params.blocks) x = block.apply(own, x, { mask: seen });
  return x;
};

/** As docs/onnx.md has it. */
const pooled = (hidden, mask) => {
  const weight = sn.expandDims(mask.astype('float32'), -1);
  const mean = sn.div(sn.sum(hidden.mul(weight), { axis: 1 }), sn.sum(weight, { axis: 1 }));
  return mean.div(sn.norm(mean, { axis: -1, keepdims: true }));
};

/** Sentences of 3 to 8 words, two of which are of its topic, at any place; the others are of no topic. */
const sentences = (count, seed) => {
  let state = seed;
  const below = (n) => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) % n;
  const [tokens, mask, topics] = [new Int32Array(count * LENGTH), new Int32Array(count * LENGTH), new Int32Array(count)];
  for (let i = 0; i < count; i++) {
    const length = 3 + below(LENGTH - 2);
    topics[i] = below(TOPICS);
    const first = below(length);
    for (let k = 0; k < LENGTH; k++) {
      const isOf = k === first || k === (first + 1) % length;
      mask[i * LENGTH + k] = Number(k < length);
      tokens[i * LENGTH + k] = k < length ? (isOf ? 10 + topics[i] * 10 + below(10) : below(10)) : 39 - below(30);
    }
  }
  const shape = [count, LENGTH];
  return { tokens: sn.tensor(tokens, { shape }), mask: sn.tensor(mask, { shape }), topics: sn.tensor(topics) };
};

/** Sentences of a topic are near each other. */
const loss = (params, tokens, mask, topics) => {
  const vectors = pooled(states(params, tokens, mask), mask);
  const near = sn.matmul(vectors, vectors.transpose()).mul(5);
  const same = sn.equal(sn.expandDims(topics, 1), sn.expandDims(topics, 0)).astype('float32');
  return sn.softplus(near.mul(sn.sub(1, same.mul(2)))).mean();
};

test('vectors of sentences are those of onnxruntime, and near those of the same topic', async () => {
  const step = sn.trainStep(loss, sn.optim.adam({ lr: 3e-3 }));
  let state = step.init(weights);
  for (let i = 0; i < 150; i++) {
    const { tokens, mask, topics } = sentences(64, i + 1);
    ({ state } = step(state, tokens, mask, topics));
  }
  const params = step.params(state);
  const { tokens, mask, topics } = sentences(24, 4321);
  const bytes = onnx.export((input_ids, attention_mask) => ({ last_hidden_state: states(params, input_ids, attention_mask) }), [tokens, mask]);

  const model = onnx.load(bytes);
  const own = pooled(model.run({ input_ids: tokens, attention_mask: mask }).last_hidden_state, mask);
  const session = await ort.InferenceSession.create(bytes);
  const given = (t) => new ort.Tensor('int32', t.dataSync(), [...t.shape]);
  const { last_hidden_state: hidden } = await session.run({ input_ids: given(tokens), attention_mask: given(mask) });
  const theirs = pooled(sn.tensor(hidden.data, { shape: [...hidden.dims] }), mask);
  assert.ok(sn.sub(own, theirs).abs().max().item() < 1e-5);
  assert.ok(own.square().sum({ axis: 1 }).sub(1).abs().max().item() < 1e-5);

  const near = sn.matmul(own, own.transpose()).toArray();
  const about = topics.toArray();
  near.forEach((row, i) => {
    const best = row.map((value, k) => [k === i ? -2 : value, about[k]]).sort((a, b) => b[0] - a[0])[0];
    assert.equal(best[1], about[i], `sentence ${i}`);
  });
  await session.release();
  model.dispose();
});
