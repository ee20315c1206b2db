// layout.mjs - what is around the text of every page: head, bar, menu, contents, and the way on.
import { escape } from './markdown.mjs';

const ICON = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cg fill='%23ea580c'%3E%3Ccircle cx='11' cy='11' r='8'/%3E%3Ccircle cx='21' cy='11' r='8'/%3E%3Ccircle cx='11' cy='21' r='8'/%3E%3Ccircle cx='21' cy='21' r='8'/%3E%3C/g%3E%3C/svg%3E";
const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:";
const MARK = '<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><circle cx="11" cy="11" r="8" /><circle cx="21" cy="11" r="8" /><circle cx="11" cy="21" r="8" /><circle cx="21" cy="21" r="8" /></svg>';

const link = (to, text, isHere) => `<a href="${to}"${isHere ? ' aria-current="page"' : ''}>${text}</a>`;

const bar = (base, section) => `<header class="top">
<a class="skip" href="#text">To the text</a>
<a class="brand" href="${base}index.html">${MARK}<span>Sinter</span></a>
<nav class="places" aria-label="Site">
${link(`${base}tutorials/first-tensor.html`, 'Tutorials', section === 'Tutorials')}
${link(`${base}package.html`, 'Guides', section === 'Guides')}
${link(`${base}reference/index.html`, 'Reference', section === 'Reference')}
<a class="play" href="${base}../">Playground</a>
</nav>
<button type="button" class="find" id="find" aria-haspopup="dialog"><svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="7" cy="7" r="4.5" /><path d="m10.5 10.5 4 4" /></svg><span>Search</span> <kbd>/</kbd></button>
<button type="button" class="quiet menu-button" id="menu-button" aria-expanded="false" aria-controls="menu">Menu</button>
</header>`;

const menu = (sections, page, base) => `<nav class="menu" id="menu" aria-label="Pages">
${sections.map(({ title, pages }) => `<h2>${title}</h2>\n<ul>${pages.map((each) => `<li>${link(`${base}${each.file}`, escape(each.title), each === page)}</li>`).join('')}</ul>`).join('\n')}
</nav>`;

const contents = (headings) => {
  const shown = headings.filter(({ level }) => level === 2 || (level === 3 && headings.length < 40));
  if (shown.length < 2) return '';
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${shown.map(({ level, id, text }) => `<li class="level-${level}"><a href="#${id}">${escape(text)}</a></li>`).join('')}</ul></nav>`;
};

/** To the pages before and behind in the menu. */
const onward = (sections, page, base) => {
  const pages = sections.flatMap((section) => section.pages);
  const at = pages.indexOf(page);
  const to = (each, word) => (each ? `<a class="${word.toLowerCase()}" href="${base}${each.file}"><span>${word}</span> ${escape(each.title)}</a>` : '<span></span>');
  return `<nav class="onward" aria-label="Pages before and behind">${to(pages[at - 1], 'Back')}${to(pages[at + 1], 'Next')}</nav>`;
};

const whole = ({ title, about, base, body, scripts = '' }) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escape(about)}">
<title>${escape(title)}</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${base}site.css">
<script src="${base}page.js" defer></script>
${scripts}</head>
${body}
</html>
`;

/** A page with its menu. */
export const pageHtml = ({ sections, page, base, html, headings }) => {
  const section = sections.find(({ pages }) => pages.includes(page));
  const about = headings.length ? `${page.title} - documentation of Sinter, a tensor compiler for the browser` : page.title;
  return whole({
    title: `${page.title} · Sinter`,
    about,
    base,
    body: `<body data-base="${base}">
${bar(base, section.title)}
<div class="frame">
${menu(sections, page, base)}
<main id="text" tabindex="-1">
<p class="section">${section.title}</p>
<article>
${html}</article>
${onward(sections, page, base)}
</main>
${contents(headings)}
</div>
</body>`,
  });
};

/** The landing page; `html` is its middle. */
export const landingHtml = ({ html, about }) => whole({
  title: 'Sinter',
  about,
  base: '',
  scripts: '<script type="module" src="live.js"></script>\n',
  body: `<body class="landing" data-base="">
${bar('', '')}
<main id="text" tabindex="-1">
${html}</main>
<footer class="foot"><p>MIT. No dependencies, no tracking; everything on these pages runs in your browser.</p></footer>
</body>`,
});
