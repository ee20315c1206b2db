// Counts the submissions that are under way. Running further ahead does not make the device faster, but its queue longer, and
// with it the time until a value can be read. So a run waits until few enough are left.

import type { DeviceState } from './devicestate.js';

const MOST_UNDER_WAY = 3;

export class Flight {
  readonly #state: DeviceState;
  /** The ends of the submissions under way, oldest first. */
  #ends: Promise<void>[] = [];

  constructor(state: DeviceState) {
    this.#state = state;
  }

  /** Call after each submission. */
  submitted(): void {
    const end = this.#state.device.queue.onSubmittedWorkDone().then(
      () => {},
      () => {}, // it was lost
    );
    const own = end.then(() => {
      this.#ends = this.#ends.filter((other) => other !== own);
    });
    this.#ends.push(own);
  }

  /** Resolves when one more submission may start; null: now. */
  get room(): Promise<void> | null {
    return this.#ends.at(-MOST_UNDER_WAY) ?? null;
  }
}
