// Places that run the package unbundled: Node, Deno, Bun, workerd, vitest.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { check, execute, home, installed, prepare, printed, project, tool } from './lib.mjs';
import { newerNode, systemNode } from '../../scripts/lib/proc.mjs';

before(prepare);

const required = `const sn = require('sinter');
sn.init().then(async ({ threads, reasons }) => {
  const a = sn.tensor([[1, 2], [3, 4]]);
  const product = [...(await sn.matmul(a, a).data())];
  try { sn.matmul(a, sn.zeros([3, 3])); } catch (error) {
    console.log(JSON.stringify({ threads, reasons, product, refusal: error.name + ': ' + error.message }));
  }
});`;

const NODES = { 'the system\'s Node': systemNode(), 'Node 22': join(home, 'node_modules/node-22/bin/node'), 'Node 24': newerNode() };
for (const [name, node] of Object.entries(NODES)) {
  test(`${name}: import and require`, async () => {
    const folder = project('node', { 'required.cjs': required });
    check(printed(await execute(folder, node, ['node.js'])), { threads: true });
    check(printed(await execute(folder, node, ['required.cjs'])), { threads: true });
  });
}

test('Deno', async () => {
  const folder = project('deno');
  check(printed(await execute(folder, tool('deno'), ['run', '--no-prompt', '--allow-read', 'node.js'])), { threads: true });
});

test('Bun', async () => {
  const folder = project('bun');
  check(printed(await execute(folder, tool('bun'), ['node.js'])), { threads: true });
});

test('vitest', async () => {
  const folder = project('vitest', { 'sinter.test.js': `import { expect, test } from 'vitest';
import { program } from './program.js';
test('runs', async () => expect((await program()).product).toEqual([7, 10, 15, 22]));` });
  assert.match(await execute(folder, newerNode(), [tool('vitest'), 'run']), /1 passed/);
});

const inWorkerd = async (script, modules) => {
  const { Miniflare } = await import(pathToFileURL(join(home, 'node_modules/miniflare/dist/src/index.js')).href);
  const miniflare = new Miniflare({
    compatibilityDate: '2026-01-01', modulesRoot: '/',
    modules: [
      { type: 'ESModule', path: '/main.mjs', contents: script },
      { type: 'ESModule', path: '/sinter/index.js', contents: readFileSync(join(installed, 'dist/index.js'), 'utf8') },
      ...modules,
    ],
  });
  try {
    return await (await miniflare.dispatchFetch('http://localhost/')).json();
  } finally {
    await miniflare.dispose();
  }
};

const program = readFileSync(new URL('fixture/program.js', import.meta.url), 'utf8')
  .replace("'sinter'", "'./sinter/index.js'").replace('export const', 'const');

test('workerd: init() says what to pass', async () => {
  const { error } = await inWorkerd(`${program}export default { fetch: async () => Response.json(await program()) };`, []);
  assert.match(error, /^SinterError: init: .*init\(\{ wasm \}\)/);
});

test('workerd, with the module imported', async () => {
  const script = `import wasm from './sinter/sinter.wasm';
${program}export default { fetch: async () => Response.json(await program({ wasm })) };`;
  const contents = readFileSync(join(installed, 'dist/sinter.wasm'));
  check(await inWorkerd(script, [{ type: 'CompiledWasm', path: '/sinter/sinter.wasm', contents }]), { threads: false });
});
