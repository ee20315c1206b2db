// onnx.mjs [NAMES] - ONNX files at published sizes in sinter/onnx and in onnxruntime-web, on two threads, in turns: in Node, or
// with --page in a worker of Chromium. NAMES select rows by a part of their names; --profile lists the kernels of a call;
// --finetune instead trains the last two blocks of a MobileNetV2 on 100 images; ROUNDS=N sets the number of turns.
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { chromiumOptions } from '../tests/browser/browsers.mjs';
import * as worker from './onnx-worker.mjs';
import { serve } from './peers/serve.mjs';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { page: { type: 'boolean' }, profile: { type: 'boolean' }, finetune: { type: 'boolean' } } });
const rounds = Number(process.env.ROUNDS ?? 9);
const rows = worker.ROWS.filter(({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)));

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

async function show(ask) {
  const { threads, isa } = await ask({ order: 'open' });
  console.log(`${threads} threads, ${isa}`);
  if (values.finetune) {
    const { once, first, all, steps, before, after, bytes } = await ask({ order: 'finetune' });
    console.log(`100 images through the frozen layers ${once.toFixed(1)} s, the first step ${first.toFixed(1)} s, ${steps} steps and the file of ${(bytes / 1e6).toFixed(1)} MB: ${all.toFixed(1)} s in all, asked 30; loss ${before.toFixed(2)} to ${after.toFixed(2)}`);
    return;
  }
  for (const { name, asked } of rows) {
    if (values.profile) {
      for (const { name: kernel, kind, ms, calls, gflops } of await ask({ order: 'profile', name })) console.log(`${ms.toFixed(3).padStart(9)} ms ${String(calls).padStart(4)}  ${kind.padEnd(12)} ${gflops.toFixed(1).padStart(6)} GFLOP/s  ${kernel}`);
      continue;
    }
    const { own, peer, worst } = await ask({ order: 'compare', name, rounds });
    const ratio = (f) => (f(...peer) / f(...own)).toFixed(2);
    const middle = (...list) => median(list);
    console.log(`${name.padEnd(32)} ${median(own).toFixed(2).padStart(8)} ms   onnxruntime-web ${median(peer).toFixed(2).padStart(8)} ms   ${ratio(middle)} times as fast (best of each: ${ratio(Math.min)}), asked ${asked}; apart ${worst.toExponential(1)}`);
  }
}

if (values.page) {
  const server = await serve();
  const browser = await chromium.launch(chromiumOptions);
  try {
    const page = await browser.newPage();
    page.on('console', (message) => console.log(message.text()));
    await page.goto(`${server.url}/bench/wasm/page.html`);
    await page.evaluate(() => {
      const inner = new Worker('/bench/onnx-worker.mjs', { type: 'module' });
      window.ask = (message) => new Promise((resolve, reject) => {
        inner.onmessage = ({ data }) => (data.error === undefined ? resolve(data.value) : reject(new Error(data.error)));
        inner.onerror = ({ message: text }) => reject(new Error(text));
        inner.postMessage(message);
      });
    });
    console.log(`Chromium ${browser.version()}`);
    await show((message) => page.evaluate((m) => window.ask(m), message));
  } finally {
    await browser.close();
    server.close();
  }
} else await show((message) => worker[message.order](message));
process.exit(0);
