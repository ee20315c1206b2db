// The buttons that open the views inside of training. The views are loaded with the first of them.

import type { InsideCard, InsideView } from '../inside/card.ts';
import { element } from './dom.ts';

export class InsideSwitch {
  private card: Promise<InsideCard> | null = null;
  /** The views, once one has been opened. */
  opened: InsideCard | null = null;

  constructor(load: (root: HTMLElement) => Promise<InsideCard>, fail: (error: unknown) => void) {
    for (const button of element('inside-switch').querySelectorAll('button')) {
      const view = button.id.replace('inside-', '') as InsideView;
      button.addEventListener('click', () => {
        const on = button.getAttribute('aria-pressed') === 'false';
        button.setAttribute('aria-pressed', String(on));
        this.card ??= load(element('inside-body')).then((card) => (this.opened = card));
        this.card.then(
          (card) => card.show(view, on),
          (error: unknown) => {
            this.card = null;
            button.setAttribute('aria-pressed', 'false');
            fail(error);
          },
        );
      });
    }
  }
}
