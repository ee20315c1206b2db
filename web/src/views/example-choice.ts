// The row of programs that learn.

import { PROGRAMS } from '../program/list.ts';
import { create, element } from './dom.ts';

export class ExampleChoice {
  private readonly buttons = new Map<string, HTMLButtonElement>();

  constructor(onChoose: (name: string) => void) {
    for (const { name, title, purpose, learns } of PROGRAMS) {
      if (!learns) continue;
      const button = create('button', '', title);
      button.type = 'button';
      button.title = purpose;
      button.dataset.testid = `example-${name}`;
      button.addEventListener('click', () => {
        if (button.getAttribute('aria-pressed') === 'false') onChoose(name);
      });
      this.buttons.set(name, button);
    }
    element('examples').replaceChildren(...this.buttons.values());
  }

  /** Marks the program that the page now shows. */
  show(name: string): void {
    for (const [other, button] of this.buttons) button.setAttribute('aria-pressed', String(other === name));
  }
}
