// The declarations, as a strict TypeScript user sees them, wherever the program is to run and however it finds modules.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const tsc = createRequire(import.meta.url).resolve('typescript/lib/tsc.js');
const usage = fileURLToPath(new URL('types/usage.ts', import.meta.url));

/** No types of Node in any of them: the declarations must stand without, and without those of a page. */
const PLACES = [
  { module: 'nodenext', lib: 'es2022,dom' },
  { module: 'nodenext', lib: 'es2022' },
  { module: 'node16', lib: 'es2022' },
  { module: 'esnext', moduleResolution: 'bundler', lib: 'es2022,dom' },
  { module: 'esnext', moduleResolution: 'bundler', lib: 'es2022' },
];

for (const place of PLACES) {
  test(`they are those of the package's use: ${Object.values(place).join(' ')}`, () => {
    const options = Object.entries({ target: 'es2022', typeRoots: 'none', ...place }).flatMap(([name, value]) => [`--${name}`, value]);
    const args = [tsc, '--noEmit', '--strict', '--exactOptionalPropertyTypes', ...options, usage];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.equal(status, 0, stdout);
  });
}
