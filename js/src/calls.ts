// Which call of a program made a value, and where it stands there. Calls are numbered and their stacks kept while
// inspect traces; at all other times this is one comparison per tensor.
//
// What the core makes takes the number that is set: all since the last tensor was handed out belongs to the call that
// hands out the next one.

import { runtime } from './runtime/runtime.js';

/** A place in the text of a program, from 1. */
export interface SourcePlace {
  file: string;
  line: number;
  column: number;
}

export let isLooking = false;

/** The stacks as the engine holds them: text is made of them only where somebody reads it. */
let stacks: Error[] = [];

/** A call has made its tensors. */
export function noteCall(): void {
  stacks.push(new Error());
  runtime().exports.sinter_call(stacks.length);
}

/** So deep a stack is kept, where the engine asks. */
const FRAMES = 64;
const engine = Error as { stackTraceLimit?: number | undefined };

/** The frames that are not the package's, whose file is that of the first. */
function placesOf({ stack = '' }: Error): SourcePlace[] {
  const frames = [...stack.matchAll(/(?:@|[ (])([^\s(@]+)(?: line \d+ > \w+)?:(\d+):(\d+)\)?$/gm)].map(
    ([, file, line, column]) => ({ file: file!, line: Number(line), column: Number(column) }),
  );
  const outside = frames.filter(({ file }) => file !== frames[0]!.file);
  return outside.length > 0 ? outside : frames;
}

/** Runs f, and returns with its result where each of its calls stands: number 0 is this one. */
export function lookingAtCalls<T>(f: () => T): [T, () => SourcePlace[][]] {
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
