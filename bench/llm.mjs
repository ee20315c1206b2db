// llm.mjs [KINDS] - measures a language model of 135 million random weights, or with --size 1B of 1.2 billion: load, tokens,
// prompts and steps of LoRA (of the small model only) on two threads. It runs in Node, or with --page in a worker of Chromium
// beside @wllama/wllama, which is llama.cpp in WebAssembly. Both take turns, and the best time of each counts. ROUNDS=N sets
// the number of turns.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { chromiumOptions } from '../tests/browser/browsers.mjs';
import { modelFile, textOf } from './llm-model.mjs';
import { ask } from './llm-worker.mjs';
import { serve } from './peers/serve.mjs';

const { values: { page: isInPage, size }, positionals } = parseArgs({ allowPositionals: true, options: { page: { type: 'boolean' }, size: { type: 'string', default: '135M' } } });
const kinds = positionals.length > 0 ? positionals : ['Q8_0', 'Q4_0', 'Q4_K'];
const rounds = Number(process.env.ROUNDS ?? 3);

/** Runs in the page, which has the model as a file of the disk: a Blob of half a gigabyte and more cannot be read there. */
const openPeer = async () => {
  const { Wllama } = await import('/node_modules/@wllama/wllama/esm/index.js');
  const wllama = new Wllama({ default: '/node_modules/@wllama/wllama/esm/wasm/wllama.wasm' }, { suppressNativeLog: true });
  await wllama.loadModel([...document.querySelector('input').files], { n_ctx: 1024, n_threads: 2, n_gpu_layers: 0, warmup: true });
  window.peer = async ({ prompt, count }) => {
    const begin = performance.now();
    const made = await wllama.createCompletion({ prompt, max_tokens: count, temperature: 0, stream: false, cache_prompt: false });
    return { ms: performance.now() - begin, tokens: made.usage };
  };
};

/** The milliseconds of a token, and of a prompt of 512 tokens. */
const peerFigures = {
  decode: async (page, number) => {
    const [one, many] = [await page.evaluate((o) => window.peer(o), { prompt: textOf(16, number), count: 1 }), await page.evaluate((o) => window.peer(o), { prompt: textOf(16, number), count: 33 })];
    return (many.ms - one.ms) / (many.tokens.completion_tokens - one.tokens.completion_tokens);
  },
  prompt: async (page, number) => (await page.evaluate((o) => window.peer(o), { prompt: textOf(512, number), count: 1 })).ms,
};

const show = (name, value, more = '') => console.log(`  ${name.padEnd(24)} ${value}${more}`);
const least = (list) => Math.min(...list);

/** name, unit -> the best of both */
async function measure(tell, page) {
  const seen = { copy: [], load: [], first: [], decode: [], prompt: [], peerDecode: [], peerPrompt: [] };
  let loaded = await tell('load');
  // First, since the peak of the memory in use counts from the beginning.
  const lora = size === '135M' ? await tell('lora') : null;
  for (let round = 0; round < rounds; round++) {
    loaded = await tell('load');
    seen.load.push(loaded.ms);
    seen.first.push(await tell('first', round + 60));
    seen.copy.push(await tell('copy'));
    for (const name of ['decode', 'prompt']) {
      seen[name].push(await tell(name, round * 2 + 1), await tell(name, round * 2 + 2));
      if (page) seen[name === 'decode' ? 'peerDecode' : 'peerPrompt'].push(await peerFigures[name](page, round + 30));
    }
  }
  const copy = Math.max(...seen.copy);
  const [decode, prompt] = [least(seen.decode), least(seen.prompt)];
  const peer = (own, list) => (list.length > 0 ? `   wllama ${least(list).toFixed(1)} ms: ${(least(list) / own).toFixed(2)} times as long` : '');
  show('file', `${(loaded.bytes / 1e6).toFixed(1)} MB`);
  show('load', `${(least(seen.load) / 1e3).toFixed(2)} s`, `, ${loaded.memory.toFixed(2)} times the file in memory`);
  const read = loaded.bytes / 1e6 / decode;
  show('a token', `${decode.toFixed(1)} ms`, `, ${read.toFixed(1)} GB/s, ${((100 * read) / copy).toFixed(0)} % of the ${copy.toFixed(1)} that a copy moves${peer(decode, seen.peerDecode)}`);
  show('a prompt of 512', `${(prompt / 1e3).toFixed(2)} s`, peer(prompt, seen.peerPrompt));
  show('its first token', `${(least(seen.first) / 1e3).toFixed(2)} s`, ' after load, for a prompt of 16');
  if (lora) show('a step of LoRA', `${(lora.ms / 1e3).toFixed(2)} s`, `, ${lora.memory.toFixed(2)} times the file in memory`);
}

/** The path of the model's file, in a folder that is removed in the end. */
const onDisk = (kind) => {
  const folder = mkdtempSync(join(tmpdir(), 'sinter-llm-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  const path = join(folder, 'model.gguf');
  writeFileSync(path, modelFile(kind, size));
  return path;
};

async function inPage(kind, browser, server) {
  const page = await browser.newPage();
  await page.goto(`${server.url}/bench/wasm/page.html`);
  await page.evaluate(() => {
    const worker = new Worker('/bench/llm-worker.mjs', { type: 'module' });
    const answer = () => new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => (data.error === undefined ? resolve(data.value) : reject(new Error(data.error)));
      worker.onerror = ({ message }) => reject(new Error(message));
    });
    window.ask = (message) => {
      worker.postMessage(message);
      return answer();
    };
    return answer();
  });
  await page.evaluate(() => document.body.append(Object.assign(document.createElement('input'), { type: 'file' })));
  await page.setInputFiles('input', onDisk(kind));
  await page.evaluate(openPeer);
  await measure((name, number) => page.evaluate((order) => window.ask(order), { name, kind, size, number }), page);
  await page.close();
}

if (isInPage) {
  const server = await serve();
  const browser = await chromium.launch(chromiumOptions);
  try {
    for (const kind of kinds) {
      console.log(`${kind}, Chromium ${browser.version()}`);
      await inPage(kind, browser, server);
    }
  } finally {
    await browser.close();
    server.close();
  }
} else if (kinds.length > 1) {
  // A process for each: the peak of the memory in use counts from its beginning.
  for (const kind of kinds) execFileSync(process.execPath, [import.meta.filename, kind, '--size', size], { stdio: 'inherit' });
} else {
  const [kind] = kinds;
  console.log(`${kind}, Node`);
  await measure((name, number) => ask({ name, kind, size, number }));
}
process.exit(0);
