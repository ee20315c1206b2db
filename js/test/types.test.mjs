// The declarations, as a strict TypeScript user sees them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const tsc = createRequire(import.meta.url).resolve('typescript/lib/tsc.js');
const usage = fileURLToPath(new URL('types/usage.ts', import.meta.url));

test('the types of the package are those of its use', () => {
  // No types of Node among them: the declarations must stand without.
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2022,dom'];
  const args = [tsc, ...options, '--typeRoots', 'none', usage];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});
