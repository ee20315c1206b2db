// start.mjs [--no-isolation] - npm start: sets up, builds what is needed, and serves the playground, with the documentation in
// docs/. PORT in the environment sets the port.
import { parseArgs } from 'node:util';
import { main } from './lib/proc.mjs';
import { build } from './build.mjs';
import { parsePort, serveInForeground } from './serve.mjs';
import { setup } from './setup.mjs';

await main(import.meta.url, async (args) => {
  const { values } = parseArgs({ args, options: { 'no-isolation': { type: 'boolean' } } });
  const port = parsePort(process.env.PORT);
  await setup(['wasm']);
  await build(['docs']);
  await serveInForeground('Sinter playground', { port, isolation: !values['no-isolation'] });
});
