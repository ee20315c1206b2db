// The one WebAssembly memory of the program. A shared memory has to name its maximum at birth, and
// engines refuse large ones (phones in particular), so the maximum is negotiated downward.

import { OutOfMemoryError } from '../errors.js';

const PAGE_BYTES = 65536;
const GIB_PAGES = (1 << 30) / PAGE_BYTES;

/** At least what the modules are linked with. */
const INITIAL_PAGES = 256;

/** Largest number of pages of a shared memory, by preference: 4, 2, 1, 1/2, 1/4 GiB. */
const SHARED_MAXIMA = [4, 2, 1, 0.5, 0.25].map((gib) => gib * GIB_PAGES);

type MakeMemory = (descriptor: WebAssembly.MemoryDescriptor) => WebAssembly.Memory;

const makeMemory: MakeMemory = (descriptor) => new WebAssembly.Memory(descriptor);

/** A shared memory with the largest maximum that is granted, or null when none is. */
export function sharedMemory(make: MakeMemory = makeMemory): WebAssembly.Memory | null {
  for (const maximum of SHARED_MAXIMA) {
    try {
      const memory = make({ initial: INITIAL_PAGES, maximum, shared: true });
      if (memory.buffer instanceof SharedArrayBuffer) return memory;
    } catch {
      // Refused at this size: the next smaller one.
    }
  }
  return null;
}

/** A memory for one thread, which may grow to all that wasm can address. */
export function ownMemory(make: MakeMemory = makeMemory): WebAssembly.Memory {
  try {
    return make({ initial: INITIAL_PAGES, maximum: 4 * GIB_PAGES });
  } catch (cause) {
    throw new OutOfMemoryError('init: the engine gives no memory', { cause });
  }
}
