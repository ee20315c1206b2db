// What can be asked of the core as a whole: evaluation, memory, debug output, compiler passes.

import { SinterError } from './errors.js';
import { noticePressure } from './pressure.js';
import { checkInteger, shown } from './check.js';
import { setDebugLevel } from './debug.js';
import { flatten } from './pytree.js';
import { runtime } from './runtime/runtime.js';
import type { Tensor } from './tensor.js';

/** Computes tensors (also in nested arrays and objects), all in one program. */
export function evaluate(...trees: unknown[]): void {
  const rt = runtime();
  const { tensors } = flatten(trees, 'eval');
  rt.send(tensors.map((t) => t.read('eval')));
  rt.ok(rt.exports.sinter_eval(tensors.length));
  noticePressure(rt);
}

/** As evaluate, by the workers or in turns of this thread; a failure is told of where a value is read. */
export async function evaluateAsync(op: string, tensors: readonly Tensor[]): Promise<void> {
  const rt = runtime();
  rt.send(tensors.map((t) => t.read(op)));
  rt.ok(rt.exports.sinter_eval_async(tensors.length));
  await rt.wait(rt.word(0) >>> 0);
}

export interface MemoryInfo {
  /** All that the core has allocated: tensors, programs, graphs. */
  bytesInUse: number;
  bytesPeak: number;
  /** Values of live tensors alone. */
  tensorBytes: number;
  /** Live tensors, lazy ones included. */
  tensors: number;
  /** Compiled programs, and how often one was found or had to be made. */
  programs: number;
  programHits: number;
  programMisses: number;
  /** Buffers of a graphics processor: values there, and those that wait for the next ones of their size. */
  deviceBytes: number;
}

export function memory(): MemoryInfo {
  const rt = runtime();
  rt.exports.sinter_memory();
  const [bytesInUse, bytesPeak, tensorBytes, tensors, programs, programHits, programMisses] = rt
    .receive(0, 7)
    .map((word) => word >>> 0) as [number, number, number, number, number, number, number];
  return { bytesInUse, bytesPeak, tensorBytes, tensors, programs, programHits, programMisses, deviceBytes: rt.device?.bytes ?? 0 };
}

/**
 * Debug output to the console, 0 (none) to 6: the scale of SINTER_DEBUG. From 1 on a function that is compiled for the
 * tenth time is warned of with what changed in its arguments, and indices in tensors are checked at the call.
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

/** The number of a pass, for the core; an error that names them all where there is none. */
export function passNumber(name: string): number {
  const index = passes().indexOf(name);
  if (index >= 0) return index;
  throw new SinterError('argument', '', `there is no pass ${typeof name === 'string' ? name : shown(name)}`, { hint: `there are ${passes().join(', ')}` });
}

/** Switches a compiler pass for programs compiled from now on. */
export function setPass(name: string, on: boolean): void {
  const rt = runtime();
  if (typeof on !== 'boolean') throw new SinterError('argument', 'setPass', `${shown(on)}, expected true or false`);
  rt.ok(rt.exports.sinter_pass_enable(passNumber(name), on ? 1 : 0));
}
