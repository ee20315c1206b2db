// Asynchronous runs of a core without workers: this thread computes them itself, in slices between which
// its event loop turns.
//
// Invariant: while runs are queued in the core, the pump is on its way to the next slice. In one turn of
// the event loop, counted from the first use in it, slices take no more than SLICE_MS together.

import type { Exports } from './exports.js';

/** Less than a frame. */
const SLICE_MS = 10;

/** Has f called by the event loop, after what it has to do already: timers and frames come before or soon after. */
const postTask = ((): ((f: () => void) => void) => {
  const { setImmediate } = globalThis as { setImmediate?: (f: () => void) => unknown };
  if (setImmediate) return (f) => void setImmediate(f);
  const { port1, port2 } = new MessageChannel();
  const queue: (() => void)[] = [];
  port2.onmessage = () => queue.shift()?.();
  return (f) => {
    queue.push(f);
    port1.postMessage(null);
  };
})();

export class Turns {
  readonly #exports: Exports;
  /** Resolves in the next turn; null until this one has been used. */
  #next: Promise<void> | null = null;
  #since = 0;
  #isPumping = false;

  constructor(exports: Exports) {
    this.#exports = exports;
    exports.sinter_take_turns();
  }

  /** Sees to it that what is queued gets computed; begins at once. */
  start(): void {
    if (!this.#isPumping) void this.#pump();
  }

  /** Settles when the core has completed the ticket, in a turn that has lasted for no longer than a slice. */
  async wait(ticket: number): Promise<void> {
    this.start();
    while (!this.#exports.sinter_ticket_done(ticket)) await this.#nextTurn();
    if (this.#left() <= 0) await this.#nextTurn();
  }

  /** Settles when nothing is queued. */
  async idle(): Promise<void> {
    while (this.#isPumping) await this.#nextTurn();
  }

  #nextTurn(): Promise<void> {
    if (this.#next) return this.#next;
    this.#since = performance.now();
    return (this.#next = new Promise((resolve) =>
      postTask(() => {
        this.#next = null;
        resolve();
      }),
    ));
  }

  /** Milliseconds of this turn that slices may take. */
  #left(): number {
    void this.#nextTurn();
    return SLICE_MS - (performance.now() - this.#since);
  }

  async #pump(): Promise<void> {
    this.#isPumping = true;
    while (this.#slice()) await this.#nextTurn();
    this.#isPumping = false;
  }

  /** Computes for the rest of the turn; whether runs are left. */
  #slice(): boolean {
    try {
      return Boolean(this.#exports.sinter_turn(Math.max(this.#left(), 0)));
    } catch {
      return true; // A run that traps has failed, and whoever reads its results is told.
    }
  }
}
