// bench.mjs - npm run bench: sets up, builds, and measures. Without arguments it measures everything. --peers measures only the
// comparison with other libraries, in a page and natively. --write measures what docs/bench.md shows, and renews it. Other
// arguments are passed to bench/run.mjs. It runs on the newer Node, as the system's may lack relaxed SIMD.
import { main, newerNode, runOrStop } from './lib/proc.mjs';
import { build } from './build.mjs';
import { setup } from './setup.mjs';

const measure = (file, ...args) => runOrStop(newerNode(), [file, ...args], { show: true });

const againstNative = async () => {
  const { installedForeign } = await import('../bench/variants.mjs');
  const names = installedForeign();
  if (names.length) {
    await measure('bench/run.mjs', '--variants', ['native', ...names].join(), '--json', 'build/peers-native.json');
  }
  const missing = ['numpy', 'torch'].filter((name) => !names.includes(name));
  if (missing.length) console.log(`not compared with ${missing.join(' and ')}: the system's Python does not have it`);
};

const againstPeers = async (args) => {
  await measure('bench/peers/run.mjs', ...args);
  if (!args.includes('--only')) await againstNative();
};

/** Measures all variants in one list, then the other libraries; then writes the page and the chart of both. */
const write = async (quick) => {
  const { installedForeign, usualVariants } = await import('../bench/variants.mjs');
  await measure('bench/run.mjs', '--variants', [...usualVariants, ...installedForeign()].join(), '--json', 'build/bench.json', ...quick);
  await measure('bench/peers/run.mjs', ...quick);
  await measure('bench/record.mjs', ...quick);
};

await main(import.meta.url, async (args) => {
  const peers = args.includes('--peers');
  const writes = args.includes('--write');
  await setup(['wasm', 'native', ...(peers || writes || !args.length ? ['browsers'] : [])]);
  await build(['native', 'js']);
  if (writes) return write(args.filter((arg) => arg === '--quick'));
  if (peers) return againstPeers(args.filter((arg) => arg !== '--peers'));
  await measure('bench/run.mjs', ...args);
  return args.length ? undefined : againstPeers(['--optional']);
});
