// What the main thread and a worker say to each other: one start message down, a few reports up.

export interface StartMessage {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  pool: number;
  /** 1 and up, or DRIVER_LANE. */
  lane: number;
  /** Upper end of the worker's stack. */
  stack: number;
  /** Its thread-local block. */
  tls: number;
  clockBase: number;
}

export type Report = { kind: 'ready' } | { kind: 'done'; ticket: number } | { kind: 'dead'; reason: string };
