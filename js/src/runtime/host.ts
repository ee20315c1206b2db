// What the module imports: its memory, and the functions of "host". They are the same on the main thread and in every
// worker, so that all threads share one clock.

import type { CodeTable } from './code.js';

/** Milliseconds since a common origin of all threads. */
const sharedNow = (): number => performance.timeOrigin + performance.now();

/** The present time, to be handed to hostImports as the origin in every thread. */
export const clockOrigin = sharedNow;

/** Copies a NUL-terminated UTF-8 text out; decoders refuse views of shared memory. */
export function readText(memory: WebAssembly.Memory, address: number): string {
  const begin = address >>> 0;
  if (begin === 0) return '';
  const bytes = new Uint8Array(memory.buffer);
  const end = bytes.indexOf(0, begin);
  return new TextDecoder().decode(bytes.slice(begin, end));
}

/** Events that a thread reports while it is in the core. */
export interface HostEvents {
  /** The thread has completed a job. */
  jobDone(ticket: number): void;
  /** The thread has waited for its patience (sn_wait_set_patience), and will wait further. */
  overslept(): void;
}

export function hostImports(
  memory: WebAssembly.Memory,
  clockBase: number,
  code: CodeTable,
  { jobDone, overslept }: HostEvents,
): WebAssembly.Imports {
  return {
    env: { memory },
    host: {
      now: () => sharedNow() - clockBase,
      log: (address: number) => console.debug(readText(memory, address)),
      job_done: jobDone,
      overslept,
      code_first: code.first,
      code_install: code.install,
    },
  };
}
