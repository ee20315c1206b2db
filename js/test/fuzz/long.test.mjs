// npm test -- fuzz: as ../fuzz.test.mjs, ../files.test.mjs and ../gguf.test.mjs, with more calls and files.
import { test } from 'node:test';
import { checkCalls } from './calls.mjs';
import { checkFiles } from './files.mjs';
import { checkGgufs } from './ggufs.mjs';

for (const seed of [11, 12, 13, 14]) test(`50,000 calls, seed ${seed}`, () => checkCalls(50_000, seed));

test('a million damaged files', async (t) => t.diagnostic(JSON.stringify(await checkFiles(1e6, 21))));

test('a million damaged GGUF files', async (t) => t.diagnostic(JSON.stringify(await checkGgufs(1e6, 31))));
