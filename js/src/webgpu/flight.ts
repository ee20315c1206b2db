// How many submissions are under way. A host that runs ahead without end makes the device no faster, only its queue longer,
// and with it the time until a value is read; so a run waits until all but a few are over.

import type { Reach } from './reach.js';

const MOST_UNDER_WAY = 3;

export class Flight {
  readonly #reach: Reach;
  /** The ends of those under way, oldest first. */
  #ends: Promise<void>[] = [];

  constructor(reach: Reach) {
    this.#reach = reach;
  }

  /** One more was submitted. */
  submitted(): void {
    const end = this.#reach.device.queue.onSubmittedWorkDone().then(
      () => {},
      () => {}, // it was lost
    );
    const own = end.then(() => {
      this.#ends = this.#ends.filter((other) => other !== own);
    });
    this.#ends.push(own);
  }

  /** Until there is room for one more; null: now. */
  get room(): Promise<void> | null {
    return this.#ends.at(-MOST_UNDER_WAY) ?? null;
  }
}
