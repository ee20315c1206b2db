// Starting: what is refused, what is said, and that a failed start can be repeated.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertRejects, assertThrows } from './support.mjs';

const MODULE = new URL('../dist/sinter-mt.wasm', import.meta.url);

/** Serves answer(response) on a free port while f runs with its URL. */
const serving = async (answer, f) => {
  const server = createServer((_, response) => answer(response));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await f(`http://127.0.0.1:${server.address().port}/sinter.wasm`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
};

const answer = (type, body, status = 200) => (response) => {
  response.writeHead(status, { 'content-type': type });
  response.end(body);
};

test('use before init says what to do', () => {
  assertThrows(() => sn.zeros([1]), sn.SinterError, { code: 'init', message: /await sn\.init\(\)/ });
  assertThrows(() => sn.info(), sn.SinterError, { code: 'init' });
});

test('a URL that answers with HTML', async () => {
  for (const type of ['text/html', 'application/wasm']) {
    await serving(answer(type, '<!doctype html><title>app</title>'), (wasm) =>
      assertRejects(sn.init({ wasm }), sn.SinterError, { code: 'load', message: /returned HTML for http/ }));
  }
});

test('a URL that answers with an error, nothing, or not at all', async () => {
  await serving(answer('text/plain', 'no', 404), (wasm) =>
    assertRejects(sn.init({ wasm }), sn.SinterError, { code: 'load', message: /404/ }));
  await serving(answer('application/wasm', ''), (wasm) =>
    assertRejects(sn.init({ wasm }), sn.SinterError, { code: 'load' }));
  await assertRejects(sn.init({ wasm: 'http://127.0.0.1:9/sinter.wasm' }), sn.SinterError, { code: 'load' });
  await assertRejects(sn.init({ wasm: new URL('missing.wasm', MODULE) }), sn.SinterError, { code: 'load' });
  await assertRejects(sn.init({ wasm: 'no url' }), sn.SinterError, { code: 'argument' });
});

test('a module that is another one, or damaged', async () => {
  const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
  await assertRejects(sn.init({ wasm: empty }), sn.SinterError, { code: 'load' });
  const damaged = readFileSync(MODULE).subarray(0, 1000);
  await assertRejects(sn.init({ wasm: damaged }), sn.SinterError, { code: 'load' });
});

test('a module of another version', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const older = Buffer.from(readFileSync(MODULE));
  for (let at = older.indexOf(`${version}\0`); at >= 0; at = older.indexOf(`${version}\0`)) older.write('0.0.9', at);
  await assertRejects(sn.init({ wasm: older }), sn.SinterError, { code: 'load', message: /version 0\.0\.9, this script of version/ });
});

test('bad options', async () => {
  for (const threads of [0, -1, 1.5, 1000, 'many']) {
    await assertRejects(sn.init({ threads }), sn.SinterError, { code: 'argument', message: /threads/ });
  }
  await assertRejects(sn.init({ maxMemory: -5 }), sn.SinterError, { code: 'argument', message: /maxMemory/ });
});

test('after all that init works, from a response', async () => {
  await serving(answer('application/wasm', readFileSync(MODULE)), async (url) => {
    const info = await sn.init({ wasm: await fetch(url), threads: 2 });
    assert.equal(info.threads, 2);
    assert.equal(sn.tensor([1, 2]).sum().item(), 3);
  });
});

test('a second init is idempotent, and refuses other options', async () => {
  assert.deepEqual(await sn.init(), sn.info());
  assert.deepEqual(await sn.init({ threads: 2 }), sn.info());
  await assertRejects(sn.init({ threads: 1 }), sn.SinterError, { code: 'argument', message: /threads/ });
  await assertRejects(sn.init({ deterministic: true }), sn.SinterError, { code: 'argument', message: /deterministic/ });
  assert.equal(sn.tensor([1, 2]).sum().item(), 3);
});
