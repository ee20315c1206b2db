// Memory that only the garbage collector can give back: tensors that nobody disposed of.
//
// An engine sees small handles and no reason to collect, however much lies behind them. So when many bytes
// of values have come since the last collection, it is given a reason: large buffers that nobody uses, and
// turns of its event loop, in which alone finalizers run. A buffer is never touched, so it takes no memory.
//
// Invariant: what is in use and what garbage holds are told apart only by collecting; after each collection
// the next one is due when values have grown by a share of what is in use, and of what is left.

import { OutOfMemoryError } from './errors.js';
import type { Runtime } from './runtime/runtime.js';

const MIB = 2 ** 20;
/** Garbage that may come between two collections, where values take little and memory is plenty. */
const STEP = 128 * MIB;
/** An engine starts a collection for 64 MiB of buffers, sooner or later. */
const BUFFER = 64 * MIB;
/** Where nothing waits for a collection: so many pushes by the time when garbage is twice what it may be, of so
 *  many buffers each. */
const PUSHES = 8;
const BUFFERS_IN_PASSING = 8;
/** Turns after which a collection is given up: engines need 1 to 60. */
const MOST_TURNS = 300;

/** Bytes of values after the last collection, or at their fewest since. */
let inUse = 0;
/** Bytes of values when a buffer was last made in passing. */
let pushedAt = 0;
/** A sentinel waits to be collected, has been, or there is none. */
let sentinel: 'none' | 'out' | 'collected' = 'none';

const sentinels = new FinalizationRegistry<null>(() => (sentinel = 'collected'));

const bytesOfValues = (rt: Runtime): number => rt.exports.sinter_tensor_bytes() >>> 0;

/** How many bytes of values may come until the next collection. */
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

/** A reason to collect. */
function push(buffers: number): void {
  if (sentinel === 'none') {
    sentinel = 'out';
    sentinels.register({}, null);
  }
  try {
    for (let i = 0; i < buffers; i++) new ArrayBuffer(BUFFER);
  } catch {
    // Address space is short: the engine has collected before it said so.
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
  sentinel = 'collected'; // or it was given up
}

let collecting: Promise<void> | null = null;

/** Has the engine collect, and runs finalizers. One collection serves all who wait. */
const collect = (): Promise<void> =>
  (collecting ??= collectNow().finally(() => {
    collecting = null;
  }));

/** Fewer elements are not worth a look: by the time they add up, an engine has collected their handles. */
const LARGE = 4096;

/** Where so many elements come into being in synchronous code: the finalizers run in the program's own turns. */
export function noticePressure(rt: Runtime, elements: number = LARGE): void {
  if (elements < LARGE || !isDue(rt)) return;
  const bytes = bytesOfValues(rt);
  if (bytes < pushedAt + allowance(rt.memoryLimit) / PUSHES) return;
  pushedAt = bytes;
  push(BUFFERS_IN_PASSING);
}

/** Where a program waits anyway: collects if that is due. */
export function relievePressure(rt: Runtime): Promise<void> | null {
  return isDue(rt) ? collect() : null;
}

/** f, and once more after a collection if memory ran out. */
export async function withRelief<T>(f: () => Promise<T>): Promise<T> {
  try {
    return await f();
  } catch (error) {
    if (!(error instanceof OutOfMemoryError)) throw error;
    await collect();
    return f();
  }
}
