// Asynchronous runs of a core without workers: this thread computes them itself, in slices between which
// its event loop turns.
//
// Invariant: while runs are queued in the core, the pump is on its way to the next slice. In one turn of
// the event loop, counted from the first use in it, slices take no more than SLICE_MS together.

import type { Exports } from './exports.js';

/** Less than a frame. */
export const SLICE_MS = 10;
/** Milliseconds after which a pump that has not computed is taken to have lost its task. */
const LOST_MS = 1000;

type Post = (f: () => void) => void;

function makePost(): Post {
  const { setImmediate } = globalThis as { setImmediate?: (f: () => void) => unknown };
  if (setImmediate) return (f) => void setImmediate(f);
  if (typeof MessageChannel !== 'function') return (f) => void setTimeout(f);
  const { port1, port2 } = new MessageChannel();
  const queue: (() => void)[] = [];
  port2.onmessage = () => queue.shift()?.();
  return (f) => {
    queue.push(f);
    port1.postMessage(null);
  };
}

let post: Post | null = null;

/** Has the event loop call f, without the delay of a timer, after other events and frames have had their turns. */
const postTask: Post = (f) => (post ??= makePost())(f);

/** Settles in the next turn of the event loop, after frames and other events have had theirs. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => postTask(resolve));

export class Turns {
  readonly #exports: Exports;
  /** Whether the time of this turn is being counted, and since when. */
  #isCounting = false;
  #since = 0;
  #isPumping = false;
  #pumpedAt = 0;

  constructor(exports: Exports) {
    this.#exports = exports;
    exports.sinter_take_turns();
  }

  /** Sees to it that queued runs get computed; the first slice begins at once. */
  start(): void {
    if (!this.#isPumping || performance.now() - this.#pumpedAt > LOST_MS) void this.#pump();
  }

  /** Settles when the core has completed the ticket, in a turn whose slices have time left. */
  async wait(ticket: number): Promise<void> {
    this.start();
    while (!this.#exports.sinter_ticket_done(ticket)) {
      await this.#nextTurn();
      this.start();
    }
    if (this.#left() <= 0) await this.#nextTurn();
  }

  /** Settles when nothing is queued. */
  async idle(): Promise<void> {
    while (this.#isPumping) await this.#nextTurn();
  }

  /** Posts a task of its own for each wait: some places drop tasks, e.g. a server when a request ends. */
  #nextTurn(): Promise<void> {
    return new Promise((resolve) =>
      postTask(() => {
        this.#isCounting = false;
        resolve();
      }),
    );
  }

  /** Milliseconds that slices may still take in this turn. */
  #left(): number {
    if (!this.#isCounting) {
      this.#isCounting = true;
      this.#since = performance.now();
      postTask(() => (this.#isCounting = false));
    }
    return SLICE_MS - (performance.now() - this.#since);
  }

  async #pump(): Promise<void> {
    this.#isPumping = true;
    while (this.#slice()) await this.#nextTurn();
    this.#isPumping = false;
  }

  /** Computes for the rest of the turn. Returns whether runs are left. */
  #slice(): boolean {
    this.#pumpedAt = performance.now();
    try {
      return Boolean(this.#exports.sinter_turn(Math.max(this.#left(), 0)));
    } catch {
      return true; // A run that traps has failed; reading its results throws.
    }
  }
}
