// Damaged files are refused with a typed error or read right. npm test -- fuzz reads more of them.
import { test } from 'node:test';
import { checkFiles } from './fuzz/files.mjs';

test('20,000 damaged files', async (t) => t.diagnostic(JSON.stringify(await checkFiles(20_000, 1))));
