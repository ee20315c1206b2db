// The Web Workers of the pool: one for each of the core's workers but the caller, the driver, which runs
// asynchronous jobs, and on a page the watch.
//
// Invariant: a promise for a ticket always settles. It resolves when the core says that the ticket is
// completed, and rejects when any worker dies first; then the pool is revived and the worker replaced.
//
// The core learns of a death without this thread's event loop, so that a call under way ends too: a worker
// that traps marks itself dead; in Node a thread that has slept in the core for a while looks at the
// workers; on a page the watch (worker.ts) is granted the locks of the dead. Only once the watch has told
// the core is a worker replaced, or it would tell of the new one.

import { OutOfMemoryError, WorkerError, type SinterError } from '../errors.js';
import { DRIVER_SEAT, WATCH_SEAT, type Exports, type ThreadExports } from './exports.js';
import { awaitLock, noLink, openLink, usesLocks, type Link } from './link.js';
import type { Report } from './messages.js';

const STACK_BYTES = 256 * 1024;
/** Milliseconds that init waits for workers once the driver is there; later ones join when they come. */
const WORKERS_MS = 1000;
/** Milliseconds that a call sleeps before it looks whether a worker has ended. */
const PATIENCE_MS = 50;
/** Milliseconds between questions whether tickets are completed: Chromium lets a terminated worker compute for two more
 *  seconds, but not report it. */
const ASK_MS = 100;
/** Milliseconds that a replacement may take to come up before the next one is tried; doubled at each try. */
const LOADING_MS = 3000;

/** The parts of the main thread's instance that a worker needs. */
export interface Core {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  readonly exports: Exports & ThreadExports;
  readonly pool: number;
  readonly clockBase: number;
}

interface Pending {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: SinterError): void;
}

interface Seat {
  /** 1 and up, or DRIVER_SEAT, or WATCH_SEAT. */
  readonly number: number;
  link: Link;
  /** Upper end of the stack, and address of the thread-local block; 0 until enter. */
  stack: number;
  tls: number;
  /** Its worker holds its lock and waits to be sent into the pool. */
  isLoaded: boolean;
  /** Its worker was sent into the pool. */
  isSent: boolean;
  /** Its worker is in its loop. */
  isUp: boolean;
  /** A worker of it has been up once, so another one will come up too. */
  isProven: boolean;
  /** Its worker was told to end before it was up. */
  isEnding: boolean;
  /** Replacements since one was up. */
  tries: number;
  /** Resolves when its first worker is up or cannot come. */
  readonly known: Promise<void>;
  readonly settle: () => void;
}

const seatName = (number: number): string =>
  number === DRIVER_SEAT ? 'the driver' : number === WATCH_SEAT ? 'the watch' : `worker ${number}`;

/** A timer that does not keep a Node process from ending. */
const later = (f: () => void, ms: number): void => {
  (setTimeout(f, ms) as { unref?(): void }).unref?.();
};

function makeSeat(number: number): Seat {
  const { promise: known, resolve: settle } = withResolvers();
  return { number, link: noLink, stack: 0, tls: 0, isLoaded: false, isSent: false, isUp: false, isProven: false, isEnding: false, tries: 0, known, settle };
}

function withResolvers(): Pending {
  let [resolve, reject] = [(): void => {}, (_: SinterError): void => {}];
  const promise = new Promise<void>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
}

export class Workers {
  #core: Core | null = null;
  readonly #seats: Seat[];
  /** The seat of the watch; null where deaths are learned of without locks. */
  readonly #watch: Seat | null;
  readonly #pending = new Map<number, Pending>();
  #asking: ReturnType<typeof setInterval> | undefined;
  /** The reasons why seats stayed empty. */
  readonly failures: string[] = [];

  /** Starts loading the driver and workers 1 to count - 1; they wait for enter. */
  constructor(count: number) {
    const wanted = [DRIVER_SEAT, ...Array.from({ length: count - 1 }, (_, i) => i + 1)];
    this.#seats = wanted.map(makeSeat);
    this.#watch = usesLocks() ? makeSeat(WATCH_SEAT) : null;
    for (const seat of this.#everySeat()) this.#open(seat);
  }

  #everySeat(): Seat[] {
    return this.#watch ? [...this.#seats, this.#watch] : this.#seats;
  }

  /**
   * Sends the workers into their loops; resolves when they are there, or cannot come. It does not wait for the driver
   * alone: a browser may need the caller's event loop to start the others, and a program that computes at once would not
   * come back to it.
   */
  async enter(core: Core, mayBlock: boolean): Promise<void> {
    this.#core = core;
    core.exports.sn_wait_set_patience(mayBlock ? PATIENCE_MS : 0);
    const tlsBytes = Number(core.exports.__tls_size.value);
    for (const seat of this.#everySeat()) {
      const block = core.exports.sinter_worker_memory(STACK_BYTES + tlsBytes);
      if (block === 0) throw new OutOfMemoryError('init', `no memory for the stack of ${seatName(seat.number)}`);
      seat.stack = seat.tls = block + STACK_BYTES;
      this.#send(seat);
    }
    const [driver, ...others] = this.#everySeat().map(({ known }) => known);
    await driver;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([Promise.all(others), new Promise((resolve) => (timer = setTimeout(resolve, WORKERS_MS)))]);
    clearTimeout(timer);
  }

  /** Ends all workers; for when no pool came about. */
  close(): void {
    for (const seat of this.#everySeat()) {
      const { link } = seat;
      seat.link = noLink;
      link.end('');
    }
  }

  /** The number of workers that compute, or are about to for the first time, the caller included. */
  get count(): number {
    const counts = ({ number, link, isUp, isProven }: Seat): boolean =>
      number !== DRIVER_SEAT && link !== noLink && (isUp || !isProven);
    return 1 + this.#seats.filter(counts).length;
  }

  /** Whether a call that waits for a worker would not learn of its end: while the watch is being replaced. */
  get isDeaf(): boolean {
    return this.#watch?.isProven === true && !this.#watch.isUp;
  }

  /** Settles when the core has completed the ticket; see the invariant above. */
  wait(ticket: number): Promise<void> {
    let pending = this.#pending.get(ticket);
    if (!pending) {
      pending = withResolvers();
      this.#pending.set(ticket, pending);
      this.#keepAlive();
    }
    return pending.promise;
  }

  /** To be called when a call on this thread has completed a job that others may wait for. */
  jobDone(): void {
    if (this.#pending.size > 0) queueMicrotask(() => this.#settle());
  }

  /** Tells the core of workers that have ended; called by a thread that is in the core and hears no events. */
  look(): void {
    const core = this.#core;
    if (!core) return;
    for (const { number, link } of this.#seats) if (link.hasEnded()) core.exports.sn_worker_dead(core.pool, number);
  }

  /** Puts a fresh worker on a seat. */
  #open(seat: Seat): void {
    seat.isLoaded = seat.isSent = seat.isUp = seat.isEnding = false;
    const link = openLink({
      report: (report) => {
        if (seat.link === link) this.#hear(seat, report);
      },
      death: (reason) => {
        if (seat.link === link) this.#bury(seat, reason);
      },
    });
    seat.link = link;
  }

  /**
   * Sends a worker that has loaded into the pool, as soon as there is a pool, but not while the watch is being replaced.
   * The first watch may come later than other workers: that is within init, when nobody is in a call.
   */
  #send(seat: Seat): void {
    const { number, link, stack, tls, isLoaded } = seat;
    const watch = seat === this.#watch ? null : this.#watch;
    if (!this.#core || !isLoaded || (watch?.isProven && !watch.isUp)) return;
    const { module, memory, pool, clockBase } = this.#core;
    seat.isSent = true;
    if (seat !== this.#watch) this.#listen(seat);
    link.start({ module, memory, pool, seat: number, stack, tls, clockBase });
  }

  #hear(seat: Seat, report: Report): void {
    if (report.kind === 'done') this.#settle();
    else if (report.kind === 'dead') {
      seat.link.end(report.reason);
      // A worker that was never up has not entered the pool, and nobody waits for its lock.
      if (!seat.isUp) seat.link.lockFreed();
    }
    else if (report.kind === 'freed') this.#seats.find(({ link }) => link.lock === report.lock)?.link.lockFreed();
    else if (report.kind === 'loaded') {
      seat.isLoaded = true;
      this.#send(seat);
    } else {
      seat.isUp = true;
      seat.isProven = true;
      seat.tries = 0;
      seat.settle();
      if (seat === this.#watch) {
        awaitLock(seat.link);
        this.#watchAll();
      }
    }
  }

  /** Has a new watch, or this thread if none can come, wait for the ends of all workers. */
  #watchAll(): void {
    for (const seat of this.#seats) {
      if (seat.isSent || seat.isEnding) this.#listen(seat);
      else this.#send(seat);
    }
  }

  /** Has the watch, or without one this thread, wait for the end of a worker that holds its lock or never will. */
  #listen({ number, link }: Seat): void {
    if (link.lock === '') return;
    if (this.#watch?.isUp) this.#watch.link.watch(number, link.lock);
    else if (!this.#watch || this.#watch.link === noLink) awaitLock(link);
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
    const error = new WorkerError('worker', `${seatName(seat.number)} was lost: ${reason}`);
    seat.link = noLink;
    if (this.#core && seat !== this.#watch) this.#report(this.#core, seat, error);
    if (!seat.isProven) {
      // The reason that kept the first worker out (a policy, a missing file) keeps out all: the pool goes on without this
      // one.
      this.failures.push(`fewer threads: ${error.message}`);
      seat.settle();
      if (seat === this.#watch) this.#watchAll();
      return;
    }
    this.#open(seat);
    this.#expect(seat);
    this.#keepAlive();
  }

  /** Tries another worker if this one does not come up: a worker that ends while it loads does not report that. */
  #expect(seat: Seat): void {
    const { link } = seat;
    later(() => {
      if (seat.link !== link || seat.isUp) return;
      seat.isEnding = true;
      link.end('it did not come up');
      if (seat === this.#watch) awaitLock(link);
      else this.#listen(seat);
    }, LOADING_MS * 2 ** seat.tries++);
  }

  /** Tells the core, and those who wait, of a death, also of a worker that may just have entered. */
  #report({ exports, pool }: Core, { number, isUp }: Seat, error: WorkerError): void {
    this.#settle();
    exports.sn_worker_dead(pool, number);
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
    for (const { number, link } of this.#seats) if (number === DRIVER_SEAT) link.keepAlive(on);
    if (!on) clearInterval(this.#asking);
    this.#asking = on ? (this.#asking ?? setInterval(() => this.#settle(), ASK_MS)) : undefined;
  }
}
