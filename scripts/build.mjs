// build.mjs - everything that is built, incrementally: npm run build, or npm run build -- TARGET...
//
//   native asan tsan neon wasm wasm-mt   CMake presets                    -> build/<preset>
//   js    after wasm, wasm-mt            the npm package, modules in it   -> js/dist (unbundled: build/js)
//   web   after js                       the static playground            -> web/dist
//
// A target is built at most once per process and never before what it needs; two are built at
// a time.
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { buildUnlessFresh } from './lib/fresh.mjs';
import { shortenNames } from './lib/short-names.mjs';
import { main, root, runOrStop, systemNode } from './lib/proc.mjs';
import { setup } from './setup.mjs';

const AT_A_TIME = 2;
const MODULES = ['build/wasm/sinter.wasm', 'build/wasm-mt/sinter-mt.wasm'];
const SCRIPTS = ['index', 'worker', 'shared'];
const inDist = (module) => `js/dist/${basename(module)}`;

const preset = async (name) => {
  // Changes of CMakeLists.txt are met by the build itself; those of a preset are not.
  await buildUnlessFresh({
    name: `${name}-configured`,
    inputs: ['CMakePresets.json'],
    outputs: [`build/${name}/build.ninja`],
    build: () => runOrStop('cmake', ['--preset', name, `-DSINTER_NODE=${systemNode()}`]),
  });
  await runOrStop('cmake', ['--build', '--preset', name, '-j', String(availableParallelism())]);
};

/** A page downloads the package, so its modules become two, index.js and worker.js, and shared.js, what both
 *  need, and comments, blanks and inner names go. */
const bundle = async () => {
  // Set-up may only just have installed them.
  const [{ rolldown }, { minify }] = await Promise.all([import('rolldown'), import('terser')]);
  const entry = (name) => join(root, `build/js/${name}.js`);
  const modules = await rolldown({
    input: { index: entry('index'), worker: entry('worker') },
    external: /^node:/,
    platform: 'neutral',
  });
  await modules.write({
    dir: join(root, 'js/dist'),
    chunkFileNames: '[name].js',
    codeSplitting: { groups: [{ name: 'shared', minShareCount: 2 }] },
    minify: { compress: true, mangle: { toplevel: true } },
  });
  await modules.close();
  for (const file of SCRIPTS.map((name) => join(root, inDist(`${name}.js`)))) {
    const options = { module: true, ecma: 2022, compress: { passes: 3, unsafe_arrows: true, pure_getters: true, hoist_funs: true } };
    writeFileSync(file, (await minify(readFileSync(file, 'utf8'), options)).code);
  }
};

const workspace = (name) => runOrStop('npm', ['run', 'build', '-w', name]);

const TARGETS = {
  native: { needs: [], build: () => preset('native') },
  asan: { needs: [], build: () => preset('asan') },
  tsan: { needs: [], build: () => preset('tsan') },
  neon: { needs: [], build: () => preset('neon') },
  wasm: { needs: [], build: () => preset('wasm') },
  'wasm-mt': { needs: [], build: () => preset('wasm-mt') },
  js: {
    needs: ['wasm', 'wasm-mt'],
    build: () => buildUnlessFresh({
      name: 'js',
      inputs: ['js', 'src/graph/ops.def', 'scripts', 'package-lock.json', ...MODULES],
      outputs: ['build/js/index.js', ...MODULES.map(inDist)],
      build: async () => {
        rmSync(join(root, 'js/dist'), { recursive: true, force: true });
        await workspace('js');
        await bundle();
        for (const module of MODULES) copyFileSync(join(root, module), join(root, inDist(module)));
        shortenNames(SCRIPTS.map((name) => join(root, inDist(`${name}.js`))), MODULES.map((module) => join(root, inDist(module))));
      },
    }),
  },
  web: {
    needs: ['js'],
    build: () => buildUnlessFresh({
      name: 'web',
      inputs: ['web', 'js/dist', 'package-lock.json'],
      outputs: ['web/dist/index.html'],
      build: () => workspace('web'),
    }),
  },
};

let free = AT_A_TIME;
const waiting = [];
const inTurn = async (work) => {
  if (free > 0) free -= 1;
  else await new Promise((resolve) => waiting.push(resolve));
  try {
    return await work();
  } finally {
    if (waiting.length) waiting.shift()();
    else free += 1;
  }
};

const started = new Map();

const buildOne = async (name) => {
  await build(TARGETS[name].needs);
  await inTurn(async () => {
    const begin = performance.now();
    await TARGETS[name].build();
    const seconds = (performance.now() - begin) / 1000;
    if (seconds > 1) console.log(`built ${name} in ${seconds.toFixed(1)} s`);
  });
};

/** Builds targets (keys of TARGETS) and what they need; a failure is a Stop with the tool's output. */
export const build = async (names) => {
  for (const name of names) {
    if (!started.has(name)) started.set(name, buildOne(name));
  }
  await Promise.all(names.map((name) => started.get(name)));
};

await main(import.meta.url, async (names) => {
  await setup(['wasm']);
  await build(names.length ? names : ['web']);
});
