// What every page of the site does besides being read: the menu of narrow screens, copying, and asking for the search.

const { base } = document.body.dataset;
const menuButton = document.getElementById('menu-button');

menuButton.addEventListener('click', () => {
  const isOpen = document.body.toggleAttribute('data-menu');
  menuButton.setAttribute('aria-expanded', String(isOpen));
});
document.addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape' || !document.body.hasAttribute('data-menu')) return;
  document.body.removeAttribute('data-menu');
  menuButton.setAttribute('aria-expanded', 'false');
  menuButton.focus();
});
// The menu shows the page that is open, without moving anything else.
const menu = document.getElementById('menu');
const here = menu?.querySelector('[aria-current]');
if (here) menu.scrollTop = here.offsetTop - menu.clientHeight / 3;

for (const button of document.querySelectorAll('.copy')) {
  button.addEventListener('click', async () => {
    const text = button.closest('.code').querySelector('code').textContent;
    const done = await navigator.clipboard.writeText(text).then(() => 'Copied', () => 'Not allowed');
    button.textContent = done;
    setTimeout(() => (button.textContent = 'Copy'), 1500);
  });
}

const load = (name) => new Promise((resolve, reject) => {
  const script = document.createElement('script');
  script.onload = resolve;
  script.onerror = reject;
  script.src = base + name;
  document.head.append(script);
});

let loading = null;
/** The index and the code of the search, when they are first asked for. */
const search = async () => {
  loading ??= load('parts.js').then(() => load('search.js'));
  await loading;
  globalThis.openSearch();
};
document.getElementById('find').addEventListener('click', () => void search());
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.closest('input, textarea, [contenteditable]') !== null;
  const asks = (event.key === '/' && !isTyping) || (event.key === 'k' && (event.ctrlKey || event.metaKey));
  if (!asks || document.querySelector('dialog[open]') !== null) return;
  event.preventDefault();
  void search();
});
