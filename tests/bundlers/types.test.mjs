// The declarations under old and new versions of TypeScript; js/test/types.test.mjs tests the repository's version.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { execute, home, prepare, project } from './lib.mjs';
import { newerNode, root } from '../../scripts/lib/proc.mjs';

before(prepare);

const { exports } = JSON.parse(readFileSync(join(root, 'js/package.json'), 'utf8'));
/** A file that names every entry point: without skipLibCheck the compiler checks all declarations of those. */
const entries = Object.keys(exports).filter((path) => exports[path].types)
  .map((path, i) => `export * as entry${i} from '${path.replace('.', 'sinter')}';\n`).join('');
const usage = readFileSync(join(root, 'js/test/types/usage.ts'), 'utf8');
const compilerOf = (version) => ['lib/tsc.js', 'bin/tsc'].map((path) => join(home, `node_modules/typescript-${version}`, path)).find(existsSync);

for (const version of ['5.4', '5.9', '7']) {
  for (const lib of ['es2022', 'es2022,dom']) {
    for (const [module, moduleResolution] of [['esnext', 'bundler'], ['node16', 'node16'], ['nodenext', 'nodenext']]) {
      for (const skipLibCheck of ['true', 'false']) {
        test(`TypeScript ${version}, ${lib}, ${moduleResolution}, skipLibCheck ${skipLibCheck}`, async () => {
          const folder = project('types', { 'usage.ts': usage, 'entries.ts': entries });
          const options = { target: 'es2022', typeRoots: 'none', lib, module, moduleResolution, skipLibCheck };
          const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
          await execute(folder, newerNode(), [compilerOf(version), '--noEmit', '--strict', ...args, 'usage.ts', 'entries.ts']);
        });
      }
    }
  }
}
