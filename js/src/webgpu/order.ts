// What the core asks for is done in the order of asking. Most of it is done at once; behind a run that has to wait - for its
// pipelines, or for what the device says of a loop - it waits, too.

export class Order {
  #last: Promise<void> | null = null;

  /** Whether something waits. */
  get waits(): boolean {
    return this.#last !== null;
  }

  /** At once, or when all that waits is over. */
  do(f: () => void): void {
    if (this.#last) this.wait(f);
    else f();
  }

  /** The same of something that takes time: what is asked for later waits for its end. */
  wait(f: () => void | Promise<void>): void {
    const own = (this.#last ?? Promise.resolve()).then(f);
    this.#last = own;
    void own.finally(() => {
      if (this.#last === own) this.#last = null;
    });
  }
}
