// The workers of the pool: one per lane above 0 and the driver, which runs asynchronous jobs.
//
// Invariant: a promise for a ticket always settles. It resolves when the core says that the ticket is
// completed, and rejects when any worker dies first; then the pool is revived and the worker replaced.

import { SinterError, WorkerError } from '../errors.js';
import { DRIVER_LANE, type Exports, type ThreadExports } from './exports.js';
import { openLink, type Link } from './link.js';
import type { Report } from './messages.js';

const STACK_BYTES = 256 * 1024;

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
  readonly stack: number;
  readonly tls: number;
  link: Link;
  ready: boolean;
}

const seatName = (lane: number): string => (lane === DRIVER_LANE ? 'the driver' : `lane ${lane}`);

export class Workers {
  readonly #core: Core;
  readonly #seats: Seat[] = [];
  readonly #pending = new Map<number, Pending>();
  readonly #arrivals = new Map<number, Pending>();

  constructor(core: Core) {
    this.#core = core;
  }

  /** Starts lanes 1 to lanes - 1 and the driver; resolves when all are in their loops. */
  async start(lanes: number): Promise<void> {
    const wanted = [DRIVER_LANE, ...Array.from({ length: lanes - 1 }, (_, i) => i + 1)];
    await Promise.all(wanted.map((lane) => this.#open(lane)));
  }

  /** Lanes in their loops, the caller's included. */
  get lanes(): number {
    return 1 + this.#seats.filter(({ lane, ready }) => lane !== DRIVER_LANE && ready).length;
  }

  /** Settles when the core has completed the ticket; see the invariant above. */
  wait(ticket: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pending.set(ticket, { resolve, reject });
      this.#keepAlive();
    });
  }

  #open(lane: number): Promise<void> {
    const { exports } = this.#core;
    const tlsBytes = Number(exports.__tls_size.value);
    const memory = exports.sinter_worker_memory(STACK_BYTES + tlsBytes);
    if (memory === 0) {
      throw new SinterError('memory', `init: no memory for the stack of ${seatName(lane)}`);
    }
    const seat: Seat = { lane, stack: memory + STACK_BYTES, tls: memory + STACK_BYTES, link: noLink, ready: false };
    this.#seats.push(seat);
    return new Promise((resolve, reject) => {
      this.#arrivals.set(lane, { resolve, reject });
      this.#occupy(seat);
    });
  }

  /** Puts a fresh worker on a seat. */
  #occupy(seat: Seat): void {
    const { module, memory, pool, clockBase } = this.#core;
    const { lane, stack, tls } = seat;
    seat.ready = false;
    seat.link = openLink({
      report: (report) => this.#hear(seat, report),
      death: (reason) => this.#bury(seat, reason),
    });
    seat.link.start({ module, memory, pool, lane, stack, tls, clockBase });
  }

  #hear(seat: Seat, report: Report): void {
    if (report.kind === 'done') this.#settle();
    else if (report.kind === 'dead') this.#bury(seat, report.reason);
    else {
      seat.ready = true;
      this.#arrivals.get(seat.lane)?.resolve();
      this.#arrivals.delete(seat.lane);
    }
  }

  /** Resolves every ticket that is completed. */
  #settle(): void {
    for (const [ticket, { resolve }] of this.#pending) {
      if (!this.#core.exports.sinter_ticket_done(ticket)) continue;
      this.#pending.delete(ticket);
      resolve();
    }
    this.#keepAlive();
  }

  #bury(seat: Seat, reason: string): void {
    const { exports, pool } = this.#core;
    const error = new WorkerError(`worker: ${seatName(seat.lane)} was lost: ${reason}`);
    const link = seat.link;
    seat.link = noLink;
    if (link === noLink) return;
    link.terminate();
    if (!seat.ready) {
      // One that never came up would not the second time either: the pool goes on without it.
      this.#arrivals.get(seat.lane)?.reject(error);
      this.#arrivals.delete(seat.lane);
      return;
    }
    exports.sn_worker_dead(pool, seat.lane);
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    exports.sinter_revive();
    this.#occupy(seat);
    this.#keepAlive();
  }

  /** A Node process lives as long as someone waits for a ticket. */
  #keepAlive(): void {
    const on = this.#pending.size > 0;
    for (const { lane, link } of this.#seats) if (lane === DRIVER_LANE) link.keepAlive(on);
  }
}

const noLink: Link = { start: () => {}, terminate: () => {}, keepAlive: () => {} };
