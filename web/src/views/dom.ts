// The few things that every view does with the page. Texts are written only when they change,
// so an idle value costs nothing and a selection in it survives.

/** The element of index.html with this id; a missing one is a mistake in the page itself. */
export function element<T extends Element = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`index.html has no element "${id}"`);
  return found as unknown as T;
}

/** The one descendant that matches. */
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

/** Text for people, and the plain number for programs in data-value. */
export function setValue(node: HTMLElement, text: string, value: number | null): void {
  setText(node, text);
  if (value === null) delete node.dataset.value;
  else node.dataset.value = String(value);
}

/** Drawing takes time from the cores that train: charts of it are drawn so far apart at least. */
export const PAINT_MS = 250;

/** So many times as long as a drawing takes passes from one to the next: it has a few percent of the time, and what the page
 *  does with it afterwards as much again. */
const PATIENCE = 40;

/** Runs `draw` at most once in so many milliseconds, and in so many times as long as it takes, however often it is asked for. */
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

/** Runs `draw` at most once per frame, however often it is asked for. */
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
