// The cards of a lesson, and whether their checks have passed. A card that has passed stays so until training starts anew.

import type { Card, Figures } from 'playground';
import type { FromTrainer } from '../state/protocol.ts';

/** The weight of the newest loss in the running mean; early on the mean follows faster. */
const FRESH = 0.03;
const EARLY = 5;

export class CheckedCards {
  readonly figures: Figures = { step: 0, loss: NaN };
  private readonly passed: boolean[];
  private losses = 0;

  constructor(
    private readonly cards: readonly Card[],
    private readonly post: (message: FromTrainer) => void,
  ) {
    this.passed = cards.map(() => false);
  }

  step(step: number, loss: number): void {
    const { figures } = this;
    figures.step = step;
    const weight = Math.min(1, Math.max(FRESH, EARLY / ++this.losses));
    figures.loss = this.losses === 1 ? loss : figures.loss + weight * (loss - figures.loss);
  }

  /** Runs the checks that have not passed yet, and posts the result if one passes. */
  check(): void {
    let isNew = false;
    this.cards.forEach(({ check }, i) => {
      if (check === undefined || this.passed[i] || this.losses === 0) return;
      this.passed[i] = Boolean(check({ ...this.figures }));
      isNew ||= this.passed[i];
    });
    if (isNew) this.post({ type: 'lesson', passed: [...this.passed] });
  }
}
