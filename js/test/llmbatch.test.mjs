// Several texts at once: each is what it would be alone.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as sn from '../dist/index.js';
import * as llm from '../dist/llm.js';
import { MODELS, fileOf, makeModel } from './llmcases.mjs';
import { assertRejects, settledMemory } from './support.mjs';

before(() => sn.init());

const loaded = (name, options) => llm.load(fileOf(makeModel(MODELS[name])), options);
const promptOf = (count, first) => Array.from({ length: count }, (_, i) => (i * 37 + first) % 400);
/** Read in one chunk, in two, in three. */
const PROMPTS = [promptOf(7, 11), promptOf(150, 3), promptOf(1, 99), promptOf(300, 42)];

/** All of a generator: the pieces it gave out, and what it returned. */
const collect = async (generator) => {
  const pieces = [];
  for (;;) {
    const { value, done } = await generator.next();
    if (done) return { pieces, value };
    pieces.push(value);
  }
};

const alone = async (model, prompt, options) => {
  const { pieces, value } = await collect(model.generate(prompt, options));
  return { text: pieces.join(''), ...value };
};

const together = async (model, prompts, options) => {
  const { pieces, value } = await collect(model.generateAll(prompts, options));
  return value.map((each, i) => ({ text: pieces.filter(({ index }) => index === i).map(({ text }) => text).join(''), ...each }));
};

for (const [name, options] of [['llama', {}], ['gemma2', {}], ['phi2', {}], ['llama', { cache: 'float16' }], ['llama, heads of 32', { cache: 'Q8_0' }]])
  test(`four prompts of other lengths: the best tokens of each alone, ${name}, cache ${options.cache ?? 'float32'}`, async () => {
    const model = await loaded(name, options);
    const given = { temperature: 0, maxTokens: 6 };
    const expected = [];
    for (const prompt of PROMPTS) expected.push(await alone(model, prompt, given));
    assert.deepEqual(await together(model, PROMPTS, given), expected);
    model.dispose();
  });

test('texts end apart: by stop, by their end, by the context; text i has the seed plus i', async () => {
  const model = await loaded('llama', { context: 40 });
  const prompts = [promptOf(5, 1), promptOf(30, 2), promptOf(12, 3)];
  const seeded = (seed) => ({ temperature: 1, seed, maxTokens: 20 });
  const expected = [];
  for (const [i, prompt] of prompts.entries()) expected.push(await alone(model, prompt, seeded(8 + i)));
  const made = await together(model, prompts, seeded(8));
  assert.deepEqual(made, expected);
  assert.equal(made[1].reason, 'context');
  const [, second] = await together(model, prompts, seeded(2 ** 31 - 1));
  assert.deepEqual(second, await alone(model, prompts[1], seeded(-(2 ** 31))), 'behind the largest seed comes the smallest');
  const stop = made[0].text.slice(3, 6);
  const [stopped] = await together(model, prompts, { ...seeded(8), stop });
  assert.deepEqual([stopped.text, stopped.reason], [made[0].text.slice(0, made[0].text.indexOf(stop)), 'stop']);
  const controller = new AbortController();
  const generator = model.generateAll(prompts, { ...seeded(8), signal: controller.signal });
  await generator.next();
  controller.abort();
  const { value } = await collect(generator);
  assert.deepEqual(value.map(({ reason }) => reason), ['signal', 'signal', 'signal']);
  for (const { reason, tokens } of await together(model, prompts, { maxTokens: 0 })) assert.deepEqual([reason, tokens], ['length', []]);
  model.dispose();
});

test('memory goes back, one program serves all tokens, and what is no list of prompts is refused', async () => {
  const model = await loaded('llama');
  // What programs keep, they keep from their first calls on.
  await together(model, PROMPTS, { temperature: 0, maxTokens: 3 });
  const { tensors, tensorBytes } = await settledMemory(sn);
  await together(model, PROMPTS, { temperature: 0, maxTokens: 3 });
  for await (const _ of model.generateAll(PROMPTS)) break;
  assert.deepEqual([sn.memory().tensors, sn.memory().tensorBytes], [tensors, tensorBytes]);
  const refused = (prompts, message) => assertRejects(model.generateAll(prompts).next(), sn.SinterError, { message });
  await refused('a text', /expected an array of prompts, not 'a text'|expected an array of prompts, not "a text"/);
  await refused([], /expected an array of prompts/);
  await refused([[1], []], /there are no tokens/);
  const generator = model.generateAll(PROMPTS);
  await generator.next();
  await assertRejects(model.generate([1]).next(), sn.SinterError, { message: /a text is being written/ });
  model.dispose();
  await generator.return();
  await assertRejects(model.generateAll(PROMPTS).next(), sn.SinterError, { code: 'disposed' });
});
