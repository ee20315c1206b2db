// Bundlers without any configuration for the package, unless the test says so: bundles for pages run in Chromium,
// bundles for Node in Node. docs/bundlers.md says what each needs.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { check, copyFiles, execute, home, pageOf, prepare, printed, project, resultAt, resultIn, tool } from './lib.mjs';
import { newerNode } from '../../scripts/lib/proc.mjs';

const ISOLATION = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };
const require = createRequire(join(home, 'package.json'));
/** An ES module among the tools. */
const load = (path) => import(pathToFileURL(join(home, 'node_modules', path)).href);

before(prepare);

/** The two ways in which a page can be served. */
const checkPages = async (folder) => {
  check(await resultIn(folder, { isolation: true }), { threads: true });
  check(await resultIn(folder, { isolation: false }), { threads: false });
};

describe('Vite', () => {
  const site = (script) => project(`vite-${script.replace('.js', '')}`, { 'index.html': pageOf(`./${script}`) });
  const build = async (root, config = {}) => {
    const { build } = await load('vite/dist/node/index.js');
    await build({ configFile: false, logLevel: 'error', root, ...config });
    return join(root, 'dist');
  };

  for (const script of ['page.js', 'page-with-worker.js']) {
    test(`its server, ${script}`, async () => {
      const { createServer } = await load('vite/dist/node/index.js');
      const server = await createServer({
        configFile: false, logLevel: 'error', root: site(script), server: { port: 0, host: '127.0.0.1', headers: ISOLATION },
      });
      try {
        await server.listen();
        check(await resultAt(server.resolvedUrls.local[0]), { threads: true });
      } finally {
        await server.close();
      }
    });
  }

  test('a build', async () => checkPages(await build(site('page.js'))));
  test('a build for another base', async () => checkPages(await build(site('page.js'), { base: './' })));
  test('a build with a worker', async () => checkPages(await build(site('page-with-worker.js'))));
});

describe('webpack', () => {
  const build = (folder, entry, config = {}) => new Promise((resolve, reject) => {
    const webpack = require('webpack');
    webpack({ mode: 'production', context: folder, entry: `./${entry}`, performance: { hints: false },
      output: { path: join(folder, 'dist') }, ...config }, (error, stats) => {
      if (error || stats.hasErrors()) reject(error ?? new Error(stats.toString()));
      else resolve(join(folder, 'dist'));
    });
  });
  for (const script of ['page.js', 'page-with-worker.js']) {
    test(script, async () => {
      const dist = await build(project(`webpack-${script}`), script);
      writeFileSync(join(dist, 'index.html'), pageOf('main.js', 'text/javascript'));
      await checkPages(dist);
      assert.equal(readdirSync(dist).filter((name) => name.endsWith('.wasm')).length, 2);
    });
  }

  test('for Node', async () => {
    const folder = project('webpack-node', { 'package.json': '{}' });
    const dist = await build(folder, 'node.js', { target: 'node20' });
    check(printed(await execute(dist, newerNode(), ['main.js'])), { threads: true });
  });
});

describe('Parcel', () => {
  for (const script of ['page.js', 'page-with-worker.js']) {
    test(script, async () => {
      const folder = project(`parcel-${script}`, { 'index.html': pageOf(`./${script}`) });
      await execute(folder, newerNode(), [tool('parcel'), 'build', 'index.html', '--no-cache', '--dist-dir', 'dist'],
        { PARCEL_WORKERS: '0' });
      await checkPages(join(folder, 'dist'));
    });
  }
});

describe('esbuild', () => {
  const build = async (folder, entry, options) => {
    const outfile = join(folder, 'dist', options.outfile ?? 'main.js');
    await require('esbuild').build({ entryPoints: [join(folder, entry)], bundle: true, logLevel: 'silent', ...options, outfile });
    writeFileSync(join(folder, 'dist/index.html'), pageOf('main.js', options.format === 'esm' ? 'module' : 'text/javascript'));
    return join(folder, 'dist');
  };

  test('an ES module: without the files an error that names them, with them it runs', async () => {
    const dist = await build(project('esbuild-esm'), 'page.js', { format: 'esm' });
    const { error } = await resultIn(dist);
    assert.match(error, /^SinterError: init: .*404.*sinter\.wasm, sinter-mt\.wasm and worker\.js.*sinter\/inline/s);
    copyFiles(dist);
    await checkPages(dist);
  });

  test('iife: an error that says what to do; with init({ wasm }) one thread', async () => {
    const dist = await build(project('esbuild-iife'), 'page.js', { format: 'iife' });
    const { error } = await resultIn(dist);
    assert.match(error, /^SinterError: init: .*init\(\{ wasm \}\).*sinter\/inline/s);
    copyFiles(dist, ['sinter.wasm']);
    check(await resultIn(dist, { options: { wasm: '/sinter.wasm' } }), { threads: false });
  });

  for (const format of ['esm', 'iife']) {
    test(`sinter/inline, ${format}: one file`, async () => {
      const dist = await build(project(`esbuild-inline-${format}`), 'page.js', { format, alias: { sinter: 'sinter/inline' } });
      check(await resultIn(dist), { threads: false });
    });
  }

  test('for Node: an ES module with the files beside it', async () => {
    const dist = await build(project('esbuild-node'), 'node.js', { platform: 'node', format: 'esm', outfile: 'main.mjs' });
    assert.match(printed(await execute(dist, newerNode(), ['main.mjs'])).error, /^SinterError: init: .*ENOENT.*worker\.js/s);
    copyFiles(dist);
    check(printed(await execute(dist, newerNode(), ['main.mjs'])), { threads: true });
  });

  test('for Node: CommonJS, an error that says what to do; sinter/inline runs', async () => {
    const plain = await build(project('esbuild-cjs'), 'node.js', { platform: 'node', format: 'cjs', outfile: 'main.cjs' });
    assert.match(printed(await execute(plain, newerNode(), ['main.cjs'])).error, /^SinterError: init: .*sinter\/inline/s);
    const dist = await build(project('esbuild-cjs-inline'), 'node.js',
      { platform: 'node', format: 'cjs', outfile: 'main.cjs', alias: { sinter: 'sinter/inline' } });
    check(printed(await execute(dist, newerNode(), ['main.cjs'])), { threads: false });
  });
});

describe('Rollup', () => {
  const build = async (folder, plugins) => {
    const { nodeResolve } = await load('@rollup/plugin-node-resolve/dist/es/index.js');
    const bundle = await require('rollup').rollup({ input: join(folder, 'page.js'), plugins: [nodeResolve(), ...plugins] });
    await bundle.write({ dir: join(folder, 'dist'), format: 'es', entryFileNames: 'main.js' });
    await bundle.close();
    writeFileSync(join(folder, 'dist/index.html'), pageOf('main.js'));
    return join(folder, 'dist');
  };

  test('with the files beside the bundle', async () => {
    const dist = await build(project('rollup'), []);
    copyFiles(dist);
    await checkPages(dist);
  });

  test('with a plugin that copies what import.meta.url names', async () => {
    const { importMetaAssets } = await load('@web/rollup-plugin-import-meta-assets/index.mjs');
    await checkPages(await build(project('rollup-assets'), [importMetaAssets()]));
  });
});

describe('Next', () => {
  const files = {
    'app/layout.js': 'export default ({ children }) => <html lang="en"><body>{children}</body></html>;\n',
    'app/page.js': `'use client';
import { useEffect } from 'react';
import { program } from '../program.js';
export default function Page() {
  useEffect(() => void program().then((result) => (window.result = result)), []);
  return <p>sinter</p>;
}
`,
    'app/api/route.js': `import { program } from '../../program.js';
export const dynamic = 'force-dynamic';
export const GET = async () => Response.json(await program());
`,
    'next.config.mjs': `const headers = ${JSON.stringify(Object.entries(ISOLATION).map(([key, value]) => ({ key, value })))};
export default { headers: async () => [{ source: '/(.*)', headers }], outputFileTracingRoot: ${JSON.stringify(home)}, turbopack: { root: ${JSON.stringify(home)} } };
`,
  };

  test('a page, and a route of the server', { timeout: 400_000 }, async () => {
    const folder = project('next', files);
    // Other bundlers leave their own NODE_ENV in this process.
    const env = { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' };
    await execute(folder, newerNode(), [tool('next'), 'build'], env);
    const port = 20_000 + Math.floor(Math.random() * 20_000);
    const server = spawn(newerNode(), [tool('next'), 'start', '-p', String(port)], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await new Promise((resolve) => server.stdout.on('data', (text) => String(text).includes('Ready') && resolve()));
      check(await resultAt(`http://localhost:${port}/`), { threads: true });
      check(await (await fetch(`http://localhost:${port}/api`)).json(), { threads: true });
    } finally {
      server.kill();
    }
  });
});
