// The last error in its own words, until it is dismissed.

import type { Failure } from '../state/protocol.ts';
import { element, inside, setText } from './dom.ts';

export class FailureBar {
  private readonly bar = element('failure');

  constructor() {
    inside(this.bar, 'button').addEventListener('click', () => (this.bar.hidden = true));
  }

  show({ name, message, hint }: Failure): void {
    setText(inside(this.bar, 'strong'), `${name}:`);
    setText(inside(this.bar, 'span'), message);
    setText(inside(this.bar, 'em'), hint);
    this.bar.hidden = false;
  }
}
