// What the parts of a device share: the device itself - another one after it was lost - and what is known to have failed.

import { OutOfMemoryError, SinterError, WorkerError } from '../index.js';

export interface Reach {
  device: GPUDevice;
  /** Why it was lost, or ''. */
  lost: string;
  /** What no later value is to be trusted after: what the driver refused first of what is no shader, or a test that failed. */
  wrong: string;
  /** Runs so far. */
  runs: number;
}

/** Why values are none. */
export interface Failure {
  /** A status of the core (sn_status in sinter.h). */
  status: typeof MEMORY | typeof WORKER | typeof INTERNAL;
  text: string;
}

export const MEMORY = 3;
const WORKER = 6;
export const INTERNAL = 7;

export const lostFailure = (why: string): Failure => ({ status: WORKER, text: `the device was lost, and what lay there with it: ${why}` });

/** what: has no values. */
export function errorOf(op: string, { status, text: why }: Failure, what: string): SinterError {
  const text = `${what}: ${why}`;
  if (status === MEMORY) return new OutOfMemoryError(op, text);
  if (status === WORKER) return new WorkerError(op, text, { hint: 'await sn.init() asks for the device again' });
  return new SinterError('internal', op, text);
}
