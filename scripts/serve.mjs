// serve.mjs [--port N] [--no-isolation] [FOLDER] - serves a folder (web/dist) on this machine only.
//
// The two headers make the page cross-origin isolated, which gives it SharedArrayBuffer and thereby threads; --no-isolation
// leaves them out, as most hosts do.
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { join } from 'node:path';
import { Stop, main, onInterrupt, root } from './lib/proc.mjs';

const LAST_PORT = 65535;
const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

const listen = (handler, port, host) => new Promise((resolve, reject) => {
  const server = createServer(handler);
  server.once('error', reject);
  server.listen({ port, host }, () => resolve(server));
});

const close = (server) => new Promise((resolve) => {
  server.close(resolve);
  server.closeAllConnections();
});

/** `localhost` is two addresses; a port is free only if no other program uses it on either. */
const listenOnLocalhost = async (handler, port) => {
  const first = await listen(handler, port, '127.0.0.1');
  try {
    return [first, await listen(handler, first.address().port, '::1')];
  } catch (error) {
    if (error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT') return [first];
    await close(first);
    throw error;
  }
};

/** Serves a folder; resolves to { port, url, close }. If the port is taken, uses the next free one. */
export const serve = async ({ folder = join(root, 'web/dist'), port = 5173, isolation = true } = {}) => {
  const { default: sirv } = await import('sirv');
  const files = sirv(folder, { dev: true, setHeaders: (response) => {
    if (isolation) for (const [name, value] of Object.entries(ISOLATION)) response.setHeader(name, value);
  } });
  const handler = (request, response) => files(request, response, () => {
    response.writeHead(404).end('Not found');
  });
  for (let candidate = port; candidate <= LAST_PORT; candidate += 1) {
    try {
      const servers = await listenOnLocalhost(handler, candidate);
      const { port: taken } = servers[0].address();
      return {
        port: taken,
        url: `http://localhost:${taken}/`,
        close: () => Promise.all(servers.map(close)),
      };
    } catch (error) {
      if (error.code !== 'EADDRINUSE') throw error;
    }
  }
  throw new Stop(`no free port from ${port} on`);
};

/** A port number from text (from the environment or an option); undefined and '' give undefined. */
export const parsePort = (text) => {
  if (text === undefined || text === '') return undefined;
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > LAST_PORT) {
    throw new Stop(`not a port number: ${text}`);
  }
  return port;
};

/** Serves until SIGINT or SIGTERM, after printing `title` and the address. */
export const serveInForeground = async (title, options) => {
  const server = await serve(options);
  onInterrupt(async () => {
    await server.close();
    process.exit(0);
  });
  console.log(`${title}: ${server.url}`);
};

await main(import.meta.url, async (args) => {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { port: { type: 'string' }, 'no-isolation': { type: 'boolean' } },
  });
  await serveInForeground('Serving', {
    folder: positionals[0],
    port: parsePort(values.port ?? process.env.PORT),
    isolation: !values['no-isolation'],
  });
});
