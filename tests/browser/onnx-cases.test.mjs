// ONNX's own cases in a worker of a page, on two threads and as fast as the engine can: the same ones pass as in Node.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/lib/proc.mjs';
import { CASES, casesIn, unpack } from '../onnx/coverage.mjs';
import { NOT_PASSING, passes } from '../onnx/expected.mjs';
import { openChromium } from './browsers.mjs';
import { host } from './host.mjs';

const WORKER = `import * as sn from '/dist/index.js';
import * as onnx from '/dist/onnx.js';
import { runCase } from '/onnx/cases.mjs';
import { boundOf } from '/onnx/expected.mjs';
const index = await (await fetch('/cases.json')).json();
const bytes = new Uint8Array(await (await fetch('/cases.bin')).arrayBuffer());
const { threads } = await sn.init({ threads: 2 });
const results = Object.entries(index).map(([name, files]) => {
  const read = (file) => (files[file] ? bytes.slice(...files[file]) : null);
  const { error, problem } = runCase({ sn, onnx }, read, boundOf(name));
  return { name, error, problem: problem && String(problem.message) };
});
postMessage({ threads, results });`;

/** All files of all cases one behind the other, and of each where it begins and ends. */
const together = () => {
  const [index, parts] = [{}, []];
  let at = 0;
  for (const name of casesIn(CASES)) {
    const files = ['model.onnx', ...readdirSync(join(CASES, name, 'test_data_set_0')).map((file) => `test_data_set_0/${file}`)];
    index[name] = {};
    for (const file of files) {
      const part = readFileSync(join(CASES, name, file));
      parts.push(part);
      index[name][file] = [at, at += part.length];
    }
  }
  return { index, bytes: Buffer.concat(parts) };
};

const script = (path) => ({ body: readFileSync(join(root, 'tests/onnx', path)), type: 'text/javascript' });

test('cases of ONNX in a page: all pass but the named ones', async (t) => {
  unpack();
  const { index, bytes } = together();
  const instead = {
    '/cases.json': { body: JSON.stringify(index), type: 'application/json' },
    '/cases.bin': { body: bytes },
    '/worker.js': { body: WORKER, type: 'text/javascript' },
    ...Object.fromEntries(['cases.mjs', 'expected.mjs', 'testdata.mjs'].map((path) => [`/onnx/${path}`, script(path)])),
  };
  const [server, browser] = [await host({ instead }), await openChromium()];
  try {
    const page = await browser.newPage();
    await page.goto(server.url);
    const { threads, results } = await page.evaluate(() => new Promise((resolve, reject) => {
      const worker = new Worker('/worker.js', { type: 'module' });
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
    }));
    assert.equal(threads, 2);
    assert.equal(results.length, 1331);
    const failed = results.filter((result) => !passes(result));
    const named = Object.values(NOT_PASSING).flat();
    for (const { name, problem, error } of failed) if (!named.includes(name)) t.diagnostic(`${name}: ${problem ?? error}`);
    assert.deepEqual(failed.map(({ name }) => name).sort(), named.sort());
  } finally {
    await browser.close();
    await server.close();
  }
});
