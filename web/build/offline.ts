// Vite plugin: the code of a page in one file, with the package and its styles inside, as the module virtual:offline, whose
// default export is the address of that code. It is a classic script: browsers make no module workers of what a file holds.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { rolldown, type Plugin as Part } from 'rolldown';
import type { Plugin } from 'vite';

const NAME = 'virtual:offline';
const ENTRY = join(import.meta.dirname, '../src/offline/main.ts');
const require = createRequire(import.meta.url);

/** The package in one file in the place of the one that loads others. */
const inline: Part = {
  name: 'inline',
  resolveId: (id) => (id === 'sinter' ? join(require.resolve('sinter/package.json'), '../dist/inline.js') : null),
};

/** Style sheets put themselves into the page; the worker has none. */
const styles: Part = {
  name: 'styles',
  load: async (id) => {
    if (!id.endsWith('.css')) return null;
    const text = JSON.stringify(await readFile(id, 'utf8'));
    return { code: `globalThis.document?.head.append(Object.assign(document.createElement('style'), { textContent: ${text} }));`, moduleType: 'js' };
  },
};

async function bundled(): Promise<string> {
  const modules = await rolldown({ input: ENTRY, platform: 'browser', plugins: [inline, styles], treeshake: { moduleSideEffects: true } });
  const { output } = await modules.generate({ format: 'iife', minify: true, codeSplitting: false });
  await modules.close();
  return output[0].code;
}

export const offline = (): Plugin => {
  let isServed = false;
  return {
    name: 'offline',
    configResolved: (config) => void (isServed = config.command === 'serve'),
    resolveId: (id) => (id === NAME ? `\0${NAME}` : null),
    async load(id) {
      if (id !== `\0${NAME}`) return null;
      const source = await bundled();
      if (isServed) return `export default URL.createObjectURL(new Blob([${JSON.stringify(source)}], { type: 'text/javascript' }));`;
      const file = this.emitFile({ type: 'asset', name: 'offline.js', source });
      return `export default import.meta.ROLLUP_FILE_URL_${file};`;
    },
  };
};
