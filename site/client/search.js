// The search: a dialog, a field and what it finds. Loaded, with the index, when somebody first asks for it.
import MiniSearch from 'minisearch';

const MOST = 12;
const AROUND = 60;

const { base } = document.body.dataset;
const parts = globalThis.SINTER_PARTS;
const index = new MiniSearch({
  fields: ['title', 'page', 'text'],
  tokenize: (text) => text.split(/[\s\p{P}|=+<>]+/u).flatMap((word) => [word, ...word.split(/(?<=[a-z])(?=[A-Z])/)]).filter((word, i, all) => all.indexOf(word) === i),
  searchOptions: { boost: { title: 4, page: 1.5 }, prefix: true, fuzzy: (word) => (word.length > 3 ? 0.2 : false), combineWith: 'AND' },
});
const ready = index.addAllAsync(parts.map((part, id) => ({ id, ...part })), { chunkSize: 40 });

const create = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

const field = create('input', { type: 'search', placeholder: 'Search functions, tutorials, options', autocomplete: 'off', spellcheck: false });
field.setAttribute('aria-label', 'Search');
field.setAttribute('aria-controls', 'found');
const list = create('ul', { id: 'found' });
const note = create('p', { className: 'found-note' });
note.setAttribute('role', 'status');
const dialog = create('dialog', { className: 'search' }, create('form', { method: 'dialog' }, field, create('button', { className: 'quiet', textContent: 'Close' })), note, list);
dialog.setAttribute('aria-label', 'Search');
document.body.append(dialog);

/** Of a text the place where a word stands, with the word marked. */
const excerpt = (text, words) => {
  const at = Math.max(0, ...words.map((word) => text.toLowerCase().indexOf(word.toLowerCase())));
  const from = Math.max(0, at - AROUND);
  const shown = `${from ? '… ' : ''}${text.slice(from, at + 2 * AROUND)}${at + 2 * AROUND < text.length ? ' …' : ''}`;
  const [word = ''] = words.filter((each) => shown.toLowerCase().includes(each.toLowerCase()));
  const place = word === '' ? -1 : shown.toLowerCase().indexOf(word.toLowerCase());
  return place < 0 ? [shown] : [shown.slice(0, place), create('mark', { textContent: shown.slice(place, place + word.length) }), shown.slice(place + word.length)];
};

const show = () => {
  const asked = field.value.trim();
  const found = asked === '' ? [] : index.search(asked).slice(0, MOST);
  list.replaceChildren(...found.map(({ id, terms }) => {
    const { at, title, page, text } = parts[id];
    const link = create('a', { href: base + at }, create('strong', { textContent: title }), create('em', { textContent: page === title ? '' : page }), create('span', {}, ...excerpt(text, terms)));
    return create('li', {}, link);
  }));
  note.textContent = asked === '' ? '' : found.length === 0 ? 'Nothing found.' : `${found.length}${found.length === MOST ? ' or more' : ''} found`;
};

field.addEventListener('input', () => void ready.then(show));
/** Up and down go through what was found; Escape closes, also where a browser would first empty the field. */
dialog.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    event.preventDefault();
    dialog.close();
    return;
  }
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const stops = [field, ...list.querySelectorAll('a')];
  const at = stops.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1);
  stops[(at + stops.length) % stops.length].focus();
  event.preventDefault();
});
form().addEventListener('submit', (event) => {
  if (event.submitter !== null && event.submitter.classList.contains('quiet') && document.activeElement !== field) return;
  const first = list.querySelector('a');
  if (first === null || document.activeElement !== field) return;
  event.preventDefault();
  first.click();
});
dialog.addEventListener('click', (event) => {
  if (event.target === dialog || event.target.closest('a') !== null) dialog.close();
});

function form() {
  return dialog.querySelector('form');
}

globalThis.openSearch = () => {
  dialog.showModal();
  field.select();
};
