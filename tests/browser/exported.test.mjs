// A page with an exported module and its loader, and nothing else of the package; and a page that exports one itself.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { join } from 'node:path';
import { exportWasm } from '../../js/dist/export.js';
import * as sn from '../../js/dist/index.js';
import { root } from '../../scripts/lib/proc.mjs';
import { openChromium, watch } from './browsers.mjs';
import { host } from './host.mjs';

const WIDTH = 64;
const binary = (body, type = 'application/octet-stream') => ({ body, type });
const script = (text) => ({ body: text, type: 'text/javascript' });

/** Of x with WIDTH elements. */
const network = (sn) => {
  const net = sn.nn.sequential(sn.nn.linear(64, 32), sn.nn.gelu(), sn.nn.linear(32, 10));
  const params = net.init(sn.random.key(1));
  return sn.jit((x) => sn.softmax(net.apply(params, x)));
};

let browser;
before(async () => {
  browser = await openChromium();
  await sn.init({ deterministic: true });
});
after(() => browser?.close());

const visit = async (instead, use) => {
  const server = await host({ isolation: false, instead });
  const page = await browser.newPage();
  const faults = watch(page, server.url);
  try {
    await page.goto(server.url);
    await page.waitForFunction(() => 'ready' in window);
    const result = await use(page);
    assert.deepEqual(faults, []);
    return result;
  } finally {
    await page.close();
    await server.close();
  }
};

test('a page that loads an exported module has the bits of Node', async () => {
  const x = sn.random.uniform(sn.random.key(2), [1, WIDTH]);
  const f = network(sn);
  const { wasm, weights } = await exportWasm(f.save(x));
  const have = await visit({
    '/page.js': script("import { load } from '/standalone.js';\nwindow.load = load;\nwindow.ready = true;\n"),
    '/standalone.js': script(readFileSync(join(root, 'js/dist/standalone.js'))),
    '/net.wasm': binary(Buffer.from(wasm), 'application/wasm'),
    '/net.safetensors': binary(Buffer.from(weights)),
  }, (page) => page.evaluate(async (given) => {
    const run = await window.load('/net.wasm', '/net.safetensors');
    return Array.from(run(given));
  }, x.toArray()));
  assert.deepEqual(have, Array.from(f(x).dataSync()));
});

test('a page exports a module and runs it', async () => {
  const seen = await visit({
    '/page.js': script(`import * as sn from '/dist/index.js';
      import { exportWasm } from '/dist/export.js';
      import { load } from '/dist/standalone.js';
      const network = ${network};
      Object.assign(window, { sn, exportWasm, load, network, ready: true });`),
  }, (page) => page.evaluate(async () => {
    const { sn, exportWasm, load, network } = window;
    await sn.init({ deterministic: true });
    const x = sn.random.uniform(sn.random.key(2), [1, 64]);
    const f = network(sn);
    const { wasm, weights } = await exportWasm(f.save(x));
    const run = await load(wasm, weights);
    return { have: Array.from(run(await x.data())), want: Array.from(await f(x).data()) };
  }));
  assert.deepEqual(seen.have, seen.want);
});
