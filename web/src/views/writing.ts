// The text that the current network writes, letter by letter. The previous text stays visible in a faint colour until it is
// overwritten, so the card is never empty while training runs.

import { element, setText } from './dom.ts';
import { count } from './format.ts';

const HINT = 'Here stands what the network writes, letter by letter, while it is trained.';

export class WritingView {
  private readonly fresh = element('written');
  private readonly before = element('written-before');
  private readonly foot = element('writing-foot');
  private last = '';

  clear(): void {
    this.last = '';
    setText(this.fresh, '');
    setText(this.before, HINT);
    setText(this.foot, '');
  }

  show(text: string, step: number, done: boolean): void {
    setText(this.fresh, text);
    setText(this.before, done ? '' : this.last.slice(text.length));
    setText(this.foot, `Written at step ${count(step)}.`);
    if (done) this.last = text;
  }
}
