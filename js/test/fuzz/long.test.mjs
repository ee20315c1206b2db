// npm test -- fuzz: as ../fuzz.test.mjs, with more calls.
import { test } from 'node:test';
import { checkCalls } from './calls.mjs';

for (const seed of [11, 12, 13, 14]) test(`50,000 calls, seed ${seed}`, () => checkCalls(50_000, seed));
