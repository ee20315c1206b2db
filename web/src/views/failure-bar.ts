// Shows the last error in its own words, until it is dismissed.

import type { Failure } from '../state/protocol.ts';
import { element, inside, setText } from './dom.ts';

export class FailureBar {
  private readonly bar = element('failure');
  private isPassing = false;

  constructor() {
    inside(this.bar, 'button').addEventListener('click', () => (this.bar.hidden = true));
  }

  /** isPassing: the error disappears when what failed runs again. */
  show({ name, message, hint }: Failure, isPassing = false): void {
    this.isPassing = isPassing;
    setText(inside(this.bar, 'strong'), `${name}:`);
    setText(inside(this.bar, 'span'), message);
    setText(inside(this.bar, 'em'), message.includes(hint) ? '' : hint);
    this.bar.hidden = false;
  }

  /** Called when what failed before runs again. */
  settle(): void {
    if (this.isPassing) this.bar.hidden = true;
  }
}
