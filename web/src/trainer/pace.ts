// Limits the steps per second of a program that learns very fast, so that it can be watched. Steps that were missed while
// training rested are not made up for.

/** The most steps that follow at once after a rest, as the seconds in which they would be due. */
const MOST_SECONDS = 0.1;

export class Pace {
  private from = 0;
  private steps = 0;

  constructor(private readonly perSecond: number) {}

  /** How many steps may be done now. */
  due(now: number): number {
    if (this.perSecond === Infinity) return Infinity;
    const most = Math.max(1, MOST_SECONDS * this.perSecond);
    const allowed = ((now - this.from) / 1000) * this.perSecond - this.steps;
    if (allowed <= most) return Math.max(0, Math.floor(allowed));
    this.from = now - (1000 * most) / this.perSecond;
    this.steps = 0;
    return Math.floor(most);
  }

  done(steps: number): void {
    this.steps += steps;
  }
}
