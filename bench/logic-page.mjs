// logic-page.mjs [NAMES] - figures of sinter/logic in a worker of Chromium, on two threads, beside Node in the same run. Both
// take turns, and the best of each is shown. A first call traces, compiles and runs. NAMES select rows by a part of their
// names; ROUNDS=N sets the number of turns.
import { chromium } from 'playwright-core';
import { chromiumOptions } from '../tests/browser/browsers.mjs';
import { serve } from './peers/serve.mjs';
import { open, sample } from './logic-worker.mjs';

const names = process.argv.slice(2);
const rounds = Number(process.env.ROUNDS ?? 5);

const server = await serve();
const browser = await chromium.launch(chromiumOptions);
try {
  const page = await browser.newPage();
  await page.goto(`${server.url}/bench/wasm/page.html`);
  await page.evaluate(() => {
    const worker = new Worker('/bench/logic-worker.mjs', { type: 'module' });
    window.ask = (message) => new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => (data.error === undefined ? resolve(data.value) : reject(new Error(data.error)));
      worker.onerror = ({ message: text }) => reject(new Error(text));
      worker.postMessage(message);
    });
  });
  const ask = (message) => page.evaluate((m) => window.ask(m), message);
  const here = await open();
  const there = await ask({});
  console.log(`Node: ${here.threads} threads, ${here.isa}; Chromium ${browser.version()}: ${there.threads} threads, ${there.isa}`);
  for (const { name, unit, more } of here.rows.filter((row) => names.length === 0 || names.some((part) => row.name.includes(part)))) {
    const seen = { node: [], page: [] };
    for (let round = 0; round < rounds; round += 1) {
      seen.node.push(await sample(name));
      seen.page.push(await ask({ name }));
    }
    const best = more ? Math.max : Math.min;
    const [node, inPage] = [best(...seen.node), best(...seen.page)];
    const ratio = more ? node / inPage : inPage / node;
    console.log(`${name.padEnd(40)} Node ${node.toFixed(2).padStart(8)} ${unit}   page ${inPage.toFixed(2).padStart(8)} ${unit}   page takes ${ratio.toFixed(2)} times as long`);
  }
} finally {
  await browser.close();
  await server.close();
}
process.exit(0);
