// When a function was traced, and why: what differs between the arguments of this call and those of the call traced before
// it, named by its path.

import { shown } from './check.js';
import { debugLevel } from './debug.js';
import { leavesWithPaths, type TreeShape } from './pytree.js';

/** Why a function was traced. */
export interface Trace {
  /** Dtypes and shapes of the tensors, in order. */
  tensors: readonly string[];
  /** 'first call', or what differs from the call traced before. */
  reason: string;
}

/** What decides which program a call runs. */
export interface Call {
  /** The structure of the list of arguments, with static values in their places. */
  structure: string;
  /** Dtypes and shapes of the tensors. */
  tensors: readonly string[];
}

/** What is at one path of the arguments, as text, and whether it is a number. */
interface Place {
  text: string;
  isNumber: boolean;
}

interface Noted extends Call {
  places: ReadonlyMap<string, Place>;
}

const MAX_TRACES = 64;

/** So many compiles of one function are probably a mistake. */
const MANY = 10;

function placesOf(shape: TreeShape, { tensors }: Call, nameOf: (i: number) => string): Map<string, Place> {
  let next = 0;
  return new Map(
    leavesWithPaths(shape).map(({ path, value, isTensor, empty }) => [
      path.replace(/^\[(\d+)\]/, (_, i: string) => nameOf(Number(i))),
      { text: isTensor ? tensors[next++]! : (empty ?? shown(value)), isNumber: !isTensor && typeof value === 'number' },
    ]),
  );
}

function reasonOf(before: Noted | null, now: Noted): string {
  if (!before) return 'first call';
  for (const [path, place] of now.places) {
    const was = before.places.get(path);
    if (!was) return `${path} is new: ${place.text}`;
    if (was.text === place.text) continue;
    const hint = place.isNumber && was.isNumber ? ': numbers are part of the program, pass a tensor' : '';
    return `${path} changed from ${was.text} to ${place.text}${hint}`;
  }
  for (const [path, place] of before.places) {
    if (!now.places.has(path)) return `${path} is gone: ${place.text}`;
  }
  if (before.structure !== now.structure) return 'the structure or a static value of the arguments changed';
  return 'the program was given up for others';
}

export class Traces {
  readonly #op: string;
  readonly #nameOf: (i: number) => string;
  readonly #list: Trace[] = [];
  #last: Noted | null = null;
  #count = 0;

  /** nameOf: what argument i is called. */
  constructor(op: string, nameOf: (i: number) => string) {
    this.#op = op;
    this.#nameOf = nameOf;
  }

  /** A copy of the last traces. */
  get list(): Trace[] {
    return [...this.#list];
  }

  note(call: Call, shape: TreeShape): Trace {
    const noted = { ...call, places: placesOf(shape, call, this.#nameOf) };
    const trace = { tensors: call.tensors, reason: reasonOf(this.#last, noted) };
    this.#last = noted;
    this.#list.push(trace);
    if (this.#list.length > MAX_TRACES) this.#list.shift();
    this.#count++;
    if (this.#count === MANY && debugLevel() >= 1) {
      console.warn(`sinter: ${this.#op}: compiled for the ${MANY}th time: ${trace.reason}`);
    }
    return trace;
  }
}
