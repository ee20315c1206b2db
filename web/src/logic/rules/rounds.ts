// The rounds of a program: a slider selects one, and a button plays all.

import { element, setText } from '../../views/dom.ts';
import { plural } from '../../views/format.ts';
import type { Round } from './protocol.ts';

/** How long a round is shown, and the most for all rounds together, in ms. */
const ROUND_MS = 900;
const ALL_MS = 8000;

export class Rounds {
  private readonly slider = element<HTMLInputElement>('rules-round');
  private readonly button = element<HTMLButtonElement>('rules-play');
  private rounds: Round[] = [];
  private timer = 0;

  constructor(private readonly onRound: (iteration: number) => void) {
    this.slider.addEventListener('input', () => {
      this.play(false);
      this.go(Number(this.slider.value));
    });
    this.button.addEventListener('click', () => this.play(this.timer === 0));
  }

  /** Shows the rounds: plays them from the first, or shows the last at once. */
  open(rounds: Round[], plays: boolean): void {
    this.rounds = rounds;
    this.slider.max = String(rounds.length);
    this.slider.disabled = this.button.disabled = rounds.length === 0;
    const still = !plays || matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.go(still ? rounds.length : 0);
    this.play(!still && rounds.length > 0);
  }

  play(playing: boolean): void {
    clearInterval(this.timer);
    this.timer = 0;
    setText(this.button, playing ? 'Stop' : 'Play');
    if (!playing) return;
    const last = this.rounds.length;
    if (Number(this.slider.value) >= last) this.go(0);
    this.timer = window.setInterval(() => {
      const next = Number(this.slider.value) + 1;
      this.go(Math.min(next, last));
      if (next >= last) this.play(false);
    }, Math.min(ROUND_MS, ALL_MS / last));
  }

  private go(iteration: number): void {
    this.slider.value = String(iteration);
    const text = iteration === 0 ? 'given' : `round ${iteration} of ${this.rounds.length}`;
    setText(element('rules-round-of'), text);
    this.slider.setAttribute('aria-valuetext', text);
    const derived = Object.entries(this.rounds[iteration - 1]?.derived ?? {});
    const note = derived.length === 0 ? '' : `New in this round: ${derived.map(([name, number]) => `${plural(number, 'fact')} of ${name}`).join(', ')}.`;
    setText(element('rules-round-note'), note);
    this.onRound(iteration);
  }
}
