// Functions for the core as a whole: evaluation, memory, debug output, compiler passes.

import { SinterError } from './errors.js';
import { noticePressure } from './pressure.js';
import { checkInteger, shown } from './check.js';
import { setDebugLevel } from './debug.js';
import { flatten } from './pytree.js';
import { runtime } from './runtime/runtime.js';
import type { Tensor } from './tensor.js';

/** Computes the tensors in these trees, all in one program, before it returns. */
export function evaluate(...trees: unknown[]): void {
  const rt = runtime();
  const { tensors } = flatten(trees, 'eval');
  rt.send(tensors.map((t) => t.read('eval')));
  rt.ok(rt.exports.sinter_eval(tensors.length));
  noticePressure(rt);
}

/** As evaluate, without blocking: the workers compute, or without them this thread in slices between turns of its event
 *  loop. A failed run is reported where a value is read. */
export async function evaluateAsync(op: string, tensors: readonly Tensor[]): Promise<void> {
  const rt = runtime();
  rt.send(tensors.map((t) => t.read(op)));
  rt.ok(rt.exports.sinter_eval_async(tensors.length));
  await rt.wait(rt.word(0) >>> 0);
}

export interface MemoryInfo {
  /** Bytes that the core has allocated for tensors, programs and graphs. */
  bytesInUse: number;
  /** The largest bytesInUse so far. */
  bytesPeak: number;
  /** Bytes of the values of live tensors. */
  tensorBytes: number;
  /** The number of live tensors, lazy ones included. */
  tensors: number;
  /** Compiled programs in the cache; evaluations that found theirs there, and those that had to compile it. */
  programs: number;
  programHits: number;
  programMisses: number;
  /** Bytes of buffers on a graphics processor: those that hold values, and free ones kept for the next value of their size. */
  deviceBytes: number;
}

/** What the core has allocated, and what its cache of programs did. */
export function memory(): MemoryInfo {
  const rt = runtime();
  rt.exports.sinter_memory();
  const [bytesInUse, bytesPeak, tensorBytes, tensors, programs, programHits, programMisses] = rt
    .receive(0, 7)
    .map((word) => word >>> 0) as [number, number, number, number, number, number, number];
  return { bytesInUse, bytesPeak, tensorBytes, tensors, programs, programHits, programMisses, deviceBytes: rt.device?.bytes ?? 0 };
}

/**
 * Sets how much debug output goes to the console, 0 (none) to 6, as SINTER_DEBUG does. From 1 on, a function that is
 * compiled for the tenth time is reported with what changed in its arguments, and indices given as tensors are checked at
 * the call.
 */
export function setDebug(level: number): void {
  const rt = runtime();
  setDebugLevel(checkInteger('setDebug', 'level', level, 0, 6));
  rt.exports.sinter_set_debug(level);
}

/** Names of the compiler passes, in the order they run. */
export function passes(): string[] {
  const rt = runtime();
  return Array.from({ length: rt.exports.sinter_pass_count() }, (_, i) =>
    rt.text(rt.exports.sinter_pass_name(i)),
  );
}

/** The core's number of a pass. Throws an error that lists all passes if there is none of this name. */
export function passNumber(name: string): number {
  const index = passes().indexOf(name);
  if (index >= 0) return index;
  throw new SinterError('argument', '', `there is no pass ${typeof name === 'string' ? name : shown(name)}`, { hint: `there are ${passes().join(', ')}` });
}

/** Switches a compiler pass on or off for programs compiled from now on. */
export function setPass(name: string, on: boolean): void {
  const rt = runtime();
  if (typeof on !== 'boolean') throw new SinterError('argument', 'setPass', `${shown(on)}, expected true or false`);
  rt.ok(rt.exports.sinter_pass_enable(passNumber(name), on ? 1 : 0));
}
