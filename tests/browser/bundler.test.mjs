// The package in a bundler that has no configuration for it: worker and modules are found.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { build } from 'vite';
import { openChromium, watch } from './browsers.mjs';
import { root } from '../../scripts/lib/proc.mjs';
import { serve } from '../../scripts/serve.mjs';

const folder = join(root, 'build/bundled');

let assets;
before(async () => {
  await build({
    configFile: false, logLevel: 'error',
    root: join(root, 'tests/browser/bundled'),
    build: { outDir: folder, emptyOutDir: true, target: 'es2022' },
  });
  assets = readdirSync(join(folder, 'assets'));
});

test('both modules are in the bundle', () => {
  assert.equal(assets.filter((name) => name.endsWith('.wasm')).length, 2, assets.join());
});

for (const isolation of [true, false]) {
  test(`it runs, ${isolation ? 'isolated' : 'not isolated'}`, async () => {
    const server = await serve({ folder, port: 0, isolation });
    const browser = await openChromium();
    try {
      const page = await browser.newPage();
      const faults = watch(page, server.url);
      await page.goto(server.url);
      await page.waitForFunction(() => 'result' in window);
      const { threads, cores, reasons, product, refusal } = await page.evaluate(() => window.result);
      assert.deepEqual(product, [7, 10, 15, 22]);
      assert.equal(refusal, 'ShapeError: matmul: inner dimensions differ: a (2, 2), b (3, 3)');
      assert.equal(threads, isolation ? cores : 1);
      assert.equal(reasons.length, isolation ? 0 : 1);
      assert.deepEqual(faults, []);
    } finally {
      await browser.close();
      await server.close();
    }
  });
}
