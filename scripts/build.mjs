// build.mjs - everything that is built, incrementally: npm run build, or npm run build -- TARGET...
//
//   native native-mpi asan tsan neon valgrind coverage wasm wasm-mt   CMake presets  -> build/<preset>
//   js    after wasm, wasm-mt            the npm package, modules in it   -> js/dist (unbundled: build/js)
//   web   after js                       the static playground            -> web/dist
//   docs  after web                      the documentation as a site      -> web/dist/docs
//
// Each target is built at most once per process, and only after the targets that it needs. At most two are built at the same
// time.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { buildUnlessFresh } from './lib/fresh.mjs';
import { Stop, main, root, runOrStop, systemNode } from './lib/proc.mjs';
import { setup } from './setup.mjs';

const AT_A_TIME = 2;
const MODULES = ['build/wasm/sinter.wasm', 'build/wasm-mt/sinter-mt.wasm', 'build/wasm/sinter-gpu.wasm', 'build/wasm-mt/sinter-gpu-mt.wasm'];
/** Entry points that pages load on demand, each a folder of js/src. */
const BESIDE = ['logic', 'onnx', 'webgpu', 'gguf', 'llm', 'report', 'export', 'standalone', 'parallel'];
/** Files that the whole repository and the package by itself both have. */
const LEGAL = ['LICENSE', 'SECURITY.md'];
const inDist = (module) => `js/dist/${basename(module)}`;

const preset = async (name) => {
  // The build itself notices changes of CMakeLists.txt, but not those of a preset.
  await buildUnlessFresh({
    name: `${name}-configured`,
    inputs: ['CMakePresets.json'],
    outputs: [`build/${name}/build.ninja`],
    build: () => runOrStop('cmake', ['--preset', name, `-DSINTER_NODE=${systemNode()}`]),
  });
  await runOrStop('cmake', ['--build', '--preset', name, '-j', String(availableParallelism())]);
};

/** Replaces files.ts by files-inline.ts. */
const oneFile = {
  name: 'one-file',
  resolveId: (id, importer) =>
    id.endsWith('/files.js') ? join(dirname(importer), id.replace('files.js', 'files-inline.js')) : null,
};

/** Removes what a page need not download: comments, whitespace, the names of variables. Users read errors where they are
 *  thrown, so statements are not joined and stay on separate lines, and functions and classes keep their names. */
const MINIFY = {
  compress: { sequences: false },
  mangle: { toplevel: true, keepNames: true },
  codegen: { removeWhitespace: true },
};

/** Keeps index.js and other entry points out of the bundle of an entry point that imports them, so that a page loads each
 *  only once. */
const besideIndex = {
  name: 'beside-index',
  resolveId: (id) => {
    const [, name = 'index'] = /^(?:\.\.\/)+(?:(\w+)\/)?index\.js$/.exec(id) ?? [];
    return id.startsWith('../') && id.endsWith('/index.js') ? { id: `./${name}.js`, external: 'absolute' } : null;
  },
};

/** Bundles a script of the package into one file. */
const bundleScript = async ({ rolldown, breakLines }, name, plugins, input = name) => {
  const modules = await rolldown({
    input: join(root, `build/js/${input}.js`),
    external: /^node:/,
    platform: 'neutral',
    moduleTypes: { '.wasm': 'base64' },
    plugins,
  });
  const { output: [{ code }] } = await modules.generate({
    minify: MINIFY,
    comments: { legal: true, annotation: true, jsdoc: false },
  });
  await modules.close();
  writeFileSync(join(root, inDist(`${name}.js`)), breakLines(code));
};

/** Gives namespaces their public names in the declarations, so that a compiler's messages use them too: nn, not
 *  index_d_exports. */
const withPublicNames = (code) => {
  const names = new Map([...code.matchAll(/([\w$]+_d_exports[\w$]*) as (\w+)/g)].map(([, made, name]) => [made, name]));
  return code.replaceAll(/[\w$]+_d_exports[\w$]*/g, (made) => names.get(made) ?? made);
};

/** Names typed arrays in the declarations so that each version of TypeScript can read them: Uint8Array<ArrayBuffer>, or plain
 *  Uint8Array before 5.7, where they have no type parameter. */
const withAnyArrays = (code) => code.replaceAll(/\b(\w+Array)<ArrayBuffer>/g, 'ReturnType<typeof $1.of>');

/** Bundles all declarations of an entry point into one file. */
const bundleTypes = async ({ rolldown, dts }, name, plugins, input = name) => {
  const modules = await rolldown({
    input: join(root, `build/js/${input}.d.ts`),
    plugins: [...plugins, dts({ dtsInput: true, tsconfig: false })],
  });
  const { output } = await modules.generate({ entryFileNames: `${name}.d.ts` });
  await modules.close();
  const { code } = output.find(({ fileName }) => fileName === `${name}.d.ts`);
  const beside = ['index', ...BESIDE].map((each) => `./${each}.js`);
  if ([...code.matchAll(/^import .*?["'](.*)["'];$/gm)].some(([, from]) => !beside.includes(from))) throw new Stop(`${name}.d.ts is not whole: it imports from another file`);
  // tensor.ts has this reference, but the bundler drops it.
  writeFileSync(join(root, inDist(`${name}.d.ts`)), `/// <reference lib="esnext.disposable" />\n${withAnyArrays(withPublicNames(code))}`);
};

const bundle = async () => {
  // Imported late, because the set-up may only just have installed them.
  const [{ rolldown }, { dts }, { breakLines }] = await Promise.all(
    [import('rolldown'), import('rolldown-plugin-dts'), import('./lib/break-lines.mjs')]);
  const tools = { rolldown, breakLines, dts };
  copyFileSync(join(root, MODULES[0]), join(root, 'build/js/sinter.wasm'));
  await bundleScript(tools, 'index', []);
  await bundleScript(tools, 'worker', []);
  await bundleScript(tools, 'source', []);
  copyFileSync(join(root, 'build/js/source.d.ts'), join(root, inDist('source.d.ts')));
  await bundleScript(tools, 'inline', [oneFile]);
  await bundleTypes(tools, 'index', []);
  for (const name of BESIDE) {
    await bundleScript(tools, name, [besideIndex], `${name}/index`);
    await bundleTypes(tools, name, [besideIndex], `${name}/index`);
  }
};

const workspace = (name) => runOrStop('npm', ['run', 'build', '-w', name]);

const TARGETS = {
  native: { needs: [], build: () => preset('native') },
  'native-mpi': { needs: [], build: () => preset('native-mpi') },
  asan: { needs: [], build: () => preset('asan') },
  tsan: { needs: [], build: () => preset('tsan') },
  neon: { needs: [], build: () => preset('neon') },
  valgrind: { needs: [], build: () => preset('valgrind') },
  coverage: { needs: [], build: () => preset('coverage') },
  wasm: { needs: [], build: () => preset('wasm') },
  'wasm-mt': { needs: [], build: () => preset('wasm-mt') },
  js: {
    needs: ['wasm', 'wasm-mt'],
    build: () => buildUnlessFresh({
      name: 'js',
      inputs: ['js/src', 'js/package.json', 'js/tsconfig.json', 'src/graph/ops.def', 'src/graph/dtypes.def', 'src/tensor/functions.def', 'scripts', 'package-lock.json', ...LEGAL, ...MODULES],
      outputs: ['build/js/index.js', ...MODULES.map(inDist)],
      build: async () => {
        for (const folder of ['js/dist', 'build/js']) rmSync(join(root, folder), { recursive: true, force: true });
        mkdirSync(join(root, 'js/dist'));
        await workspace('js');
        await bundle();
        for (const module of MODULES) copyFileSync(join(root, module), join(root, inDist(module)));
        for (const name of LEGAL) copyFileSync(join(root, name), join(root, 'js', name));
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
  docs: {
    needs: ['web'],
    build: () => buildUnlessFresh({
      name: 'docs',
      inputs: ['site', 'docs', 'README.md', 'SECURITY.md', 'src/README.md', 'js/README.md', 'bench/metrics.csv', 'web/src/style/tokens.css', 'js/dist', 'package-lock.json'],
      outputs: ['web/dist/docs/index.html'],
      build: async () => (await import('../site/build.mjs')).buildSite(), // needs what the set-up installs
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

/** Builds targets (keys of TARGETS) and the targets that they need. A failure is a Stop with the tool's output. */
export const build = async (names) => {
  for (const name of names) {
    if (!started.has(name)) started.set(name, buildOne(name));
  }
  await Promise.all(names.map((name) => started.get(name)));
};

await main(import.meta.url, async (names) => {
  await setup(['wasm']);
  await build(names.length ? names : ['docs']);
});
