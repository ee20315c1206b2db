// Which call in a program made a value, and where that call stands in the source. Calls are numbered, and their stacks
// kept, while inspect or checkNumerics traces; at all other times this costs one comparison per tensor.
//
// The core marks each node that it makes with the current number. That number belongs to the call whose tensor is handed
// out next; then noteCall keeps the call's stack and sets the next number.

import { runtime } from './runtime/runtime.js';

/** A place in the text of a program; lines and columns count from 1. */
export interface SourcePlace {
  file: string;
  line: number;
  column: number;
}

export let isLooking = false;

/** The stacks of the calls so far, by number. Engines turn one into text only when it is read. */
let stacks: Error[] = [];

/** Keeps the stack of the call that hands out a tensor now, and has the core mark later nodes with the next number. */
export function noteCall(): void {
  stacks.push(new Error());
  runtime().exports.sinter_call(stacks.length);
}

/** Frames kept of a stack, in engines that have Error.stackTraceLimit. */
const FRAMES = 64;
const engine = Error as { stackTraceLimit?: number | undefined };

/** The frames outside of the package, whose file is that of the first frame; all frames if none is outside. */
function placesOf({ stack = '' }: Error): SourcePlace[] {
  const frames = [...stack.matchAll(/(?:@|[ (])([^\s(@]+)(?: line \d+ > \w+)?:(\d+):(\d+)\)?$/gm)].map(
    ([, file, line, column]) => ({ file: file!, line: Number(line), column: Number(column) }),
  );
  const outside = frames.filter(({ file }) => file !== frames[0]!.file);
  return outside.length > 0 ? outside : frames;
}

/** Runs f. Returns its result, and a function that gives the places of each call by number; number 0 is the call of this
 *  function. */
export function recordingCalls<T>(f: () => T): [T, () => SourcePlace[][]] {
  const outside = [isLooking, stacks, engine.stackTraceLimit] as const;
  const own: Error[] = [];
  [isLooking, stacks, engine.stackTraceLimit] = [true, own, FRAMES];
  noteCall();
  try {
    return [f(), () => own.map(placesOf)];
  } finally {
    [isLooking, stacks, engine.stackTraceLimit] = outside;
    runtime().exports.sinter_call(stacks.length);
  }
}
