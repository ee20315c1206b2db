// A lesson as a sequence of cards. A card with a check shows whether it has passed.

import type { About } from '../state/protocol.ts';
import { create, element, setText } from './dom.ts';

export class LessonCard {
  private readonly box = element('lesson');
  private readonly steps = element('lesson-steps');
  private readonly back = element<HTMLButtonElement>('lesson-back');
  private readonly next = element<HTMLButtonElement>('lesson-next');
  private cards: About['cards'] = [];
  private passed: boolean[] = [];
  private place = 0;

  constructor() {
    this.back.addEventListener('click', () => this.go(this.place - 1));
    this.next.addEventListener('click', () => this.go(this.place + 1));
  }

  /** Shows another lesson, or the same one at the start of a training; then the current card stays. */
  show(program: string, cards: About['cards']): void {
    this.box.dataset.program = program;
    const isSame = JSON.stringify(cards) === JSON.stringify(this.cards);
    this.cards = cards;
    this.passed = cards.map(() => false);
    this.box.hidden = cards.length === 0;
    if (!isSame) this.place = 0;
    this.write();
  }

  pass(passed: boolean[]): void {
    this.passed = passed;
    this.write();
  }

  private go(place: number): void {
    this.place = Math.max(0, Math.min(this.cards.length - 1, place));
    this.write();
  }

  private write(): void {
    const card = this.cards[this.place];
    if (card === undefined) return;
    this.steps.replaceChildren(
      ...this.cards.map(({ isChecked }, i) => {
        const step = create('li', this.passed[i] ? 'passed' : isChecked ? 'open' : '', String(i + 1));
        if (i === this.place) step.setAttribute('aria-current', 'step');
        return step;
      }),
    );
    setText(element('lesson-text'), card.text);
    const isSeen = this.passed[this.place] ?? false;
    const see = element('lesson-see');
    see.hidden = card.see === null;
    see.dataset.seen = String(isSeen);
    setText(see, `${isSeen ? 'Seen: ' : ''}${card.see ?? ''}`);
    this.box.dataset.passed = String(this.passed.filter(Boolean).length);
    this.box.dataset.checks = String(this.cards.filter(({ isChecked }) => isChecked).length);
    this.back.disabled = this.place === 0;
    this.next.disabled = this.place === this.cards.length - 1;
  }
}
