// bench.mjs - npm run bench: set up, build, run bench/run.mjs with the same arguments; with --peers the
// comparison with other libraries, bench/peers/run.mjs.
// On the newer Node: the system's may be without relaxed SIMD.
import { main, newerNode, runOrStop } from './lib/proc.mjs';
import { build } from './build.mjs';
import { setup } from './setup.mjs';

await main(import.meta.url, async (args) => {
  if (args.includes('--peers')) {
    await setup(['wasm', 'browsers']);
    await build(['js']);
    await runOrStop(newerNode(), ['bench/peers/run.mjs', ...args.filter((arg) => arg !== '--peers')], { show: true });
    return;
  }
  await setup(['wasm', 'native']);
  await build(['native', 'js']);
  await runOrStop(newerNode(), ['bench/run.mjs', ...args], { show: true });
});
