// The workers of the pool: one per lane above 0 and the driver, which runs asynchronous jobs.
//
// Invariant: a promise for a ticket always settles. It resolves when the core says that the ticket is
// completed, and rejects when any worker dies first; then the pool is revived and the worker replaced.
//
// Deaths are heard in the event loop. A lane that traps marks itself dead in the core at once; only a
// worker terminated from outside while a synchronous call waits for it cannot be noticed there.

import { OutOfMemoryError, WorkerError, type SinterError } from '../errors.js';
import { DRIVER_LANE, type Exports, type ThreadExports } from './exports.js';
import { openLink, type Link } from './link.js';
import type { Report } from './messages.js';

const STACK_BYTES = 256 * 1024;
/** How long a lane may keep init waiting once the driver is there; then it joins whenever it comes. */
const LANES_MS = 1000;

/** What a worker needs of the main thread's instance. */
export interface Core {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  readonly exports: Exports & ThreadExports;
  readonly pool: number;
  readonly clockBase: number;
}

interface Pending {
  resolve(): void;
  reject(error: SinterError): void;
}

interface Seat {
  readonly lane: number;
  link: Link;
  /** 0 until enter. */
  stack: number;
  tls: number;
  /** Its worker is in its loop. */
  isUp: boolean;
  /** Its worker has been up once, so another one will come up too. */
  isProven: boolean;
  /** Resolves when its first worker is up or cannot come. */
  readonly known: Promise<void>;
  readonly settle: () => void;
}

const seatName = (lane: number): string => (lane === DRIVER_LANE ? 'the driver' : `lane ${lane}`);

export class Workers {
  #core: Core | null = null;
  readonly #seats: Seat[];
  readonly #pending = new Map<number, Pending>();
  /** Why seats stayed empty. */
  readonly failures: string[] = [];

  /** Starts loading a worker for the driver and for lanes 1 to lanes - 1; they wait for enter. */
  constructor(lanes: number) {
    const wanted = [DRIVER_LANE, ...Array.from({ length: lanes - 1 }, (_, i) => i + 1)];
    this.#seats = wanted.map((lane) => {
      let settle = (): void => {};
      const known = new Promise<void>((resolve) => (settle = resolve));
      return { lane, link: noLink, stack: 0, tls: 0, isUp: false, isProven: false, known, settle };
    });
    for (const seat of this.#seats) this.#open(seat);
  }

  /**
   * Sends the workers into their loops; resolves when they are there, or cannot come. Lanes as well: a browser
   * may need the caller's event loop to start them, and a program that computes at once would not come
   * back to it.
   */
  async enter(core: Core): Promise<void> {
    this.#core = core;
    const tlsBytes = Number(core.exports.__tls_size.value);
    for (const seat of this.#seats) {
      const block = core.exports.sinter_worker_memory(STACK_BYTES + tlsBytes);
      if (block === 0) throw new OutOfMemoryError(`init: no memory for the stack of ${seatName(seat.lane)}`);
      seat.stack = seat.tls = block + STACK_BYTES;
      this.#send(seat, core);
    }
    const [driver, ...lanes] = this.#seats.map(({ known }) => known);
    await driver;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([Promise.all(lanes), new Promise((resolve) => (timer = setTimeout(resolve, LANES_MS)))]);
    clearTimeout(timer);
  }

  /** Ends all workers; for when no pool came about. */
  close(): void {
    for (const seat of this.#seats) {
      seat.link.terminate();
      seat.link = noLink;
    }
  }

  /** Lanes that compute or are about to, the caller's included. */
  get lanes(): number {
    return 1 + this.#seats.filter(({ lane, link }) => lane !== DRIVER_LANE && link !== noLink).length;
  }

  /** Settles when the core has completed the ticket; see the invariant above. */
  wait(ticket: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pending.set(ticket, { resolve, reject });
      this.#keepAlive();
    });
  }

  /** Puts a fresh worker on a seat. */
  #open(seat: Seat): void {
    seat.isUp = false;
    seat.link = openLink({
      report: (report) => this.#hear(seat, report),
      death: (reason) => this.#bury(seat, reason),
    });
  }

  #send({ lane, link, stack, tls }: Seat, { module, memory, pool, clockBase }: Core): void {
    link.start({ module, memory, pool, lane, stack, tls, clockBase });
  }

  #hear(seat: Seat, report: Report): void {
    if (report.kind === 'done') this.#settle();
    else if (report.kind === 'dead') this.#bury(seat, report.reason);
    else {
      seat.isUp = true;
      seat.isProven = true;
      seat.settle();
    }
  }

  /** Resolves every ticket that is completed. */
  #settle(): void {
    for (const [ticket, { resolve }] of this.#pending) {
      if (!this.#core?.exports.sinter_ticket_done(ticket)) continue;
      this.#pending.delete(ticket);
      resolve();
    }
    this.#keepAlive();
  }

  #bury(seat: Seat, reason: string): void {
    const { link, lane } = seat;
    if (link === noLink) return;
    seat.link = noLink;
    link.terminate();
    const error = new WorkerError(`worker: ${seatName(lane)} was lost: ${reason}`);
    if (this.#core) this.#report(this.#core, seat, error);
    if (!seat.isProven) {
      // What kept the first worker out (a policy, a missing file) keeps out all: the pool goes on without.
      this.failures.push(`fewer threads: ${error.message}`);
      seat.settle();
      return;
    }
    this.#open(seat);
    if (this.#core) this.#send(seat, this.#core);
    this.#keepAlive();
  }

  /** Tells the core of a death, also of a worker that may just have entered, and those who wait. */
  #report({ exports, pool }: Core, { lane, isUp }: Seat, error: WorkerError): void {
    exports.sn_worker_dead(pool, lane);
    if (isUp) {
      for (const { reject } of this.#pending.values()) reject(error);
      this.#pending.clear();
    }
    exports.sinter_revive();
    this.#settle();
  }

  /** A Node process lives as long as someone waits for a ticket. */
  #keepAlive(): void {
    const on = this.#pending.size > 0;
    for (const { lane, link } of this.#seats) if (lane === DRIVER_LANE) link.keepAlive(on);
  }
}

const noLink: Link = { start: () => {}, terminate: () => {}, keepAlive: () => {} };
