// build.mjs - everything that is built, incrementally: npm run build, or npm run build -- TARGET...
//
//   native asan tsan neon wasm wasm-mt   CMake presets                    -> build/<preset>
//   js    after wasm, wasm-mt            the npm package, modules in it   -> js/dist (unbundled: build/js)
//   web   after js                       the static playground            -> web/dist
//
// A target is built at most once per process and never before what it needs; two are built at
// a time.
import { copyFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { buildUnlessFresh } from './lib/fresh.mjs';
import { main, root, runOrStop, systemNode } from './lib/proc.mjs';
import { setup } from './setup.mjs';

const AT_A_TIME = 2;
const MODULES = ['build/wasm/sinter.wasm', 'build/wasm-mt/sinter-mt.wasm'];
const SCRIPTS = ['index', 'worker'];
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

/** index.js and worker.js, each whole in itself. They are read where an error is thrown, so names and lines stay as
 *  they were written; only comments go, which a page would download. */
const bundle = async () => {
  // Set-up may only just have installed it.
  const { rolldown } = await import('rolldown');
  for (const name of SCRIPTS) {
    const modules = await rolldown({ input: join(root, `build/js/${name}.js`), external: /^node:/, platform: 'neutral' });
    await modules.write({
      file: join(root, inDist(`${name}.js`)),
      comments: { legal: true, annotation: true, jsdoc: false },
    });
    await modules.close();
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
