// The one WebAssembly memory of the program. A memory names its maximum at birth, and engines refuse large
// ones (phones in particular), so the maximum is negotiated downward.

import { OutOfMemoryError } from '../errors.js';

const PAGE_BYTES = 65536;
const GIB_PAGES = (1 << 30) / PAGE_BYTES;

/** At least what the modules are linked with. */
const INITIAL_PAGES = 256;

/** Largest numbers of pages, by preference: 4, 2, 1 GiB ... 32 MiB. */
const MAXIMA = Array.from({ length: 8 }, (_, i) => (4 * GIB_PAGES) / 2 ** i);

type MakeMemory = (descriptor: WebAssembly.MemoryDescriptor) => WebAssembly.Memory;

const makeMemory: MakeMemory = (descriptor) => new WebAssembly.Memory(descriptor);

/** A memory, and the bytes that it may grow to. */
export interface Grant {
  readonly memory: WebAssembly.Memory;
  readonly bytes: number;
}

/** A memory with the largest maximum that is granted; else why the smallest one was refused. */
function negotiate(make: MakeMemory, shared: boolean): Grant | { readonly refusal: unknown } {
  let refusal: unknown;
  for (const maximum of MAXIMA) {
    try {
      const memory = make({ initial: INITIAL_PAGES, maximum, shared });
      if (!shared || memory.buffer instanceof SharedArrayBuffer) return { memory, bytes: maximum * PAGE_BYTES };
    } catch (error) {
      refusal = error;
    }
  }
  return { refusal };
}

/** A shared memory, or null when none is granted. */
export function sharedMemory(make: MakeMemory = makeMemory): Grant | null {
  const grant = negotiate(make, true);
  return 'memory' in grant ? grant : null;
}

/** A memory for one thread. */
export function ownMemory(make: MakeMemory = makeMemory): Grant {
  const grant = negotiate(make, false);
  if ('memory' in grant) return grant;
  throw new OutOfMemoryError('init', 'the engine gives no memory', { cause: grant.refusal });
}
