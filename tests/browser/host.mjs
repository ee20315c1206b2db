// A server for the package alone: a bare page, the files of js/dist, and answers that go wrong on
// purpose. Every answer carries a policy under which scripts may compile WebAssembly and nothing else.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { root } from '../../scripts/lib/proc.mjs';

export const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; img-src data:";
const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };
const PAGE = '<!doctype html><title>Sinter</title><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>';
const SCRIPT = "import * as sn from '/dist/index.js';\nwindow.sn = sn;\n";

/** Like a server that answers every unknown path with its start page. */
export const startPage = { body: PAGE, type: 'text/html' };
export const notFound = { status: 404, body: 'Not found', type: 'text/plain' };

const file = async (path) => ({ body: await readFile(join(root, 'js', path)), type: TYPES[extname(path)] });

/**
 * instead: answers by path in place of the real ones; policy: another policy; headers: further headers. Resolves to
 * { url, close }.
 */
export const host = async ({ isolation = true, instead = {}, policy = POLICY, headers = {} } = {}) => {
  const answer = async (path) => {
    if (instead[path]) return instead[path];
    if (path === '/') return startPage;
    if (path === '/page.js') return { body: SCRIPT, type: 'text/javascript' };
    return path.startsWith('/dist/') && !path.includes('..') ? file(path).catch(() => notFound) : notFound;
  };
  const server = createServer(async (request, response) => {
    const { status = 200, body, type } = await answer(new URL(request.url, 'http://localhost').pathname);
    response.writeHead(status, {
      'Content-Type': type ?? 'application/octet-stream',
      'Content-Security-Policy': policy,
      ...(isolation ? ISOLATION : {}),
      ...headers,
    });
    response.end(body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://localhost:${server.address().port}/`,
    close: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    }),
  };
};
