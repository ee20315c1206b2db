// serve.mjs - serves the repository's files cross-origin isolated, so that memory can be shared.
import { createServer } from 'node:http';
import sirv from 'sirv';
import { root } from '../../scripts/lib/proc.mjs';

export const serve = async () => {
  const files = sirv(root, {
    dev: true,
    setHeaders: (response) => {
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    },
  });
  const server = createServer((request, response) => files(request, response, () => response.writeHead(404).end()));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
};
