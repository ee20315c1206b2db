// Public functions with hostile arguments: only SinterErrors, and nothing is lost by them. npm test -- fuzz makes more calls.
import { test } from 'node:test';
import { checkCalls } from './fuzz/calls.mjs';

test('8,000 calls', () => checkCalls(8000, 1));
