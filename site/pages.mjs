// pages.mjs - the pages of the site: from which Markdown file of the repository each comes, in the order in which they are
// read. There is no second list; the landing page is README.md's own (landing.mjs). A guide that is not named here comes last.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../scripts/lib/proc.mjs';

const TUTORIALS = [
  'first-tensor', 'gradients', 'training-loop', 'data', 'custom-layer', 'loops', 'save-and-deploy', 'performance', 'memory', 'threads', 'gpu',
  'bundlers', 'numerics', 'native-c', 'coming-from',
];
/** By their files: the name of the page, and what the menu calls it. */
const GUIDES = {
  'js/README.md': ['package', 'The package on one page'],
  'docs/bundlers.md': ['places', 'Places and bundlers'],
  'docs/platforms.md': ['platforms', 'Supported platforms'],
  'docs/compatibility.md': ['compatibility', 'Compatibility'],
  'docs/logic.md': ['logic', 'Logic'],
  'docs/llm.md': ['llm', 'Language models'],
  'docs/train.md': ['train', 'Training outside of the page'],
  'docs/export.md': ['export', 'A program as a module of its own'],
  'docs/onnx.md': ['onnx', 'ONNX'],
  'docs/webgpu.md': ['webgpu', 'WebGPU'],
};
const FIGURES = { 'docs/bench.md': ['bench', 'Times'], 'docs/ops.md': ['ops', 'Ops'], 'docs/accuracy.md': ['accuracy', 'Accuracy'] };
const INSIDE = {
  'docs/contributing.md': ['contributing', 'Contributing'],
  'src/README.md': ['core', 'The core'],
  'docs/glossary.md': ['glossary', 'Glossary'],
  'SECURITY.md': ['security', 'Security'],
};

/** A page: source, file (of the site, from its root), title, text. */
const page = (source, file, title) => {
  const text = readFileSync(join(root, source), 'utf8');
  return { source, file, text, title: title ?? /^# (.*)$/m.exec(text)[1] };
};
const listed = (files) => Object.entries(files).map(([source, [name, title]]) => page(source, `${name}.html`, title));

/** Guides by their files, those of docs/ that nothing here names behind the others. */
const guides = () => {
  const named = { ...GUIDES, ...FIGURES, ...INSIDE };
  const others = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md') && !(`docs/${name}` in named)).sort();
  return [...listed(GUIDES), ...others.map((name) => page(`docs/${name}`, name.replace('.md', '.html')))];
};

const reference = () => {
  const folder = 'docs/reference';
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith('.md') && name !== 'README.md');
  const pages = names.map((name) => page(`${folder}/${name}`, `reference/${name.replace('.md', '.html')}`));
  return [page(`${folder}/README.md`, 'reference/index.html', 'All functions'), ...pages.sort((a, b) => a.title.localeCompare(b.title, 'en', { sensitivity: 'base' }))];
};

/** Sections of the menu with their pages. `made`: pages that have no Markdown file. */
export const sectionsOf = (made) => [
  { title: 'Tutorials', pages: TUTORIALS.map((name) => page(`docs/tutorials/${name}.md`, `tutorials/${name}.html`)) },
  { title: 'Guides', pages: guides() },
  { title: 'Figures', pages: [...listed(FIGURES), ...made] },
  { title: 'Reference', pages: reference() },
  { title: 'Inside', pages: listed(INSIDE) },
];
