// build.mjs - the documentation as a static site, beside the playground: web/dist/docs. Every address in it is relative, so it
// works in any folder of any server; nothing is loaded from elsewhere.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../scripts/lib/proc.mjs';
import { blocksOf, exampleForPlayground, forPlayground, programsOf } from './blocks.mjs';
import { figurePages } from './figures.mjs';
import { landing } from './landing.mjs';
import { landingHtml, pageHtml } from './layout.mjs';
import { render } from './markdown.mjs';
import { sectionsOf } from './pages.mjs';
import { partsOf } from './search.mjs';

export const SITE = 'web/dist/docs';

const write = (path, text) => {
  const file = join(root, SITE, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
};

/** Writes what the playground runs for each block of a page; gives the address of a block's text, or null. */
const playgroundOf = (page, blocks, base) => {
  const name = page.file.replace(/\.html$/, '').replaceAll('/', '-');
  const programs = programsOf(blocks);
  let count = 0;
  return (block) => {
    const program = programs.find((each) => each.includes(block));
    const text = block.kind === 'example' ? exampleForPlayground(block) : program ? forPlayground(program, block) : null;
    if (text === null) return null;
    count += 1;
    write(`programs/${name}-${count}.js`, text);
    return `${base}../?doc=${name}-${count}`;
  };
};

const writePages = () => {
  const sections = sectionsOf(figurePages());
  const pages = sections.flatMap((section) => section.pages);
  const files = new Map([['README.md', 'index.html'], ...pages.map(({ source, file }) => [source, file])]);
  const parts = [];
  for (const page of pages) {
    const base = '../'.repeat(page.file.split('/').length - 1);
    const blocks = blocksOf(page.text, page.source);
    const made = render(page, { blocks, linkOf: playgroundOf(page, blocks, base), fileOf: (path) => files.get(path), base });
    write(page.file, pageHtml({ sections, page, base, ...made }));
    parts.push(...partsOf(page, made.headings));
  }
  write('parts.js', `globalThis.SINTER_PARTS = ${JSON.stringify(parts)};\n`);
  write('index.html', landingHtml(landing()));
};

/** Scripts of pages: one file each, and the module of the live example. */
const writeScripts = async () => {
  const { rolldown } = await import('rolldown'); // late: set-up may only just have installed it
  const client = (name) => join(root, 'site/client', `${name}.js`);
  for (const name of ['page', 'search']) {
    const modules = await rolldown({ input: client(name) });
    await modules.write({ file: join(root, SITE, `${name}.js`), format: 'iife', minify: true });
    await modules.close();
  }
  const modules = await rolldown({ input: client('live'), external: ['sinter'] });
  await modules.write({ dir: join(root, SITE), format: 'es', paths: { sinter: './sinter/index.js' }, chunkFileNames: '[name].js', minify: true });
  await modules.close();
};

const STYLES = ['web/src/style/tokens.css', 'site/style/frame.css', 'site/style/text.css', 'site/style/landing.css'];

/** Builds the site. */
export const buildSite = async () => {
  rmSync(join(root, SITE), { recursive: true, force: true });
  writePages();
  write('site.css', STYLES.map((path) => readFileSync(join(root, path), 'utf8')).join('\n'));
  for (const name of ['playground.png', 'bench.svg']) copyFileSync(join(root, 'docs', name), join(root, SITE, name));
  mkdirSync(join(root, SITE, 'sinter'));
  for (const name of ['index.js', 'worker.js', 'sinter.wasm', 'sinter-mt.wasm']) copyFileSync(join(root, 'js/dist', name), join(root, SITE, 'sinter', name));
  await writeScripts();
};
