// State shared by the parts of a device: the device itself, which is replaced after a loss, and what is known to have failed.

import { OutOfMemoryError, SinterError, WorkerError } from '../index.js';

export interface DeviceState {
  device: GPUDevice;
  /** Why the device was lost, or ''. */
  lost: string;
  /** Why no later value can be trusted, or '': the driver's first refusal of something other than a shader, or a failed
   *  self-test. */
  wrong: string;
  /** The number of runs so far. */
  runs: number;
}

/** Why a buffer has no valid values. */
export interface Failure {
  /** A status of the core (sn_status in sinter.h). */
  status: typeof MEMORY | typeof WORKER | typeof INTERNAL;
  text: string;
}

export const MEMORY = 3;
const WORKER = 6;
export const INTERNAL = 7;

export const lostFailure = (why: string): Failure => ({ status: WORKER, text: `the device was lost, and what lay there with it: ${why}` });

/** The error for reading `what`, which has no values. */
export function errorOf(op: string, { status, text: why }: Failure, what: string): SinterError {
  const text = `${what}: ${why}`;
  if (status === MEMORY) return new OutOfMemoryError(op, text);
  if (status === WORKER) return new WorkerError(op, text, { hint: 'await sn.init() asks for the device again' });
  return new SinterError('internal', op, text);
}
