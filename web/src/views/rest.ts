// What a place does step by step waits while another place is shown: that has the cores, and times that are measured beside
// it would be of both.

export class Rest {
  private over: Promise<void> = Promise.resolve();
  private end: (() => void) | null = null;

  /** Another place is looked at. */
  begin(): void {
    if (this.end === null) this.over = new Promise((resolve) => (this.end = resolve));
  }

  /** The place is shown again. */
  wake(): void {
    this.end?.();
    this.end = null;
  }

  /** Until the place is shown, which it may be already. */
  wait(): Promise<void> {
    return this.over;
  }
}
