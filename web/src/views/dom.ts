// The few things that every view does with the page. Texts are written only when they change, so an unchanged value costs
// nothing, and a selection in it survives.

/** The element of index.html with this id. A missing element is a bug of the page itself. */
export function element<T extends Element = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`index.html has no element "${id}"`);
  return found as unknown as T;
}

/** The first descendant that matches; throws if there is none. */
export function inside<T extends Element = HTMLElement>(parent: Element, selector: string): T {
  const found = parent.querySelector<T>(selector);
  if (found === null) throw new Error(`no "${selector}" in the page`);
  return found;
}

export function create<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className !== '') made.className = className;
  made.append(...children);
  return made;
}

export function setText(node: Element, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

/** Writes a text for people, and the plain number for scripts into data-value. */
export function setValue(node: HTMLElement, text: string, value: number | null): void {
  setText(node, text);
  if (value === null) delete node.dataset.value;
  else node.dataset.value = String(value);
}

/** The least time between two drawings of a training chart, in ms: drawing takes time from the cores that train. */
export const PAINT_MS = 250;

/** The interval between two drawings is at least this many times as long as a drawing takes. So drawing takes a few percent
 *  of the time, and the browser's work on the result as much again. */
const PATIENCE = 40;

/** Runs `draw` at most once in `ms` milliseconds and in PATIENCE times its own duration, however often it is called. */
export function spaced(ms: number, draw: () => void): () => void {
  let next = 0;
  let timer = 0;
  return () => {
    if (timer !== 0) return;
    timer = window.setTimeout(
      () => {
        timer = 0;
        const begin = performance.now();
        draw();
        next = begin + Math.max(ms, PATIENCE * (performance.now() - begin));
      },
      Math.max(0, next - performance.now()),
    );
  };
}

/** Runs `draw` at most once per frame, however often it is called. */
export function perFrame(draw: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}

/** The newest query of the page's address. It says what the page shows now, so all entries of the page in the browser's history
 *  have the same one: to go back changes the tab, not what a tab shows. */
let written = location.search;

/** Changes parameters of the address, and its fragment if one is given. */
export function changeQuery(by: (query: URLSearchParams) => void, hash = location.hash): void {
  const query = new URLSearchParams(location.search);
  by(query);
  history.replaceState(null, '', `${location.pathname}${query.size > 0 ? `?${query}` : ''}${hash}`);
  written = location.search;
}

/** Gives the newest query to the entry of the history that was gone to. */
export const keepQuery = (): void => history.replaceState(history.state, '', `${location.pathname}${written}${location.hash}`);
