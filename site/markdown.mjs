// markdown.mjs - Markdown to HTML: headings with addresses as GitHub gives them, links between files of the repository as
// links between pages, blocks of code in colours, with a way into the playground where it can run them.
import { posix } from 'node:path';
import MarkdownIt from 'markdown-it';
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';

for (const [name, language] of Object.entries({ sh: bash, c, js: javascript, json, ts: typescript, html: xml })) hljs.registerLanguage(name, language);

export const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** What GitHub makes of a heading's text. */
export const slug = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');

export const highlighted = (code, language) =>
  hljs.getLanguage(language) ? hljs.highlight(code, { language, ignoreIllegals: true }).value : escape(code);

const SAID = { output: 'prints', sample: 'printed, on one machine', commands: 'shell', signature: 'signature', fragment: 'fragment', 'C program': 'C' };

/** A block of code. link: to the playground, or null. */
export const codeBlock = ({ kind, language, code }, link) => {
  const words = SAID[kind] ? `<span class="kind">${SAID[kind]}</span>` : '';
  const open = link ? `<a class="open" href="${escape(link)}">Open in the playground</a>` : '';
  const copy = ['program', 'example', 'commands', 'C program', 'device program', 'types'].includes(kind) ? '<button type="button" class="copy">Copy</button>' : '';
  const name = kind === 'output' || kind === 'sample' ? 'What it prints' : 'Code';
  return `<div class="code" data-kind="${kind === 'sample' ? 'output' : escape(kind)}"><pre tabindex="0" role="region" aria-label="${name}"><code>${highlighted(code.trimEnd(), language)}</code></pre>` +
    `<div class="tools">${words}${open}${copy}</div></div>\n`;
};

/** Where a link of a page leads: within the site, to the playground, elsewhere; null: to a file that is no page. */
const addressOf = (href, { page, fileOf, base }) => {
  if (href.startsWith('#')) return href;
  if (href.startsWith('http://localhost:5173/')) return `${base}../${href.slice('http://localhost:5173/'.length)}`;
  if (/^[a-z]+:/.test(href)) return href;
  const [path, anchor] = href.split('#');
  const file = fileOf(posix.join(posix.dirname(page.source), path));
  if (!file) return null;
  return `${base}${file}${anchor ? `#${anchor}` : ''}`;
};

const makeRenderer = () => {
  const markdown = new MarkdownIt({ html: true, linkify: false });
  const { rules } = markdown.renderer;

  markdown.core.ruler.push('addresses', ({ tokens, env }) => {
    const taken = new Map();
    tokens.forEach((token, i) => {
      if (token.attrGet('style') === 'text-align:right') token.attrs = [['class', 'right']]; // pages have no styles of their own
      if (token.type !== 'heading_open') return;
      const text = tokens[i + 1].children.filter(({ type }) => type === 'text' || type === 'code_inline').map(({ content }) => content).join('');
      const name = slug(text);
      const count = taken.get(name) ?? 0;
      taken.set(name, count + 1);
      const id = count ? `${name}-${count}` : name;
      token.attrSet('id', id);
      env.headings.push({ level: Number(token.tag[1]), id, text });
    });
  });

  rules.heading_close = (tokens, i, options, env, self) => {
    const { attrs: [[, id]], tag } = tokens[i - 2];
    const link = tag === 'h1' ? '' : ` <a class="anchor" href="#${id}" aria-label="Address of this section">#</a>`;
    return `${link}${self.renderToken(tokens, i, options)}`;
  };
  rules.link_open = (tokens, i, options, env, self) => {
    const to = addressOf(tokens[i].attrGet('href'), env);
    let end = i;
    while (tokens[end].type !== 'link_close') end += 1;
    if (to === null) {
      tokens[end].hidden = true;
      return '';
    }
    tokens[i].attrSet('href', to);
    return self.renderToken(tokens, i, options);
  };
  rules.link_close = (tokens, i, options, env, self) => (tokens[i].hidden ? '' : self.renderToken(tokens, i, options));
  rules.fence = (tokens, i, options, env) => {
    const block = env.blocks.find(({ line }) => line === tokens[i].map[0] + 1);
    return codeBlock(block, env.linkOf(block));
  };
  rules.table_open = () => '<div class="table" tabindex="0" role="region" aria-label="Table"><table>\n';
  rules.table_close = () => '</table></div>\n';
  rules.html_block = (tokens, i) => (tokens[i].content.startsWith('<!--') ? '' : tokens[i].content);
  return markdown;
};

const markdown = makeRenderer();

/**
 * A page's text as { html, headings }. blocks: its blocks (blocks.mjs); linkOf(block): to the playground, or null;
 * fileOf(path): the page that a file of the repository becomes; base: from the page to the site's root.
 */
export const render = (page, { blocks, linkOf, fileOf, base }) => {
  const env = { page, blocks, linkOf, fileOf, base, headings: [] };
  return { html: markdown.render(page.text, env), headings: env.headings };
};

/** A line of Markdown. */
export const renderLine = (text) => markdown.renderInline(text, { headings: [], fileOf: () => null, page: { source: '' }, base: '' });
