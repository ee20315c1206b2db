// Chats of the Models tab with GGUF files that are written for them: what is read of a chat, what a template has wrong, an
// end in the middle, and another file meanwhile.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as sn from '../../js/dist/index.js';
import * as llm from '../../js/dist/llm.js';
import { MODELS, fileOf, makeModel } from '../../js/test/llmcases.mjs';
import { openChromium, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 90_000;
const TEMPLATE = '{% for message in messages %}<|im_start|>{{ message.role }} {{ message.content }}{% endfor %}<|im_start|>';

/** A model that never ends a text by itself. options: of the model; metadata: besides its own. */
const fileWith = (metadata = {}, options = {}) => {
  const made = makeModel({ ...MODELS.llama, isAscii: true, ...options });
  const own = { ...made.metadata };
  delete own['tokenizer.ggml.eos_token_id'];
  return fileOf({ ...made, metadata: { ...own, 'tokenizer.ggml.tokens': own['tokenizer.ggml.tokens'].map((text) => text.replace('im_end', 'no-end')), ...metadata } });
};

describe('chats', () => {
  let server, browser, page, faults;
  const get = (id) => page.locator(`[data-testid=${id}]`);
  const said = (id) => get(id).textContent();
  const until = async (look, what) => {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const seen = await look();
      if (seen) return seen;
      if (performance.now() > deadline) return assert.fail(`never ${what}: ${await said('models-notice')} | ${await said('chat-note')}`);
      await page.waitForTimeout(50);
    }
  };
  const open = async (name, bytes) => {
    await get('models-file').setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(bytes) });
    await until(async () => (await said('models-notice')).startsWith(`${name} is open`), `opened ${name}`);
    await get('chat-prompt').waitFor();
  };
  const send = async (text, most) => {
    await get('chat-most').fill(String(most));
    await get('chat-prompt').fill(text);
    await get('chat-send').click();
  };
  const over = () => until(async () => !(await get('chat-send').isDisabled()), 'over');
  /** Tokens that were read, and those that were written. */
  const tokens = async () => (await said('chat-tokens')).split(' + ').map(Number);

  before(async () => {
    await sn.init({ threads: 1 });
    server = await serve({ port: 0 });
    browser = await openChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    faults = watch(page, server.url);
    await page.goto(`${server.url}#models`);
    await get('models-drop').waitFor();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('without a template a model reads the last text alone, with one the whole chat', async () => {
    const [first, second] = ['the quick fox', 'and more dogs'];
    await open('plain.gguf', fileWith());
    const plain = await llm.load(fileWith());
    for (const text of [first, second]) {
      await send(text, 5);
      await over();
      assert.match(await said('chat-note'), /As many tokens/);
      assert.deepEqual(await tokens(), [plain.tokenizer.encode(text).length, 5]);
    }
    plain.dispose();
    const bytes = fileWith({ 'tokenizer.chat_template': TEMPLATE });
    const chat = await llm.load(bytes);
    await open('chat.gguf', bytes);
    let talk = '';
    for (const text of [first, second]) {
      await send(text, 5);
      await over();
      talk += `<|im_start|>user ${text}`;
      assert.deepEqual(await tokens(), [chat.tokenizer.encode(`${talk}<|im_start|>`).length, 5]);
      talk += `<|im_start|>assistant ${await page.locator('#chat-output .answer').last().textContent()}`;
    }
    chat.dispose();
  });

  test('what is wrong with a template is said to be wrong with that; the text is still there', async () => {
    for (const [template, message] of [
      ['{% for message in messages %}{{ message.content', /the chat template of the file failed: /],
      ["{{ raise_exception('no such roles') }}", /the chat template of the file failed: no such roles/],
      ['', /the template made no text/],
    ]) {
      await open('wrong.gguf', fileWith({ 'tokenizer.chat_template': template }));
      await send('hello', 5);
      await over();
      assert.match(await said('chat-note'), message);
      assert.equal(await get('chat-prompt').inputValue(), 'hello');
      assert.equal(await said('chat-output'), '');
    }
  });

  test('a model whose tokens are no text is stopped, and so is the reading of a long one', async () => {
    const { length } = makeModel({ ...MODELS.llama, isAscii: true }).metadata['tokenizer.ggml.tokens'];
    await open('silent.gguf', fileWith({ 'tokenizer.ggml.token_type': new Int32Array(length).fill(3) }, { context: 1 << 16 }));
    for (const text of ['a', 'the quick fox '.repeat(4000)]) {
      await send(text, 1e6);
      await page.waitForTimeout(500);
      await get('chat-stop').click();
      const begin = performance.now();
      await over();
      assert.ok(performance.now() - begin < 5000, `${performance.now() - begin} ms`);
      assert.equal(await said('chat-note'), 'Stopped.');
    }
  });

  test('a template that never ends is ended with the worker', async () => {
    const loop = (inner) => `{% for i in range(100000) %}${inner}{% endfor %}`;
    await open('endless.gguf', fileWith({ 'tokenizer.chat_template': loop(loop(loop('{% set x = 1 %}'))) }));
    await send('hello', 5);
    await page.waitForTimeout(500);
    await get('chat-stop').click();
    await until(async () => /It does not stop\. End what runs/.test(await said('chat-note')), 'said so');
    await get('models-kill').click();
    await over();
    await until(async () => (await said('models-notice')).startsWith('endless.gguf is open'), 'opened again');
    assert.equal(await get('chat-prompt').inputValue(), 'hello');
    assert.equal(await said('chat-note'), '');
  });

  test('another file ends the chat with the one before, and begins its own', async () => {
    await open('first.gguf', fileWith({}, { context: 1 << 16 }));
    await send('what of this?', 1e6);
    await until(async () => (await said('chat-output')).length > 20, 'wrote');
    await open('second.gguf', fileWith());
    await page.waitForTimeout(500);
    assert.equal(await said('chat-note'), '');
    assert.equal(await said('chat-output'), '');
    assert.equal(await get('chat-prompt').inputValue(), '');
    await send('and this?', 5);
    await over();
    assert.match(await said('chat-note'), /As many tokens/);
    assert.deepEqual(faults, []);
  });
});
