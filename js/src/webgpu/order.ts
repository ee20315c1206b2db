// Keeps the commands of the core in order. Most are executed at once. If a run has to wait, for its pipelines or for the
// device's answer about a loop, all later commands wait, too.

export class Order {
  #last: Promise<void> | null = null;
  readonly #report: (error: unknown) => void;

  /** report: hears of an error in a command that waited, which does not keep later commands from being executed. */
  constructor(report: (error: unknown) => void) {
    this.#report = report;
  }

  /** Whether commands are waiting. */
  get waits(): boolean {
    return this.#last !== null;
  }

  /** Executes f now, or after all waiting commands. */
  do(f: () => void): void {
    if (this.#last) this.wait(f);
    else f();
  }

  /** Executes f after all waiting commands. Later commands wait until f ends. */
  wait(f: () => void | Promise<void>): void {
    const own = (this.#last ?? Promise.resolve()).then(f).catch(this.#report);
    this.#last = own;
    void own.then(() => {
      if (this.#last === own) this.#last = null;
    });
  }
}
