// What the main thread and a worker say to each other: one start message down, a few reports up.

import type { Copy } from '../io/copying.js';

export interface StartMessage {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  pool: number;
  /** 1 and up, or DRIVER_SEAT, or WATCH_SEAT. */
  seat: number;
  /** Upper end of the worker's stack. */
  stack: number;
  /** Its thread-local block. */
  tls: number;
  clockBase: number;
}

/** To a worker that only makes the bytes of a state from the shared memory. */
export interface CopyMessage {
  copy: Copy;
  memory: WebAssembly.Memory;
}

/** To a page's worker, before anything else: the lock to hold while it lives; '' where there are no locks. */
export interface HoldMessage {
  hold: string;
}

/** To the watch: the lock is held by the worker on this seat. */
export interface WatchMessage {
  seat: number;
  lock: string;
}

export type Report =
  /** It holds its lock and waits for the start message. */
  | { kind: 'loaded' }
  | { kind: 'ready' }
  | { kind: 'done'; ticket: number }
  /** The bytes that a CopyMessage asked for. */
  | { kind: 'copied'; bytes: Uint8Array<ArrayBuffer> }
  /** The worker that reports has trapped. */
  | { kind: 'dead'; reason: string }
  /** The watch reports that another worker's lock is free. */
  | { kind: 'freed'; lock: string };
