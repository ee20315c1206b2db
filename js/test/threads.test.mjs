// The same bits whatever computes them: 1 to 4 threads, and the module without threads.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const PROGRAM = `
  const sn = await import(${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)});
  await sn.init({ ...JSON.parse(process.argv[1]), wasm: process.argv[2] ? new URL(process.argv[2]) : undefined });
  const { createHash } = await import('node:crypto');
  const { setTimeout } = await import('node:timers/promises');
  await setTimeout(100); // all workers are up
  const hash = createHash('sha256');
  const note = (t) => hash.update(new Uint8Array(t.dataSync().buffer));
  const x = sn.random.normal(sn.random.key(1), [500, 700]);
  const w = sn.random.normal(sn.random.key(2), [700, 300]);
  note(x); note(x.matmul(w)); note(x.sum()); note(x.sum(0)); note(x.mean(1)); note(x.softmax()); note(x.tanh().exp());
  note(sn.grad((v) => sn.sigmoid(x.matmul(v)).mean())(w));
  console.log(hash.digest('hex'));
`;

const digest = async (options, wasm = '') => {
  const args = ['--input-type=module', '--eval', PROGRAM, JSON.stringify(options), wasm];
  return (await promisify(execFile)(process.execPath, args)).stdout.trim();
};

test('results do not depend on the number of threads', async () => {
  const single = await digest({}, new URL('../dist/sinter.wasm', import.meta.url).href);
  assert.match(single, /^[0-9a-f]{64}$/);
  for (const threads of [1, 2, 3, 4]) assert.equal(await digest({ threads }), single, `${threads} threads`);
});
