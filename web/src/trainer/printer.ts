// Sends what a program prints to the page: a few lines at a time, and of the rest only the number, so that a million lines cost
// no more than a hundred.

import type { FromTrainer, Printed } from '../state/protocol.ts';

const EVERY_MS = 125;
/** The most lines of one message. */
const MOST_LINES = 100;

export class Printer {
  private lines: Printed[] = [];
  private more = 0;
  private sentAt = -Infinity;

  constructor(private readonly post: (message: FromTrainer) => void) {}

  readonly print = (level: Printed['level'], line: string): void => {
    if (this.lines.length < MOST_LINES) this.lines.push({ level, line });
    else this.more++;
    if (performance.now() - this.sentAt > EVERY_MS) this.flush();
  };

  /** Sends the waiting lines. Called between slices of training as well, so that no line stays behind. */
  flush(): void {
    if (this.lines.length === 0) return;
    this.post({ type: 'printed', lines: this.lines, more: this.more });
    this.lines = [];
    this.more = 0;
    this.sentAt = performance.now();
  }
}
