// Lets a program that learns in the blink of an eye be watched: so many steps in a second, at most. What was missed, while
// training stood still, is not made up for.

/** Steps that come at once after a rest, in seconds of them. */
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
