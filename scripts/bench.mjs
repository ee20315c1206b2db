// bench.mjs - npm run bench: set up, build, run bench/run.mjs with the same arguments.
// On the newer Node: the system's may be without relaxed SIMD.
import { main, newerNode, runOrStop } from './lib/proc.mjs';
import { build } from './build.mjs';
import { setup } from './setup.mjs';

await main(import.meta.url, async (args) => {
  await setup(['wasm', 'native']);
  await build(['native', 'js']);
  await runOrStop(newerNode(), ['bench/run.mjs', ...args], { show: true });
});
