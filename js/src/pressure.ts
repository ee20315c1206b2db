// Memory that only the garbage collector can give back: tensors that nobody disposed of.
//
// An engine sees small handles and no reason to collect, however much memory is behind them. So when many bytes of values
// have been made since the last collection, it is given a reason: large buffers that nobody uses, and turns of its event
// loop, in which alone finalizers run. The buffers are never touched, so they take no memory.
//
// Invariant: what is in use and what is garbage are told apart only by collecting. After each collection the next one is
// due when values have grown by a share of what is in use, or of the memory that is left.

import { OutOfMemoryError } from './errors.js';
import type { Runtime } from './runtime/runtime.js';

const MIB = 2 ** 20;
/** Bytes of garbage that may come between two collections, where values take little and memory is plenty. */
const STEP = 128 * MIB;
/** Bytes of a buffer. An engine starts a collection after some of 64 MiB. */
const BUFFER = 64 * MIB;
/** In synchronous code, which cannot wait for a collection: so many pushes while garbage grows once more by what is
 *  allowed, and so many buffers in each. */
const PUSHES = 8;
const BUFFERS_IN_PASSING = 8;
/** Turns of the event loop after which a collection is given up: engines need 1 to 60. */
const MOST_TURNS = 300;

/** Bytes of values after the last collection, or at their fewest since. */
let inUse = 0;
/** Bytes of values when a buffer was last made in passing. */
let pushedAt = 0;
/** The sentinel, an object whose finalizer shows that the engine has collected: there is none, it is out, or it was
 *  collected. */
let sentinel: 'none' | 'out' | 'collected' = 'none';

const sentinels = new FinalizationRegistry<null>(() => (sentinel = 'collected'));

const bytesOfValues = (rt: Runtime): number => rt.exports.sinter_tensor_bytes() >>> 0;

/** How many bytes values may grow by until the next collection is due. */
function allowance(limit: number): number {
  const room = Math.max(0, limit - inUse);
  return Math.max(limit / 64, Math.min(Math.max(STEP, inUse / 2), room / 2));
}

function isDue(rt: Runtime): boolean {
  const bytes = bytesOfValues(rt);
  if (sentinel === 'collected') {
    sentinel = 'none';
    pushedAt = 0;
    inUse = bytes;
  }
  inUse = Math.min(inUse, bytes);
  return bytes >= inUse + allowance(rt.memoryLimit);
}

/** Gives the engine a reason to collect, and puts out a sentinel. */
function push(buffers: number): void {
  if (sentinel === 'none') {
    sentinel = 'out';
    sentinels.register({}, null);
  }
  try {
    for (let i = 0; i < buffers; i++) new ArrayBuffer(BUFFER);
  } catch {
    // Address space is short; the engine has collected before it threw.
  }
}

/** The next turn of the event loop; unlike a timer, a hidden page has it at once. */
const turn = (): Promise<void> =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });

async function collectNow(): Promise<void> {
  for (let turns = 0; turns < MOST_TURNS && sentinel !== 'collected'; turns++) {
    push(1);
    await turn();
  }
  await turn(); // the tensors' finalizers may come after the sentinel's
  sentinel = 'collected'; // also where it was given up
}

let collecting: Promise<void> | null = null;

/** Has the engine collect, and runs finalizers. Calls that overlap share one collection. */
const collect = (): Promise<void> =>
  (collecting ??= collectNow().finally(() => {
    collecting = null;
  }));

/** Tensors of fewer elements are not checked: by the time they add up, an engine has collected their handles. */
const LARGE = 4096;

/** For synchronous code that has just made so many elements: pushes if a collection is due. Finalizers run in the
 *  program's own turns of the event loop. */
export function noticePressure(rt: Runtime, elements: number = LARGE): void {
  if (elements < LARGE || !isDue(rt)) return;
  const bytes = bytesOfValues(rt);
  if (bytes < pushedAt + allowance(rt.memoryLimit) / PUSHES) return;
  pushedAt = bytes;
  push(BUFFERS_IN_PASSING);
}

/** For code that waits anyway: starts a collection if one is due, to be awaited; else null. */
export function relievePressure(rt: Runtime): Promise<void> | null {
  return isDue(rt) ? collect() : null;
}

/** Calls f; if memory runs out, collects and calls it once more. */
export async function withRelief<T>(f: () => Promise<T>): Promise<T> {
  try {
    return await f();
  } catch (error) {
    if (!(error instanceof OutOfMemoryError)) throw error;
    await collect();
    return f();
  }
}
