// node.mjs OPTIONS - the package in Node, driven by lines on stdin. OPTIONS: those of sn.init, as JSON;
// "single": true takes the module with one thread.
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import * as sn from '../../js/dist/index.js';
import { answer } from './commands.mjs';

const { single, ...options } = JSON.parse(process.argv[2] ?? '{}');
if (single) options.wasm = await readFile(new URL('../../js/dist/sinter.wasm', import.meta.url));
await sn.init(options);
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(line)));
}
process.exit(0);
