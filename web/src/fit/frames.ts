// Measures frames per second while something is held, over about the last half second.

const LAST = 30;

export class Frames {
  private readonly times: number[] = [];
  private held = false;

  constructor(private readonly onRate: (rate: number, longest: number) => void) {}

  hold(held: boolean): void {
    if (held && !this.held) {
      this.times.length = 0;
      requestAnimationFrame((now) => this.frame(now));
    }
    this.held = held;
  }

  private frame(now: number): void {
    if (!this.held) return;
    this.times.push(now);
    if (this.times.length > LAST + 1) {
      const each = this.times.slice(1).map((time, i) => time - this.times[i]);
      this.onRate((1000 * each.length) / (now - this.times[0]), Math.max(...each));
      this.times.splice(0, this.times.length - 1);
    }
    requestAnimationFrame((next) => this.frame(next));
  }
}
