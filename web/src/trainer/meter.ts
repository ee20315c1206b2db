// Measures the speed over the last two seconds. Time does not count while training is paused.

const WINDOW_MS = 2000;

interface Slice {
  steps: number;
  /** The time inside training steps. */
  busyMs: number;
  /** The wall time since the end of the slice before. */
  wallMs: number;
}

export class Meter {
  private slices: Slice[] = [];
  private last: number | null = null;
  private steps = 0;
  private busyMs = 0;

  /** Training continues at `now`, unless it already runs. */
  resume(now: number): void {
    this.last ??= now;
  }

  /** One training step took `ms`. */
  step(ms: number): void {
    this.steps++;
    this.busyMs += ms;
  }

  /** Ends a slice of work at `now`; the time after it belongs to the next slice. */
  mark(now: number): void {
    if (this.last === null || this.steps === 0) return;
    this.slices.push({ steps: this.steps, busyMs: this.busyMs, wallMs: now - this.last });
    this.last = now;
    this.steps = 0;
    this.busyMs = 0;
    let wall = this.sum('wallMs');
    while (this.slices.length > 1 && wall - this.slices[0].wallMs >= WINDOW_MS) {
      wall -= this.slices[0].wallMs;
      this.slices.shift();
    }
  }

  /** The time until the next `resume` does not count as training. */
  pause(): void {
    this.last = null;
  }

  get stepsPerSecond(): number {
    const wall = this.sum('wallMs');
    return wall > 0 ? (1000 * this.sum('steps')) / wall : 0;
  }

  get msPerStep(): number {
    const steps = this.sum('steps');
    return steps > 0 ? this.sum('busyMs') / steps : 0;
  }

  private sum(key: keyof Slice): number {
    return this.slices.reduce((total, slice) => total + slice[key], 0);
  }
}
