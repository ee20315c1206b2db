// Keyboard: space starts or pauses, s takes one step. A text field keeps its keys, and a focused button its space bar. A button
// clicked with the mouse gives up the focus, so that the space bar keeps its meaning.

export interface KeyActions {
  /** Whether the keys control training now. */
  enabled(): boolean;
  toggle(): void;
  step(): void;
}

function keepsKey(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof Element)) return false;
  return (
    target.matches('input, textarea, select, [contenteditable], [role=tab]') || (key === ' ' && target.matches('button, summary'))
  );
}

export function bindKeys(actions: KeyActions): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!actions.enabled() || keepsKey(event.target, event.key)) return;
    if (event.key === ' ') {
      event.preventDefault();
      if (!event.repeat) actions.toggle();
    } else if (event.key === 's') {
      actions.step();
    }
  });
  document.addEventListener('click', (event) => {
    const byPointer = event.detail > 0;
    const active = document.activeElement;
    if (byPointer && active instanceof HTMLButtonElement) active.blur();
  });
}
