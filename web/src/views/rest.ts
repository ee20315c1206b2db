// Work that a place does in slices waits while another place is shown: the other place has the cores, and times measured beside
// this work would be wrong.

export class Rest {
  private over: Promise<void> = Promise.resolve();
  private end: (() => void) | null = null;

  /** Called when another place is shown. */
  begin(): void {
    if (this.end === null) this.over = new Promise((resolve) => (this.end = resolve));
  }

  /** Called when the place is shown again. */
  wake(): void {
    this.end?.();
    this.end = null;
  }

  /** Resolves when the place is shown, which may be at once. */
  wait(): Promise<void> {
    return this.over;
  }
}
