// The course of the loss, in bounded space: when full, neighbours are joined into their mean and
// from then on each point stands for twice as many steps. A chart of it costs the same after a
// million steps as after a thousand.

const CAPACITY = 1000;
/** Weight of the newest loss in the running mean. */
const FRESH = 0.03;
/** Early on the mean follows faster: it looks back over about a fifth of the steps so far. */
const EARLY = 5;

export class LossHistory {
  /** Column by column, as charts want them: step, batch loss, running mean. */
  readonly columns: [number[], (number | null)[], (number | null)[]] = [[], [], []];

  private stride = 1;
  private pending: number[] = [];
  private count = 0;
  private running = 0;

  /** Running mean of the losses so far. */
  get mean(): number {
    return this.running;
  }

  clear(): void {
    for (const column of this.columns) column.length = 0;
    this.stride = 1;
    this.pending = [];
    this.count = 0;
    this.running = 0;
  }

  push(step: number, loss: number): void {
    this.count++;
    this.running += Math.min(1, Math.max(FRESH, EARLY / this.count)) * (loss - this.running);
    this.pending.push(loss);
    if (this.pending.length < this.stride) return;
    const [steps, batch, means] = this.columns;
    const value = this.pending.reduce((sum, each) => sum + each, 0) / this.pending.length;
    this.pending = [];
    steps.push(step);
    batch.push(plottable(value));
    means.push(plottable(this.mean));
    if (steps.length >= CAPACITY) this.halve();
  }

  private halve(): void {
    const [steps, batch, means] = this.columns;
    const half = steps.length >> 1;
    for (let i = 0; i < half; i++) {
      steps[i] = steps[2 * i + 1];
      batch[i] = join(batch[2 * i], batch[2 * i + 1]);
      means[i] = means[2 * i + 1];
    }
    for (const column of this.columns) column.length = half;
    this.stride *= 2;
  }
}

/** A logarithmic axis has no place for zero, infinities and NaN: a gap in the line. */
function plottable(value: number): number | null {
  return value > 0 && Number.isFinite(value) ? value : null;
}

function join(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : (a + b) / 2;
}
