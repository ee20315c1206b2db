// A group of buttons of which exactly one is pressed. The group is found by its own id, or by that of a button in it.

import { element } from './dom.ts';

export class Choice {
  private readonly group: HTMLElement;
  private readonly buttons: HTMLButtonElement[];

  constructor(id: string, onChange: (value: string) => void) {
    const found = element(id);
    this.group = found instanceof HTMLButtonElement ? (found.parentElement as HTMLElement) : found;
    this.buttons = [...this.group.querySelectorAll('button')];
    for (const button of this.buttons)
      button.addEventListener('click', () => {
        if (this.value === button.id) return;
        this.value = button.id;
        onChange(button.id);
      });
  }

  /** The id of the pressed button. */
  get value(): string {
    return this.buttons.find((button) => button.getAttribute('aria-pressed') === 'true')?.id ?? '';
  }

  set value(id: string) {
    for (const button of this.buttons) button.setAttribute('aria-pressed', String(button.id === id));
  }

  setShown(shown: boolean): void {
    this.group.hidden = !shown;
  }
}
