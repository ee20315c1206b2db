// Places on the web other than a page of the package's own origin: a script from another server, Trusted Types, shared
// and service workers, pages of an extension, and the one-file build.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { chromium } from 'playwright-core';
import { BROWSERS, chromiumOptions, openChromium, watch } from './browsers.mjs';
import { POLICY, host } from './host.mjs';
import { root } from '../../scripts/lib/proc.mjs';

/** What every place runs; scripts have its text after an import of the package as sn. */
const program = async (sn) => {
  try {
    const { threads, reasons } = await sn.init();
    const a = sn.tensor([[1, 2], [3, 4]]);
    return { threads, reasons, product: [...(await sn.matmul(a, a).data())] };
  } catch (error) {
    return { error: `${error.name}: ${error.message}` };
  }
};

const script = (from, then) => ({
  type: 'text/javascript',
  body: `import * as sn from '${from}';\nconst result = (${program})(sn);\n${then}`,
});
const inWindow = (from) => script(from, 'window.result = await result;');

/** The result of a page at a server, and what it did but should not. */
const visit = async (browser, server) => {
  const page = await browser.newPage();
  const faults = watch(page, server.url);
  try {
    await page.goto(server.url);
    await page.waitForFunction(() => 'result' in window);
    return { faults, result: await page.evaluate(() => window.result) };
  } finally {
    await page.close();
  }
};

const check = ({ error, product, threads, reasons }, wanted) => {
  assert.equal(error, undefined);
  assert.deepEqual(product, [7, 10, 15, 22]);
  assert.equal(threads > 1, wanted === 'threads', reasons.join());
  if (wanted === 'threads') assert.deepEqual(reasons, []);
};

const onOnePage = async (browser, options) => {
  const server = await host(options);
  try {
    return await visit(browser, server);
  } finally {
    await server.close();
  }
};

for (const { name, open, skip } of BROWSERS) {
  describe(name, { skip }, () => {
    let browser;
    before(async () => (browser = await open()));
    after(() => browser?.close());
    const inPage = (options) => onOnePage(browser, options);

    for (const isolation of [true, false]) {
      test(`a script from another server, ${isolation ? 'isolated: its workers start, too' : 'not isolated'}`, async () => {
        const cdn = await host({ headers: { 'Access-Control-Allow-Origin': '*', 'Cross-Origin-Resource-Policy': 'cross-origin' } });
        const from = new URL('/dist/index.js', cdn.url).href;
        const { origin } = new URL(cdn.url);
        const policy = `default-src 'none'; script-src 'self' 'wasm-unsafe-eval' ${origin}; worker-src blob: ${origin}; connect-src ${origin}; img-src data:`;
        try {
          const { result } = await inPage({ isolation, policy, instead: { '/page.js': inWindow(from) } });
          check(result, isolation ? 'threads' : 'one');
        } finally {
          await cdn.close();
        }
      });
    }

    test('Trusted Types: the URL of the worker goes through the policy sinter', async () => {
      const policy = `${POLICY}; require-trusted-types-for 'script'; trusted-types sinter`;
      const { result, faults } = await inPage({ policy, instead: { '/page.js': inWindow('/dist/index.js') } });
      check(result, 'threads');
      assert.deepEqual(faults, []);
    });

    test('Trusted Types that do not know the policy: one thread, and why', async () => {
      const policy = `${POLICY}; require-trusted-types-for 'script'; trusted-types other`;
      const then = 'await result; while (sn.info().threads > 1) await new Promise((wake) => setTimeout(wake, 20));\n' +
        'window.result = { ...await result, ...sn.info() };';
      const { result } = await inPage({ policy, instead: { '/page.js': script('/dist/index.js', then) } });
      check(result, 'one');
      assert.match(result.reasons.join(), /worker/);
    });

    test('a shared worker, which no page isolates: one thread', async () => {
      const shared = script('/dist/index.js', 'onconnect = async ({ ports: [port] }) => port.postMessage(await result);');
      const body = "new SharedWorker('/shared.js', { type: 'module' }).port.onmessage = ({ data }) => (window.result = data);";
      const { result } = await inPage({ instead: { '/shared.js': shared, '/page.js': { type: 'text/javascript', body } } });
      check(result, 'one');
    });

    test('a service worker: one thread', async () => {
      const service = script('/dist/index.js', 'onmessage = async ({ source }) => source.postMessage(await result);');
      const body = `const { serviceWorker } = navigator;
serviceWorker.onmessage = ({ data }) => (window.result = data);
serviceWorker.register('/service.js', { type: 'module' });
serviceWorker.ready.then(({ active }) => active.postMessage('go'));`;
      const { result } = await inPage({ instead: { '/service.js': service, '/page.js': { type: 'text/javascript', body } } });
      check(result, 'one');
    });

    test('sinter/inline asks for no further file', async () => {
      const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; img-src data:";
      const { result, faults } = await inPage({ policy, instead: { '/page.js': inWindow('/dist/inline.js') } });
      check(result, 'one');
      assert.deepEqual(result.reasons, ['one thread: sinter/inline has no workers']);
      assert.deepEqual(faults, []);
    });

    test('init tells the console how tensors are shown; an import does not', async () => {
      const then = `const before = globalThis.devtoolsFormatters;
await result;
const [{ header, hasBody, body }] = globalThis.devtoolsFormatters;
const t = sn.tensor([1, 2]);
window.result = { before: before?.length ?? 0, header: header(t), body: body(t), hasBody: hasBody(t), other: header({}) };`;
      const { result } = await inPage({ instead: { '/page.js': script('/dist/index.js', then) } });
      assert.deepEqual(result, {
        before: 0, other: null, hasBody: true,
        header: ['span', {}, 'Tensor(float32 (2,))'],
        body: ['pre', {}, 'Tensor(float32 (2,)) [1, 2]'],
      });
    });
  });
}

test('a page of an extension', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sinter-extension-'));
  const profile = mkdtempSync(join(tmpdir(), 'sinter-profile-'));
  cpSync(join(root, 'js/dist'), join(folder, 'dist'), { recursive: true });
  writeFileSync(join(folder, 'page.html'), '<!doctype html><script type="module" src="page.js"></script>');
  writeFileSync(join(folder, 'page.js'), inWindow('/dist/index.js').body);
  writeFileSync(join(folder, 'service.js'), '');
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify({
    manifest_version: 3, name: 'sinter', version: '1', background: { service_worker: 'service.js' },
    content_security_policy: { extension_pages: "script-src 'self' 'wasm-unsafe-eval'; object-src 'self'" },
    cross_origin_embedder_policy: { value: 'require-corp' },
    cross_origin_opener_policy: { value: 'same-origin' },
  }));
  const context = await chromium.launchPersistentContext(profile, {
    ...chromiumOptions,
    args: [...chromiumOptions.args, `--disable-extensions-except=${folder}`, `--load-extension=${folder}`],
    ignoreDefaultArgs: ['--disable-extensions'],
  });
  try {
    const [service = await context.waitForEvent('serviceworker')] = context.serviceWorkers();
    const page = await context.newPage();
    await page.goto(new URL('/page.html', service.url()).href);
    await page.waitForFunction(() => 'result' in window);
    check(await page.evaluate(() => window.result), 'threads');
  } finally {
    await context.close();
    for (const path of [folder, profile]) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  }
});
